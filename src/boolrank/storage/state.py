"""Fitted values as named arrays and JSON, and back, validated before compiled code sees them.

A stored value is a frozen dataclass with a ``kind``. Its fields are arrays, declared by `array`
with type, shape and range; other stored values; or plain numbers, text and truth values. `pack`
gives a JSON description and the arrays; `Reader` checks both and restores the value. Sizes of
arrays are named: ``"items"`` is the same number wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from inspect import isabstract, isclass
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError

# Bound of stored numbers whose range is otherwise open: sums and products of these stay finite.
LARGE = 1e100


class State:
    """Base of stored values."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Array:
    """Declaration of a stored array.

    Attributes
    ----------
    dtypes : allowed types
    shape : a size name for each side, ``"items+1"`` for one more, ``"*"`` for any
    low, high : values are at least ``low`` and at most ``high``; a size name as ``high`` means
        below that size
    divides : fields that this array cuts into rows: it starts at 0, never falls, and ends at their
        length
    """

    dtypes: tuple[str, ...]
    shape: tuple[str, ...]
    low: float = -LARGE
    high: float | str = LARGE
    divides: tuple[str, ...] = ()


def array(
    dtype: str,
    *shape: str,
    low: float = -LARGE,
    high: float | str = LARGE,
    divides: tuple[str, ...] = (),
    optional: bool = False,
) -> Any:
    """Declare a field of a stored value as an array; an ``optional`` one may be None."""
    form = Array(tuple(dtype.split("|")), shape, low, high, divides)
    given: dict[str, Any] = {"default": None} if optional else {}
    return field(metadata={"array": form}, **given)


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


def _by_kind(classes: Iterable[type[State]]) -> dict[str, type[State]]:
    """Return classes of values by kind, with those that their fields hold."""
    found: dict[str, type[State]] = {}
    waiting = list(classes)
    while waiting:
        each = waiting.pop()
        if isabstract(each):
            waiting += each.__subclasses__()
        elif each.kind not in found:
            found[each.kind] = each
            options = [kind for hint in get_type_hints(each).values() for kind in _options(hint)]
            waiting += [kind for kind in options if isclass(kind) and issubclass(kind, State)]
    return found


def _options(hint: Any) -> tuple[Any, ...]:
    """Return the types that an annotation allows."""
    return get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)


class Reader:
    """Restore values from the arrays of a folder, and check them.

    Parameters
    ----------
    source : the folder or the model, for messages
    arrays : all arrays; `finish` refuses those that nothing asked for
    classes : classes of values; those of their fields are found
    verify : whether to look at the contents of arrays, not at types and shapes alone
    saving : whether the arrays are about to be written, rather than read
    """

    def __init__(
        self,
        source: str | Path,
        arrays: Mapping[str, NDArray[Any]],
        classes: Iterable[type[State]] = (),
        verify: bool = True,
        *,
        saving: bool = False,
    ) -> None:
        self.source, self.arrays, self.verify, self.saving = source, arrays, verify, saving
        self.kinds = _by_kind(classes)
        self.sizes: dict[str, int] = {}
        self.asked: set[str] = set()

    def value(self, plain: Any, prefix: str = "") -> Any:
        """Return the value that `pack` described."""
        kind = self.kinds.get(str(plain.get("kind"))) if isinstance(plain, dict) else None
        if kind is None:
            raise self.broken(f"a part of unknown kind ({prefix or 'all'})")
        declared = fields(kind)  # type: ignore[arg-type]  # states are dataclasses
        hints = get_type_hints(kind)
        given = {each.name: self._field(each, hints[each.name], plain, prefix) for each in declared}
        for each in declared:
            if given[each.name] is not None and "array" in each.metadata:
                for name in each.metadata["array"].divides:
                    self._check_division(prefix, each.name, name, given)
        return kind(**given)

    def array(self, name: str, form: Array) -> NDArray[Any]:
        """Return an array by its name if it is as declared."""
        self.asked.add(name)
        found = self.arrays.get(name)
        if found is None:
            raise self.broken(f"no array {name!r}")
        if found.dtype.name not in form.dtypes or found.ndim != len(form.shape):
            raise self.broken(f"{name} of type {found.dtype.name} and {found.ndim} dimensions")
        for side, size in zip(form.shape, found.shape, strict=True):
            self._bind(name, side, size)
        if self.verify and found.size:
            most = self._size(form.high) - 1 if isinstance(form.high, str) else form.high
            # A comparison with NaN is false, so NaN is refused too.
            if not (form.low <= float(found.min()) and float(found.max()) <= most):
                raise self.broken(f"values of {name} out of range")
        return found

    def rows(self, name: str, indptr: NDArray[Any], *lengths: int) -> None:
        """Raise unless ``indptr`` cuts arrays of these lengths into rows."""
        if (
            not len(indptr)
            or int(indptr[0]) != 0
            or any(int(indptr[-1]) != length for length in lengths)
            or (self.verify and bool((np.diff(indptr) < 0).any()))
        ):
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
            if name in plain and content is None and each.default is None:
                return None
            return self.array(f"{prefix}{name}", form)
        if isinstance(content, dict):
            return self.value(content, f"{prefix}{name}-")
        options = _options(hint)
        if type(content) is int and float in options:
            content = float(content)
        too_large = isinstance(content, int | float) and not abs(content) <= LARGE
        if type(content) not in options or too_large:
            raise self.broken(f"an impossible {name}")
        return content

    def _check_division(
        self, prefix: str, name: str, divided: str, given: Mapping[str, Any]
    ) -> None:
        if given[divided] is None:
            raise self.broken(f"no array {divided!r}")
        self.rows(f"{prefix}{name}", given[name], len(given[divided]))

    def _bind(self, name: str, side: str, size: int) -> None:
        """Fix a size at its first use; raise where it differs later."""
        symbol, _, more = side.partition("+")
        if side != "*":
            self.sizes.setdefault(symbol, size - int(more or 0))
            if self.sizes[symbol] < 0 or self._size(side) != size:
                raise self.broken(f"{name} of length {size:,}, which is not that of {side}")

    def _size(self, side: str) -> int:
        symbol, _, more = side.partition("+")
        return self.sizes[symbol] + int(more or 0)
