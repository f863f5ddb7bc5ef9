"""Data sets by name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

from ..errors import ParameterError
from ..interactions import Interactions
from .catalogue import DATASETS
from .dataset import Dataset
from .synthetic import synthetic

__all__ = ["find_dataset", "is_dataset", "load_dataset"]

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
