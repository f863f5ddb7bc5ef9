"""Protocols: functions that split data.

All but the temporal cut order the interactions of each user by ``order``, which is ``"time"`` or
``"random"``, and test the later ones of some users. Users with fewer than ``least`` interactions
only train. ``seed`` draws folds, random orders, and the order of equal times.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import known_name, one_of, real, whole
from ..errors import InputError, ParameterError
from ..table import counted
from .events import as_dates
from .interactions import Interactions, check_interactions, joined
from .splits import ABSENT, KNOWN, TEST, TRAIN, Split, check_folds

Ints = NDArray[np.int64]


def paper_protocol(
    data: Interactions, folds: int = 5, order: str = "time", seed: int = 0, least: int = 5
) -> Split:
    """Split as in the paper: test users train with the earlier half of their interactions.

    Users are dealt at random into folds of equal size, give or take one. In each fold, its users
    train with the first half of their interactions, the others with all. The middle one of an odd
    number tests: this gives the paper's figures for MovieLens-1M to 0.0002, and the other choice
    figures 0.0004 higher.

    >>> data = Interactions.from_pairs([1, 1, 1, 2, 2, 2], list("abcabc"), np.arange(6))
    >>> fold = paper_protocol(data, folds=2, least=3)[0]
    >>> fold, fold.users[0], fold.known.indices, fold.relevant.indices
    (Fold: 2 test interactions of 1 user, 4 for training, 2, array([0], ...), array([1, 2], ...))
    """
    users, place, length, given = _ordered("paper_protocol", data, order, seed, least)
    folds = whole("paper_protocol", "folds", folds, 1)
    if folds > len(users):
        raise ParameterError(
            f"{folds} folds need {folds} users with at least {least} interactions, and there are "
            f"{len(users)}",
            hint="take fewer folds, lower least, or give more data",
            parameter="folds",
        )
    groups = [users[k::folds] for k in range(folds)]
    return _split("paper", {"folds": folds} | given, data, groups, place >= length // 2)


def leave_one_out(data: Interactions, order: str = "time", seed: int = 0, least: int = 2) -> Split:
    """Test the last interaction of each user, or a random one.

    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> leave_one_out(data)[0].relevant.indices
    array([1, 0], dtype=int32)
    """
    users, place, length, given = _ordered("leave_one_out", data, order, seed, least)
    return _split("leave_one_out", given, data, [users], place == length - 1)


def hold_out(
    data: Interactions,
    share: float = 0.2,
    order: str = "random",
    seed: int = 0,
    least: int = 2,
    most: int | None = None,
) -> Split:
    """Test a share of each user's interactions: random ones, or the last.

    The number is rounded, halves up, and at least one interaction stays for training. Users beyond
    ``most``, drawn at random, only train.

    >>> data = Interactions.from_pairs([1] * 5 + [2] * 5 + [3] * 5, list("abcde" * 3))
    >>> hold_out(data, share=0.2)[0]
    Fold: 3 test interactions of 3 users, 12 for training
    """
    share = real("hold_out", "share", share, above=0, high=1)
    users, place, length, given = _ordered("hold_out", data, order, seed, least)
    if most is not None:
        users, given = users[: whole("hold_out", "most", most, 1)], given | {"most": most}
    later = place >= length - _part(length, share)
    return _split("hold_out", {"share": share} | given, data, [users], later)


def temporal_cut(data: Interactions, share: float = 0.2, at: Any = None) -> Split:
    """Train with the interactions before a time, and test those at or after it.

    The time is ``at``, or such that about a ``share`` of the interactions test; equal times stay
    together. Users without an earlier interaction are left out of the test, and counted.
    """
    check_interactions(data, "temporal_cut splits")
    when = _times(data, "take another split")
    given: dict[str, Any] = {"at": str(at)}
    if at is None:
        given = {"share": real("temporal_cut", "share", share, above=0, high=1)}
        at = np.sort(when)[len(when) - int(_part(np.array(len(when)), given["share"]))]
    try:
        cut = as_dates(np.asarray(at))
        # Numbers are compared as they are: 4.5 is after 4.
        numbers = when.dtype.kind in "iuf" and cut.dtype.kind in "iuf"
        test = when >= (cut if numbers else cut.astype(when.dtype))
    except (TypeError, ValueError):
        raise ParameterError(
            f"at of temporal_cut must be a time as the data have it ({when.dtype}), not {at!r}",
            parameter="at",
        ) from None
    roles = np.where(test, np.uint8(TEST), np.uint8(TRAIN))
    return check_folds(Split("temporal", given, data, roles[None]))


def strong_generalization(
    data: Interactions,
    share: float = 0.2,
    folds: int = 1,
    known: float = 0.5,
    order: str = "time",
    seed: int = 0,
    least: int = 2,
) -> Split:
    """Test users who do not train, given the first part of their interactions.

    Each fold tests another ``share`` of the users. Of their interactions, a ``known`` share is
    shown; at least one is, and at least one tests.
    """
    owner = "strong_generalization"
    share = real(owner, "share", share, above=0, high=1)
    folds = whole(owner, "folds", folds, 1)
    known = real(owner, "known", known, above=0, high=1)
    users, place, length, given = _ordered(owner, data, order, seed, least)
    each = max(1, int(share * len(users)))
    if folds * each > len(users) or each == len(data.users):
        unseen = counted(folds * each, "unseen user", "are")
        able = counted(len(users), "user", "have")
        raise ParameterError(
            f"{unseen} too many: {able} at least {least} interactions, and somebody must train",
            hint="use fewer folds, or a smaller share",
            parameter="folds",
        )
    groups = [users[k * each : (k + 1) * each] for k in range(folds)]
    later = place >= length - _part(length, 1 - known)
    given = {"share": share, "folds": folds, "known": known} | given
    return _split("strong", given, data, groups, later, shown=KNOWN)


def published_folds(*folds: tuple[Interactions, Interactions]) -> Split:
    """Return a published split from a pair (train, test) for each fold.

    Interactions in both train. Test users who do not train are left out, and counted.
    """
    if not folds:
        raise ParameterError("published_folds needs a pair (train, test) of Interactions, or more")
    data, parts = joined(*(part for fold in folds for part in fold))
    roles = np.full((len(folds), data.size), ABSENT, np.uint8)
    for k in range(len(folds)):
        roles[k, np.searchsorted(data.keys, parts[2 * k + 1])] = TEST
        roles[k, np.searchsorted(data.keys, parts[2 * k])] = TRAIN
    return check_folds(Split("published", {"folds": len(folds)}, data, roles))


# Protocols that need nothing but the data and parameters.
SPLITS: dict[str, Callable[..., Split]] = {
    "paper": paper_protocol,
    "leave_one_out": leave_one_out,
    "hold_out": hold_out,
    "temporal": temporal_cut,
    "strong": strong_generalization,
}


def make_split(data: Interactions, name: str = "paper", **parameters: Any) -> Split:
    """Split data by the name of a protocol in `SPLITS`.

    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> make_split(data, "leave_one_out")[0]
    Fold: 2 test interactions of 2 users, 2 for training
    """
    check_split(name, parameters)
    return SPLITS[name](data, **parameters)


def usual_order(data: Interactions) -> str:
    """Return ``"time"``, or ``"random"`` with a warning if the times are not known."""
    try:
        _times(data)
    except InputError as error:
        text = f"{error.message}, so the split is random; name a column of times"
        warnings.warn(text, stacklevel=2)
        return "random"
    return "time"


def check_split(name: str, parameters: Iterable[str]) -> None:
    """Raise for an unknown protocol or parameter."""
    known_name(name, SPLITS, f"there is no split {name!r}", "name")
    known = list(signature(SPLITS[name]).parameters)[1:]
    for each in parameters:
        known_name(each, known, f"the split {name!r} has no parameter {each!r}")


def _split(
    name: str,
    given: dict[str, Any],
    data: Interactions,
    groups: Sequence[Ints],
    later: NDArray[np.bool_],
    shown: int = TRAIN,
) -> Split:
    """Return a split with a fold per group of users, who test the ``later`` interactions."""
    roles = np.full((len(groups), data.size), TRAIN, np.uint8)
    for role, users in zip(roles, groups, strict=True):
        chosen = np.isin(data.rows.numbers, users)
        role[chosen] = np.where(later[chosen], TEST, shown)
    return check_folds(Split(name, given, data, roles))


def _ordered(
    owner: str, data: Interactions, order: str, seed: int, least: int
) -> tuple[Ints, Ints, Ints, dict[str, Any]]:
    """Check the parameters, and order the interactions of each user.

    Return the users with at least ``least`` interactions, in random order; the place of each
    interaction among its user's, and their number; and the parameters. Equal times are ordered by a
    seeded draw: in the order of ids, the first items of a catalogue would train.
    """
    check_interactions(data, f"{owner} splits")
    seed, least = whole(owner, "seed", seed, 0), whole(owner, "least", least, 2)
    one_of("order", order, ("time", "random"))
    if len(data.users) < 2:
        raise InputError(
            "there is one user only, and a split needs two or more", hint="give data of more users"
        )
    # From raw bits: numpy promises that these never change.
    keys: list[NDArray[Any]] = [np.random.PCG64([seed, 0]).random_raw(data.size)]
    keys += [_times(data)] if order == "time" else []
    rows, lengths = data.rows.numbers, data.rows.lengths
    place = np.empty(data.size, np.int64)
    place[np.lexsort([*keys, rows])] = np.arange(data.size)
    able = np.flatnonzero(lengths >= least)
    drawn = np.argsort(np.random.PCG64([seed, 1]).random_raw(len(able)), kind="stable")
    given = {"order": order, "seed": seed, "least": least}
    return able[drawn], place - data.indptr[rows], lengths[rows], given


def _times(data: Interactions, other: str = "split in random order") -> NDArray[Any]:
    if data.time is None:
        raise InputError(
            "the data have no time",
            hint=f"name a column of times, or {other}",
            parameter="time",
        )
    missing = int(np.isnan(data.time).sum())
    if missing:
        raise InputError(
            f"{counted(missing, 'interaction', 'have')} no time",
            hint=f"leave them out first, or {other}",
            parameter="order",
        )
    return data.time


def _part(length: Ints, share: float) -> Ints:
    """Return a share of each length, halves up, at least one and never all."""
    some = np.floor(length * share + 0.5).astype(np.int64)
    return np.asarray(np.clip(some, 1, np.maximum(length - 1, 1)))
