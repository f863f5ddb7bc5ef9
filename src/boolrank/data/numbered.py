"""A fold on disk, by the numbers of its users and items: for another process, whatever ids are.

Nothing that is fitted or measured depends on names, so that process does without them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..interactions import Interactions
from ..store import read_folder, write_folder
from ..vocabulary import Vocabulary
from .splits import Fold, Rows

__all__ = ["read_fold", "write_fold"]

_PARTS = ("train", "known", "relevant")


def write_fold(fold: Fold, path: Path) -> None:
    """Write a fold; users who are folded in have numbers that none of those that train has."""
    train = fold.train
    if fold.folded_in:
        users = len(train.users) + np.arange(len(fold.users))
    else:
        users = train.users.numbers(list(fold.users))
    rows = (Rows(train.indptr, train.indices), fold.known, fold.relevant)
    arrays = {
        f"{name}-{part}": array
        for name, each in zip(_PARTS, rows, strict=True)
        for part, array in each._asdict().items()
    }
    about = {"shape": train.shape, "folded_in": fold.folded_in}
    left_out = {"unseen_items": fold.unseen_items, "cold_users": fold.cold_users}
    write_folder(path, about | left_out, arrays | {"users": users})


def read_fold(path: str | Path) -> Fold:
    """What was written, with numbers for ids."""
    about, arrays = read_folder(path)
    users, items = (
        Vocabulary(np.arange(count), kind)
        for count, kind in zip(about.pop("shape"), ("user", "item"), strict=True)
    )
    train, known, relevant = (
        Rows(arrays[f"{name}-indptr"], arrays[f"{name}-indices"]) for name in _PARTS
    )
    tested = Vocabulary(arrays["users"], "user")
    return Fold(Interactions(users, items, *train), tested, known, relevant, **about)
