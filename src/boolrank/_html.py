"""Tables for notebooks: one form for all, small, and with everything escaped.

Colours are those of the notebook, light or dark; only the rules between the rows are grey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

__all__ = ["MOST_ROWS", "html_table"]

# More rows, or more characters in a cell, are for a frame and not for a glance.
MOST_ROWS = 30
_LONGEST = 300

_RULE = "border:0;border-bottom:1px solid rgba(128,128,128,.4);padding:.2em .8em"
_ALIGN = {True: "right", False: "left"}


def html_table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    note: str = "",
) -> str:
    """An HTML table of at most `MOST_ROWS` rows; without heads, the first column is the head.

    >>> html_table("Tea", ["<b>", "n"], [["x", 1234]]).count("&lt;b&gt;")
    1
    """
    body = [list(row) for row in islice(rows, MOST_ROWS)]
    numeric = [all(_is_number(row[k]) for row in body) for k in range(len(body[0]) if body else 0)]
    lines = [f'<caption style="text-align:left;font-weight:bold">{_text(caption)}</caption>']
    if heads:
        cells = (
            f'<th scope="col" style="{_RULE};text-align:{_ALIGN[number]}">{_text(head)}</th>'
            for head, number in zip(heads, numeric or [False] * len(heads), strict=True)
        )
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    lines.append("<tbody>")
    lines += [f"<tr>{''.join(_cells(row, numeric, bool(heads)))}</tr>" for row in body]
    lines.append("</tbody>")
    below = f'<div style="opacity:.75">{_text(note)}</div>' if note else ""
    style = "border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums"
    return f'<div><table style="{style}">{"".join(lines)}</table>{below}</div>'


def _cells(row: Sequence[object], numeric: Sequence[bool], headed: bool) -> Iterable[str]:
    for k, (value, number) in enumerate(zip(row, numeric, strict=True)):
        align = f"{_RULE};text-align:{_ALIGN[number]}"
        tag = 'th scope="row"' if k == 0 and not headed else "td"
        yield f'<{tag} style="{align}">{_text(value)}</{tag[:2]}>'


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(value: object) -> str:
    """A value as people read it, escaped.

    >>> [_text(value) for value in (None, 12345, 0.25, 43.5, 1e-9, True, "<a>")]
    ['–', '12,345', '0.2500', '43.5', '1e-09', 'True', '&lt;a&gt;']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        digits = 4 if abs(value) < 10 else 1
        return f"{value:,.{digits}f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.3g}"
    text = str(value)
    return escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …")
