"""Protocols: the ways to split data, each a function that gives a `Split`.

All but the temporal cut order each user's interactions, by time or at random, and say which places
in that order train and which test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterError
from .interactions import Interactions
from .splits import ABSENT, KNOWN, TEST, TRAIN, Split, checked
from .vocabulary import Vocabulary, near_name

__all__ = [
    "SPLITS",
    "hold_out",
    "leave_one_out",
    "make_split",
    "paper_protocol",
    "published_folds",
    "strong_generalization",
    "temporal_cut",
]


def paper_protocol(
    data: Interactions, folds: int = 5, order: str = "time", seed: int = 0, least: int = 5
) -> Split:
    """The paper's protocol: folds of users, of whom the earlier half trains and the later tests.

    Users are dealt at random into folds of the same size, give or take one. In each, its users
    train with the first half of their interactions, and the others with all. Of an odd number the
    later half has one more: so MovieLens-1M gives the paper's figures to 0.0002, and with it in the
    earlier half they are 0.0004 higher. Users with fewer than ``least`` interactions always train,
    and so are not dealt.

    Parameters
    ----------
    data : all interactions
    folds : how many
    order : ``"time"``, or ``"random"`` for random halves; where data have no time, give the
        numbers of their rows as time for the order of the file
    seed : for the folds, and for random halves
    least : how many interactions a test user has at least, from 2 on

    >>> data = Interactions.from_pairs([1, 1, 1, 2, 2, 2], list("abcabc"), np.arange(6))
    >>> fold = paper_protocol(data, folds=2, least=3)[0]
    >>> fold, fold.users[0], fold.known.indices, fold.relevant.indices
    (Fold: 2 test interactions of 1 users, 4 for training, 2, array([0], ...), array([1, 2], ...))
    """
    least = whole("least", least, 2)
    seed = whole("seed", seed, 0)
    place, length = _places(data, order, seed)
    sizes = np.diff(data.indptr)
    able = np.flatnonzero(sizes >= least)
    folds = whole("folds", folds, 1)
    if folds > len(able):
        raise ParameterError(
            f"{folds} folds need {folds} users with at least {least} interactions, and there are "
            f"{len(able)}; {_ways_to_fill(folds, sizes, least)}"
        )
    fold_of = np.full(len(data.users), -1)
    fold_of[able[_shuffled(len(able), seed, 1)]] = np.arange(len(able)) % folds
    later = place >= length // 2
    tests = [later & (fold_of == k)[data.rows.numbers] for k in range(folds)]
    given = {"folds": folds, "order": order, "seed": seed, "least": least}
    return _split("paper", given, data, np.array(tests))


def leave_one_out(data: Interactions, order: str = "time", seed: int = 0, least: int = 2) -> Split:
    """One interaction of each user tests: the last, or a random one.

    Users with fewer than ``least`` interactions train only.

    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> leave_one_out(data)[0].relevant.indices
    array([1, 0], dtype=int32)
    """
    least = whole("least", least, 2)
    seed = whole("seed", seed, 0)
    place, length = _places(data, order, seed)
    given = {"order": order, "seed": seed, "least": least}
    return _split("leave_one_out", given, data, ((place == length - 1) & (length >= least))[None])


def hold_out(
    data: Interactions,
    share: float = 0.2,
    order: str = "random",
    seed: int = 0,
    least: int = 2,
) -> Split:
    """A share of each user's interactions tests: random ones, or the last.

    It is rounded to whole interactions, halves up, and at least one stays for training. Users with
    fewer than ``least`` interactions train only.

    >>> data = Interactions.from_pairs([1] * 5 + [2] * 5 + [3] * 5, list("abcde" * 3))
    >>> hold_out(data, share=0.2)[0]
    Fold: 3 test interactions of 3 users, 12 for training
    """
    _share("share", share)
    least = whole("least", least, 2)
    seed = whole("seed", seed, 0)
    place, length = _places(data, order, seed)
    test = (place >= length - _part(length, share)) & (length >= least)
    given = {"share": share, "order": order, "seed": seed, "least": least}
    return _split("hold_out", given, data, test[None])


def temporal_cut(data: Interactions, share: float = 0.2, at: Any = None) -> Split:
    """What came before some time trains, what came then or later tests.

    Users without an earlier interaction are left out of the test, and counted.

    Parameters
    ----------
    data : interactions with time
    share : how many test, about; equal times stay together
    at : the time of the cut, in place of a share

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], list("abbaa"), np.array([1, 4, 2, 5, 6]))
    >>> temporal_cut(data, at=4)[0]
    Fold: 2 test interactions of 2 users (left out: 1 users without history), 2 for training
    """
    when = _times(data)
    if at is None:
        _share("share", share)
        at = np.sort(when)[len(when) - int(_part(np.array([len(when)]), share)[0])]
        given: dict[str, Any] = {"share": share}
    else:
        given = {"at": str(at)}
        try:
            # Numbers stay what they are: 4.5 is after 4.
            at = np.asarray(at)
            numbers = when.dtype.kind in "iuf" and at.dtype.kind in "iuf"
            at = at if numbers else at.astype(when.dtype)
        except (TypeError, ValueError):
            raise ParameterError(
                f"at of temporal_cut is a time as the data have it ({when.dtype}), not {at!r}"
            ) from None
    return _split("temporal", given, data, (when >= at)[None])


def strong_generalization(
    data: Interactions,
    share: float = 0.2,
    folds: int = 1,
    known: float = 0.5,
    order: str = "time",
    seed: int = 0,
    least: int = 2,
) -> Split:
    """Unseen users: a share of users is not in training at all, and folded in by a part of theirs.

    Parameters
    ----------
    data : all interactions
    share : which part of the users each fold tests
    folds : how many, with different users in each
    known : which part of a test user's interactions is shown, the first ones; at least one, and at
        least one tests
    order : ``"time"`` or ``"random"``: what comes first
    seed : for the users, and the random order
    least : how many interactions a test user has at least; those with fewer train

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3, 3], list("abbaba"), np.arange(6))
    >>> strong_generalization(data, share=0.4)[0]
    Fold: 1 test interactions of 1 users, folded in, 4 for training
    """
    _share("share", share)
    _share("known", known)
    least = whole("least", least, 2)
    seed = whole("seed", seed, 0)
    place, length = _places(data, order, seed)
    able = np.flatnonzero(np.diff(data.indptr) >= least)
    each = max(1, int(share * len(able)))
    folds = whole("folds", folds, 1)
    if folds * each > len(able) or each == len(data.users):
        raise ParameterError(
            f"{folds} folds of {each} unseen users are more than there are: {len(able)} have at "
            f"least {least} interactions, and somebody must train; take fewer folds, or a smaller "
            "share"
        )
    drawn = able[_shuffled(len(able), seed, 1)]
    rows = data.rows.numbers
    shown = place < length - _part(length, 1 - known)
    roles = np.full((folds, data.size), TRAIN, np.uint8)
    for k in range(folds):
        unseen = np.isin(rows, drawn[k * each : (k + 1) * each])
        roles[k, unseen] = np.where(shown[unseen], KNOWN, TEST)
    given = {"share": share, "folds": folds, "known": known, "order": order, "seed": seed}
    return checked(Split("strong", given | {"least": least}, data, roles))


def published_folds(*folds: tuple[Interactions, Interactions]) -> Split:
    """A split that was made elsewhere, as a pair (train, test) for each fold.

    What a user has in both counts as training. Test users who are not in training are left out,
    and counted.

    >>> train = Interactions.from_pairs([1, 1, 2, 2], ["a", "b", "b", "c"])
    >>> test = Interactions.from_pairs([1, 2, 2], ["c", "a", "d"])
    >>> published_folds((train, test))[0]
    Fold: 2 test interactions of 2 users (left out: 1 of unseen items), 4 for training
    """
    if not folds:
        raise ParameterError("published_folds needs a pair (train, test) of Interactions, or more")
    parts = [part for fold in folds for part in fold]
    users, of_users = _united([part.users for part in parts])
    items, of_items = _united([part.items for part in parts])
    keys = [
        u[part.rows.numbers] * len(items) + i[part.indices]
        for part, u, i in zip(parts, of_users, of_items, strict=True)
    ]
    every = np.unique(np.concatenate(keys))
    roles = np.full((len(folds), len(every)), ABSENT, np.uint8)
    for k in range(len(folds)):
        roles[k, np.searchsorted(every, keys[2 * k + 1])] = TEST
        roles[k, np.searchsorted(every, keys[2 * k])] = TRAIN
    indptr = np.searchsorted(every, np.arange(len(users) + 1) * len(items)).astype(np.int64)
    data = Interactions(users, items, indptr, (every % len(items)).astype(np.int32))
    return checked(Split("published", {"folds": len(folds)}, data, roles))


# The protocols that need the data and their own parameters only, by name.
SPLITS: dict[str, Callable[..., Split]] = {
    "paper": paper_protocol,
    "leave_one_out": leave_one_out,
    "hold_out": hold_out,
    "temporal": temporal_cut,
    "strong": strong_generalization,
}


def make_split(data: Interactions, name: str = "paper", **parameters: Any) -> Split:
    """A split by the name of its protocol, one of `SPLITS`.

    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> make_split(data, "leave_one_out")[0]
    Fold: 2 test interactions of 2 users, 2 for training
    """
    check_split(name, parameters)
    return SPLITS[name](data, **parameters)


def check_split(name: str, parameters: Iterable[str]) -> None:
    """Refuse a protocol that there is none of, and parameters that it does not have."""
    if name not in SPLITS:
        raise ParameterError(f"there is no split {name!r}; {near_name(name, SPLITS)}")
    known = list(signature(SPLITS[name]).parameters)[1:]
    for parameter in parameters:
        if parameter not in known:
            raise ParameterError(
                f"the split {name!r} has no parameter {parameter!r}; {near_name(parameter, known)}"
            )


def _split(name: str, given: dict[str, Any], data: Interactions, tests: NDArray[np.bool_]) -> Split:
    # Of bytes from the start: numbers of eight would take gigabytes for the largest sets.
    return checked(Split(name, given, data, np.where(tests, np.uint8(TEST), np.uint8(TRAIN))))


def _places(
    data: Interactions, order: str, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The place of each interaction among its user's, from 0 on, and how many the user has.

    Equal times are put in the order of a seeded draw: by id, the items that came first in the
    catalogue would train.
    """
    if order not in ("time", "random"):
        raise ParameterError(f"order must be 'time' or 'random', not {order!r}")
    if len(data.users) < 2:
        raise InputError(
            "there is one user only, and a split needs two or more: what nobody else has touched "
            "cannot be recommended to anybody; give data with more users"
        )
    keys: list[NDArray[Any]] = [np.random.PCG64([seed, 0]).random_raw(data.size)]
    if order == "time":
        keys.append(_times(data))
    rows = data.rows.numbers
    place = np.empty(data.size, np.int64)
    place[np.lexsort([*keys, rows])] = np.arange(data.size)
    return place - data.indptr[rows], np.diff(data.indptr)[rows]


def _times(data: Interactions) -> NDArray[Any]:
    if data.time is None:
        raise InputError(
            "the data have no time; give one, or the numbers of the rows for the order of the file "
            "(Interactions.from_pairs(users, items, time=np.arange(len(users)))), or split with "
            "order='random'"
        )
    missing = int(np.isnat(data.time).sum() if data.time.dtype.kind in "mM" else 0)
    missing += int(np.isnan(data.time).sum() if data.time.dtype.kind == "f" else 0)
    if missing:
        raise InputError(
            f"{missing} interactions have no time; leave them out first, or split with "
            "order='random'"
        )
    return data.time


def _shuffled(size: int, seed: int, stream: int) -> NDArray[np.int64]:
    """A random order. From raw bits, which numpy promises to keep the same in all its versions."""
    return np.argsort(np.random.PCG64([seed, stream]).random_raw(size), kind="stable")


def _part(length: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """So many of each, halves up, at least one, and never all."""
    some = np.floor(length * share + 0.5).astype(np.int64)
    return np.asarray(np.clip(some, 1, np.maximum(length - 1, 1)))


def _ways_to_fill(folds: int, sizes: NDArray[np.int64], least: int) -> str:
    """What to do where fewer users than folds have enough interactions: only what would help."""
    lower = int(np.sort(sizes)[-folds]) if folds <= len(sizes) else 0
    ways = ["take fewer folds"] if sizes.max() >= least else []
    ways += [f"lower least=... to {lower}"] if lower >= 2 else []
    return ", or ".join([*ways, "give more data"])


def whole(name: str, value: Any, least: int) -> int:
    """A parameter, if it is a whole number and not too low."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least} on, not {value!r}")
    return int(value)


def _share(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise ParameterError(f"{name} must be between 0 and 1, not {value!r}")


def _united(parts: list[Vocabulary]) -> tuple[Vocabulary, list[NDArray[np.int64]]]:
    """A vocabulary of all, and the new numbers of the ids of each."""
    every, numbers = Vocabulary.of([key for part in parts for key in part], parts[0].kind)
    return every, np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])
