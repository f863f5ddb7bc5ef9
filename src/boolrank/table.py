"""Tables: values with headings, written for notebooks, terminals, pages and files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

# Text that begins like this is a formula to spreadsheets.
FORMULA = r"\A([=+\-@\t\r])"
MAX_HTML_ROWS = 30
_MAX_HTML_CELL = 300  # characters
_LATEX_NAME = 20  # characters of a column that does not break
_LATEX_LINE = 80  # characters of \\footnotesize in the width of LaTeX's default page

_RULE = "border:0;border-bottom:1px solid rgba(128,128,128,.4);padding:.2em .8em"
_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "–": "--", "\u00a0": "~", "(": r"\allowbreak("}
)


def plain_score(score: float) -> float:
    """Return a score, and 0 for one that only orders items which nothing reaches."""
    return 0.0 if abs(score) < 1e-280 else score


def counted(number: int, thing: str, verb: str = "") -> str:
    """Return a number with its noun and, if given, the verb "have" or "are".

    >>> counted(1, "fold"), counted(5000, "user"), counted(1, "row", "have")
    ('1 fold', '5,000 users', '1 row has')
    """
    one = {"have": "has", "are": "is"}.get(verb, "")
    return (f"1 {thing} {one}" if number == 1 else f"{number:,} {thing}s {verb}").rstrip()


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str  # key in records and CSV
    format: str = ""  # such as ".4f"; "" chooses one by value, "s" leaves values as they are
    heading: str = ""  # shown instead of the name
    shown: bool = True  # False for a column for programs only
    under: str | None = None  # the column whose cells show these values in small print
    template: str = "{}"  # of the small print, such as "± {}"
    marks: str | None = None  # the column whose cells are highlighted where this is True
    # Where a terminal may break cells; "middle" cuts there instead.
    wrap: Literal["words", "fold", "middle", "never"] = "words"
    style: str = ""  # the name of a terminal's style

    @property
    def title(self) -> str:
        return self.heading or self.name

    @property
    def is_own(self) -> bool:
        """Whether the column is shown as a column of its own."""
        return self.shown and self.under is None and self.marks is None

    def text(self, value: Any) -> str:
        """Format a value for people.

        >>> [Column("x").text(value) for value in (None, 12345, 0.25, 43.5, 1e-9, True)]
        ['–', '12,345', '0.2500', '43.5', '1e-09', 'True']
        >>> Column("x", "+.2f").text(-0.001), Column("x", "s").text(1234)
        ('0.00', '1234')
        """
        if _is_missing(value):
            return "–"
        if not _is_number(value) or self.format == "s":
            return str(value)
        text = format(value, self.format or _format(value))
        return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


class Cell(NamedTuple):
    """A cell for people: text, value, small print, and whether it is highlighted."""

    text: str
    value: Any
    small: str
    marked: bool

    def __str__(self) -> str:
        return f"{self.text} ({self.small})" if self.small else self.text

    def plain(self) -> str:
        """Return the text with a deviation and a mark, and without other small print."""
        spread = f" {self.small}" if self.small.startswith("±") else ""
        return f"{self.text}{spread}{'*' if self.marked else ''}"


@dataclass(frozen=True)
class Table:
    """Rows of plain values; None and NaN are missing values.

    >>> table = Table.of("Food", {"name": "", "share": ".2f"}, [("tea", 0.625), ("jam", None)])
    >>> table.records()
    [{'name': 'tea', 'share': 0.625}, {'name': 'jam', 'share': None}]
    >>> print(table.to_csv(), end="")
    name,share
    tea,0.625
    jam,
    >>> print(table.to_markdown())
    Food
    <BLANKLINE>
    | name | share |
    | ---- | ----: |
    | tea  |  0.62 |
    | jam  |     – |
    <BLANKLINE>
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    name: str = ""  # of its files
    note: str = ""  # below the table
    strong: frozenset[int] = frozenset()  # numbers of the rows to emphasise

    @classmethod
    def of(
        cls,
        title: str,
        columns: Mapping[str, str] | Iterable[str],
        rows: Iterable[Sequence[Any]],
        **options: Any,
    ) -> Table:
        """Return a table of plain columns, given by name or by name and format."""
        formats = columns if isinstance(columns, Mapping) else {}
        chosen = [Column(name, formats.get(name, "")) for name in columns]
        return cls(title, chosen, list(rows), **options)

    @property
    def shown(self) -> list[Column]:
        """Columns that are shown as columns of their own."""
        return [column for column in self.columns if column.is_own]

    @property
    def numeric(self) -> list[bool]:
        """For each shown column whether it holds numbers, which are aligned to the right."""
        found = []
        for k, column in enumerate(self.columns):
            values = [row[k] for row in self.rows if not column.format]
            numbers = bool(values) and all(v is None or _is_number(v) for v in values)
            found += [column.format not in ("", "s") or numbers] if column.is_own else []
        return found

    def cells(self, row: Sequence[Any]) -> list[Cell]:
        """Return the shown cells of a row."""
        pairs = list(zip(self.columns, row, strict=True))
        cells = []
        for column, value in pairs:
            if column.is_own:
                below = [(c, v) for c, v in pairs if c.under == column.name and not _is_missing(v)]
                small = "".join(c.template.format(c.text(v)) for c, v in below)
                marked = any(c.marks == column.name and v is True for c, v in pairs)
                cells.append(Cell(column.text(value), value, small, marked))
        return cells

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, missing values as None."""
        names = [column.name for column in self.columns]
        rows = ([None if _is_missing(value) else value for value in row] for row in self.rows)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def without(self, names: Iterable[str]) -> Table:
        """Return the other columns."""
        left_out = set(names)
        at = [k for k, column in enumerate(self.columns) if column.name not in left_out]
        rows = [[row[k] for k in at] for row in self.rows]
        return replace(self, columns=[self.columns[k] for k in at], rows=rows)

    def where(self, values: Mapping[str, Any]) -> Table:
        """Return the rows that have these values, without the columns of the values.

        >>> Table.of("t", ["set", "n"], [("x", 1), ("y", 2)]).where({"set": "y"}).rows
        [[2]]
        """
        pairs = zip(self.records(), self.rows, strict=True)
        rows = [row for record, row in pairs if values.items() <= record.items()]
        return replace(self, rows=rows, strong=frozenset()).without(values)

    def mapped(self, name: str, function: Callable[[Any], Any]) -> Table:
        """Return the table with other values in a column."""
        at = [column.name for column in self.columns].index(name)
        return replace(
            self, rows=[[*row[:at], function(row[at]), *row[at + 1 :]] for row in self.rows]
        )

    def to_csv(self, *, safe: bool = False) -> str:
        """Return all columns with all digits; nested and logical values are written as JSON.

        If ``safe``, text that a spreadsheet would compute has ' before it.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        for row in self.rows:
            cells = map(_flat, row)
            inert = (re.sub(FORMULA, r"'\1", c) if isinstance(c, str) else c for c in cells)
            writer.writerow(inert if safe else cells)
        return out.getvalue()

    def to_markdown(self) -> str:
        """Return a Markdown table of the shown columns, aligned to be read as plain text."""
        heads, *rows = [[cell.replace("|", r"\|") for cell in row] for row in self._grid()]
        widths = [max(3, *map(len, column)) for column in zip(heads, *rows, strict=True)]
        places = list(zip(widths, self.numeric, strict=True))
        rule = ["-" * (width - 1) + (":" if number else "-") for width, number in places]
        lines = []
        for row in (heads, rule, *rows):
            cells = zip(row, places, strict=True)
            padded = (text.rjust(w) if number else text.ljust(w) for text, (w, number) in cells)
            lines.append(f"| {' | '.join(padded)} |")
        return "\n".join([self.title, "", *lines, *(["", self.note] if self.note else []), ""])

    def to_latex(self) -> str:
        """Return a LaTeX table of the shown columns in small type; it needs no package.

        Long names break into lines. Of the small print it has deviations alone; * marks what is
        highlighted elsewhere.
        """
        rows = [[cell.plain() for cell in self.cells(row)] for row in self.rows]
        grid = [[column.title for column in self.shown], *rows]
        widest = [max(map(len, column)) for column in zip(*grid, strict=True)]
        places = "".join(
            "r" if number else "l" if wide <= _LATEX_NAME else r"p{0.25\linewidth}"
            for number, wide in zip(self.numeric, widest, strict=True)
        )
        heads, *lines = (" & ".join(c.translate(_LATEX) for c in row) + r" \\" for row in grid)
        letters = sum(min(wide, _LATEX_NAME) for wide in widest) + 1.5 * len(widest)
        table = [
            rf"\begin{{table}}\centering\caption{{{self.title.translate(_LATEX)}}}",
            rf"\{'footnotesize' if letters < _LATEX_LINE else 'scriptsize'}",
            rf"\setlength{{\tabcolsep}}{{3pt}}\begin{{tabular}}{{{places}}}\hline",
            heads + r"\hline",
            *lines,
            r"\hline\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(table) + "\n"

    def to_html(self) -> str:
        """Return a table for notebooks: `MAX_HTML_ROWS` rows at most, everything escaped.

        Colours are those of the notebook. A table whose columns have no titles has no head.
        """
        heads, *rows = self._grid(MAX_HTML_ROWS)
        aligns = ["right" if number else "left" for number in self.numeric]
        lines = []
        for row in [heads, *rows] if any(heads) else rows:
            tags = ["th" if row is heads or k == 0 else "td" for k in range(len(row))]
            cells = (
                f'<{tag} style="{_RULE};text-align:{align}">{_html(text)}</{tag}>'
                for tag, align, text in zip(tags, aligns, row, strict=True)
            )
            lines.append(f"<tr>{''.join(cells)}</tr>")
        style = "border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums"
        caption = f'<caption style="text-align:left;font-weight:bold">{_html(self.title)}</caption>'
        note = f'<div style="opacity:.75">{_html(self.note)}</div>' if self.note else ""
        return f'<div><table style="{style}">{caption}{"".join(lines)}</table>{note}</div>'

    def _grid(self, limit: int | None = None) -> list[list[str]]:
        """Return the titles and the cells of the shown columns, as text."""
        rows = [list(map(str, self.cells(row))) for row in self.rows[:limit]]
        return [[column.title for column in self.shown], *rows]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _format(value: Any) -> str:
    if isinstance(value, Integral):
        return ","
    if value != 0 and abs(value) < 1e-3:
        return ".3g"
    return ",.4f" if abs(value) < 10 else ",.1f"


def _flat(value: Any) -> Any:
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return None if _is_missing(value) else value


def _html(text: str) -> str:
    return escape(text if len(text) <= _MAX_HTML_CELL else f"{text[:_MAX_HTML_CELL]} …")
