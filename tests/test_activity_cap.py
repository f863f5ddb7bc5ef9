"""Users beyond an activity cap do not count in the fit, and are ranked by all their items."""

from __future__ import annotations

import numpy as np
import pytest

from boolrank import (
    Interactions,
    ItemKNN,
    KernelEase,
    KernelRanker,
    Overlaps,
    SpectralRanker,
    load_model,
)
from boolrank.data.synthetic import synthetic
from boolrank.errors import BoolrankError

MODELS = [
    KernelRanker("disjunctive(8)"),
    KernelRanker("tanimoto", user_exponent=0.5),
    ItemKNN(neighbours=5),
    ItemKNN(output_exponent=0.2),
    SpectralRanker(rank=4),
    KernelEase("linear"),
]
CAP = 20


@pytest.fixture(scope="module")
def data() -> Interactions:
    return synthetic(120, 60, 1_800, seed=2)


def same(one, other) -> bool:
    return (one.items == other.items).all() and np.array_equal(
        one.scores, other.scores, equal_nan=True
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_lists_are_those_of_a_fit_without_active_users_for_all_items_of_everybody(
    model, data, tmp_path
) -> None:
    active = data.rows.lengths > CAP
    assert 0 < active.sum() < len(data.users)
    keep = np.repeat(~active, data.rows.lengths)
    without = Interactions.from_numbers(
        data.users, data.items, data.rows.numbers[keep], data.indices[keep]
    )
    expected = type(model)(**model.get_params()).fit(without)
    lists = [[data.items[k] for k in data.rows.row(user)] for user in range(len(data.users))]
    capped = type(model)(**(model.get_params() | {"activity_cap": CAP}))
    found = capped.fit(data, Overlaps.of(data)).recommend(n=10)
    assert same(found, expected.recommend_profiles(lists, n=10))
    assert not same(found, type(model)(**model.get_params()).fit(data).recommend(n=10))
    capped.save(tmp_path / "model")
    assert load_model(tmp_path / "model").fitted.params["activity_cap"] == CAP


def test_an_update_that_makes_users_active_equals_a_fit(data) -> None:
    rng = np.random.default_rng(0)
    keep = rng.random(data.size) < 0.7
    before, added = data[keep], data[~keep]
    assert (before.rows.lengths > CAP).sum() < (data.rows.lengths > CAP).sum()
    model = KernelRanker(activity_cap=CAP).fit(before).update(added=added)
    assert same(model.recommend(n=9), KernelRanker(activity_cap=CAP).fit(data).recommend(n=9))
    model.update(removed=added)
    assert same(model.recommend(n=9), KernelRanker(activity_cap=CAP).fit(before).recommend(n=9))


def test_rules_are_of_users_that_count(data) -> None:
    model = KernelRanker("linear", activity_cap=CAP).fit(data)
    user, item = data.users[5], data.items[3]
    found = model.rules(user, item, n=len(data.users))
    assert sum(rule.adds for rule in found.rules) == pytest.approx(
        model.score([user], [item])[0, 0]
    )


@pytest.mark.parametrize(
    ("cap", "said"), [(0, "activity_cap"), (2.5, "activity_cap"), ("9", "whole"), (1, "every user")]
)
def test_caps_that_make_no_sense_are_refused(cap, said) -> None:
    data = Interactions.from_pairs([1, 1, 2, 2], list("abab"))
    with pytest.raises(BoolrankError, match=said):
        ItemKNN(activity_cap=cap).fit(data)


def test_the_command_line_shows_the_cap_and_what_it_saves(run, tmp_path) -> None:
    source = "synthetic:120x60x1800"
    model = ("--model", f"item-knn(activity_cap={CAP})")
    assert run("fit", source, *model, "--out", tmp_path / "model")[0] == 0
    assert f"activity_cap={CAP}" in run("show", tmp_path / "model")[1]
    steps = [
        int(run("estimate", source, "--csv", *more)[1].splitlines()[1].split(",")[3])
        for more in ((), ("--activity-cap", CAP))
    ]
    assert steps[1] < steps[0] / 2
