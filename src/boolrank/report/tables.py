"""Tables, written as CSV for programs, as Markdown for pages and as LaTeX for papers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FORMS", "Table", "missing"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": r"$-$",
}


@dataclass(frozen=True)
class Table:
    """Columns by name, and rows of values; numbers have the same form in all rows of a column.

    Attributes
    ----------
    name : of its files
    caption : one sentence
    columns : by name, how numbers are written for people, such as ``".4f"``; "" for text
    rows : values, None or NaN where there is none
    """

    name: str
    caption: str
    columns: dict[str, str]
    rows: list[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """The rows, by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def where(self, values: Mapping[str, Any]) -> Table:
        """The rows that have these values, without their columns.

        >>> table = Table("t", "A table.", {"a": "", "b": "d"}, [("x", 1), ("y", 2)])
        >>> table.where({"a": "y"}).rows
        [(2,)]
        """
        kept = [
            record
            for record in self.records()
            if all(record[column] == value for column, value in values.items())
        ]
        columns = {column: form for column, form in self.columns.items() if column not in values}
        rows = [tuple(record[column] for column in columns) for record in kept]
        return Table(self.name, self.caption, columns, rows)

    def text(self, column: str, value: Any) -> str:
        """A value of a column as people read it; "" where there is none."""
        if missing(value):
            return ""
        return format(value, self.columns[column] if isinstance(value, int | float) else "")

    def to_csv(self) -> str:
        """All digits, for programs.

        >>> table = Table("t", "A table.", {"a": "", "b": ".2f"}, [("x", 0.125), ("y", None)])
        >>> table.to_csv().splitlines()
        ['a,b', 'x,0.125', 'y,']
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([None if missing(value) else value for value in row] for row in self.rows)
        return out.getvalue()

    def to_markdown(self) -> str:
        r"""For pages.

        >>> table = Table("t", "A table.", {"a": "", "b": ".2f"}, [("x|y", 0.125)])
        >>> print(table.to_markdown())
        A table.
        <BLANKLINE>
        | a | b |
        |---|--:|
        | x\|y | 0.12 |
        <BLANKLINE>
        """
        names = [name.replace("|", "\\|") for name in self.columns]
        rule = ["--:" if form else "---" for form in self.columns.values()]
        lines = [f"| {' | '.join(names)} |", f"|{'|'.join(rule)}|"]
        for row in self._texts():
            cells = [cell.replace("|", "\\|") for cell in row]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([self.caption, "", *lines, ""])

    def to_latex(self) -> str:
        r"""For papers; needs no package.

        >>> print(Table("t", "A table.", {"a_b": "", "c": ".2f"}, [("x & y", 0.5)]).to_latex())
        \begin{table}
        \centering
        \caption{A table.}
        \begin{tabular}{lr}
        \hline
        a\_b & c \\
        \hline
        x \& y & 0.50 \\
        \hline
        \end{tabular}
        \end{table}
        <BLANKLINE>
        """
        places = "".join("r" if form else "l" for form in self.columns.values())

        def line(cells: Any) -> str:
            return " & ".join(_latex(cell) for cell in cells) + r" \\"

        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(self.caption)}}}",
            rf"\begin{{tabular}}{{{places}}}",
            r"\hline",
            line(self.columns),
            r"\hline",
            *(line(row) for row in self._texts()),
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _texts(self) -> list[list[str]]:
        return [
            [self.text(column, value) for column, value in record.items()]
            for record in self.records()
        ]


# How a table is written, by how the file's name ends.
FORMS: dict[str, Callable[[Table], str]] = {
    ".csv": Table.to_csv,
    ".md": Table.to_markdown,
    ".tex": Table.to_latex,
}


def missing(value: Any) -> bool:
    """Whether there is no value: None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
