"""Rules: the formulas that decide, exact where they say so, and the planted ones."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC, SVR

from boolrank import (
    Conjunctive,
    Disjunctive,
    Interactions,
    Kernel,
    KernelRanker,
    Linear,
    MonotoneDNF,
    Tanimoto,
    Threshold,
    synthetic,
)
from boolrank.errors import BoolrankError, InputError
from boolrank.kernels import (
    DNF,
    AllSubset,
    ComposedCNF,
    ComposedDNF,
    LiteralConjunctive,
    LiteralDisjunctive,
)
from boolrank.kernels.classifier import LearnedKernelClassifier
from boolrank.kernels.rules import Machine, rules_of
from effort import tries
from feature_spaces import enumerate_features
from strategies import binary_matrices

KERNELS = [
    Linear(),
    AllSubset(),
    Conjunctive(2),
    Conjunctive(3, up_to=True),
    Disjunctive(2),
    Disjunctive(3),
    Threshold(3, 3),
    MonotoneDNF(),
    MonotoneDNF(0.5, max_arity=2),
    MonotoneDNF(3),
    LiteralConjunctive(2),
    LiteralDisjunctive(2),
    DNF(0.25, max_arity=3),
]


def enumerated(kernel: Kernel, X: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each feature in a machine, and the features of each vector."""
    space = enumerate_features(kernel, X.shape[1])
    active = space.active[X @ (1 << np.arange(X.shape[1]))].astype(float)
    return beta @ active * np.array([float(weight) for weight in space.weights]), active


machines = st.tuples(
    binary_matrices(min_rows=2, max_rows=9, min_columns=3, max_columns=5),
    st.lists(st.integers(-9, 9), min_size=9, max_size=9),
    st.sampled_from(KERNELS),
)


@given(machines, st.integers(1, 6))
@settings(max_examples=tries(150))
def test_the_first_rules_have_the_largest_weights_of_all_formulas(machine, n) -> None:
    X, numbers, kernel = machine
    beta = np.array(numbers[: len(X)], float)
    weights, active = enumerated(kernel, X, beta)
    found = Machine(kernel, X, beta).rules(n=n)
    assert found.exact
    largest = np.sort(abs(weights))[::-1][: len(found.rules)]
    np.testing.assert_allclose([abs(each.adds) for each in found.rules], largest, atol=1e-9)
    assert len(found.rules) == min(n, (abs(weights) > 1e-9).sum())
    # Restricted to formulas that are true of one vector.
    aimed = Machine(kernel, X, beta).rules(X[0], n)
    parts = np.sort(abs(weights * active[0]))[::-1][: len(aimed.rules)]
    np.testing.assert_allclose([abs(each.adds) for each in aimed.rules], parts, atol=1e-9)


@given(machines, st.booleans())
@settings(max_examples=tries(100))
def test_the_parts_of_all_formulas_add_up_to_the_score(machine, normalized) -> None:
    X, numbers, kernel = machine
    beta, x = np.array(numbers[: len(X)], float), 1 - X[0]
    mixed = 0.5 * kernel.normalized() + Linear() if normalized else kernel
    found = Machine(mixed, X, beta).rules(x, 10**4)
    assert found.exact
    wanted = (mixed(x[None], X) @ beta)[0]
    assert sum(each.adds for each in found.rules) == pytest.approx(wanted, abs=1e-9)
    assert found.score == pytest.approx(wanted, abs=1e-9)
    every = Machine(mixed, X, beta).rules(n=10**4)
    sums = sum((each.parts for each in every.rules), np.zeros(len(X)))
    np.testing.assert_allclose(sums, mixed(X.copy(), X) @ beta, atol=1e-9)


def _all(X: np.ndarray) -> np.ndarray:
    return X.all(axis=1)


def _any(X: np.ndarray) -> np.ndarray:
    return X.any(axis=1)


def _joined(word: str, parts: list[str]) -> frozenset[frozenset[str]]:
    other = " or " if word == " and " else " and "
    return frozenset(frozenset(part.strip("()").split(other)) for part in parts)


# Planted: arities of the clauses, the outer and the inner connective.
PLANTED = {
    "conjunction of 2": (Conjunctive(2), " and ", 2, 1),
    "conjunction of 3": (Conjunctive(3), " and ", 3, 1),
    "disjunction of 2": (Disjunctive(2), " or ", 2, 1),
    "disjunction of 3": (Disjunctive(3), " or ", 3, 1),
    "any conjunction": (MonotoneDNF(max_arity=3), " and ", 2, 1),
    "DNF": (ComposedDNF(2, 2), " or ", 2, 2),
    "CNF": (ComposedCNF(2, 2), " and ", 2, 2),
}


RUNS = 15  # for each of seven kinds of formulas


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_formula_is_among_the_first_three_in_95_of_100_machines(name: str) -> None:
    kernel, word, clauses, literals = PLANTED[name]
    outer, inner = (_all, _any) if word == " and " else (_any, _all)
    hits = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        X = (rng.random((300, 12)) < 0.4).astype(int)
        chosen = rng.permutation(12)[: clauses * literals].reshape(clauses, literals)
        y = outer(np.stack([inner(X[:, each]) for each in chosen], axis=1))
        y ^= rng.random(300) < 0.05
        found = rules_of(SVC(kernel=kernel.normalized()).fit(X, y), X, n=3)
        planted = frozenset(frozenset(f"x{k}" for k in each) for each in chosen)
        hits += planted in [_joined(word, each.formula.split(word)) for each in found.rules]
    assert hits >= 0.95 * RUNS


def test_rules_of_a_learned_sum_have_support_and_fidelity() -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((200, 8)) < 0.5).astype(int)
    machine = LearnedKernelClassifier().fit(X, X[:, 1] & X[:, 4])
    found = rules_of(machine, X, n=1, names=list("abcdefgh"))
    (rule,) = found.rules
    assert rule.formula == "b and e"
    assert rule.support == rule.positive == len(rule.satisfied) == (X[:, 1] & X[:, 4]).sum()
    assert found.fidelity == 1.0


def test_a_search_without_nodes_says_so_and_still_finds_large_weights() -> None:
    rng = np.random.default_rng(4)
    X, beta = rng.integers(0, 2, (80, 30)), rng.normal(size=80)
    short, full = (Machine(Conjunctive(3), X, beta).rules(n=1, nodes=k) for k in (40, 10**5))
    assert (short.exact, full.exact) == (False, True)
    assert 0.5 * abs(full.rules[0].adds) < abs(short.rules[0].adds) <= abs(full.rules[0].adds)


def test_composed_rules_are_the_best_of_all_pairs_of_clauses() -> None:
    rng = np.random.default_rng(5)
    X, beta = rng.integers(0, 2, (40, 6)), rng.normal(size=40)
    pairs = list(combinations(range(6), 2))
    terms = np.stack([X[:, a] & X[:, b] for a, b in pairs], axis=1)
    forms = np.stack([terms[:, a] | terms[:, b] for a, b in combinations(range(15), 2)], axis=1)
    found = Machine(ComposedDNF(2, 2), X, beta).rules(n=3)
    np.testing.assert_allclose(
        [abs(each.adds) for each in found.rules], np.sort(abs(beta @ forms))[::-1][:3]
    )
    assert not found.exact


def test_machines_without_rules_are_refused_with_a_hint() -> None:
    X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    with pytest.raises(InputError, match=r"tanimoto has no rules.*use a conjunctive"):
        Machine(Linear() + Tanimoto(), X, np.ones(4)).rules()
    with pytest.raises(InputError, match=r"fit SVC\(kernel=Conjunctive"):
        rules_of(SVC(kernel="linear").fit(X, [0, 1, 1, 0]), X)
    with pytest.raises(InputError, match=r"SVR\(.*is not a fitted classifier"):
        rules_of(SVR(kernel=Linear()).fit(X, [0.0, 1.0, 1.0, 0.0]), X)
    with pytest.raises(InputError, match="of two classes"):
        rules_of(SVC(kernel=Linear()).fit(X, [0, 1, 2, 0]), X)
    with pytest.raises(InputError, match="fitted on 4 vectors, but X has 3"):
        rules_of(SVC(kernel=Linear()).fit(X, [0, 1, 1, 0]), X[:3])


FILMS = {
    "item": list("abcdef"),
    "genres": ["war|drama", "war|drama", "love", "war", "love|drama", ""],
}


def test_rules_of_a_ranker_name_tags_and_items_and_add_up_to_the_score() -> None:
    data = Interactions.from_pairs([1, 1, 2, 2, 3, 3, 4], list("abbcdea"))
    model = KernelRanker("conjunctive(2, up_to=True)[genres]").fit(data, items=pl.DataFrame(FILMS))
    found = model.rules(4, "b")
    assert found.exact
    assert found.rules[0].formula == "genres: drama and war"
    assert (found.rules[0].support, found.rules[0].satisfied) == (2, ("a",))
    assert sum(rule.adds for rule in found.rules) == pytest.approx(model.score([4], ["b"])[0, 0])
    assert found.share == pytest.approx(1)
    assert model.rules_profile(["a"], "b").rules == found.rules
    assert model.rules(4).rules[0].formula.startswith("genres: ")


@pytest.mark.parametrize("kernel", ["conjunctive(2)", "disjunctive(2)", "linear + linear[genres]"])
def test_all_rules_over_users_and_tags_add_up_to_the_score(kernel: str) -> None:
    data = Interactions.from_pairs([1, 1, 2, 2, 3, 3, 4, 4, 5], list("abbcdeabc"))
    model = KernelRanker(kernel).fit(data, items=pl.DataFrame(FILMS))
    for item in "bcd":
        found = model.rules(4, item, n=1000)
        assert found.exact
        wanted = model.score([4], [item])[0, 0]
        assert sum(rule.adds for rule in found.rules) == pytest.approx(wanted, abs=1e-12)


def test_terms_without_rules_count_in_the_score() -> None:
    data = Interactions.from_pairs([1, 1, 2, 2, 3, 3, 4], list("abbcdea"))
    model = KernelRanker("tanimoto + linear[genres]").fit(data, items=pl.DataFrame(FILMS))
    found = model.rules(4, "b")
    assert found.score == pytest.approx(model.score([4], ["b"])[0, 0])
    assert found.share < 0.9


def test_rankers_without_rules_are_refused_with_a_hint() -> None:
    data = Interactions.from_pairs([1, 1, 2, 2, 3], list("abbcd"))
    with pytest.raises(InputError, match=r"tanimoto has no rules.*fit a conjunctive"):
        KernelRanker("tanimoto").fit(data).rules(1, "c")
    with pytest.raises(InputError, match="with weighted users"):
        KernelRanker("disjunctive(2)", user_exponent=0.5).fit(data).rules(1, "c")


def test_the_command_shows_rules(run, tmp_path) -> None:
    pl.DataFrame(FILMS).write_csv(tmp_path / "items.csv")
    (tmp_path / "events.csv").write_text("user,item\n1,a\n1,b\n2,b\n2,c\n3,d\n3,e\n4,a\n")
    args = "--items", tmp_path / "items.csv", "--sets", "genres", "--out", tmp_path / "model"
    kernel = "--kernel", "conjunctive(2)[genres]"
    assert run("fit", tmp_path / "events.csv", *args, *kernel)[0] == 0
    code, shown, said = run("explain", tmp_path / "model", "4", "b", "--rules")
    assert code == 0, said
    assert "genres: drama and war" in shown
    assert "the rules add up to 100.0% of the score" in said
    profile = "--profile", "a", "b", "--rules", "--n", 1, "--json"
    _, shown, _ = run("explain", tmp_path / "model", *profile)
    (record,) = json.loads(shown)
    assert (record["rule"], record["because_of"]) == ("genres: drama and war", ["a"])
    assert run("explain", tmp_path / "model", "4", "--rules")[0] == 0
    assert run("explain", tmp_path / "model", "--profile", "a", "--rules")[0] == 0
    code, _, said = run("explain", tmp_path / "model", "--profile", "nothing", "--rules")
    assert (code, "fidelity" in said) == (0, False)
    assert run("explain", tmp_path / "model", "4")[0] != 0


def test_rules_of_a_ranker_leave_out_the_users_that_its_cap_does() -> None:
    data = synthetic(30, 12, 150, seed=2)
    model = KernelRanker("conjunctive(2)", activity_cap=5).fit(data)
    user, item = data.users[3], data.items[5]
    found, score = model.rules(user, item, n=1000), model.score([user], [item])[0, 0]
    assert found.score == pytest.approx(score, abs=1e-12)
    assert sum(each.adds for each in found.rules) == pytest.approx(score, abs=1e-12)


def test_rules_of_the_default_kernel_with_few_users_have_the_lower_arity() -> None:
    data = Interactions.from_pairs([1, 1, 2, 2, 3, 3], list("abacbc"))
    with pytest.warns(UserWarning, match=r"the kernel is disjunctive\(3\)"):
        model = KernelRanker().fit(data)
    assert [rule.formula for rule in model.rules(3, "a").rules] == ["users: 1 or 2 or 3"]


def test_machines_without_weights_have_no_rules() -> None:
    X = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    for kernel in ("conjunctive(2)", "disjunctive(2) @ conjunctive(2)"):
        assert Machine(kernel, X, [0, 0, 0]).rules().rules == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"names": ["a", "b"]}, "names must have 3"),
        ({"beta": [1, np.nan, 1]}, "beta must have 3 values"),
    ],
)
def test_bad_input_is_refused(given, message: str) -> None:
    X = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    with pytest.raises(BoolrankError, match=message):
        Machine(**{"kernel": Conjunctive(2), "X": X, "beta": [1, -1, 1]} | given)


def test_a_search_of_no_clauses_is_refused() -> None:
    with pytest.raises(BoolrankError, match="nodes must be"):
        Machine(Conjunctive(2), [[1, 1, 0], [1, 0, 1]], [1, -1]).rules(nodes=0)
