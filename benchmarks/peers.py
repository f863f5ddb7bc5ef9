"""Speed and memory of boolrank and other libraries, in one run, as ratios.

    python benchmarks/peers.py [--sets filmtrust,ciaodvd] [--contestants disjunctive,als]

Fit, and the 20 best unseen items of every user; `measuring.py` describes the measurement. Figures
go to ``bench/peers.json`` and a table to ``bench/peers.md``, which ``python benchmarks/results.py``
copies into docs/results.md. Real sets come from BOOLRANK_DATA; missing ones are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from statistics import median

from contestants import CONTESTANTS, TOP
from measuring import LONG, OUT, SETS, THREADS, Found, race

from boolrank.errors import DatasetNotFoundError
from boolrank.studies.run import machine

FIRST = "disjunctive"
ROUNDS = 3
PEERS = ("implicit", "irspack", "cvxopt")


def measure(sets: list[str], contestants: list[str]) -> Found:
    """Return the figures of all contestants on all sets, and the machine."""
    about = machine()
    found: Found = {
        "command": " ".join(["python benchmarks/peers.py", *sys.argv[1:]]),
        "machine": about["machine"],
        "versions": about["versions"] | {name: version(name) for name in PEERS},
        "sets": {},
    }
    for title in sets:
        try:
            found["sets"][title] = race(title, contestants, ROUNDS)
        except DatasetNotFoundError as error:
            print(f"\n{title}: left out, {error}")
    return found


def markdown(found: Found) -> str:
    """Return the table with a caption and notes."""
    sets = found["sets"]
    who = list(next(iter(sets.values()))["contestants"])
    notes: list[str] = []
    rows = [
        ["", *(SETS[title].title for title in sets), "first use"],
        ["---"] + ["---:"] * (len(sets) + 1),
        [
            "users × items × interactions",
            *(" × ".join(f"{n:,}" for n in each["size"]) for each in sets.values()),
            "",
        ],
        ["kernel", *(f"`{each['kernel']}`" for each in sets.values()), ""],
    ]
    for name in who:
        taken = [each["contestants"][name] for each in sets.values()]
        first = [each["contestants"][FIRST] for each in sets.values()]
        cells = [_cell(a, b, notes) for a, b in zip(taken, first, strict=True)]
        rows.append([CONTESTANTS[name].title, *cells, _first_use(taken)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    left_out = "".join(f"{place}. {note}\n" for place, note in enumerate(notes, 1))
    return f"{_caption(found)}\n\n{table}\n" + (f"\nLeft out:\n\n{left_out}" if notes else "")


def _caption(found: Found) -> str:
    on, versions = found["machine"], found["versions"]
    with_ = ", ".join(f"{name} {versions[name]}" for name in ("numpy", *PEERS))
    return (
        f"`{found['command']}` (part of `make bench`; `BOOLRANK_DATA` names the folder of data "
        f"sets): fit, and the {TOP} best unseen items of every user. {THREADS} threads each, every "
        f"program in its own process, in turns, median of {ROUNDS} if under {LONG:.0f} s. A cell "
        "has the time as a **multiple of the disjunctive ranker's** on the same set, the seconds, "
        "and the peak memory above that of the process with the data loaded. First use: what "
        "loading and compiling with an empty compile cache add, once per machine. "
        f"{on['processor']}, {on['cores']} cores, Python {versions['python']}, {with_}."
    )


def _cell(row: Found, first: Found, notes: list[str]) -> str:
    if "left out" in row:
        if row["left out"] not in notes:
            notes.append(row["left out"])
        return f"– ({notes.index(row['left out']) + 1})"
    figures = f"{_figure(row['seconds'])} s, {_memory(row['memory'])}"
    if "left out" in first:
        return figures
    return f"**{_figure(row['seconds'] / first['seconds'])}×** {figures}"


def _figure(value: float) -> str:
    """Return a number with two significant digits."""
    return (
        f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"
    )


def _memory(megabytes: float) -> str:
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 995 else f"{max(megabytes, 0):.0f} MB"


def _first_use(taken: list[Found]) -> str:
    seconds = [row["first use"] for row in taken if "left out" not in row]
    return f"{_figure(max(median(seconds), 0.0))} s" if seconds else ""


def _chosen(text: str, known: dict[str, object], what: str) -> list[str]:
    names = text.split(",") if text else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"there is no {what} {unknown[0]!r}; there are {', '.join(known)}")
    return names


def main() -> None:
    """Measure, print, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", default="", help=f"some of {','.join(SETS)}")
    parser.add_argument("--contestants", default="", help=f"some of {','.join(CONTESTANTS)}")
    arguments = parser.parse_args()
    sets = _chosen(arguments.sets, SETS, "set")
    who = _chosen(arguments.contestants, CONTESTANTS, "contestant")
    found = measure(sets, [FIRST, *(name for name in who if name != FIRST)])
    OUT.mkdir(exist_ok=True)
    (OUT / "peers.json").write_text(json.dumps(found, indent=2) + "\n")
    if found["sets"]:
        (OUT / "peers.md").write_text(markdown(found), encoding="utf-8")
        print(f"\nwritten to {OUT / 'peers.json'} and {OUT / 'peers.md'}")


if __name__ == "__main__":
    main()
