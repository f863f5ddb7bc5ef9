"""Events from wherever somebody points: files, or a data set by its name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from ..errors import InputError, ParameterError
from ..interactions import Interactions
from .catalogue import DATASETS
from .load import is_dataset, load_dataset
from .protocols import published_folds
from .splits import Split

__all__ = ["is_name", "load_inputs", "load_published"]


def is_name(inputs: Sequence[str]) -> bool:
    """Whether the one input is the name of a data set, and no file's."""
    return len(inputs) == 1 and is_dataset(inputs[0]) and not Path(inputs[0]).exists()


def load_inputs(
    inputs: Sequence[str], folder: str | Path | None = None, **columns: str | None
) -> Interactions:
    """Interactions from files, or of a data set where the one input is its name.

    Parameters
    ----------
    inputs : files or globs of them, or one name
    folder : with a folder for each data set, see `load_dataset`
    columns : which columns the files have, see `Interactions.from_files`

    >>> load_inputs(["synthetic:300x200x2000"])
    Interactions: 300 users x 200 items, 2,000 interactions
    """
    if not inputs:
        raise InputError("there is no input; give files, or the name of a data set")
    name = inputs[0]
    if is_name(inputs):
        given = [f"--{option}" for option, value in columns.items() if value is not None]
        if given:
            raise InputError(
                f"{name} is a data set with columns of its own: leave out {' and '.join(given)}, "
                "or give its file"
            )
        return load_dataset(name, folder)
    try:
        return Interactions.from_files(*inputs, **columns)
    except InputError as error:
        # What looks like a file is most often meant to be one.
        cutoff = 0.75 if Path(name).suffix or Path(name).name != name else 0.5
        near = get_close_matches(name, DATASETS, n=1, cutoff=cutoff)
        if near and len(inputs) == 1 and not Path(name).exists():
            error.add_note(f"there is a data set {near[0]!r}, if you meant that")
        raise


def load_published(
    inputs: Sequence[str], folder: str | Path | None = None, **columns: str | None
) -> Split:
    """A published split: a data set that comes as one, or files in pairs, training and test."""
    if is_name(inputs):
        dataset = DATASETS.get(inputs[0])
        if dataset is None or len(dataset.parts) != 2:
            known = ", ".join(name for name, each in DATASETS.items() if len(each.parts) == 2)
            raise ParameterError(
                f"{inputs[0]} has no published fold; {known} has, and files can be given in pairs, "
                "training and test"
            )
        train, test = dataset.load_parts(folder)
        return published_folds((train, test))
    if not inputs or len(inputs) % 2:
        raise ParameterError(
            f"published folds are pairs of files, training and test, and there are {len(inputs)}; "
            "give two for each fold"
        )
    read = [load_inputs([name], folder, **columns) for name in inputs]
    return published_folds(*zip(read[::2], read[1::2], strict=True))
