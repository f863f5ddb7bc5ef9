"""Draw the pictures of the documentation: ``python docs/theme/pictures.py``.

``python docs/theme/pictures.py demo`` photographs the demonstration, and needs chromium.

Lines and text have the colour of the surrounding text, and fills are half transparent, so pictures
are readable on light and dark pages. Numbers in pictures are computed here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

PICTURES = Path(__file__).parent.parent / "pictures"

BLUE, ORANGE = "#3d7fd9", "#e0782a"
# Only for pictures outside of a page; on a page they have its colours.
ALONE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"


def _svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    look = 'font-family="system-ui, sans-serif" font-size="14" fill="currentColor"'
    place = f'class="picture" role="img" viewBox="0 0 {width} {height}" width="{width}"'
    first = f'<svg xmlns="http://www.w3.org/2000/svg" {place} {look}>'
    return "\n".join([first, ALONE, f"<title>{title}</title>", *parts, "</svg>\n"])


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, more: str = 'text-anchor="middle"') -> str:
    return f'<text x="{_number(x)}" y="{_number(y)}" {more}>{text}</text>'


def _box(x: float, y: float, width: float, height: float, more: str) -> str:
    place = f'x="{_number(x)}" y="{_number(y)}"'
    return f'<rect {place} width="{_number(width)}" height="{_number(height)}" {more}/>'


# --- The two lattices: formulas over four users, and which are true for an item of a and b


def _lattice(sign: str, holds: Callable[[str], bool], title: str, upwards: str, colour: str) -> str:
    widths, step, bottom = (36, 54, 76, 100), 76, 286
    places: dict[str, tuple[float, float]] = {}
    for arity in range(1, 5):
        row = ["".join(chosen) for chosen in combinations("abcd", arity)]
        room = 380 / len(row)
        for k, formula in enumerate(row):
            places[formula] = (6 + room * (k + 0.5), bottom - step * (arity - 1))
    parts = []
    for below, above in combinations(places, 2):
        if len(above) - len(below) == 1 and set(below) < set(above):
            (x1, y1), (x2, y2) = places[below], places[above]
            strong = holds(below) and holds(above)
            look = (
                f'stroke="{colour}" stroke-width="1.6"'
                if strong
                else 'stroke="currentColor" stroke-opacity="0.22"'
            )
            parts.append(
                f'<line x1="{_number(x1)}" y1="{_number(y1 - 14)}" x2="{_number(x2)}" '
                f'y2="{_number(y2 + 14)}" {look}/>'
            )
    for formula, (x, y) in places.items():
        width = widths[len(formula) - 1]
        look = (
            f'rx="14" fill="{colour}" fill-opacity="0.28" stroke="{colour}" stroke-width="1.6"'
            if holds(formula)
            else 'rx="14" fill="none" stroke="currentColor" stroke-opacity="0.35"'
        )
        parts.append(_box(x - width / 2, y - 14, width, 28, look))
        faint = "" if holds(formula) else ' fill-opacity="0.65"'
        parts.append(_text(x, y + 5, f" {sign} ".join(formula), f'text-anchor="middle"{faint}'))
    for arity in range(1, 5):
        row = [formula for formula in places if len(formula) == arity]
        y = bottom - step * (arity - 1) + 5
        true = sum(map(holds, row))
        parts.append(_text(476, y, f"{true} of {len(row)}", 'text-anchor="end"'))
    parts.append(_text(476, 22, "true", 'text-anchor="end" font-weight="600"'))
    parts.append(_text(6, 22, f"↑ {upwards}", 'font-weight="600"'))
    parts.append(_text(6, 328, "single users: the linear kernel", 'fill-opacity="0.75"'))
    return _svg(480, 338, title, parts)


def conjunctions() -> str:
    """Draw conjunctions: the longer, the fewer are true."""
    return _lattice(
        "∧",
        lambda formula: set(formula) <= set("ab"),
        "Conjunctions over four users a, b, c, d; filled ones are true for an item of a and b",
        "longer is more specific",
        ORANGE,
    )


def disjunctions() -> str:
    """Draw disjunctions: the longer, the more are true."""
    return _lattice(
        "∨",
        lambda formula: bool(set(formula) & set("ab")),
        "Disjunctions over four users a, b, c, d; filled ones are true for an item of a and b",
        "longer is more general",
        BLUE,
    )


# --- The four counts of two items over twelve users, and the four sets behind the disjunctive value

COLUMNS, ROWS = 4, 3
X = {(column, row) for column in range(3) for row in range(2)}
Z = {(column, row) for column in (1, 2) for row in (1, 2)}
ALL = [(column, row) for row in range(ROWS) for column in range(COLUMNS)]
ARITY = 2


def counts() -> str:
    """Draw two items as rows of cells, one per user, with n, x, z and c."""
    cell, left, top = 28, 62, 34
    parts = []
    for k, user in enumerate(ALL):
        x = left + k * cell
        parts.append(_text(x + cell / 2, 22, "abcdefghijkl"[k], 'text-anchor="middle"'))
        for row, (members, colour) in enumerate(((X, BLUE), (Z, ORANGE))):
            look = (
                f'fill="{colour}" fill-opacity="0.55" stroke="{colour}"'
                if user in members
                else 'fill="none" stroke="currentColor" stroke-opacity="0.3"'
            )
            parts.append(_box(x + 2, top + row * 40, cell - 4, cell - 4, f'rx="4" {look}'))
        if user in X & Z:
            y = top + 1.5
            frame = 'rx="6" fill="none" stroke="currentColor" stroke-width="1.8"'
            parts.append(_box(x - 0.5, y - 4, cell + 1, 71, frame))
    for row, (name, members) in enumerate((("x", X), ("z", Z))):
        y = top + row * 40 + 17
        parts.append(_text(6, y, f"item {name}", ""))
        parts.append(_text(476, y, f"{name} = {len(members)}", 'text-anchor="end"'))
    first, last = (ALL.index(user) for user in (min(X & Z), max(X & Z)))
    middle = left + cell * (first + last + 1) / 2
    parts.append(_text(middle, 124, f"c = {len(X & Z)} in both", 'text-anchor="middle"'))
    parts.append(_text(6, 124, f"n = {len(ALL)} users", ""))
    return _svg(480, 134, "Two items as rows over twelve users, and the four counts", parts)


def _panel(left: float, top: float, drawn: set[tuple[int, int]], sign: str, words: str) -> str:
    step, pad = 38, 24
    width, height = pad * 2 + step * (COLUMNS - 1), pad * 2 + step * (ROWS - 1)
    left += (220 - width) / 2
    frame = 'rx="8" fill="none" stroke="currentColor" stroke-opacity="0.35"'
    parts = [_box(left, top, width, height, frame)]
    for members, colour, name in ((X, BLUE, "x"), (Z, ORANGE, "z")):
        columns, rows = ([user[axis] for user in members] for axis in (0, 1))
        x, y = left + pad + step * min(columns), top + pad + step * min(rows)
        wide, high = (step * (max(side) - min(side)) for side in (columns, rows))
        margin = 17 if name == "x" else 13
        look = f'rx="14" fill="{colour}" fill-opacity="0.1" stroke="{colour}" stroke-width="1.6"'
        parts.append(_box(x - margin, y - margin, wide + 2 * margin, high + 2 * margin, look))
        corner = (x + wide + margin + 8, y - 5 if name == "x" else y + high + 9)
        parts.append(
            _text(*corner, name, f'font-weight="600" text-anchor="middle" fill="{colour}"')
        )
    for column, row in ALL:
        solid = (column, row) in drawn
        look = (
            'r="6.5"' if solid else 'r="5.5" fill="none" stroke="currentColor" stroke-opacity="0.4"'
        )
        parts.append(
            f'<circle cx="{left + pad + step * column}" cy="{top + pad + step * row}" {look}/>'
        )
    sets = comb(len(drawn), ARITY)
    middle = left + width / 2
    parts.append(_text(middle, top + height + 20, words))
    count = f"{sign} C({len(drawn)}, {ARITY}) = {sets}".strip()
    parts.append(_text(middle, top + height + 40, count, 'text-anchor="middle" font-weight="600"'))
    return "\n".join(parts)


def four_sets() -> str:
    """Draw all pairs of users, minus those that miss one item, plus those that miss both."""
    every = set(ALL)
    panels = [
        (every, "", "all pairs of users"),
        (every - X, "−", "pairs that miss x"),
        (every - Z, "−", "pairs that miss z"),
        (every - X - Z, "+", "pairs that miss both"),
    ]
    parts = [
        _panel(10 + 240 * (k % 2), 6 + 182 * (k // 2), drawn, sign, words)
        for k, (drawn, sign, words) in enumerate(panels)
    ]
    sizes = [comb(len(drawn), ARITY) for drawn, _, _ in panels]
    value = sizes[0] - sizes[1] - sizes[2] + sizes[3]
    total = f"{sizes[0]} − {sizes[1]} − {sizes[2]} + {sizes[3]} = {value} pairs meet both x and z"
    parts.append(_text(240, 388, total, 'text-anchor="middle" font-weight="600"'))
    return _svg(480, 400, "The four sets behind the disjunctive kernel of arity 2", parts)


# --- The kernel matrix as a background by sizes plus a correction where items share users

# Nine items over twelve users, as the letters of their users, the most popular first.
ITEMS = ["abcdef", "aghijk", "bcgkl", "abc", "def", "jkl", "gh", "cl", "i"]


def _disjunctive(x: int, z: int, c: int, n: int = 12, d: int = 2) -> float:
    def value(x: int, z: int, c: int) -> int:
        return comb(n, d) - comb(n - x, d) - comb(n - z, d) + comb(n - x - z + c, d)

    return value(x, z, c) / sqrt(value(x, x, x) * value(z, z, z))


def background() -> str:
    """Draw the matrix of nine items as the sum of background and correction."""
    cell, top = 14, 30
    size = len(ITEMS)
    names = ("K", "background", "correction")
    parts = []
    for k, name in enumerate(names):
        left = 8 + k * 170
        for i, one in enumerate(ITEMS):
            for j, other in enumerate(ITEMS):
                shared = len(set(one) & set(other))
                base = _disjunctive(len(one), len(other), 0)
                whole = _disjunctive(len(one), len(other), shared)
                value = (whole, base, whole - base)[k]
                colour = ORANGE if k == 2 else BLUE
                look = f'fill="{colour}" fill-opacity="{value:.2f}" '
                look += 'stroke="currentColor" stroke-opacity="0.15"'
                parts.append(_box(left + j * cell, top + i * cell, cell, cell, look))
        middle = left + size * cell / 2
        parts.append(_text(middle, 20, name, 'text-anchor="middle" font-weight="600"'))
        below = ("one value a pair", "by the two sizes", "shared users only")[k]
        parts.append(_text(middle, top + size * cell + 20, below, 'text-anchor="middle"'))
        if k:
            parts.append(
                _text(
                    left - 22,
                    top + size * cell / 2 + 6,
                    " =+"[k],
                    'text-anchor="middle" font-size="20"',
                )
            )
    return _svg(480, 186, "A kernel matrix as background plus correction", parts)


# --- Measured: spectral ratio and AUC against the arity, on a synthetic data set

DATASET = "synthetic:600x300x6000"
ARITIES = (1, 2, 3, 4, 6, 8, 12, 20, 35, 60, 100)


def curves() -> str:
    """Draw the measurements against the arity, on a root scale, which spreads small values."""
    from boolrank import Experiment, load_dataset, run_experiment
    from boolrank.models import ModelSpec
    from boolrank.studies import spectral_curve

    data = load_dataset(DATASET)
    ratios = {
        name: dict(zip(ARITIES, spectral_curve(data, name, ARITIES).ratios, strict=True))
        for name in ("disjunctive", "conjunctive")
    }
    models = {a: ModelSpec("kernel-ranker", {"kernel": f"disjunctive({a})"}) for a in ARITIES}
    experiment = Experiment((DATASET,), tuple(models.values()), metrics=("auc",))
    found = run_experiment(experiment).evaluations
    auc = {arity: found[str(model)].means["auc"] for arity, model in models.items()}
    parts = [
        *_chart(8, "normalised spectral ratio", (0.0, 1.0), ratios),
        *_chart(250, "AUC", _rounded(auc.values()), {"disjunctive": auc}),
    ]
    return _svg(480, 236, f"Spectral ratio and AUC against the arity on {DATASET}", parts)


def _rounded(values: Iterable[float]) -> tuple[float, float]:
    """Return a range that ends on hundredths."""
    given = list(values)
    return int(min(given) * 100) / 100, int(max(given) * 100 + 1) / 100


def _chart(
    left: float, title: str, limits: tuple[float, float], lines: dict[str, dict[int, float]]
) -> list[str]:
    x0, x1, y0, y1 = left + 36, left + 216, 186.0, 40.0
    low, high = limits
    most = max(ARITIES)

    def across(arity: int) -> float:
        return x0 + (x1 - x0) * sqrt((arity - 1) / (most - 1))

    def up(value: float) -> float:
        return y0 + (y1 - y0) * (value - low) / (high - low)

    faint = 'stroke="currentColor" stroke-opacity="0.35"'
    parts = [_text(left, 18, title, 'font-weight="600"')]
    parts.append(f'<path d="M{x0} {y1} V{y0} H{x1}" fill="none" {faint}/>')
    for value in (low, (low + high) / 2, high):
        label = f"{value:.3f}".rstrip("0").rstrip(".") or "0"
        parts.append(_text(x0 - 6, up(value) + 4, label, 'text-anchor="end" font-size="12"'))
    for arity in (1, 10, 30, 60, 100):
        place = across(arity)
        parts.append(_text(place, y0 + 17, f"{arity}", 'text-anchor="middle" font-size="12"'))
    parts.append(_text((x0 + x1) / 2, y0 + 36, "arity", 'text-anchor="middle" font-size="12"'))
    for (name, values), colour in zip(lines.items(), (BLUE, ORANGE), strict=False):
        points = [
            f"{_number(across(arity))} {_number(up(value))}" for arity, value in values.items()
        ]
        parts.append(
            f'<path d="M{" L".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        for point in points:
            x, y = point.split()
            parts.append(f'<circle cx="{x}" cy="{y}" r="2.4" fill="{colour}"/>')
        if len(lines) > 1:
            _, y = points[-1].split()
            parts.append(
                _text(
                    x1,
                    float(y) - 8 if colour == BLUE else float(y) + 18,
                    name,
                    f'text-anchor="end" font-size="12" fill="{colour}"',
                )
            )
    return parts


DRAWN: dict[str, Callable[[], str]] = {
    "conjunctions": conjunctions,
    "disjunctions": disjunctions,
    "counts": counts,
    "four-sets": four_sets,
    "background": background,
    "curves": curves,
}


def main(names: Sequence[str] = tuple(DRAWN)) -> None:
    """Draw pictures into their folder."""
    PICTURES.mkdir(exist_ok=True)
    for name in names:
        (PICTURES / f"{name}.svg").write_text(DRAWN[name](), encoding="utf-8")


def photograph_demo(browser: str = "chromium") -> None:
    """Write demo.png: the first screen of the demonstration, by a headless browser."""
    with TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "boolrank", "demo", "--out", folder]
        subprocess.run(demo, check=True)  # noqa: S603 - ours
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--window-size=900,640", f"--screenshot={PICTURES / 'demo.png'}"]
        shot = [browser, *options, f"file://{folder}/report.html"]
        subprocess.run(shot, check=True)  # noqa: S603 - ours


if __name__ == "__main__":
    photograph_demo() if "demo" in sys.argv[1:] else main()
