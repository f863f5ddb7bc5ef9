"""Splits: which interactions a model learns from, and which it has to find.

A split gives each interaction of the data a role in each fold, and that is all it is: one array
with a byte for each. What a model is fitted on and asked for in a fold follows from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import InputError, ModelFileError
from ..storage.folder import read_folder, write_folder
from .interactions import Interactions
from .packing import packed, unpacked
from .rows import Rows
from .vocabulary import Vocabulary

__all__ = [
    "ABSENT",
    "KNOWN",
    "TEST",
    "TRAIN",
    "Fold",
    "Split",
    "checked",
    "read_fold",
    "write_fold",
]

# Roles of an interaction in a fold.
TRAIN = 0  # the model is fitted on it
KNOWN = 1  # shown when a user who is not in training is folded in
TEST = 2  # to be found
ABSENT = 3  # not part of this fold

# What a fold has rows of.
_PARTS = ("train", "known", "relevant")


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """What a model is fitted on, and what it is asked for.

    Candidates are the items with a training interaction, less those that a user is known by. So
    test interactions with other items cannot be found; they are left out, and counted.

    Attributes
    ----------
    train : the interactions to fit on, with the users and items that occur in them only
    users : ids of the u test users
    known : the items that each test user is known by, numbered as in ``train``
    relevant : the items to be found for each, numbered as in ``train``; may be none
    folded_in : True where test users are not in training, and known by their profile alone
    unseen_items : test interactions with items that nobody in training has touched, left out
    cold_users : users with test interactions of whom nothing is known, left out

    >>> from boolrank import leave_one_out
    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> leave_one_out(data)[0]
    Fold: 2 test interactions of 2 users, 2 for training
    """

    train: Interactions
    users: Vocabulary
    known: Rows
    relevant: Rows
    folded_in: bool = False
    unseen_items: int = 0
    cold_users: int = 0

    def __repr__(self) -> str:
        left_out = [
            f"{count:,} {what}"
            for count, what in (
                (self.unseen_items, "of unseen items"),
                (self.cold_users, "users without history"),
            )
            if count
        ]
        return (
            f"Fold: {len(self.relevant.indices):,} test interactions of {len(self.users):,} users"
            + (", folded in" if self.folded_in else "")
            + (f" (left out: {', '.join(left_out)})" if left_out else "")
            + f", {self.train.size:,} for training"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Split(Sequence[Fold]):
    """Roles of the interactions of some data, in each of several folds. Immutable.

    Attributes
    ----------
    name : how the split was made, such as ``"paper"``
    parameters : with which parameters, as JSON has them
    data : all interactions
    roles : (folds, interactions) `TRAIN`, `KNOWN`, `TEST` or `ABSENT`

    >>> from boolrank import paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(60, 30, 700), folds=3)
    >>> len(split), split.roles.shape, split[0].train.size + (split.roles[0] == TEST).sum()
    (3, (3, 700), np.int64(700))
    """

    name: str
    parameters: Mapping[str, Any]
    data: Interactions
    roles: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.roles)

    @overload
    def __getitem__(self, at: int) -> Fold: ...

    @overload
    def __getitem__(self, at: slice) -> list[Fold]: ...

    def __getitem__(self, at: int | slice) -> Fold | list[Fold]:
        if isinstance(at, slice):
            return [self._fold(k) for k in range(len(self))[at]]
        return self._fold(range(len(self))[at])

    def __iter__(self) -> Iterator[Fold]:
        return (self._fold(k) for k in range(len(self)))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the name, the parameters, the ids and all numbers; the same on any machine."""
        about, arrays = self._content(savable=False)
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.name} {array.shape}".encode())
            little = array.dtype.newbyteorder("<")
            digest.update(np.ascontiguousarray(array).astype(little, copy=False).data)
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the split with its data into a folder, whole or not at all."""
        about, arrays = self._content()
        write_folder(
            path, about | {"boolrank": __version__, "hash": self.hash, "model": "Split"}, arrays
        )

    @staticmethod
    def load(path: str | Path) -> Split:
        """Open a saved split; every byte is checked."""
        about, arrays = read_folder(path)
        if about.get("model") != "Split":
            raise ModelFileError(
                f"{path} has a {about.get('model')}, not a split; give the folder that Split.save "
                "has written"
            )
        try:
            data = unpacked(about["ids"], arrays)
            split = Split(about["split"], about["parameters"], data, arrays["roles"])
        except (KeyError, TypeError) as error:
            raise ModelFileError(
                f"{path} lacks {error}: another boolrank wrote it; split again"
            ) from None
        if split.hash != about.get("hash"):
            raise ModelFileError(f"{path} is not the split that its hash says; split again")
        return split

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        users, items = self.data.shape
        return (
            f"Split {self.name}({given}): {len(self)} folds of {users:,} users x {items:,} items, "
            f"{self.data.size:,} interactions, {self.hash[:12]}"
        )

    def _content(self, savable: bool = True) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        kinds, arrays = packed(self.data, savable)
        about = {"split": self.name, "parameters": dict(self.parameters), "ids": kinds}
        return about, arrays | {"roles": self.roles}

    def _fold(self, k: int) -> Fold:
        data, role = self.data, self.roles[k]
        rows = data.rows.numbers
        train, test = role == TRAIN, role == TEST
        users, items = data.shape
        in_train = np.bincount(data.indices[train], minlength=items) > 0
        number = np.cumsum(in_train) - 1
        possible = in_train[data.indices]
        known = (train | (role == KNOWN)) & possible
        wanted = np.bincount(rows[test], minlength=users) > 0
        tested = wanted & (np.bincount(rows[known], minlength=users) > 0)
        return Fold(
            data[train],
            data.users.chosen(tested),
            _rows(rows, number[data.indices], known, tested),
            _rows(rows, number[data.indices], test & possible, tested),
            bool((role == KNOWN).any()),
            int((test & ~possible).sum()),
            int((wanted & ~tested).sum()),
        )


def checked(split: Split) -> Split:
    """The split, if each of its folds has something to fit on and something to find."""
    for k, fold in enumerate(split):
        if not len(fold.relevant.indices):
            raise InputError(
                f"fold {k} of {split.name} has nothing to test: {fold.unseen_items} test "
                f"interactions are with items that nobody in training has touched, "
                f"{fold.cold_users} users have no history; keep more for training, or take more "
                "data"
            )
    return split


def _rows(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    users: NDArray[np.bool_],
) -> Rows:
    """The chosen interactions of the chosen users as compressed rows."""
    chosen = chosen & users[rows]
    counts = np.bincount(rows[chosen], minlength=len(users))[users]
    return Rows.of_lengths(counts, columns[chosen].astype(np.int32))


def write_fold(fold: Fold, path: Path) -> None:
    """Write a fold by the numbers of its users and items, for another process.

    Nothing that is fitted or measured depends on ids, which may be of any type. Users who are
    folded in have numbers that none of those that train has.
    """
    train = fold.train
    if fold.folded_in:
        users = len(train.users) + np.arange(len(fold.users))
    else:
        users = train.users.numbers(list(fold.users))
    rows = (train.rows, fold.known, fold.relevant)
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
