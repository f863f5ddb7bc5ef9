"""Filters: conditions on an item table, such as ``category = 'books' and price < 20``.

    filter     = all {"or" all}
    all        = condition {"and" condition}
    condition  = "not" condition | "(" filter ")" | column test
    test       = comparison value | ["not"] "in" "(" value {"," value} ")" | ["not"] "has" text
               | "is" ["not"] "null" | nothing, for truth values
    comparison = "=" | "!=" | "<" | "<=" | ">" | ">="
    value      = number | 'text' | 'date' | "true" | "false"

A parser evaluates as it reads; nothing is ever executed. As in SQL, a comparison with something
unknown is neither true nor false, and items for which a filter is not true are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .item_columns import Column, Numbers, Words
from .items import ItemTable

_MAX_LENGTH, _MAX_DEPTH = 10_000, 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")+")|(?P<word>[^\W\d]\w*)
    |(?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,))""",
    re.VERBOSE,
)
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_EQUAL, _UNEQUAL = ("=", "=="), ("!=", "<>")
_KEYWORDS = ("and", "or", "not", "in", "has", "is", "null", "true", "false")
_EXAMPLE = "write it as \"category = 'books' and price < 20\""

_QUOTED = f"{_EXAMPLE}; names with other signs are in double quotes"

Mask = NDArray[np.bool_]


class Truth(NamedTuple):
    """Where a condition is true, and where it is false; elsewhere it is unknown."""

    true: Mask
    false: Mask

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)


class _Token(NamedTuple):
    kind: str  # number, text, column, keyword, sign, or end
    text: str
    start: int


def filter_items(table: ItemTable, where: str) -> Mask:
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
    return _Parser(table, where).parse().true


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
        if self.tokens[self.at].kind != "end":
            raise self.unexpected("'and', 'or' or the end")
        return found

    def any(self) -> Truth:
        found = self.all()
        while self.taken("keyword", "or"):
            other = self.all()
            found = Truth(found.true | other.true, found.false & other.false)
        return found

    def all(self) -> Truth:
        found = self.condition()
        while self.taken("keyword", "and"):
            other = self.condition()
            found = Truth(found.true & other.true, found.false | other.false)
        return found

    def condition(self) -> Truth:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.wrong(f"the filter is nested more than {_MAX_DEPTH} deep", "make it simpler")
        if self.taken("keyword", "not"):
            found = ~self.condition()
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
            positive = not self.taken("keyword", "not")
            self.need("keyword", "null")
            known = column.present
            return Truth(~known, known) if positive else Truth(known, ~known)
        sign = self.taken("sign", *_EQUAL, *_UNEQUAL, *_COMPARISONS)
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
        return ~found if negative else found

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
            other = self.compared(name, column, "=", self.value())
            found = Truth(found.true | other.true, found.false & other.false)
        self.need("sign", ")", expected="',' or ')'")
        return found

    def has(self, name: str, column: Column, value: float | str | bool) -> Truth:
        if column.type != "set" or not isinstance(column, Words):
            raise self.mismatch(name, column, f"use = or in, as in \"{name} in ('a', 'b')\"")
        if not isinstance(value, str):
            raise self.mismatch(name, column, "put the text in single quotes")
        word = bisect_left(column.words, value)
        there = np.zeros(len(self.table), bool)
        if column.words[word : word + 1] == [value]:
            places = np.flatnonzero(column.indices == word)
            there[np.searchsorted(column.indptr, places, side="right") - 1] = True
        return Truth(there, ~there)

    def compared(self, name: str, column: Column, sign: str, value: float | str | bool) -> Truth:
        if isinstance(column, Words):
            if column.type == "set":
                raise self.mismatch(name, column, f"use has, as in \"{name} has 'a'\"")
            if not isinstance(value, str):
                raise self.mismatch(name, column, "put the text in single quotes")
            known = column.present
            low, high = bisect_left(column.words, value), bisect_right(column.words, value)
            # Words ascend: texts below the value have numbers below low, equal ones below high.
            numbers, limit = column.indices, high if sign in ("<=", ">") else low
            if sign in _EQUAL or sign in _UNEQUAL:
                some = (numbers >= low) & (numbers < high)
            else:
                some = numbers < limit if sign in ("<", "<=") else numbers >= limit
            holds = np.zeros(len(known), bool)
            holds[known] = ~some if sign in _UNEQUAL else some
        else:
            number, known = self.number(name, column, value), column.present
            if sign in _EQUAL or sign in _UNEQUAL:
                holds = (column.values == number) == (sign in _EQUAL)
            else:
                holds = _COMPARISONS[sign](column.values, number)
        return Truth(holds & known, ~holds & known)

    def number(self, name: str, column: Numbers, value: float | str | bool) -> float:
        if column.type == "bool" and isinstance(value, bool):
            return float(value)
        if column.type == "number" and isinstance(value, float):
            return value
        if column.type == "date" and isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
            except ValueError:
                hint = "write it as '2026-01-31' or '2026-01-31 12:00'"
                raise self.wrong(f"{value!r} is not a date", hint) from None
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        form = {"bool": "true or false", "number": "a number, without quotes"}
        form["date"] = "a date, as in '2026-01-31'"
        raise self.mismatch(name, column, f"compare it with {form[column.type]}")

    def mismatch(self, name: str, column: Column, hint: str) -> InputError:
        kinds = {"bool": "truth values", "set": "sets of text", "text": "text"}
        return self.wrong(f"{name!r} has {kinds.get(column.type, f'{column.type}s')}", hint)
