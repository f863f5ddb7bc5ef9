"""Interactions as named arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from .interactions import Interactions
from .vocabulary import Text, Vocabulary, id_text

__all__ = ["packed", "unpacked"]

# Id types stored as text, with the function that restores them. 64-bit integers are an array.
_FROM_TEXT: dict[str, Callable[[str], Any]] = {"str": str, "UUID": UUID, "int": int}
_SAVABLE = ("int64", *_FROM_TEXT)


def packed(
    data: Interactions, savable: bool = True
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Interactions without their times as arrays, and the types of their ids.

    Ids of which `unpacked` could not make the same again are refused, unless they need not be
    ``savable``: then it is enough that others would give other arrays.
    """
    arrays: dict[str, NDArray[Any]] = {"indptr": data.indptr, "indices": data.indices}
    kinds = {}
    for name, vocabulary in (("users", data.users), ("items", data.items)):
        kinds[name], parts = _packed_ids(vocabulary)
        if savable and kinds[name] not in _SAVABLE:
            raise ModelFileError(
                f"{name} of type {kinds[name]} cannot be saved; use whole numbers, text or UUIDs "
                "as ids"
            )
        arrays |= {f"{name}-{part}": array for part, array in parts.items()}
    return kinds, arrays


def _packed_ids(vocabulary: Vocabulary) -> tuple[str, dict[str, NDArray[Any]]]:
    ids = vocabulary.ids
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return "int64", {"ids": ids}
    kind = ", ".join(sorted({type(key).__name__ for key in vocabulary})) or "str"
    text = Text.of(map(str if kind in _FROM_TEXT else id_text, vocabulary))
    return kind, {"text": text.blob, "ends": text.ends}


def unpacked(kinds: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> Interactions:
    """The interactions that were packed."""
    users, items = (
        _unpacked_ids(kinds[name], name.removesuffix("s"), arrays, name)
        for name in ("users", "items")
    )
    return Interactions(users, items, arrays["indptr"], arrays["indices"])


def _unpacked_ids(
    kind: str, role: str, arrays: Mapping[str, NDArray[Any]], name: str
) -> Vocabulary:
    if kind == "int64":
        return Vocabulary(arrays[f"{name}-ids"], role)
    return Vocabulary(Text(arrays[f"{name}-text"], arrays[f"{name}-ends"], _FROM_TEXT[kind]), role)
