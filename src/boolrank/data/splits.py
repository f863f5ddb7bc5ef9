"""Splits: the interactions that a model trains with, and those that test it.

A split is one array: a byte per interaction and fold, its role.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import InputError, ModelFileError
from ..storage.folder import read_folder, write_folder
from ..storage.state import Array, Reader
from ..table import counted
from .interactions import Interactions
from .items import packed_table, unpacked_table
from .packing import packed, packed_times, unpacked, unpacked_times
from .rows import Rows
from .vocabulary import Vocabulary

# Roles of an interaction in a fold. KNOWN: shown to the model for a test user who does not train.
TRAIN, KNOWN, TEST, ABSENT = range(4)


@dataclass(frozen=True, eq=False, repr=False)
class Fold:
    """Training interactions, and the test users with their known and relevant items.

    Candidates for a user are the items with a training interaction, less the known ones. Test
    interactions with other items cannot be found; they are left out, and counted.
    """

    train: Interactions
    users: Vocabulary
    known: Rows  # items of each test user, numbered as in ``train``
    relevant: Rows  # those to be found
    folded_in: bool = False  # whether the test users do not train
    unseen_items: int = 0  # test interactions left out for items without training interactions
    cold_users: int = 0  # test users left out because they have no known items

    @cached_property
    def hash(self) -> str:
        """SHA-256 of everything that results depend on: no ids, but times and tags of items."""
        return content_hash(*packed_fold(self))

    def __repr__(self) -> str:
        test = counted(len(self.relevant.indices), "test interaction")
        users = counted(len(self.users), "user") + ", folded in" * self.folded_in
        return f"Fold: {test} of {users}, {self.train.size:,} for training"


@dataclass(frozen=True, eq=False, repr=False)
class Split(Sequence[Fold]):
    """The role of each interaction in each of several folds: (folds, interactions). Immutable.

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

    def __getitem__(self, at: Any) -> Any:
        numbers = range(len(self))[at]
        return [self._fold(k) for k in numbers] if isinstance(at, slice) else self._fold(numbers)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of name, parameters, ids and roles; the same on any machine."""
        return content_hash(*self._content(saving=False))

    def save(self, path: str | Path) -> None:
        """Write the split with its data into a folder, all or nothing."""
        about, arrays = self._content(saving=True)
        about |= {"boolrank": __version__, "hash": self.hash, "model": "Split"}
        write_folder(path, about, arrays)

    @staticmethod
    def load(path: str | Path) -> Split:
        """Open a saved split and check all of it."""
        about, arrays = read_folder(path)
        if about.get("model") != "Split":
            raise ModelFileError(f"{path} is not a split", hint="name the folder of a saved split")
        reader = Reader(path, arrays)
        data = unpacked(about.get("ids"), reader)
        roles = reader.array("roles", Array("uint8", ("folds", "interactions"), TRAIN, ABSENT))
        reader.finish()
        name, parameters = about.get("split"), about.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise reader.broken("no name or parameters of a split")
        split = Split(name, parameters, data, roles)
        if split.hash != about.get("hash"):
            raise reader.broken("another hash than its content")
        return split

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        folds = f"{counted(len(self), 'fold')} of {self.data.size_text}"
        return f"Split {self.name}({given}): {folds}, {self.hash[:12]}"

    def _content(self, *, saving: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        kinds, arrays = packed(self.data, saving, times=saving)
        about = {"split": self.name, "parameters": dict(self.parameters), "ids": kinds}
        return about, arrays | {"roles": self.roles}

    def _fold(self, k: int) -> Fold:
        data, role, rows = self.data, self.roles[k], self.data.rows.numbers
        train, test = role == TRAIN, role == TEST
        users, items = data.shape
        in_train = np.bincount(data.indices[train], minlength=items) > 0
        possible = in_train[data.indices]
        known = (train | (role == KNOWN)) & possible
        wanted = np.bincount(rows[test], minlength=users) > 0
        tested = wanted & (np.bincount(rows[known], minlength=users) > 0)
        n_users, n_items = int(tested.sum()), int(in_train.sum())
        keys = (np.cumsum(tested) - 1)[rows] * n_items + (np.cumsum(in_train) - 1)[data.indices]
        return Fold(
            data[train],
            data.users.chosen(tested),
            Rows.of_keys(keys[known & tested[rows]], n_users, n_items),
            Rows.of_keys(keys[test & possible & tested[rows]], n_users, n_items),
            bool((role == KNOWN).any()),
            int((test & ~possible).sum()),
            int((wanted & ~tested).sum()),
        )


def content_hash(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a SHA-256 of a description and arrays, the same on any machine."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.name} {array.shape}".encode())
        little = array.dtype.newbyteorder("<")
        digest.update(np.ascontiguousarray(array).astype(little, copy=False).data)
    return digest.hexdigest()


def check_folds(split: Split) -> Split:
    """Return the split, or raise if a fold has nothing to test."""
    for k, fold in enumerate(split):
        if not len(fold.relevant.indices):
            raise InputError(
                f"fold {k} of {split.name} has nothing to test: {fold.unseen_items:,} held-out "
                f"interactions are with items without training interactions, and "
                f"{counted(fold.cold_users, 'user', 'have')} no history",
                hint="use more data, or keep more for training",
            )
    return split


def packed_fold(fold: Fold) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the arrays of a fold, with numbers for ids.

    Ids may be of any type, and no result depends on them. Users who are folded in get numbers that
    no training user has.
    """
    train = fold.train
    users = len(train.users) + np.arange(len(fold.users))
    users = users if fold.folded_in else train.users.numbers(fold.users)
    arrays: dict[str, NDArray[Any]] = {"users": users}
    for part, rows in (("train", train.rows), ("known", fold.known), ("relevant", fold.relevant)):
        arrays |= {f"{part}-{name}": array for name, array in rows._asdict().items()}
    about = {name: getattr(fold, name) for name in ("folded_in", "unseen_items", "cold_users")}
    if train.time is not None:
        about["time"], arrays["time"] = packed_times(train.time)
    if train.table is not None:
        numbers = Vocabulary(np.arange(len(train.items)), "item")
        table = replace(train.table.aligned(train.items), ids=numbers)
        about["table"], of_table = packed_table(table)
        arrays |= of_table
    return {"shape": train.shape} | about, arrays


def read_fold(path: str | Path) -> Fold:
    """Return a fold whose description and arrays were written to a folder."""
    about, arrays = read_folder(path)
    users, items = (Vocabulary(np.arange(count)) for count in about.pop("shape"))
    train, known, relevant = (
        Rows(arrays[f"{part}-indptr"], arrays[f"{part}-indices"])
        for part in ("train", "known", "relevant")
    )
    time = table = None
    if "time" in about:  # times may be missing
        time = unpacked_times(about.pop("time"), Reader(path, arrays, verify=False))
    if "table" in about:
        table = unpacked_table(about.pop("table"), Reader(path, arrays))
    data = Interactions(users, items, *train, time, table=table)
    return Fold(data, Vocabulary(arrays["users"], "user"), known, relevant, **about)
