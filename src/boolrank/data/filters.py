"""Filters: conditions on an item table, such as ``category = 'books' and price < 20``.

    filter     = all {"or" all}
    all        = condition {"and" condition}
    condition  = "not" condition | "(" filter ")" | column test
    test       = comparison value | ["not"] "in" "(" value {"," value} ")" | ["not"] "has" text
               | "is" ["not"] "null" | nothing, for truth values
    comparison = "=" | "!=" | "<" | "<=" | ">" | ">="
    value      = number | 'text' | 'date' | "true" | "false"

A parser evaluates as it reads; nothing is ever executed. As in SQL, a comparison with something
unknown is neither true nor false, and items for which a filter is not true are left out. Truth is
1, 0 (unknown) or -1: "and" is the minimum, "or" the maximum, and "not" the negative.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .conditions import COMPARISONS, parse_date
from .item_columns import Column, Words
from .items import ItemTable

_MAX_LENGTH, _MAX_DEPTH = 10_000, 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")+")|(?P<word>[^\W\d]\w*)
    |(?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,))""",
    re.VERBOSE,
)
# By type of column: a word for its values, the type to compare them with, and a hint.
_TYPES: dict[str, tuple[str, type, str]] = {
    "bool": ("truth values", bool, "compare it with true or false"),
    "number": ("numbers", float, "compare it with a number, without quotes"),
    "date": ("dates", str, "compare it with a date, as in '2026-01-31'"),
    "text": ("text", str, "put the text in single quotes"),
    "set": ("sets of text", str, "put the text in single quotes"),
}
_KEYWORDS = ("and", "or", "not", "in", "has", "is", "null", "true", "false")
_EXAMPLE = "write it as \"category = 'books' and price < 20\""
_QUOTED = f"{_EXAMPLE}; names with other signs are in double quotes"

Truth = NDArray[np.int64]


class _Token(NamedTuple):
    kind: str  # number, text, column, keyword, sign, or end
    text: str
    start: int


def filter_items(table: ItemTable, where: str) -> NDArray[np.bool_]:
    """(items,) Return where a filter is true.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": list("abc"), "price": [5, 30, None], "tags": ["x|y", "y", "z"]})
    >>> table = ItemTable.from_frame(frame)
    >>> filter_items(table, "price < 20"), filter_items(table, "tags has 'y' and not price < 20")
    (array([ True, False, False]), array([False,  True, False]))
    """
    if not isinstance(where, str):
        raise InputError(
            f"a filter is text, not {type(where).__name__}", hint=_EXAMPLE, parameter="where"
        )
    return np.asarray(_Parser(table, where).parse() > 0)


class _Parser:
    """Read a filter from left to right, and evaluate it on the way."""

    def __init__(self, table: ItemTable, text: str) -> None:
        self.table, self.text = table, text
        if len(text) > _MAX_LENGTH:
            raise self.wrong(f"the filter has {len(text):,} characters, more than {_MAX_LENGTH:,}")
        self.tokens, self.at, self.depth = self.split(), 0, 0

    def wrong(self, problem: str, hint: str = _EXAMPLE) -> InputError:
        return InputError(problem, hint=hint, parameter="where")

    def unexpected(self, expected: str) -> InputError:
        token = self.tokens[self.at]
        found = "the end" if token.kind == "end" else f"{self.text[token.start :][:20]!r}"
        return self.wrong(f"the filter {self.text[:60]!r} has {found} where {expected} is expected")

    def split(self) -> list[_Token]:
        tokens, at, text = [], 0, self.text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                rest = text[at:].lstrip()
                hint = "close the quotation mark" if rest[0] in "'\"" else _QUOTED
                raise self.wrong(f"the filter has {rest[:20]!r}, which is not a part of one", hint)
            kind, found = str(match.lastgroup), match[str(match.lastgroup)]
            if kind == "word":
                kind = "keyword" if found.lower() in _KEYWORDS else "column"
                found = found.lower() if kind == "keyword" else found
            elif kind in ("text", "quoted"):
                mark, kind = found[0], "text" if kind == "text" else "column"
                found = found[1:-1].replace(2 * mark, mark)
            tokens.append(_Token(kind, found, match.start(match.lastgroup or 0)))
            at = match.end()
        return [*tokens, _Token("end", "", len(text))]

    def taken(self, kind: str, *texts: str) -> str | None:
        """Return the next token and step over it if it is one of these; None if it is not."""
        token = self.tokens[self.at]
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self.at += 1
        return token.text

    def need(self, kind: str, *texts: str, expected: str = "") -> str:
        found = self.taken(kind, *texts)
        if found is None:
            raise self.unexpected(expected or " or ".join(map(repr, texts)))
        return found

    def parse(self) -> Truth:
        found = self.any()
        self.need("end", expected="'and', 'or' or the end")
        return found

    def any(self) -> Truth:
        found = self.all()
        while self.taken("keyword", "or"):
            found = np.maximum(found, self.all())
        return found

    def all(self) -> Truth:
        found = self.condition()
        while self.taken("keyword", "and"):
            found = np.minimum(found, self.condition())
        return found

    def condition(self) -> Truth:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.wrong(f"the filter is nested more than {_MAX_DEPTH} deep", "make it simpler")
        if self.taken("keyword", "not"):
            found = -self.condition()
        elif self.taken("sign", "("):
            found = self.any()
            self.need("sign", ")")
        else:
            name = self.need("column", expected="a column, 'not' or '('")
            found = self.test(name, self.table.column(name, "where"))
        self.depth -= 1
        return found

    def test(self, name: str, column: Column) -> Truth:
        if self.taken("keyword", "is"):
            negative = self.taken("keyword", "not")
            self.need("keyword", "null")
            return np.where(column.present, 1, -1) if negative else np.where(column.present, -1, 1)
        sign = self.taken("sign", *COMPARISONS)
        if sign is not None:
            return self.compared(name, column, sign, self.value())
        negative = self.taken("keyword", "not")
        if self.taken("keyword", "in"):
            found = self.among(name, column)
        elif self.taken("keyword", "has"):
            found = self.has(name, column, self.value())
        elif not negative and column.type == "bool":
            found = self.compared(name, column, "=", True)
        else:
            raise self.unexpected("a comparison, 'in', 'has' or 'is'")
        return -found if negative else found

    def value(self) -> float | str | bool:
        number, text = self.taken("number"), self.taken("text")
        if number is not None:
            return float(number)
        if text is not None:
            return text
        return self.need("keyword", "true", "false", expected="a number or a 'text'") == "true"

    def among(self, name: str, column: Column) -> Truth:
        self.need("sign", "(")
        found = self.compared(name, column, "=", self.value())
        while self.taken("sign", ","):
            found = np.maximum(found, self.compared(name, column, "=", self.value()))
        self.need("sign", ")", expected="',' or ')'")
        return found

    def has(self, name: str, column: Column, value: float | str | bool) -> Truth:
        if column.type != "set":
            raise self.mismatch(name, column, f"use = or in, as in \"{name} in ('a', 'b')\"")
        found = np.full(len(self.table), -1)
        found[column.rows.numbers[column.rows.indices == self.operand(name, column, value)]] = 1
        return found

    def compared(self, name: str, column: Column, sign: str, value: float | str | bool) -> Truth:
        if column.type == "set":
            raise self.mismatch(name, column, f"use has, as in \"{name} has 'a'\"")
        holds = COMPARISONS[sign](column.values, self.operand(name, column, value))
        return np.where(holds, 1, -1) * column.present

    def operand(self, name: str, column: Column, given: float | str | bool) -> float:
        """Return the number that stands for a value in a column."""
        _, kind, hint = _TYPES[column.type]
        value: Any = given
        if not isinstance(given, kind):
            raise self.mismatch(name, column, hint)
        if isinstance(column, Words):  # words ascend: others are between two numbers
            at = bisect_left(column.words, value)
            return float(at) if column.words[at : at + 1] == [value] else at - 0.5
        if column.type != "date":
            return float(value)
        try:
            return parse_date(value).timestamp()
        except (ValueError, OverflowError):
            hint = "write it as '2026-01-31' or '2026-01-31 12:00'"
            raise self.wrong(f"{value!r} is not a date", hint) from None

    def mismatch(self, name: str, column: Column, hint: str) -> InputError:
        return self.wrong(f"{name!r} has {_TYPES[column.type][0]}", hint)
