"""A fitted ranker as arrays and a header, and back."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.packing import packed, unpacked
from ..errors import BoolrankError, ModelFileError
from ..kernels import parse_kernel
from ..matrix import CompressedMatrix, DenseMatrix, KernelMatrix, Scale
from ..storage.folder import read_folder, write_folder

__all__ = ["load_ranker", "save_ranker"]

_MATRICES: dict[str, type[Any]] = {"dense": DenseMatrix, "compressed": CompressedMatrix}
_OVERLAPS = ("dense", "indptr", "columns", "counts")

# What arrays look like: type, and the length of each side (u users, m items, k classes of items,
# x whatever it is).
_FORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "users-ids": ("int64", ("u",)),
    "users-text": ("uint8", ("x",)),
    "users-ends": ("int64", ("u",)),
    "items-ids": ("int64", ("m",)),
    "items-text": ("uint8", ("x",)),
    "items-ends": ("int64", ("m",)),
    "indptr": ("int64", ("u+1",)),
    "indices": ("int32", ("x",)),
    "sizes": ("int64", ("m",)),
    "overlaps-dense": ("float32", ("m", "m")),
    "overlaps-indptr": ("int64", ("m+1",)),
    "overlaps-columns": ("int32", ("x",)),
    "overlaps-counts": ("int32", ("x",)),
    "matrix-background": ("float64", ("k", "k")),
    "matrix-share": ("float64", ("m",)),
    "matrix-classes": ("int32", ("m",)),
    "matrix-indptr": ("int64", ("m+1",)),
    "matrix-columns": ("int32", ("x",)),
    "matrix-pull": ("float64", ("m",)),
    "matrix-distance": ("float64", ("d",)),
    "scale-exponents": ("float64", ("s",)),
    "scale-nearest": ("int32", ("s",)),
    "scale-lead": ("float64", ("s",)),
    "scale-lead_exp": ("float64", ("s",)),
}
# Numbers that compiled loops take for places: the least, and the side that they are below.
_PLACES = {
    "indices": (0, "m"),
    "overlaps-columns": (0, "m"),
    "matrix-columns": (0, "m"),
    "matrix-classes": (0, "k"),
    "scale-nearest": (-1, "m"),
}
# Starts of rows, or ends of texts, and the arrays that they divide.
_DIVISIONS = {
    "users-ends": ("users-text",),
    "items-ends": ("items-text",),
    "indptr": ("indices",),
    "overlaps-indptr": ("overlaps-columns", "overlaps-counts"),
    "matrix-indptr": ("matrix-columns", "matrix-values"),
}


class Ranker(Protocol):
    """What is written of a ranker, and how it comes back."""

    def __init__(self, **parameters: Any) -> None: ...

    @property
    def interactions(self) -> Interactions: ...

    @property
    def overlaps(self) -> Overlaps: ...

    @property
    def matrix(self) -> KernelMatrix: ...

    @property
    def fitted(self) -> Any: ...

    def restore(
        self, interactions: Interactions, overlaps: Overlaps, matrix: KernelMatrix
    ) -> None: ...


R = TypeVar("R", bound=Ranker)


def save_ranker(ranker: Ranker, path: str | Path) -> None:
    """Write parameters, interactions, counts and kernel values."""
    data, overlaps, matrix = ranker.interactions, ranker.overlaps, ranker.matrix
    kinds, arrays = packed(data)
    arrays["sizes"] = overlaps.sizes
    for name in _OVERLAPS:
        if getattr(overlaps, name) is not None:
            arrays[f"overlaps-{name}"] = getattr(overlaps, name)
    arrays |= _matrix_arrays(matrix)
    about = {
        "model": type(ranker).__name__,
        "boolrank": __version__,
        "parameters": _plain(ranker.fitted._asdict()),
        "ids": kinds,
        "storage": matrix.storage,
        "users": len(data.users),
        "items": len(data.items),
        "interactions": data.size,
    }
    write_folder(path, about, arrays)


def load_ranker(cls: type[R], path: str | Path, verify: bool, n_threads: int | None) -> R:
    """The ranker that was written, its arrays memory-mapped."""
    about, arrays = read_folder(path, verify)
    if about.get("model") != cls.__name__:
        raise ModelFileError(f"{path} has a {about.get('model')}, not a {cls.__name__}")
    try:
        data = unpacked(about["ids"], arrays)
        counts: dict[str, Any] = {name: arrays.get(f"overlaps-{name}") for name in _OVERLAPS}
        overlaps = Overlaps(len(data.users), arrays["sizes"], **counts)
        if verify:
            _check_sound(path, arrays, *data.shape)
        matrix = _matrix(_MATRICES[about["storage"]], arrays)
        ranker = cls(**about["parameters"], n_threads=n_threads)
    except (KeyError, TypeError) as error:
        raise ModelFileError(
            f"{path} lacks {error}: another boolrank wrote it ({about.get('boolrank')}); write the "
            "model again"
        ) from None
    try:
        ranker.restore(data, overlaps, matrix)
    except BoolrankError as error:
        raise ModelFileError(
            f"{path} has impossible parameters ({error}); write the model again"
        ) from None
    return ranker


def _check_sound(path: str | Path, arrays: dict[str, NDArray[Any]], users: int, items: int) -> None:
    """Refuse arrays that do not fit together: compiled loops would read beyond their ends."""
    classes, scaled = (len(arrays.get(n, ())) for n in ("matrix-background", "scale-exponents"))
    sides = {"u": users, "u+1": users + 1, "m": items, "m+1": items + 1, "k": classes}
    sides["s"] = items if scaled else 0
    sides["d"] = items if arrays["matrix-distance"].size else 0
    broken = [
        *(name for name in _FORMS if name in arrays and not _has_form(arrays[name], name, sides)),
        *(
            name
            for name, (least, side) in _PLACES.items()
            if name in arrays and not _all_within(arrays[name], least, sides[side])
        ),
        *(name for name in _DIVISIONS if name in arrays and not _divides(name, arrays)),
    ]
    if "matrix-classes" not in arrays and arrays["matrix-values"].shape != (items, items):
        broken.append("matrix-values")
    if broken:
        raise ModelFileError(
            f"{path} has arrays that do not fit together ({', '.join(dict.fromkeys(broken))}): it "
            "was not written by boolrank, or altered; write the model again"
        )


def _has_form(array: NDArray[Any], name: str, sides: dict[str, int]) -> bool:
    kind, shape = _FORMS[name]
    return (
        array.dtype.name == kind
        and array.ndim == len(shape)
        and all(side == "x" or n == sides[side] for n, side in zip(array.shape, shape, strict=True))
    )


def _all_within(array: NDArray[Any], least: int, limit: int) -> bool:
    return not array.size or (int(array.min()) >= least and int(array.max()) < limit)


def _divides(name: str, arrays: dict[str, NDArray[Any]]) -> bool:
    at = arrays[name]
    if name.endswith("ends"):
        at = np.concatenate(([0], at))
    return (
        at.ndim == 1
        and len(at) > 0
        and int(at[0]) == 0
        and bool((np.diff(at) >= 0).all())
        and all(arrays[part].shape == (int(at[-1]),) for part in _DIVISIONS[name])
    )


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: the kernel as text."""
    text = str(parameters["kernel"])
    try:
        known = parse_kernel(text) == parameters["kernel"]
    except BoolrankError:
        known = False
    if not known:
        raise ModelFileError(
            f"a model with the kernel {text} cannot be saved: parse_kernel does not know it"
        )
    return parameters | {"kernel": text}


def _matrix_arrays(matrix: KernelMatrix) -> dict[str, NDArray[Any]]:
    names = [field.name for field in fields(matrix) if field.name != "scale"]
    arrays = {f"matrix-{name}": getattr(matrix, name) for name in names}
    return arrays | {f"scale-{name}": part for name, part in matrix.scale._asdict().items()}


def _matrix(kind: type[Any], arrays: dict[str, NDArray[Any]]) -> Any:
    names = [field.name for field in fields(kind) if field.name != "scale"]
    scale = Scale(**{name: arrays[f"scale-{name}"] for name in Scale._fields})
    return kind(**{name: arrays[f"matrix-{name}"] for name in names}, scale=scale)
