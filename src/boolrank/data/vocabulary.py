"""Ids and row numbers are different things: a vocabulary converts between them at the border."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterTypeError, UnknownIdError

__all__ = ["Text", "Vocabulary", "id_text", "near_name"]

# Among so many ids, those next to where it would stand, a near one to a wrong id is looked for:
# the comparison takes about 10 µs each.
_NEAR = 20_000

# Types whose order is total, so that sorting does not depend on what came first.
_ORDERED = {int, float, str, bytes, bool, UUID, date, datetime, time, timedelta, Decimal}
_NOT_THERE = object()


class Text(Sequence[Any]):
    """Strings in one array of UTF-8 bytes, each decoded only when asked for: opens in no time.

    ``make`` turns the string into the id, such as ``UUID``.

    >>> list(Text.of(["tea", "", "café"]))
    ['tea', '', 'café']
    """

    def __init__(
        self, blob: NDArray[np.uint8], ends: NDArray[np.int64], make: Callable[[str], Any] = str
    ) -> None:
        self.blob, self.ends, self.make = blob, ends, make

    @staticmethod
    def of(strings: Iterable[str], make: Callable[[str], Any] = str) -> Text:
        """The strings one after the other, and where each ends."""
        parts = [s.encode("utf-8", "surrogatepass") for s in strings]
        ends = np.cumsum(np.array([len(part) for part in parts], np.int64))
        return Text(np.frombuffer(b"".join(parts), np.uint8), ends, make)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, at: Any) -> Any:
        at = range(len(self))[at]  # negative numbers and IndexError as for a list
        start = int(self.ends[at - 1]) if at else 0
        raw = self.blob[start : int(self.ends[at])].tobytes()
        return self.make(raw.decode("utf-8", "surrogatepass"))


class Vocabulary:
    """Distinct ids in order, each with its row number. Immutable.

    The order is that of the ids themselves, so it does not depend on the order of the events; ids
    of several types, or of one that is not known to have an order, are ordered by type and text.

    >>> names, numbers = Vocabulary.of(["b", "a", "b"])
    >>> list(names), numbers.tolist(), names.number("b")
    (['a', 'b'], [1, 0, 1], 1)
    """

    def __init__(self, ids: NDArray[Any] | Text, kind: str = "id") -> None:
        self.ids = ids
        self.kind = kind

    @staticmethod
    def of(
        values: Iterable[Hashable] | NDArray[Any], kind: str = "id"
    ) -> tuple[Vocabulary, NDArray[np.int64]]:
        """The vocabulary of a sequence of ids, and the row number of each of them."""
        ids, numbers = _factorized(_as_ids(values), kind)
        return Vocabulary(ids, kind), numbers

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist() if isinstance(self.ids, np.ndarray) else self.ids)

    def __getitem__(self, number: int) -> Any:
        value = self.ids[number]
        return value.item() if isinstance(value, np.generic) else value

    def __contains__(self, key: Hashable) -> bool:
        return self._find(key) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        some = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"Vocabulary: {len(self):,} {self.kind}s" + (f", {some}, ..." if some else "")

    def number(self, key: Hashable) -> int:
        """Return the row number of an id, or raise with a similar one as hint.

        >>> Vocabulary.of(["tea", "coffee"], "item")[0].number("te")
        Traceback (most recent call last):
        boolrank.errors.UnknownIdError: there is no item 'te'; did you mean 'tea'?
        """
        found = self._find(key)
        if found < 0:
            plain = key.item() if isinstance(key, np.generic) else key
            raise UnknownIdError(f"there is no {self.kind} {plain!r}", hint=self._hint(plain))
        return found

    def numbers(self, keys: Iterable[Hashable] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the row numbers of several ids, or raise for the first unknown one."""
        values = self._keys(keys)
        found = self.find(values)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            self.number(values[int(unknown[0])])
        return found

    def find(self, keys: Iterable[Hashable] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the row numbers of several ids, -1 for unknown ones.

        >>> Vocabulary.of([7, 9])[0].find([9, 8])
        array([ 1, -1])
        """
        values = self._keys(keys)
        if self._whole:
            wanted = _as_ids(values)
            if wanted.dtype.kind == "i":
                at = np.searchsorted(self.ids, wanted)
                at[at == len(self)] = 0
                found = self.ids[at] == wanted if len(self) else np.zeros(len(wanted), bool)
                return np.where(found, at, -1)
            values = wanted.tolist()
        return np.fromiter(map(self._find, values), np.int64, len(values))

    def _keys(self, keys: Iterable[Hashable] | NDArray[Any]) -> list[Any] | NDArray[Any]:
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise ParameterTypeError(
                f"{self.kind}s are a list of ids, not {keys!r}", hint="put it in []"
            )
        keys = keys.ids if isinstance(keys, Vocabulary) else keys
        return keys if isinstance(keys, np.ndarray) else list(keys)

    def names(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Ids of row numbers of any shape, None for negative ones, as an array of objects."""
        if numbers.size < len(self):
            out = np.empty(numbers.size, dtype=object)
            out[:] = [self[i] if i >= 0 else None for i in numbers.ravel().tolist()]
            return out.reshape(numbers.shape)
        ids: NDArray[Any] = np.empty(len(self) + 1, dtype=object)
        ids[:-1] = list(self)  # the last one, None, is what -1 takes
        return np.asarray(ids[np.maximum(numbers, -1)])

    def chosen(self, mask: NDArray[np.bool_]) -> Vocabulary:
        """The ids where a mask is True, in the same order.

        >>> list(Vocabulary.of(["a", "b", "c"])[0].chosen(np.array([True, False, True])))
        ['a', 'c']
        """
        numbers = np.flatnonzero(mask)
        ids = self.ids[numbers] if isinstance(self.ids, np.ndarray) else self.names(numbers)
        return Vocabulary(ids, self.kind)

    def merged(self, other: Vocabulary) -> tuple[Vocabulary, NDArray[np.int64], NDArray[np.int64]]:
        """A vocabulary of both, and the new numbers of the ids of each."""
        odd = next((key for key in other if type(key) not in self._types), _NOT_THERE)
        if len(self) and odd is not _NOT_THERE:
            raise InputError(
                f"{self.kind}s here are of type {type(self[0]).__name__}, such as {self[0]!r}; "
                f"{odd!r} of type {type(odd).__name__} cannot be one: give ids of the same type"
            )
        both, numbers = Vocabulary.of([*self, *other], self.kind)
        return both, numbers[: len(self)], numbers[len(self) :]

    def parsed(self, text: str) -> Any:
        """The id that text stands for, of the type that the ids here have.

        >>> Vocabulary.of([7, 12])[0].parsed("12"), Vocabulary.of(["7", "12"])[0].parsed("12")
        (12, '12')
        """
        make = {int: int, UUID: UUID}.get(type(self[0]), str) if len(self) else str
        try:
            return make(text)
        except ValueError:
            return text  # no id here: whoever looks it up says so

    @property
    def _whole(self) -> bool:
        return isinstance(self.ids, np.ndarray) and self.ids.dtype.kind == "i"

    @property
    def _types(self) -> set[type]:
        one = self._whole or isinstance(self.ids, Text)
        return {type(self[0])} if one and len(self) else {type(key) for key in self}

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {key: number for number, key in enumerate(self.ids)}

    def _find(self, key: Hashable) -> int:
        if not isinstance(key, Hashable):
            raise ParameterTypeError(
                f"ids of {self.kind}s must be hashable, such as numbers or text, not {key!r}"
            )
        if isinstance(self.ids, np.ndarray) and not self._whole:
            return self._index.get(key, -1)
        if not len(self) or isinstance(key, bool) or type(self[0]) is not _plain_type(key):
            return -1
        if isinstance(self.ids, np.ndarray):
            whole: Any = key
            at = int(np.searchsorted(self.ids, whole)) if _fits(whole) else 0
        else:
            at = bisect_left(self.ids, key)  # ids of one type, in order
        return at if at < len(self) and self[at] == key else -1

    def _hint(self, key: Hashable) -> str:
        if not len(self):
            return f"there are no {self.kind}s at all"
        if type(self[0]) is not _plain_type(key) and str(self[0]) != self[0]:
            return f"{self.kind}s here are of type {type(self[0]).__name__}, such as {self[0]!r}"
        place = bisect_left(range(len(self)), str(key), key=lambda i: str(self[i]))
        first = max(0, min(place - _NEAR // 2, len(self) - _NEAR))
        some = [str(self[i]) for i in range(first, min(first + _NEAR, len(self)))]
        near = get_close_matches(str(key), some, n=1)
        if near and near[0] == str(key):
            return f"{self.kind}s here are of type {type(self[0]).__name__}, such as {self[0]!r}"
        return f"did you mean {near[0]!r}?" if near else f"{self.kind}s look like {self[0]!r}"


def near_name(name: str, known: Iterable[str]) -> str:
    """What to say of a name that is not known: the nearest that is, or all there are.

    >>> near_name("ncdg", ["auc", "ndcg"]), near_name("x", ["auc", "ndcg"])
    ("did you mean 'ndcg'?", 'there are auc, ndcg')
    """
    known = list(known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _as_ids(values: Any) -> NDArray[Any]:
    """A one-dimensional array of 64-bit whole numbers, or of objects as they are."""
    array = values if isinstance(values, np.ndarray) else _array(values)
    if array.ndim != 1:
        raise ParameterTypeError(f"ids are a list, not an array of {array.ndim} dimensions")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
        return array.astype(object)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    # Frames hold whole numbers as floats where one was missing once. Past 2^53 they are not exact.
    if array.dtype.kind == "f" and np.all((np.floor(array) == array) & (abs(array) < 2.0**53)):
        return array.astype(np.int64)
    return array.astype(object)


def _array(values: Iterable[Any]) -> NDArray[Any]:
    values = list(values)
    if values and all(type(v) is int or isinstance(v, np.integer) for v in values):
        try:
            return np.array([int(v) for v in values], dtype=np.int64)
        except OverflowError:
            pass  # whole numbers past 64 bits stay Python's
    array = np.empty(len(values), dtype=object)
    array[:] = [v.item() if isinstance(v, np.generic) else v for v in values]
    return array


def _factorized(array: NDArray[Any], kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if array.dtype.kind == "i":
        return _factorized_numbers(array)
    values = array.tolist()
    seen: dict[Hashable, int] = {}
    try:
        first = np.fromiter((seen.setdefault(v, len(seen)) for v in values), np.int64, len(values))
        keys = _in_order(seen, values)
    except TypeError as error:
        raise ParameterTypeError(
            f"ids must be hashable, such as numbers or text: {error}"
        ) from None
    missing = next((key for key in keys if _is_missing(key)), _NOT_THERE)
    if missing is not _NOT_THERE:
        raise InputError(f"some {kind}s are {missing!r}, which is no id; leave them out first")
    ids = np.empty(len(keys), dtype=object)
    ids[:] = keys
    number = {key: k for k, key in enumerate(keys)}
    rank = np.fromiter((number[key] for key in seen), np.int64, len(seen))
    return ids, rank[first]


def _in_order(distinct: Iterable[Any], values: list[Any]) -> list[Any]:
    """The distinct values: in their own order if they are of one type that surely has one.

    Otherwise by type and text; of those that are equal across types, such as 1 and 1.0, the first.
    """
    types = set(map(type, values))
    if len(types) == 1 and types <= _ORDERED:
        try:
            return sorted(distinct)
        except TypeError:
            pass  # datetimes with a time zone and without
    return list(dict.fromkeys(sorted(values, key=_by_text)))


def _by_text(key: Any) -> tuple[str, str]:
    return type(key).__name__, id_text(key)


def id_text(key: Any) -> str:
    """Text of an id that is the same for equal ones: a set's own is in any order."""
    if isinstance(key, tuple | frozenset):
        parts = [id_text(part) for part in key]
        return repr(parts if isinstance(key, tuple) else sorted(parts))
    return repr(key)


def _is_missing(key: Any) -> bool:
    try:
        return key is None or bool(key != key)  # noqa: PLR0124 - NaN, and NaT, are not themselves
    except (TypeError, ValueError):
        return True  # pandas' NA, which is neither


def _factorized_numbers(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not len(array):
        return array, np.empty(0, np.int64)
    low, high = int(array.min()), int(array.max())
    if high - low > 8 * len(array) + 1024:
        ids, numbers = np.unique(array, return_inverse=True)
        return ids, numbers.astype(np.int64)
    # A narrow range: mark what occurs instead of sorting, ten times as fast.
    shifted = array - low
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[shifted] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs) + low, number[shifted]


def _plain_type(key: object) -> type:
    """The type of an id, numpy's numbers and strings as Python's."""
    return type(key.item()) if isinstance(key, np.generic) else type(key)


def _fits(key: Any) -> bool:
    return -(1 << 63) <= int(key) < 1 << 63
