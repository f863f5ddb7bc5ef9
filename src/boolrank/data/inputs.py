"""Events from wherever somebody points: a data set by its name, or files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from ..errors import InputError, ParameterError
from .catalogue import DATASETS
from .dataset import Dataset
from .interactions import Interactions, read_files, row_numbers
from .protocols import published_folds
from .splits import Split
from .synthetic import synthetic
from .vocabulary import Vocabulary

__all__ = [
    "find_dataset",
    "is_dataset",
    "is_name",
    "load_dataset",
    "load_in_file_order",
    "load_inputs",
    "load_published",
]

_SYNTHETIC = re.compile(r"synthetic(?::(\d+)x(\d+)x(\d+)(?::(\d+))?)?")


def load_dataset(name: str, folder: str | Path | None = None) -> Interactions:
    """The interactions of a named data set, which must be on this machine already.

    Times are as the set has them; where it has none, they are the places of the rows in the file.
    Sets with times have rows at the same moment: they are equals, and what has to choose between
    them must not go by their places, so that nothing depends on the order of the rows.

    Parameters
    ----------
    name : one of ``boolrank datasets``, or ``synthetic``, ``synthetic:USERSxITEMSxINTERACTIONS``
        or ``synthetic:USERSxITEMSxINTERACTIONS:SEED``
    folder : with a folder for each data set; ``BOOLRANK_DATA``, or the user's cache, if not given

    >>> load_dataset("synthetic:300x200x2000")
    Interactions: 300 users x 200 items, 2,000 interactions
    >>> load_dataset("movielens")
    Traceback (most recent call last):
    boolrank.errors.ParameterError: there is no data set 'movielens'
    did you mean 'movielens-1m'? `boolrank datasets` lists them
    """
    made_up = _SYNTHETIC.fullmatch(name)
    if made_up:
        return synthetic(*(int(number) for number in made_up.groups() if number is not None))
    return find_dataset(name).load(folder)


def is_dataset(name: str) -> bool:
    """Whether ``load_dataset`` knows the name."""
    return name in DATASETS or _SYNTHETIC.fullmatch(name) is not None


def find_dataset(name: str) -> Dataset:
    """The entry of a data set in the catalogue; where there is none, an error with a near name."""
    if name in DATASETS:
        return DATASETS[name]
    error = ParameterError(f"there is no data set {name!r}")
    if name.startswith("synthetic"):
        error.add_note("made-up data are 'synthetic:USERSxITEMSxINTERACTIONS', maybe with ':SEED'")
    else:
        near = get_close_matches(name.lower(), DATASETS, n=1, cutoff=0.0)[0]
        error.add_note(f"did you mean {near!r}? `boolrank datasets` lists them")
    raise error


def is_name(inputs: Sequence[str]) -> bool:
    """Whether the one input is the name of a data set, and no file's."""
    # A folder may have the name: the one in which the data set lies has.
    return len(inputs) == 1 and is_dataset(inputs[0]) and not Path(inputs[0]).is_file()


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
    return _load(inputs, folder, columns)


def load_in_file_order(
    inputs: Sequence[str], folder: str | Path | None = None, **columns: str | None
) -> Interactions:
    """The same with the places of the rows as times, whatever times the files have."""
    return _load(inputs, folder, columns, file_order=True)


def _load(
    inputs: Sequence[str],
    folder: str | Path | None,
    columns: Mapping[str, str | None],
    file_order: bool = False,
) -> Interactions:
    if not inputs:
        raise InputError("there is no input; give files, or the name of a data set")
    name = inputs[0]
    named = [each for each in inputs if is_name([each])]
    if named and len(inputs) > 1:
        raise ParameterError(
            f"{named[0]!r} is a data set, which cannot be read together with other inputs; give "
            "it alone, or files alone"
        )
    if named:
        given = [f"--{option}" for option, value in columns.items() if value is not None]
        if given:
            raise InputError(
                f"{name} is a data set with columns of its own: leave out {' and '.join(given)}, "
                "or give its file"
            )
        if file_order and name in DATASETS:
            return find_dataset(name).load(folder, file_order=True)
        return load_dataset(name, folder)
    if file_order and columns.get("time") is not None:
        raise ParameterError(
            "in the order of the file its times are not needed: leave out the column "
            f"{columns['time']!r}"
        )
    try:
        return read_files(inputs, file_order, **columns)
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
    read = _alike([load_inputs([name], folder, **columns) for name in inputs])
    return published_folds(*zip(read[::2], read[1::2], strict=True))


def _alike(parts: list[Interactions]) -> list[Interactions]:
    """The same with ids of one type: those of each file were typed by that file alone."""
    sides = [[part.users for part in parts], [part.items for part in parts]]
    if all(len({_is_text(each) for each in side}) == 1 for side in sides):
        return parts
    text = [any(_is_text(each) for each in side) for side in sides]
    out = []
    for part in parts:
        (users, rows), (items, columns) = (
            Vocabulary.of([str(key) if as_text else key for key in vocabulary], vocabulary.kind)
            for vocabulary, as_text in zip((part.users, part.items), text, strict=True)
        )
        numbers = rows[row_numbers(part)], columns[part.indices]
        out.append(Interactions.from_numbers(users, items, *numbers, part.time))
    return out


def _is_text(vocabulary: Vocabulary) -> bool:
    return isinstance(vocabulary[0], str)
