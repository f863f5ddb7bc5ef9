"""Interactions as named arrays, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..storage.state import Array, Reader
from .interactions import Interactions
from .vocabulary import Text, Vocabulary, id_text

__all__ = ["packed", "unpacked"]

# Id types stored as text, with the function that restores them. 64-bit integers are an array.
_FROM_TEXT: dict[str, Callable[[str], Any]] = {"str": str, "UUID": UUID, "int": int}
_SAVABLE = ("int64", *_FROM_TEXT)


def packed(
    data: Interactions, savable: bool = True
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the id types and arrays of interactions, without times.

    Raise for id types that cannot be restored, unless the arrays need not be ``savable``: then
    different ids give different arrays, which is enough for a hash.
    """
    arrays: dict[str, NDArray[Any]] = {"indptr": data.indptr, "indices": data.indices}
    kinds = {}
    for name, vocabulary in (("users", data.users), ("items", data.items)):
        kinds[name], parts = _packed_ids(vocabulary)
        if savable and kinds[name] not in _SAVABLE:
            raise ModelFileError(
                f"{name} of type {kinds[name]} cannot be saved",
                hint="use whole numbers, text or UUIDs as ids",
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


def unpacked(kinds: Mapping[str, str], reader: Reader) -> Interactions:
    """Return the interactions of a folder; raise if its arrays are not those of interactions."""
    users, items = (_unpacked_ids(kinds[name], name, reader) for name in ("users", "items"))
    indptr = reader.array("indptr", Array(("int64",), ("users+1",), low=0))
    indices = reader.array("indices", Array(("int32",), ("*",), low=0, high="items"))
    reader.rows("indptr", indptr, len(indices))
    if reader.verify and len(indices):
        within = np.ones(len(indices), bool)
        within[indptr[:-1][np.diff(indptr) > 0]] = False
        if (np.diff(indices, prepend=-1) <= 0)[within].any():
            raise reader.broken("unsorted rows")
    return Interactions(users, items, indptr, indices)


def _unpacked_ids(kind: str, name: str, reader: Reader) -> Vocabulary:
    role = name.removesuffix("s")
    if kind == "int64":
        ids = reader.array(f"{name}-ids", Array(("int64",), (name,)))
        if reader.verify and (ids[1:] <= ids[:-1]).any():
            raise reader.broken(f"{name}-ids out of order")
        return Vocabulary(ids, role)
    blob = reader.array(f"{name}-text", Array(("uint8",), ("*",)))
    ends = reader.array(f"{name}-ends", Array(("int64",), (name,), low=0))
    reader.rows(f"{name}-ends", np.concatenate(([0], ends)), len(blob))
    vocabulary = Vocabulary(Text(blob, ends, _FROM_TEXT[kind]), role)
    if reader.verify:
        try:
            blob.tobytes().decode("utf-8", "surrogatepass")
            split = (blob[ends[:-1][ends[:-1] < len(blob)]] & 0xC0) == 0x80
            if split.any() or (kind != "str" and not all(key is not None for key in vocabulary)):
                raise reader.broken(f"{name}-ends inside of characters")
        except ValueError as error:
            if isinstance(error, ModelFileError):
                raise
            raise reader.broken(f"{name} that are not {kind}") from None
    return vocabulary
