"""The contract of recommenders, for any model with fit, recommend and score.

Each clause is a function of a fitted model and its data. It yields a sentence for every way in
which the model breaks it.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.interactions import Interactions
from ..errors import ParameterTypeError, UnknownIdError
from ..models import load_model
from .laws import LawError

# Scores of a list and those of `score` may be summed in another order.
RTOL = 1e-9
_STRANGER = "nobody, surely"
# The id of the user "u" or the item "i" with a number.
_IDS: dict[str, Callable[[str, int], Any]] = {
    "text": lambda letter, i: f"{letter}{i}",
    "whole numbers": lambda _, i: 7 * i + 3,
    "UUIDs": lambda letter, i: UUID(int=(i * 2**64 + ord(letter)) * 12345 % 2**128),
}


@dataclass(frozen=True)
class Case:
    """A fitted model, its data, and the model before the fit."""

    model: Any
    data: Interactions
    unfitted: Any
    rng: np.random.Generator
    users: list[Any]
    items: list[Any]

    def fitted(self, data: Interactions) -> Any:
        """Fit a model with the same parameters on other data."""
        return copy.deepcopy(self.unfitted).fit(data)

    def seen(self, user: int) -> set[Any]:
        """Return the ids of the items of a row."""
        return {self.items[i] for i in self.data.rows.row(user)}


Clause: TypeAlias = Callable[[Case], Iterator[str]]


def _close(left: ArrayLike, right: ArrayLike) -> bool:
    return np.allclose(left, right, rtol=RTOL, atol=1e-12, equal_nan=True)


def _same(left: Any, right: Any, how: str) -> Iterator[str]:
    """Yield a sentence if two results differ in items, their types, scores or marks."""
    for row, (a, b) in enumerate(zip(left.lists(), right.lists(), strict=True)):
        if a != b or [*map(type, a)] != [*map(type, b)]:
            yield f"{how}, row {row} is {b} instead of {a}"
            return
    if not _close(left.scores, right.scores):
        yield f"{how}, the scores differ"
    elif not np.array_equal(left.popular, right.popular):
        yield f"{how}, other rows are marked as popular"


def _shapes(case: Case) -> Iterator[str]:
    busiest = case.users[int(np.argmax(case.data.rows.lengths))]
    asked = {"7 users": case.users[:7], "a user who has seen all": [busiest], "nobody": []}
    for (who, users), n in product(asked.items(), (0, 1, 4, len(case.items) + 5)):
        found = case.model.recommend(users, n=n)
        shape = (len(users), min(n, len(case.items)))
        for name, wanted in (("items", shape), ("scores", shape), ("popular", shape[:1])):
            given = np.shape(getattr(found, name))
            if given != wanted:
                yield f"with n={n} for {who}, {name} has the shape {given}, not {wanted}"
                return
        if list(found.users) != users:
            yield f"the rows are of {list(found.users)}, not of {users}"
        padded = np.isnan(found.scores)
        if (padded[:, :-1] & ~padded[:, 1:]).any():
            yield f"with n={n}, an item follows an empty place"
        empty = np.array([[item is None for item in row] for row in found.items.tolist()], bool)
        if not np.array_equal(empty.reshape(padded.shape), padded):
            yield f"with n={n}, places without an item (None) are not those without a score (NaN)"
    if len(case.model.recommend(None, n=3)) != len(case.users):
        yield "without users, there is not a row for everybody"


def _allowed(case: Case) -> Iterator[str]:
    some, others = {"candidates": case.items[::3]}, {"exclude": case.items[:6]}
    nothing: list[dict[str, Any]] = [{"candidates": []}, {"exclude": case.items}]
    for given, exclude_seen in product(({}, some, others, some | others, *nothing), (False, True)):
        allowed = set(given.get("candidates", case.items)) - set(given.get("exclude", []))
        name = " and ".join([*given, *(["exclude_seen"] if exclude_seen else [])]) or "no filter"
        options = given | {"n": len(case.items) + 5, "exclude_seen": exclude_seen}
        for row, items in enumerate(case.model.recommend(case.users, **options).lists()):
            wrong = set(items) ^ (allowed - (case.seen(row) if exclude_seen else set()))
            if len(set(items)) < len(items):
                yield f"with {name}, {case.users[row]!r} gets an item twice: {items}"
            if wrong:
                yield f"with {name}, {case.users[row]!r} wrongly has or lacks {wrong}"
    plain = case.model.recommend(case.users, n=5)
    for given in ({"exclude": [_STRANGER]}, {"candidates": [*case.items, _STRANGER]}):
        found = case.model.recommend(case.users, n=5, **given)
        yield from _same(plain, found, f"with an unknown id in {next(iter(given))}")


def _empty(case: Case) -> Iterator[str]:
    found = case.model.recommend(case.users, n=5)
    best = [case.items[i] for i in np.argsort(-case.data.popularity(), kind="stable")[:5]]
    rows = zip(case.users, case.data.rows.lengths, found.lists(), found.popular, strict=True)
    for user, length, items, popular in rows:
        if popular != (length == 0):
            marked = "" if popular else "not "
            yield f"{user!r} has {length} items and is {marked}marked as popular"
        if length == 0 and items != best:
            yield f"{user!r} has no history and gets {items}, not {best}"


def _order(case: Case) -> Iterator[str]:
    found = case.model.recommend(case.users, n=len(case.items), exclude_seen=False)
    place = {item: number for number, item in enumerate(case.items)}
    for user, items, scores in zip(case.users, found.lists(), found.scores.tolist(), strict=True):
        rounding = RTOL * max(map(abs, scores[: len(items)]), default=0.0)
        for (one, score), (other, lower) in pairwise(zip(items, scores, strict=False)):
            if score < lower - rounding:
                yield f"{user!r} gets {other!r} after {one!r}, which has a lower score"
            if score == lower and place[one] > place[other]:
                yield f"{user!r} gets {one!r} before {other!r}, which ties and is first"


def _scores(case: Case) -> Iterator[str]:
    everything = np.asarray(case.model.score(case.users))
    shape = (len(case.users), len(case.items))
    if everything.shape != shape:
        yield f"score gives the shape {everything.shape}, not {shape}"
        return
    some = case.items[5:0:-2]
    columns = [case.items.index(item) for item in some]
    if not _close(case.model.score(case.users[3:5], some), everything[3:5][:, columns]):
        yield "score of some users and items is not that part of the score of all"
    found = case.model.recommend(case.users, n=4)
    for row in np.flatnonzero(~found.popular):
        items = found.lists()[row]
        own = dict(zip(case.items, everything[row].tolist(), strict=True))
        listed = found.scores[row, : len(items)]
        if not _close(listed, [own[item] for item in items]):
            yield f"the scores of {case.users[row]!r} are not those that score gives"
        least = min(listed, default=np.inf)
        for item in set(case.items) - case.seen(int(row)) - set(items):
            if own[item] > least + RTOL * abs(least) + 1e-12:
                yield f"{case.users[row]!r} does not get {item!r}, which has a higher score"


def _independent(case: Case) -> Iterator[str]:
    everybody = list(range(len(case.users)))
    best = case.model.recommend(case.users, n=9).lists()
    order = case.rng.permutation(len(case.users)).tolist()
    requests = [(everybody, n) for n in (1, 2, 5)]
    requests += [(rows, 5) for rows in ([*order, *order[:3]], [0], [1], everybody[-1:])]
    for rows, n in requests:
        found = case.model.recommend([case.users[k] for k in rows], n=n).lists()
        for k, items in zip(rows, found, strict=True):
            if items != best[k][:n]:
                who = f"{case.users[k]!r}, asked among {len(rows)},"
                yield f"the best {n} of {who} are {items}, but the best 9 are {best[k]}"


def _any_way(case: Case) -> Iterator[str]:
    model, users = case.model, case.users
    first = model.recommend(users, n=6)
    found = {
        "asked again": model.recommend(users, n=6),
        "fitted again": case.fitted(case.data).recommend(users, n=6),
        "the same model fitted again": copy.deepcopy(model).fit(case.data).recommend(users, n=6),
    }
    if hasattr(model, "save"):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            loaded = load_model(Path(folder) / "model")
            found["saved and loaded"] = loaded.recommend(users, n=6)
    lists = [sorted(case.seen(row), key=str) for row in range(len(users))]
    alike = not getattr(model, "recency", 0.0)  # lists have no times
    if alike and hasattr(model, "recommend_profiles"):
        found["by profile"] = model.recommend_profiles(lists, n=6)
    for how, other in found.items():
        yield from _same(first, other, how)
    if alike and hasattr(model, "recommend_profile"):
        alone = model.recommend_profile(lists[1], n=6)
        yield from _same(model.recommend([users[1]], n=6), alone, "by one profile")


def _events(case: Case) -> Iterator[str]:
    users = [case.users[k] for k in case.data.rows.numbers]
    items = [case.items[k] for k in case.data.indices]
    time = np.asarray(case.data.time)
    order = case.rng.permutation(len(users)).tolist()
    order += order[:9]  # some events twice
    shuffled = [users[k] for k in order], [items[k] for k in order], time[order]
    given = (users, items, time), shuffled
    plain, other = (case.fitted(Interactions.from_pairs(*each)) for each in given)
    asked = list(dict.fromkeys(users))
    yield from _same(plain.recommend(asked, n=6), other.recommend(asked, n=6), "events shuffled")
    if hasattr(case.model, "update"):
        more = Interactions.from_pairs([case.users[0]], [case.items[4]], [3])
        updated = copy.deepcopy(case.model).update(more).recommend(case.users, n=6)
        fresh = case.fitted(case.data.updated(more)).recommend(case.users, n=6)
        yield from _same(fresh, updated, "updated instead of fitted")


def _unknown(case: Case) -> Iterator[str]:
    calls: list[tuple[str, type[Exception], Callable[[], Any]]] = [
        ("an unknown user", UnknownIdError, lambda: case.model.recommend([_STRANGER])),
        ("score of an unknown user", UnknownIdError, lambda: case.model.score([_STRANGER])),
        ("n=-1", ValueError, lambda: case.model.recommend(case.users, n=-1)),
    ]
    for what, error, call in calls:
        try:
            call()
        except error:
            continue
        yield f"{what} does not raise {error.__name__}"


def _reasons(case: Case) -> Iterator[str]:
    if not hasattr(case.model, "explain") or not case.model.scorer.explains():
        return
    for row in range(1, 5):
        user = case.users[row]
        for item in case.items[:4]:
            parts = dict(case.model.explain(user, item))
            if set(parts) != case.seen(row):
                yield f"the reasons of {user!r} for {item!r} are not the user's items"
                continue
            score = case.model.score([user], [item])[0, 0] if parts else 0.0
            terms = sum(map(abs, parts.values()))
            if abs(sum(parts.values()) - score) > 1e-4 * terms + 1e-9:
                yield f"the reasons of {user!r} for {item!r} do not add up to its score"


def _recency(case: Case) -> Iterator[str]:
    if not hasattr(case.unfitted, "recency"):
        return
    plain, weighted = (
        copy.deepcopy(case.unfitted).set_params(recency=half_life).fit(case.data)
        for half_life in (0.0, 1.0)
    )
    if _close(plain.score(), weighted.score()):
        yield "recency=1 and recency=0 give the same scores; multiply by profiles.weights"
    yield from _reasons(replace(case, model=weighted))


CLAUSES: dict[str, Clause] = {
    "fixed, padded shapes": _shapes,
    "exactly the allowed items": _allowed,
    "empty histories": _empty,
    "falling scores, ties by the order of items": _order,
    "scores as score gives them": _scores,
    "any n, order and choice of users": _independent,
    "the same lists by any way": _any_way,
    "any order of the events": _events,
    "unknown ids and impossible n": _unknown,
    "reasons that add up": _reasons,
    "weights by recency": _recency,
}


def check_recommender(
    model: Any,
    rng: np.random.Generator | int | None = None,
    *,
    n_users: int = 40,
    n_items: int = 23,
) -> None:
    """Raise `LawError` if a model breaks a clause of the contract, and say which and how.

    Copies of the model, which needs `fit`, `recommend` and `score`, are fitted on synthetic data of
    at least 8 users and 8 items, with text, integers and UUIDs as ids.

    >>> from boolrank.models.kernel_ranker import KernelRanker
    >>> check_recommender(KernelRanker("disjunctive(2)"), n_users=12, n_items=9)
    """
    if isinstance(model, type | str):
        raise ParameterTypeError(f"{model!r} is not a model", hint="make one: Model(...)")
    generator = np.random.default_rng(0 if rng is None else rng)
    for kind, id_of in _IDS.items():
        matrix = _draw(generator, n_users, n_items)
        ids = ([id_of(c, i) for i in range(size)] for c, size in (("u", n_users), ("i", n_items)))
        data = Interactions.from_matrix(matrix, *ids)
        data = replace(data, time=np.arange(data.size) * 7 % 5)  # a few distinct times
        fitted = copy.deepcopy(model).fit(data)
        case = Case(fitted, data, model, generator, list(data.users), list(data.items))
        for name, clause in CLAUSES.items():
            broken = f"{model!r} breaks the clause {name!r}, ids {kind}"
            try:
                complaint = next(clause(case), "")
            except Exception as error:
                raise LawError(f"{broken}: {type(error).__name__}: {error}") from error
            if complaint:
                raise LawError(f"{broken}: {complaint}")


def _draw(rng: np.random.Generator, n_users: int, n_items: int) -> NDArray[np.bool_]:
    """Draw two tastes, twin items that tie, two empty histories, and a user who has seen all."""
    taste = rng.integers(0, 2, n_users)[:, None] == rng.integers(0, 2, n_items)[None, :]
    matrix = rng.random((n_users, n_items)) < np.where(taste, 0.35, 0.06)
    matrix[:, 1] = matrix[:, 0]
    matrix[:, 3] = matrix[:, 2]
    matrix[2] = True
    matrix[[0, 5]] = False
    matrix[1, 4] = True
    return matrix
