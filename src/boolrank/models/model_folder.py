"""Saved models: parameters, data, counts and fitted state in one folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .._version import __version__
from ..checks import IMPORT
from ..counts.overlaps import Overlaps
from ..data.items import packed_table, table_columns, unpacked_table
from ..data.packing import packed, unpacked
from ..errors import BoolrankError, KernelSyntaxError, ModelFileError
from ..kernels import Kernel, parse_kernel
from ..storage.disk_array import raw_bytes
from ..storage.folder import locked, read_about, read_folder, write_folder
from ..storage.state import Reader, pack
from .fitted import Fitted
from .recommender import Recommender
from .registry import MODELS
from .tag_columns import tag_columns

_INFO = (
    *("model", "parameters", "users", "items", "interactions", "created"),
    *("fingerprint", "hash", "boolrank", "bytes"),
)


def save_model(
    model: Recommender,
    path: str | Path,
    instead_of: str | None = None,
    *,
    lock: bool = True,
) -> None:
    """Write a fitted model into a folder, all or nothing; see `write_folder`."""
    fitted = model.fitted
    name = next((each for each, entry in MODELS.items() if entry.model is type(model)), None)
    if name is None:
        raise ModelFileError(
            f"{type(model).__name__} is not in the table of models",
            hint="add it: MODELS[name] = ModelEntry(...)",
        )
    kinds, arrays = packed(fitted.interactions, times=bool(fitted.params.get("recency")))
    digest = fingerprint(kinds, arrays)
    scorer, of_scorer = pack(fitted.scorer, "scorer-")
    arrays |= of_scorer
    overlaps: Any = None
    if fitted.overlaps is not None:
        overlaps, of_overlaps = pack(fitted.overlaps, "overlaps-")
        arrays |= of_overlaps
    table: Any = None
    if fitted.table is not None:
        table, of_table = packed_table(fitted.table)
        arrays |= of_table
    about = {
        "model": name,
        "parameters": _plain(fitted.params),
        "created": datetime.fromtimestamp(fitted.created, UTC).isoformat(timespec="seconds"),
        "boolrank": __version__,
        "users": len(fitted.interactions.users),
        "items": len(fitted.interactions.items),
        "interactions": fitted.interactions.size,
        "fingerprint": digest,
        "ids": kinds,
        "scorer": scorer,
        "overlaps": overlaps,
        "choice": fitted.choice,
        "table": table,
        "last_event": fitted.last_event,
    }
    # What cannot be read back is refused now, while the fitted model still exists.
    _restore(about, Reader(f"this {type(model).__name__}", arrays, saving=True))
    write_folder(path, about, arrays, instead_of, lock=lock)


def _restore(about: Mapping[str, Any], reader: Reader) -> tuple[Any, Any, Any, Any]:
    """Return interactions, scorer, overlaps and item table, validated."""
    data = unpacked(about["ids"], reader)
    scorer = reader.value(about["scorer"], MODELS[about["model"]].model.scorers, "scorer-")
    overlaps, table = about["overlaps"], about.get("table")
    if overlaps is not None:
        overlaps = reader.value(overlaps, (Overlaps,), "overlaps-")
    if table is not None:
        table = unpacked_table(table, reader)
    reader.finish()
    if scorer.items != len(data.items):
        raise reader.broken("a scorer of other items")
    return data, scorer, overlaps, table


def load_model(path: str | Path, verify: bool = True, n_threads: int | None = None) -> Recommender:
    """Open a saved model; its arrays are memory-mapped, so processes share them.

    ``verify=False`` trusts the folder: it skips checksums and the validation of values, and opening
    takes milliseconds. A folder that was altered can then crash the process.

    >>> from tempfile import TemporaryDirectory
    >>> from boolrank import Interactions, Popularity
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model")
    ...     Popularity().fit(Interactions.from_pairs([1, 2], ["a", "a"])).save(path)
    ...     load_model(path).recommend([1], exclude_seen=False).lists()
    [['a']]
    """
    about, arrays = read_folder(path, verify)
    try:
        entry = MODELS[about["model"]]
        reader = Reader(path, arrays, verify)
        data, scorer, overlaps, table = _restore(about, reader)
        technical = {p.name: n_threads for p in entry.parameters if p.name == "n_threads"}
        model = entry.model(**about["parameters"], **technical)
        params = model.checked().get_params()
        if "kernel" in params:
            tag_columns(params["kernel"], replace(data, table=table))  # raises if one is missing
        if params.get("recency") and data.time is None:
            raise reader.broken("no times")
        created = datetime.fromisoformat(about["created"]).timestamp()
        if not 0 <= created < 1 << 37:
            raise reader.broken("an impossible date")
        choice = _choice(path, about)
    except (BoolrankError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        missing, kind = "", "model"
        if isinstance(error, KernelSyntaxError):
            missing, kind = error.message, "kernel"
        elif str(about.get("model")) not in MODELS:
            missing = f"there is no model {about.get('model')!r}"
        if missing:
            raise ModelFileError(
                f"{path} needs a {kind} that is not imported: {missing}", hint=IMPORT
            ) from None
        raise ModelFileError(
            f"{path} was not written by this version of boolrank ({type(error).__name__}: {error})",
            hint="save the model again",
        ) from None
    last = about.get("last_event")
    model.restore(Fitted(params, data, scorer, overlaps, created, choice, table, last))
    return model


@contextmanager
def updating(path: str | Path, n_threads: int | None = None) -> Iterator[Recommender]:
    """Open a saved model to be changed, then save it. Updates of a folder take turns."""
    folder = Path(path).resolve()
    with locked(folder.parent):  # the folder itself is locked while it is written
        before, model = model_info(folder)["hash"], load_model(folder, n_threads=n_threads)
        fitted = model.fitted
        yield model
        if model.fitted is not fitted:
            save_model(model, folder, instead_of=before)  # never over a newer fit


def model_info(path: str | Path) -> dict[str, Any]:
    """Return what the header of a saved model says, without opening its arrays.

    Keys: model, parameters, users, items, interactions, created, fingerprint (of the data), hash
    (of all arrays), boolrank (the version that wrote it), bytes, choice (how the model was chosen,
    or None), table (rows, title and columns of the item table, or None), last_event (of a service,
    or None).
    """
    about = read_about(path)
    if not about.keys() >= set(_INFO):
        raise ModelFileError(f"{path} is not a saved model", hint="name the folder of one")
    info = {name: about[name] for name in _INFO} | {"choice": _choice(path, about), "table": None}
    info["last_event"] = about.get("last_event")
    table = about.get("table")
    if table is not None:
        columns = table_columns(table, Reader(path, {}))
        info["table"] = {"rows": table["rows"], "title": table["title"], "columns": columns}
    return info


def _choice(path: str | Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how the model was chosen; raise unless it has the form of `Choice.to_dict`."""
    choice = about.get("choice")
    if choice is None:
        return None
    settings = choice.get("settings") if isinstance(choice, dict) else None
    if not isinstance(settings, list) or not all(isinstance(each, dict) for each in settings):
        raise ModelFileError(
            f"{path} has an impossible choice: another program wrote it, or it was altered",
            hint="save the model again",
        )
    return dict(choice)


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON has them: kernels as text, and no thread count."""
    plain = {name: value for name, value in params.items() if name != "n_threads"}
    for name, value in plain.items():
        if isinstance(value, Kernel):
            plain[name] = str(value)
            with suppress(BoolrankError):
                if parse_kernel(str(value)) == value:
                    continue
            raise ModelFileError(
                f"a model with the kernel {value} cannot be saved: its text is not known",
                hint="register the kernel under a name",
            )
    return plain


def fingerprint(kinds: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a SHA-256 of packed training data: ids and pairs."""
    out = hashlib.sha256(repr(sorted(kinds.items())).encode())
    for name in sorted(arrays):
        out.update(name.encode())
        for part in raw_bytes(arrays[name]):
            out.update(part)
    return out.hexdigest()
