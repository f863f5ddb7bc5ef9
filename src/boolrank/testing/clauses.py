"""The contract of recommenders, in clauses, run over any model with fit, recommend and score.

Each clause is a function that looks at a fitted model and yields a sentence for every way in which
the model breaks it. `check_recommender` runs them and raises on the first such sentence.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..errors import UnknownIdError
from .laws import LawError

__all__ = ["CLAUSES", "Case", "Recommender", "check_recommender"]

# Scores of a list and those of `score` may be summed in another order.
RTOL = 1e-9


@dataclass(frozen=True)
class Case:
    """A model that was fitted, what it was fitted on, and one that was not."""

    model: Any
    data: Interactions
    unfitted: Any
    rng: np.random.Generator
    users: list[Any] = field(init=False)
    items: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", list(self.data.users))
        object.__setattr__(self, "items", list(self.data.items))

    def fitted(self, data: Interactions) -> Any:
        """A model with the same parameters, fitted on other data."""
        return copy.deepcopy(self.unfitted).fit(data)

    def seen(self, user: int) -> set[Any]:
        """Ids of the items of a row."""
        return {self.items[i] for i in self.data.row(user)}


Clause: TypeAlias = Callable[[Case], Iterator[str]]


def _same(left: Any, right: Any, how: str) -> Iterator[str]:
    """A sentence if two results differ in items, scores or marks."""
    if left.lists() != right.lists():
        row = next(
            k for k, (a, b) in enumerate(zip(left.lists(), right.lists(), strict=True)) if a != b
        )
        yield f"{how}, row {row} is {right.lists()[row]} instead of {left.lists()[row]}"
    elif not np.allclose(left.scores, right.scores, rtol=RTOL, atol=1e-12, equal_nan=True):
        yield f"{how}, the scores are others"
    elif not np.array_equal(left.popular, right.popular):
        yield f"{how}, other rows are marked as popular"


def _shapes(case: Case) -> Iterator[str]:
    for n in (0, 1, 4, len(case.items) + 5):
        found = case.model.recommend(case.users[:7], n=n)
        for name in ("items", "scores"):
            shape = np.shape(getattr(found, name))
            width = min(n, len(case.items))
            if shape != (7, width):
                yield f"with n={n} for 7 users, {name} has the shape {shape}, not (7, {width})"
                return
        if np.shape(found.popular) != (7,):
            yield f"popular has the shape {np.shape(found.popular)}, not (7,)"
        if list(found.users) != case.users[:7]:
            yield f"the rows are of {list(found.users)}, not of {case.users[:7]}"
        padded = np.isnan(found.scores)
        if (padded[:, :-1] & ~padded[:, 1:]).any():
            yield f"with n={n}, an item stands behind an empty place"
        empty = np.array([[item is None for item in row] for row in found.items.tolist()], bool)
        if not np.array_equal(empty.reshape(padded.shape), padded):
            yield f"with n={n}, places without an item (None) are not those without a score (NaN)"
    busiest = max(range(len(case.users)), key=lambda row: len(case.seen(row)))
    shape = np.shape(case.model.recommend([case.users[busiest]], n=4).items)
    if shape != (1, 4):
        yield f"with n=4 for one who has seen all, items has the shape {shape}, not (1, 4)"
    if len(case.model.recommend(None, n=3)) != len(case.users):
        yield "without users, there is not a row for everybody"
    if len(case.model.recommend([], n=3)) != 0:
        yield "for no users, there are rows"


def _distinct(case: Case) -> Iterator[str]:
    found = case.model.recommend(case.users, n=len(case.items) + 5, exclude_seen=False)
    for user, items in zip(case.users, found.lists(), strict=True):
        if len(set(items)) < len(items):
            yield f"{user!r} gets an item twice: {items}"
        if not set(items) <= set(case.items):
            yield f"{user!r} gets {set(items) - set(case.items)}, which are no items"
        if len(items) != len(case.items):
            yield f"{user!r} gets {len(items)} of {len(case.items)} items, nothing being excluded"


def _unseen(case: Case) -> Iterator[str]:
    found = case.model.recommend(case.users, n=len(case.items))
    for row, (user, items) in enumerate(zip(case.users, found.lists(), strict=True)):
        seen = case.seen(row)
        if seen & set(items):
            yield f"{user!r} gets {sorted(seen & set(items), key=str)}, which are seen"
        if len(items) != len(case.items) - len(seen):
            yield f"{user!r} gets {len(items)} items of {len(case.items) - len(seen)} unseen ones"


def _filters(case: Case) -> Iterator[str]:
    some, others = case.items[::3], case.items[:6]
    for seen in (True, False):
        options = {"n": len(case.items), "exclude_seen": seen}
        for name, given in (
            ("candidates", {"candidates": some}),
            ("exclude", {"exclude": others}),
            ("candidates and exclude", {"candidates": some, "exclude": others}),
        ):
            allowed = set(given.get("candidates", case.items)) - set(given.get("exclude", []))
            found = case.model.recommend(case.users, **options, **given)
            for row, items in enumerate(found.lists()):
                expected = allowed - (case.seen(row) if seen else set())
                if set(items) != expected:
                    wrong = sorted(set(items) ^ expected, key=str)
                    yield f"with {name}, {case.users[row]!r} has wrongly, or lacks, {wrong}"
    for given in ({"candidates": []}, {"exclude": case.items}):
        if any(case.model.recommend(case.users, n=3, **given).lists()):
            yield f"there are items although {next(iter(given))} leaves none"


def _order(case: Case) -> Iterator[str]:
    found = case.model.recommend(case.users, n=len(case.items), exclude_seen=False)
    place = {item: number for number, item in enumerate(case.items)}
    for user, items, scores in zip(case.users, found.lists(), found.scores.tolist(), strict=True):
        rounding = RTOL * max(map(abs, scores[: len(items)]), default=0.0)
        for k in range(len(items) - 1):
            if scores[k] < scores[k + 1] - rounding:
                yield f"{user!r} gets {items[k + 1]!r} after {items[k]!r}, which has a lower score"
            if scores[k] == scores[k + 1] and place[items[k]] > place[items[k + 1]]:
                yield (
                    f"{user!r} gets {items[k]!r} before {items[k + 1]!r}: a tie, to be broken by "
                    "the order of items"
                )


def _scores(case: Case) -> Iterator[str]:
    everything = np.asarray(case.model.score(case.users))
    shape = (len(case.users), len(case.items))
    if everything.shape != shape:
        yield f"score gives the shape {everything.shape}, not {shape}"
        return
    some = case.items[5:0:-2]
    part = case.model.score(case.users[3:5], some)
    columns = [case.items.index(item) for item in some]
    if not np.allclose(part, everything[3:5][:, columns], rtol=RTOL, atol=1e-12, equal_nan=True):
        yield "score of some users and items is not that part of the score of all"
    found = case.model.recommend(case.users, n=4)
    for row in np.flatnonzero(~found.popular):
        items = found.lists()[row]
        own = dict(zip(case.items, everything[row].tolist(), strict=True))
        listed = found.scores[row, : len(items)]
        if not np.allclose(listed, [own[item] for item in items], rtol=RTOL, atol=1e-12):
            yield f"the scores of {case.users[row]!r} are not those that score gives"
        left = set(case.items) - case.seen(int(row)) - set(items)
        least = min(listed, default=np.inf)
        for item in left:
            if own[item] > least + RTOL * abs(least) + 1e-12:
                yield f"{case.users[row]!r} does not get {item!r}, which has a higher score"


def _prefix(case: Case) -> Iterator[str]:
    many = case.model.recommend(case.users, n=9).lists()
    for n in (1, 2, 5):
        few = case.model.recommend(case.users, n=n).lists()
        for user, short, long in zip(case.users, few, many, strict=True):
            if short != long[:n]:
                yield f"the {n} best of {user!r} are {short}, but the first of the 9 best {long}"


def _any_users(case: Case) -> Iterator[str]:
    everybody = case.model.recommend(case.users, n=5).lists()
    order = case.rng.permutation(len(case.users)).tolist()
    order += order[:3]
    again = case.model.recommend([case.users[k] for k in order], n=5).lists()
    for k, items in zip(order, again, strict=True):
        if items != everybody[k]:
            yield f"{case.users[k]!r} gets {items} among others, and {everybody[k]} in order"
    for k in (0, 1, len(case.users) - 1):
        (alone,) = case.model.recommend([case.users[k]], n=5).lists()
        if alone != everybody[k]:
            yield f"{case.users[k]!r} gets {alone} alone, and {everybody[k]} among all"


def _empty(case: Case) -> Iterator[str]:
    lengths = np.diff(case.data.indptr)
    found = case.model.recommend(case.users, n=5)
    for row in np.flatnonzero(found.popular != (lengths == 0)):
        marked = "" if found.popular[row] else "not "
        yield f"{case.users[row]!r} has {lengths[row]} items and is {marked}marked as popular"
    popularity = case.data.popularity()
    best = [case.items[i] for i in np.argsort(-popularity, kind="stable")[:5]]
    for row in np.flatnonzero(lengths == 0):
        if found.lists()[row] != best:
            yield f"{case.users[row]!r} has no history and gets {found.lists()[row]}, not {best}"


def _again(case: Case) -> Iterator[str]:
    first = case.model.recommend(case.users, n=6)
    yield from _same(first, case.model.recommend(case.users, n=6), "asked again")
    yield from _same(first, case.fitted(case.data).recommend(case.users, n=6), "fitted again")
    same = copy.deepcopy(case.model).fit(case.data)
    yield from _same(first, same.recommend(case.users, n=6), "the same model fitted again")


def _shuffled(case: Case) -> Iterator[str]:
    rows = case.data.rows.numbers
    # Those with a history only: events cannot tell of the others.
    order = case.rng.permutation(len(rows))
    order = np.concatenate([order, order[:9]])  # and some of them twice
    users = [case.users[k] for k in rows]
    items = [case.items[k] for k in case.data.indices]
    plain = case.fitted(Interactions.from_pairs(users, items))
    mixed = case.fitted(
        Interactions.from_pairs([users[k] for k in order], [items[k] for k in order])
    )
    asked = sorted(set(users), key=users.index)
    yield from _same(
        plain.recommend(asked, n=6), mixed.recommend(asked, n=6), "with the events shuffled"
    )


def _unknown(case: Case) -> Iterator[str]:
    stranger = "nobody, surely"
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("recommend for an unknown user", lambda: case.model.recommend([stranger])),
        ("score for an unknown user", lambda: case.model.score([stranger])),
        ("an unknown candidate", lambda: case.model.recommend(candidates=[stranger])),
        ("an unknown item to exclude", lambda: case.model.recommend(exclude=[stranger])),
    ]
    for what, call in calls:
        try:
            call()
        except UnknownIdError:
            continue
        yield f"{what} is no UnknownIdError"
    try:
        case.model.recommend(case.users, n=-1)
    except ValueError:
        return
    yield "n=-1 is no ValueError"


def _profiles(case: Case) -> Iterator[str]:
    if not hasattr(case.model, "recommend_profiles"):
        return
    known = case.model.recommend(case.users, n=5)
    lists = [sorted(case.seen(row), key=str) for row in range(len(case.users))]
    yield from _same(known, case.model.recommend_profiles(lists, n=5), "by profile")
    if not hasattr(case.model, "recommend_profile"):
        return
    alone = case.model.recommend_profile(lists[1], n=5)
    yield from _same(case.model.recommend([case.users[1]], n=5), alone, "by one profile")


def _saved(case: Case) -> Iterator[str]:
    if not hasattr(case.model, "save"):
        return
    first = case.model.recommend(case.users, n=6)
    with tempfile.TemporaryDirectory() as folder:
        case.model.save(Path(folder) / "model")
        loaded = type(case.model).load(Path(folder) / "model")
        yield from _same(first, loaded.recommend(case.users, n=6), "saved and loaded")
        kinds = {
            type(item) for row in loaded.recommend(case.users[:3], n=3).lists() for item in row
        }
        if kinds != {type(case.items[0])}:
            yield f"saved and loaded, items are of type {kinds}"


CLAUSES: dict[str, Clause] = {
    "fixed, padded shapes": _shapes,
    "distinct and known items": _distinct,
    "nothing seen": _unseen,
    "candidates and exclusions": _filters,
    "empty histories": _empty,
    "falling scores, ties by the order of items": _order,
    "scores as score gives them": _scores,
    "fewer is the beginning of more": _prefix,
    "any order and choice of users": _any_users,
    "the same each time": _again,
    "any order of the events": _shuffled,
    "unknown ids and impossible n": _unknown,
    "profiles as users": _profiles,
    "saving and loading": _saved,
}


class Recommender(Protocol):
    """What the contract asks of a model."""

    def fit(self, interactions: Interactions) -> Any:
        """Learn from interactions; gives the model itself."""

    def recommend(self, users: Any = None, n: int = 10, **options: Any) -> Any:
        """Ranked items of users; options are exclude_seen, candidates and exclude."""

    def score(self, users: Any = None, items: Any = None) -> Any:
        """Scores of items for users."""


def _draw(rng: np.random.Generator, n_users: int, n_items: int) -> NDArray[np.bool_]:
    """Who touched what: two tastes, two users without a history, one who has seen all, twins."""
    taste = rng.integers(0, 2, n_users)[:, None] == rng.integers(0, 2, n_items)[None, :]
    matrix = rng.random((n_users, n_items)) < np.where(taste, 0.35, 0.06)
    matrix[:, 1] = matrix[:, 0]  # items that everybody treats alike, so that scores tie
    matrix[:, 3] = matrix[:, 2]
    matrix[2] = True
    matrix[[0, 5]] = False
    matrix[1, 4] = True
    return matrix


def _ids(kind: str, count: int, letter: str) -> list[Any]:
    if kind == "whole numbers":
        return [7 * i + 3 for i in range(count)]
    if kind == "UUIDs":
        return [UUID(int=(i * 2**64 + ord(letter)) * 12345 % 2**128) for i in range(count)]
    return [f"{letter}{i}" for i in range(count)]


def check_recommender(
    model: Recommender,
    rng: np.random.Generator | int | None = None,
    *,
    n_users: int = 40,
    n_items: int = 23,
) -> None:
    """Raise `LawError` if ``model`` breaks a clause of the contract, and say which and how.

    The model is copied and the copies are fitted, on made-up data with whole numbers, text and
    UUIDs as ids.

    Parameters
    ----------
    model : one of the library's or your own, with its parameters set
    rng : where the data comes from; the same data each time if not given
    n_users, n_items : the size of the data, at least 8 users and 8 items

    >>> from boolrank.models.kernel_ranker import KernelRanker
    >>> check_recommender(KernelRanker("disjunctive(2)"), n_users=12, n_items=9)
    """
    generator = np.random.default_rng(0 if rng is None else rng)
    for kind in ("text", "whole numbers", "UUIDs"):
        matrix = _draw(generator, n_users, n_items)
        data = Interactions.from_matrix(matrix, _ids(kind, n_users, "u"), _ids(kind, n_items, "i"))
        fitted = copy.deepcopy(model).fit(data)
        for name, clause in CLAUSES.items():
            for complaint in clause(Case(fitted, data, model, generator)):
                raise LawError(f"{model!r} breaks the clause {name!r}, ids {kind}: {complaint}")
