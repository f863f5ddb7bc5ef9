"""Interactions as named arrays for storage, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..storage.disk_array import DiskArray
from ..storage.state import Array, Reader
from .interactions import Interactions
from .rows import Rows
from .vocabulary import Vocabulary, id_text

_DATETIME = re.compile(r"datetime64\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
# Types of ids that are stored as text, with the function that restores them. Most are int64.
_FROM_TEXT: dict[str, Callable[[str], Any]] = {"str": str, "UUID": UUID, "int": int, "float": float}


def packed(
    data: Interactions, savable: bool = True, *, times: bool = False
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the types of ids and the arrays of interactions, with ``times`` if there are any.

    Raise for ids that `unpacked` cannot restore, unless ``savable`` is False, for a hash.
    """
    arrays: dict[str, NDArray[Any]] = {"indptr": data.indptr, "indices": data.indices}
    kinds, of_ids = packed_vocabularies(data.users, data.items, savable)
    if times and data.time is not None and np.isfinite(data.time).all():
        kinds["time"], arrays["time"] = packed_times(data.time)
    return kinds, arrays | of_ids


def packed_vocabularies(
    users: Vocabulary, items: Vocabulary, savable: bool = True
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the types and the arrays of the ids of users and items."""
    kind, arrays = packed_ids("users", users, savable)
    other, more = packed_ids("items", items, savable)
    return {"users": kind, "items": other}, arrays | more


def packed_ids(
    name: str, vocabulary: Vocabulary, savable: bool = True
) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the type and the arrays of ids."""
    if vocabulary.ids.dtype.kind == "i":
        return "int64", {f"{name}-ids": vocabulary.ids}
    kind = ", ".join(sorted({type(key).__name__ for key in vocabulary})) or "str"
    if savable and kind not in _FROM_TEXT:
        raise ModelFileError(
            f"{name} of type {kind} cannot be saved", hint="use numbers or text, all of one type"
        )
    text, ends = packed_texts(map(str if kind in _FROM_TEXT else id_text, vocabulary))
    return kind, {f"{name}-text": text, f"{name}-ends": ends}


def read_arrays(source: Path, kinds: Any, file: Callable[[str], Path]) -> Interactions:
    """Return interactions whose packed arrays are in files of our own, mapped and not verified."""
    types = {"indptr": "int64", "indices": "int32"}
    for name in ("users", "items"):
        parts = {"ids": "int64"} if kinds[name] == "int64" else {"ends": "int64", "text": "uint8"}
        types |= {f"{name}-{part}": kind for part, kind in parts.items()}
    arrays = {name: DiskArray(file(name), kind).mapped() for name, kind in types.items()}
    return unpacked(kinds, Reader(source, arrays, verify=False))


def packed_texts(texts: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts one after the other in UTF-8, and where each ends."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum(np.array([len(part) for part in parts], np.int64))
    return np.frombuffer(b"".join(parts), np.uint8), ends


def unpacked_texts(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Return the texts that were packed; raise `ValueError` if they are not UTF-8."""
    raw = blob.tobytes()
    parts = (raw[a:b] for a, b in pairwise([0, *ends.tolist()]))
    return [part.decode("utf-8", "surrogatepass") for part in parts]


def packed_times(time: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """Return the type of times, and the times as 64-bit numbers."""
    if time.dtype.kind == "M":
        return time.dtype.name, time.astype(time.dtype.newbyteorder("=")).view(np.int64)
    wide = time.dtype.kind == "f" or time.dtype == np.uint64
    numbers = time.astype(np.float64 if wide else np.int64)
    return numbers.dtype.name, numbers


def unpacked(kinds: Any, reader: Reader) -> Interactions:
    """Return the interactions that were packed, or raise if the arrays are not valid."""
    kinds = kinds if isinstance(kinds, dict) else {}
    users, items = (unpacked_ids(kinds.get(name), name, reader) for name in ("users", "items"))
    indptr = reader.array("indptr", Array("int64", ("users+1",), 0))
    indices = reader.array("indices", Array("int32", ("interactions",), 0, "items"))
    reader.rows("indptr", indptr, len(indices))
    if reader.verify and not Rows(indptr, indices).is_sorted:
        raise reader.broken("items that are not ascending")
    time = unpacked_times(kinds["time"], reader) if "time" in kinds else None
    return Interactions(users, items, indptr, indices, time)


def unpacked_times(kind: Any, reader: Reader) -> NDArray[Any]:
    """Return the times that were packed, or raise if they are not valid."""
    numbers, kind = reader.array("time", Array("int64|float64", ("interactions",))), str(kind)
    is_date = _DATETIME.fullmatch(kind) and numbers.dtype == np.int64
    if not is_date and kind != numbers.dtype.name:
        raise reader.broken("times of unknown type")
    time: NDArray[Any] = numbers.view(kind)
    if reader.verify and not np.isfinite(time).all():
        raise reader.broken("missing times")
    return time


def unpacked_ids(kind: Any, name: str, reader: Reader) -> Vocabulary:
    """Return the vocabulary that was packed under a name, or raise if the arrays are not valid."""
    if kind == "int64":
        ids = reader.array(f"{name}-ids", Array("int64", (name,)))
    elif str(kind) in _FROM_TEXT:
        ends = reader.array(f"{name}-ends", Array("int64", (name,), 0))
        blob = reader.array(f"{name}-text", Array("uint8", ("*",)))
        reader.rows(f"{name}-ends", np.concatenate(([0], ends)), len(blob))
        ids, make = np.empty(len(ends), object), _FROM_TEXT[kind]
        try:
            ids[:] = [make(text) for text in unpacked_texts(blob, ends)]
        except ValueError:  # of UTF-8, or of UUID or int
            raise reader.broken(f"{name} that are not of type {kind}") from None
    else:
        raise reader.broken(f"{name} of unknown type")
    if reader.verify and not (ids[:-1] < ids[1:]).all():
        raise reader.broken(f"{name} that are not ascending")
    return Vocabulary(ids, name.removesuffix("s"))
