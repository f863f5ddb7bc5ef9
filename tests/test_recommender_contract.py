"""The contract of recommenders: the ranker keeps it, and a model that breaks a clause is caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from boolrank import KernelRanker, UnknownIdError
from boolrank.models import MODELS, ModelEntry
from boolrank.testing import CLAUSES, LawError, check_recommender


@pytest.mark.parametrize("storage", ["dense", "compressed"])
@pytest.mark.parametrize("kernel", ["linear", "disjunctive(8)", "monotone_dnf", "conjunctive(3)"])
def test_the_ranker_keeps_the_contract(kernel, storage):
    check_recommender(KernelRanker(kernel, storage=storage, n_threads=1), n_users=20, n_items=12)


@pytest.mark.parametrize("seed", range(3))
def test_the_ranker_keeps_it_on_other_data_and_with_other_parameters(seed):
    model = KernelRanker("tanimoto", reg=0.0, negative_weight=0.0, n_threads=1)
    check_recommender(model, seed, n_users=15, n_items=9)


def test_a_model_is_not_changed_by_the_check():
    model = KernelRanker("linear", n_threads=1)
    check_recommender(model, n_users=10, n_items=8)
    assert model._fitted is None


class Broken(KernelRanker):
    """A ranker with one thing wrong; each subclass has another."""

    def __repr__(self):
        return "Broken()"


class TooMany(Broken):
    def recommend(self, users=None, n=10, **options):
        return super().recommend(users, n + 1 if n == 4 else n, **options)


class Unpadded(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        most = max(map(len, found.lists()), default=0)
        return replace(found, items=found.items[:, :most], scores=found.scores[:, :most])


class OtherRows(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        return replace(found, users=found.users[::-1])


class Twice(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if n > 20:
            found.items[:, 1] = np.where(found.items[:, 1] == None, None, found.items[:, 0])  # noqa: E711
        return found


class Seen(Broken):
    def recommend(self, users=None, n=10, exclude_seen=True, **options):  # noqa: ARG002
        return super().recommend(users, n, exclude_seen=False, **options)


class DeafToCandidates(Broken):
    def recommend(self, users=None, n=10, candidates=None, **options):  # noqa: ARG002
        return super().recommend(users, n, **options)


class DeafToExclude(Broken):
    def recommend(self, users=None, n=10, exclude=None, **options):  # noqa: ARG002
        return super().recommend(users, n, **options)


class Rising(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if n > 1 and not options.get("exclude_seen", True) and "exclude" not in options:
            found.items[:, :2] = found.items[:, 1::-1]
            found.scores[:, :2] = found.scores[:, 1::-1]
        return found


class TiesAnyHow(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        for row in np.flatnonzero(~found.popular):
            items, scores = found.items[row], found.scores[row]
            for k in range(len(items) - 1):
                if scores[k] == scores[k + 1]:
                    items[k], items[k + 1] = items[k + 1], items[k]
                    break
        return found


class OtherScores(Broken):
    def score(self, users=None, items=None):
        return super().score(users, items) * 2


class NotTheBest(Broken):
    def recommend(self, users=None, n=10, **options):
        if n != 4:
            return super().recommend(users, n, **options)
        found = super().recommend(users, 5, **options)
        return replace(found, items=found.items[:, 1:], scores=found.scores[:, 1:])


class NoPrefix(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if n == 2:
            found.items[:, :] = found.items[:, ::-1]
        return found


class MindsTheCompany(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if users is not None and len(users) == 1 and n > 1:
            found.items[:, :2] = found.items[:, 1::-1]
        return found


class Unmarked(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        return replace(found, popular=np.zeros(len(found), bool))

    def score(self, users=None, items=None):
        return np.nan_to_num(super().score(users, items))


class EmptyForNewcomers(Broken):
    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if n == 5:
            found.items[found.popular] = found.items[found.popular][:, ::-1]
        return found


class Forgetful(Broken):
    fits = 0

    def fit(self, interactions, overlaps=None):
        self.fits += 1
        return super().fit(interactions, overlaps)

    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if self.fits > 1:
            found.scores[:] += 1
        return found


class MindsTheOrder(Broken):
    odd = False

    def fit(self, interactions, overlaps=None):
        self.odd = interactions.duplicates > 0
        return super().fit(interactions, overlaps)

    def recommend(self, users=None, n=10, **options):
        found = super().recommend(users, n, **options)
        if self.odd:
            found.items[:, :2] = found.items[:, 1::-1]
        return found


class Tolerant(Broken):
    def recommend(self, users=None, n=10, **options):
        try:
            return super().recommend(users, n, **options)
        except UnknownIdError:
            return None


class NegativeN(Broken):
    def recommend(self, users=None, n=10, **options):
        return super().recommend(users, max(n, 0), **options)


class OtherProfiles(Broken):
    def recommend_profiles(self, profiles, n=10, exclude_seen=True, *options):  # noqa: ARG002
        return super().recommend_profiles(profiles, n, False, *options)


class LostInSaving(Broken):
    def save(self, path):
        KernelRanker("linear", negative_weight=0.3).fit(self.interactions).save(path)


class WrongReasons(Broken):
    def explain(self, user, item):
        return [(own, 2 * part + 1) for own, part in super().explain(user, item)]


class LazyUpdate(Broken):
    def update(self, added=None, removed=None):  # noqa: ARG002 - as the ranker's
        return self


class DeafToRecency(Broken):
    def fit(self, interactions, overlaps=None):
        self.recency = 0.0
        return super().fit(interactions, overlaps)


class WrongPartsByRecency(Broken):
    def explain(self, user, item):
        return [(own, part * (1 + self.recency)) for own, part in super().explain(user, item)]


class Crash(Broken):
    def explain(self, user, item):
        raise OSError(f"{user} {item}")


BROKEN = {
    TooMany: "fixed, padded shapes",
    Unpadded: "fixed, padded shapes",
    OtherRows: "fixed, padded shapes",
    Twice: "exactly the allowed items', ids text: with no filter, .* gets an item twice",
    Seen: "exactly the allowed items', ids text: with exclude_seen, .* has or lacks",
    DeafToCandidates: "exactly the allowed items', ids text: with candidates, .* has or lacks",
    DeafToExclude: "exactly the allowed items', ids text: with exclude, .* has or lacks",
    Rising: "falling scores, ties by the order of items",
    TiesAnyHow: "falling scores, ties by the order of items",
    OtherScores: "scores as score gives them",
    NotTheBest: "scores as score gives them",
    NoPrefix: "any n, order and choice of users', ids text: the best 2 of .* among 20",
    MindsTheCompany: "any n, order and choice of users', ids text: the best 5 of .* among 1,",
    Unmarked: "empty histories",
    EmptyForNewcomers: "empty histories",
    Forgetful: "the same lists by any way', ids text: the same model fitted again, the scores",
    MindsTheOrder: "any order of the events', ids text: events shuffled",
    Tolerant: "unknown ids and impossible n",
    NegativeN: "unknown ids and impossible n",
    OtherProfiles: "the same lists by any way', ids text: by profile",
    LostInSaving: "the same lists by any way', ids text: saved and loaded",
    WrongReasons: "reasons that add up",
    LazyUpdate: "any order of the events', ids text: updated instead of fitted",
    DeafToRecency: "weights by recency', ids text: recency=1 and recency=0 give the same scores",
    WrongPartsByRecency: "weights by recency', ids text: the reasons of",
    Crash: "reasons that add up', ids text: OSError: u1 i0",
}


def test_every_clause_has_a_model_that_breaks_it():
    assert {clause.partition("'")[0] for clause in BROKEN.values()} == set(CLAUSES)


@pytest.mark.parametrize("model", BROKEN, ids=lambda model: model.__name__)
def test_a_model_that_breaks_a_clause_is_caught_by_that_clause(model, monkeypatch):
    monkeypatch.setitem(MODELS, "broken", ModelEntry("broken", f"{__name__}:{model.__name__}", ""))
    with pytest.raises(LawError, match=f"breaks the clause '{BROKEN[model]}"):
        check_recommender(model("linear", n_threads=1), n_users=20, n_items=23)


@pytest.mark.parametrize("model", [KernelRanker, "kernel-ranker"])
def test_what_is_no_model_is_said(model):
    with pytest.raises(TypeError, match="is not a model"):
        check_recommender(model)


def test_a_model_that_cannot_be_saved_breaks_the_contract():
    with pytest.raises(LawError, match=r"by any way', .*Seldom is not in the .*add it: MODELS"):
        check_recommender(Seldom("linear", n_threads=1), n_users=10, n_items=8)


class Seldom(Broken):
    """It is not in the table of models."""
