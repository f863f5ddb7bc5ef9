"""Vocabularies: conversion between ids and row numbers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from itertools import chain, repeat
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterTypeError, UnknownIdError
from ..table import counted

# Number of neighbouring ids to search for one similar to an unknown id, 10 µs each.
_NEAR = 20_000
# Most ids of a request, and most ids of a vocabulary, for which a dictionary pays.
_FEW, _MANY = 10_000, 1_000_000
# Ids of a list to recommend.
_LIST = 256
# Types with a total order, so that sorting does not depend on the order of the input.
_ORDERED = {int, float, str, bytes, bool, UUID, date, datetime, time, timedelta, Decimal}


class Vocabulary:
    """Distinct ids in order, each with its row number. Immutable.

    Ids are in their own order, whatever the order of the events. Ids of several types, or of a
    type without a total order, are ordered by type and text. ``ids`` is an array of int64, or of
    objects.

    >>> names, numbers = Vocabulary.of(["b", "a", "b"])
    >>> list(names), numbers.tolist(), names.number("b")
    (['a', 'b'], [1, 0, 1], 1)
    """

    def __init__(self, ids: NDArray[Any], kind: str = "id") -> None:
        self.ids, self.kind = ids, kind

    @staticmethod
    def of(
        values: Iterable[Hashable] | NDArray[Any], kind: str = "id"
    ) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Return the vocabulary of a sequence of ids, and the row number of each."""
        if not isinstance(values, str):  # its letters are ids
            check_list(f"{kind}s", values)
        array = _as_ids(values)
        ids, numbers = _encode_whole(array) if array.dtype.kind == "i" else _encode(array, kind)
        return Vocabulary(ids, kind), numbers

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist())

    def __getitem__(self, number: int) -> Any:
        return self.ids.item(number)

    def __contains__(self, key: Hashable) -> bool:
        return bool(self.find([key])[0] >= 0)

    def __repr__(self) -> str:
        some = [f", {self[i]!r}" for i in range(min(3, len(self)))]
        more = ", ..." if some else ""
        return f"Vocabulary: {counted(len(self), self.kind)}{''.join(some)}{more}"

    def number(self, key: Hashable) -> int:
        """Return the row number of an id, or raise with a similar one as hint.

        >>> Vocabulary.of(["tea", "coffee"], "item")[0].number("te")
        Traceback (most recent call last):
        boolrank.errors.UnknownIdError: there is no item 'te'; did you mean 'tea'?
        """
        return int(self.numbers([key])[0])

    def numbers(self, keys: Iterable[Hashable] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the row numbers of several ids, or raise for the first unknown one."""
        wanted = keys if isinstance(keys, list) else self._wanted(keys)
        found = self.find(wanted)
        if (found < 0).any():
            key = self._wanted(wanted).item(int(np.argmin(found)))
            raise UnknownIdError(f"there is no {self.kind} {key!r}", hint=self._hint(key))
        return found

    def find(self, keys: Iterable[Hashable] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the row numbers of several ids, -1 for unknown ones.

        >>> Vocabulary.of([7, 9])[0].find([9, 8])
        array([ 1, -1])
        """
        whole, types = self.ids.dtype.kind == "i", self._few_types(keys)
        if not types:
            wanted = self._wanted(keys)
            if len(self) and whole and wanted.dtype.kind == "i":
                at = np.minimum(np.searchsorted(self.ids, wanted), len(self) - 1)
                return np.where(self.ids[at] == wanted, at, -1)
            keys = wanted.tolist()
            types = set(map(type, keys))
        try:
            found = np.array(list(map(self._index.get, keys, repeat(-1))), np.int64)
        except TypeError as error:
            raise _unhashable(error) from None
        if whole and types != {int}:  # 3.0 and True are not the whole numbers that they equal
            found[[type(key) is not int for key in keys]] = -1
        return found

    def names(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of row numbers of any shape, None for negative numbers."""
        if numbers.size <= _LIST:  # without numpy's indexing, which hands over the GIL
            few = np.empty(numbers.size, object)
            few[:] = [None if k < 0 else self.ids.item(k) for k in numbers.ravel().tolist()]
            return few.reshape(numbers.shape)
        names = self.ids[np.maximum(numbers, 0)].astype(object)
        names[numbers < 0] = None
        return np.asarray(names)

    def chosen(self, mask: NDArray[np.bool_]) -> Vocabulary:
        """Return the ids where a mask is True."""
        return Vocabulary(self.ids[mask], self.kind)

    def merged(self, *others: Vocabulary) -> tuple[Vocabulary, list[NDArray[np.int64]]]:
        """Return a vocabulary of all ids, and the new numbers of the ids of each."""
        found = [self.find(other) for other in others]
        if len(self) and all((numbers >= 0).all() for numbers in found):
            return self, [np.arange(len(self)), *found]
        types = {type(key) for key in self}
        strange = [key for other in others for key in other if type(key) not in types]
        if len(self) and strange:
            raise InputError(
                f"{self._of_type()}, and {strange[0]!r} is of type {type(strange[0]).__name__}",
                hint="give ids of the same type",
            )
        every, numbers = Vocabulary.of(list(chain(self, *others)), self.kind)
        ends = np.cumsum([len(each) for each in (self, *others)])
        return every, np.split(numbers, ends[:-1])

    def parsed(self, text: str) -> Any:
        """Return the id that a text stands for, of the type of the ids here if possible.

        >>> Vocabulary.of([7, 12])[0].parsed("12"), Vocabulary.of(["7", "12"])[0].parsed("12")
        (12, '12')
        """
        kind = type(self[0]) if len(self) else str
        with suppress(ValueError):
            # int accepts 1_0, too. In files, 007 is not a whole number.
            if kind is int and re.fullmatch("0|-?[1-9][0-9]*", text):
                return int(text)
            if kind is UUID or (kind is float and re.match(r"-?\d[^_]*$", text)):
                return kind(text)
        return text

    def typed_as(self, other: Vocabulary) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Return the ids in the type of other ids, if they stay distinct, and the number of each.

        >>> Vocabulary.of([2, 10])[0].typed_as(Vocabulary.of(["2", "ten"])[0])
        (Vocabulary: 2 ids, '10', '2', ..., array([1, 0]))
        """
        made, numbers = self, np.arange(len(self))
        if {type(key) for key in self} != {type(key) for key in other}:
            made, numbers = Vocabulary.of([other.parsed(str(key)) for key in self], self.kind)
        return (made, numbers) if len(made) == len(self) else (self, np.arange(len(self)))

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {key: number for number, key in enumerate(self)}

    def _few_types(self, keys: Iterable[Hashable] | NDArray[Any]) -> set[type]:
        """Return the types of ids that are worth looking up one by one, none for others.

        This keeps the GIL, which numpy hands over.
        """
        few = isinstance(keys, list) and len(keys) <= _FEW and len(self) <= _MANY
        types = set(map(type, keys)) if few else set()
        return set() if any(issubclass(each, np.generic) for each in types) else types

    def _wanted(self, keys: Iterable[Hashable] | NDArray[Any]) -> NDArray[Any]:
        check_list(f"{self.kind}s", keys)
        return _as_ids(keys.ids if isinstance(keys, Vocabulary) else keys)

    def _of_type(self) -> str:
        return f"{self.kind}s here are of type {type(self[0]).__name__}, such as {self[0]!r}"

    def _hint(self, key: Hashable) -> str:
        """Return a similar id, or what ids look like."""
        if not len(self):
            return f"there are no {self.kind}s at all"
        near = self.similar(key) if type(self[0]) in (str, type(key)) else str(key)
        if near == str(key):
            return self._of_type()
        return f"did you mean {near!r}?" if near else f"{self.kind}s look like {self[0]!r}"

    def similar(self, key: Hashable) -> str:
        """Return the text of an id like an unknown one, or "".

        Numbers are similar only in another notation: 95 to 0095 and 95.0, not to 195.
        """
        text = str(key)
        if re.fullmatch(r"\d+(\.0)?", text):
            width = len(str(self[0])) if len(self) else 0
            same = (text, text.zfill(width), text.lstrip("0"), f"{text}.0", text.removesuffix(".0"))
            return next((each for each in same if self.parsed(each) in self), "")
        for each in (text.upper(), text.lower(), text.title()):
            if each in self:
                return each
        place = bisect_left(range(len(self)), text, key=lambda i: str(self[i]))
        some = self.ids[max(0, place - _NEAR // 2) : place + _NEAR // 2]
        return next(iter(get_close_matches(text, map(str, some), n=1)), "")


def check_list(name: str, keys: Any, of: str = "ids") -> None:
    """Raise if a parameter that is a list is a single id."""
    single = isinstance(keys, str | bytes) or getattr(keys, "ndim", 1) == 0
    if single or not isinstance(keys, Iterable):
        problem = f"{name} are a list of {of}, not {keys!r}"
        raise ParameterTypeError(problem, hint="put it in []", parameter=name)


def plain_id(key: Any) -> Any:
    """Return an id as JSON and tables have it: numbers and text unchanged, others as text."""
    return key if isinstance(key, int | str) else str(key)


def id_text(key: Any) -> str:
    """Return the same text for equal ids, unlike `repr` of a frozenset."""
    if isinstance(key, tuple | frozenset):
        parts = [id_text(part) for part in key]
        return repr(parts if isinstance(key, tuple) else sorted(parts))
    return repr(key)


def _as_ids(array: Iterable[Hashable] | NDArray[Any]) -> NDArray[Any]:
    """Return an array of int64, or of objects."""
    if not isinstance(array, np.ndarray):
        values = [v.item() if isinstance(v, np.generic) else v for v in array]
        with suppress(OverflowError):  # past 64 bits
            if set(map(type, values)) == {int}:
                return np.array(values, np.int64)
        return _objects(values)
    if array.ndim != 1:
        raise ParameterTypeError(f"ids are a list, not an array of {array.ndim} dimensions")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
        return array.astype(object)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    # Frames hold whole numbers as floats if one was missing once. Past 2^53 they are not exact.
    if array.dtype.kind == "f" and np.all((np.floor(array) == array) & (abs(array) < 2.0**53)):
        return array.astype(np.int64)
    return array.astype(object)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _encode(array: NDArray[Any], kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct ids of an array of objects, and the number of each element."""
    values = array.tolist()
    try:
        keys = _sorted_distinct(values)
    except TypeError as error:
        raise _unhashable(error) from None
    missing = [key for key in keys if is_missing(key)]
    if missing:
        raise InputError(f"some {kind}s are {missing[0]!r}, not an id", hint="leave them out first")
    number = {key: k for k, key in enumerate(keys)}
    return _objects(keys), np.fromiter((number[value] for value in values), np.int64, len(values))


def _unhashable(error: TypeError) -> ParameterTypeError:
    return ParameterTypeError(f"ids must be hashable, such as numbers or text: {error}")


def _sorted_distinct(values: list[Any]) -> list[Any]:
    types = set(map(type, values))
    if len(types) == 1 and types <= _ORDERED:
        with suppress(TypeError):  # datetimes with a time zone and without
            return sorted(set(values))
    # The first of those that are equal across types, such as 1 and 1.0.
    return list(dict.fromkeys(sorted(values, key=lambda key: (type(key).__name__, id_text(key)))))


def is_missing(key: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return key is None or bool(key != key)  # noqa: PLR0124 - True for NaN and NaT
    except (TypeError, ValueError):
        return True  # pandas' NA


def _encode_whole(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct numbers of an int64 array, and the place of each element."""
    if not len(array):
        return array, np.empty(0, np.int64)
    low, high = int(array.min()), int(array.max())
    if high - low > 8 * len(array) + 1024:
        ids, numbers = np.unique(array, return_inverse=True)
        return ids, numbers.astype(np.int64)
    # In a narrow range, marking the numbers that occur is ten times as fast as sorting.
    shifted = array - low
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[shifted] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs) + low, number[shifted]
