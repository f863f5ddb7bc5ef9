"""Fitted values as named arrays and JSON, and back, validated before compiled code sees them.

A stored value is a frozen dataclass with a ``kind``. Its fields are arrays, declared by `array`
with type, shape and range; other stored values; or plain numbers, text and truth values. `pack`
gives a JSON description and the arrays; `Reader` checks both and restores the value. Sizes of
arrays are named: ``"items"`` is the same number wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, field, fields
from inspect import isabstract, isclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from .disk_array import MappedFile, release_pages

# Bound of stored numbers whose range is otherwise open: sums and products of these stay finite.
LARGE = 1e100
# Bytes whose range is validated at once.
_PART = 1 << 26


class State:
    """Base of stored values."""

    kind: ClassVar[str]


class Array(NamedTuple):
    """Declaration of a stored array.

    The dtype may be several with ``|`` between. The shape has a size name for each side:
    ``"items+1"`` for one more, ``"*"`` for any. Values are at least ``low`` and at most ``high``; a
    size name as ``high`` means below that size. The array cuts the fields in ``divides`` into rows:
    it starts at 0, never falls, and ends at their length; with two sides, row by row.
    """

    dtype: str
    shape: tuple[str, ...]
    low: float = -LARGE
    high: float | str = LARGE
    divides: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype} ({', '.join(self.shape)})"


def array(dtype: str, *shape: str, optional: bool = False, **more: Any) -> Any:
    """Declare a field of a stored value as an `Array`; an ``optional`` one may be None."""
    given: dict[str, Any] = {"default": None} if optional else {}
    return field(metadata={"array": Array(dtype, shape, **more)}, **given)


def pack(value: State, prefix: str = "") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON description and the arrays of a value, their names after a prefix."""
    plain: dict[str, Any] = {"kind": value.kind}
    arrays: dict[str, NDArray[Any]] = {}
    for each in fields(value):  # type: ignore[arg-type]  # states are dataclasses
        content = getattr(value, each.name)
        if isinstance(content, State):
            plain[each.name], inner = pack(content, f"{prefix}{each.name}-")
            arrays |= inner
        elif isinstance(content, np.ndarray):
            arrays[f"{prefix}{each.name}"] = content
        else:
            plain[each.name] = content.item() if isinstance(content, np.generic) else content
    return plain, arrays


class Reader:
    """Restore values from the arrays of a folder, and check them.

    ``verify`` looks at the contents of arrays, not at types and shapes alone. ``source`` is for
    messages, which differ for arrays that are about to be written (``saving``).
    """

    def __init__(
        self,
        source: str | Path,
        arrays: Mapping[str, NDArray[Any]],
        verify: bool = True,
        *,
        saving: bool = False,
    ) -> None:
        self.source, self.arrays, self.verify, self.saving = source, arrays, verify, saving
        self.sizes: dict[str, int] = {}
        self.asked: set[str] = set()

    def value(self, plain: Any, classes: Iterable[type[State]], prefix: str = "") -> Any:
        """Return the value that `pack` described, of one of these classes."""
        name = plain.get("kind") if isinstance(plain, dict) else None
        kind = next((each for each in _concrete(classes) if each.kind == name), None)
        if kind is None:
            raise self.broken(f"a part of unknown kind ({prefix or 'all'})")
        hints = get_type_hints(kind)
        declared: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]  # as above
        given = {each.name: self._field(each, hints[each.name], plain, prefix) for each in declared}
        for each in declared:
            divided = each.metadata["array"].divides if "array" in each.metadata else ()
            for other in divided if given[each.name] is not None else ():
                if given[other] is None:
                    raise self.broken(f"no array {other!r}")
                starts = given[each.name].ravel()
                self.rows(f"{prefix}{each.name}", starts, len(given[other]))
        return kind(**given)

    def array(self, name: str, form: Array) -> NDArray[Any]:
        """Return an array by its name if it is as declared."""
        self.asked.add(name)
        found = self.arrays.get(name)
        if found is None:
            raise self.broken(f"no array {name!r}")
        given = f"{name} of type {found.dtype.name} and shape {found.shape}, declared as {form}"
        if found.dtype.name not in form.dtype.split("|") or found.ndim != len(form.shape):
            raise self.broken(given)
        for side, size in zip(form.shape, found.shape, strict=True):
            symbol, more = _parsed(side)
            # A size is fixed at its first use.
            known = self.sizes.setdefault(symbol, size - more) if side != "*" else size
            if known < 0 or (side != "*" and known + more != size):
                raise self.broken(f"{given} where {symbol} is {max(known, 0)}")
        # Files that are about to be listed as they are were written by this version.
        own = self.saving and isinstance(found, MappedFile)
        if self.verify and found.size and not own:
            most = form.high
            if isinstance(most, str):
                symbol, more = _parsed(most)
                most = self.sizes[symbol] + more - 1
            # A comparison with NaN is false, so NaN is refused too.
            for part in _in_parts(found):
                if not (form.low <= float(part.min()) and float(part.max()) <= most):
                    raise self.broken(f"values of {name} out of range")
        return found

    def rows(self, name: str, indptr: NDArray[Any], length: int) -> None:
        """Raise unless ``indptr`` cuts an array of this length into rows."""
        ends = len(indptr) and (int(indptr[0]), int(indptr[-1])) == (0, length)
        if not ends or (self.verify and bool((np.diff(indptr) < 0).any())):
            raise self.broken(f"{name} does not divide its rows")

    def finish(self) -> None:
        """Raise if the folder has arrays that no value declares."""
        extra = sorted(set(self.arrays) - self.asked)
        if extra:
            raise self.broken(f"an undeclared array {extra[0]!r}")

    def broken(self, what: str) -> ModelFileError:
        """Return the error for content that does not fit."""
        if self.saving:
            return ModelFileError(
                f"{self.source} cannot be saved: it has {what}",
                hint="declare fields with the types, shapes and ranges that they have",
            )
        return ModelFileError(
            f"{self.source} has {what}: another program wrote it, or it was altered",
            hint="save it again",
        )

    def _field(self, each: Field[Any], hint: Any, plain: Mapping[str, Any], prefix: str) -> Any:
        name, form = each.name, each.metadata.get("array")
        content: Any = plain.get(name)
        if form is not None:
            absent = name in plain and content is None and each.default is None
            return None if absent else self.array(f"{prefix}{name}", form)
        if f"{prefix}{name}" in self.arrays:
            raise self.broken(f"an undeclared array {prefix}{name}")
        options = get_args(hint) or (hint,)
        if isinstance(content, dict):
            states = [kind for kind in options if isclass(kind) and issubclass(kind, State)]
            return self.value(content, states, f"{prefix}{name}-")
        if type(content) is int and float in options:
            content = float(content)
        too_large = isinstance(content, int | float) and not abs(content) <= LARGE
        if type(content) not in options or too_large:
            raise self.broken(f"an impossible {name}")
        return content


def _concrete(classes: Iterable[type[State]]) -> Iterator[type[State]]:
    """Yield classes, and in place of abstract ones their subclasses."""
    for each in classes:
        if isabstract(each):
            yield from _concrete(each.__subclasses__())
        else:
            yield each


def _in_parts(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield some rows at a time; pages of a mapped file are given back after each."""
    step = max(_PART * len(values) // max(values.nbytes, 1), 1)
    for start in range(0, len(values), step):
        yield values[start : start + step]
        release_pages([values])


def _parsed(side: str) -> tuple[str, int]:
    symbol, _, more = side.partition("+")
    return symbol, int(more or 0)
