"""Kernels over tags: text, laws, and the matrix of sums over users and tags."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank import Interactions, Linear, Overlaps, make_model, parse_kernel
from boolrank.data.rows import Rows
from boolrank.errors import (
    InputError,
    KernelSyntaxError,
    MatrixTooLargeError,
    ParameterError,
    ParameterTypeError,
)
from boolrank.kernels import Bound, Scaled
from boolrank.kernels.terms import Terms
from boolrank.matrix import ItemMatrix, Tags, kernel_matrix
from boolrank.models import parse_model
from boolrank.testing import check_kernel
from effort import tries
from strategies import expressions

SUMS = (
    "0.8*disjunctive(3) + 0.2*conjunctive(2)[genres]",
    "linear[genres]",
    "tanimoto + (linear + disjunctive(2))[genres]",
    "2*linear + tanimoto + linear[genres] + 0.3*disjunctive(2)[words]",
    "monotone_dnf + 0.5*normalized(all_subset)[genres] + conjunctive(2)[genres]",
    "disjunctive(8)**2 + threshold(2, 3)[words]",
)


@pytest.mark.parametrize(
    "text",
    [*SUMS, "linear['Film genres']", "linear['class']", "(linear**2)[genres]"],
)
def test_the_text_of_a_bound_kernel_gives_it_back(text: str) -> None:
    kernel = parse_kernel(text)
    assert repr(kernel) == text
    assert parse_kernel(repr(kernel)) == kernel
    assert parse_kernel(text.replace("[", "[ ").replace("]", " ]")) == kernel


@given(st.text(min_size=1))
@example("C# \n  x")
@example("\N{FEMININE ORDINAL INDICATOR}")
def test_any_text_can_be_the_name_of_a_column(column: str) -> None:
    kernel = 2 * Linear()[column] + Linear()
    assert parse_kernel(repr(kernel)) == kernel


def test_a_weight_stands_before_a_bound_kernel() -> None:
    assert parse_kernel("(0.5*linear)[genres]") == 0.5 * Linear()["genres"]
    with pytest.raises(ParameterError, match="weight before it"):
        Bound(Scaled(0.5, Linear()), "genres")


def test_a_model_is_written_with_a_column_that_has_a_comma() -> None:
    with pytest.raises(ParameterError, match="must be over users"):
        parse_model("kernel-ease(kernel=linear['a, b'], reg=2)")


@pytest.mark.parametrize("text", ["linear[2]", "linear[a, b]", "linear[a:b]", "linear[]", "2[a]"])
def test_a_bracket_holds_the_name_of_one_column(text: str) -> None:
    with pytest.raises((KernelSyntaxError, ParameterTypeError)):
        parse_kernel(text)


@pytest.mark.parametrize("column", ["", 3, None, ("a", "b")])
def test_a_column_is_a_name(column: object) -> None:
    with pytest.raises(ParameterTypeError, match="name of a column"):
        Linear()[column]  # type: ignore[index]
    with pytest.raises(TypeError):
        list(Linear())  # type: ignore[call-overload]


@pytest.mark.parametrize("text", ["linear[a][b]", "(linear + linear[a])[b]"])
def test_a_kernel_is_bound_once(text: str) -> None:
    with pytest.raises(ParameterError, match="cannot be bound"):
        parse_kernel(text)


@pytest.mark.parametrize("text", ["linear*linear[a]", "linear[a]**2", "disjunctive(2) @ linear[a]"])
def test_bound_kernels_are_terms_of_sums(text: str) -> None:
    with pytest.raises(ParameterError, match="terms of a sum"):
        Terms.of(parse_kernel(f"tanimoto + {text}"))


@given(expressions())
@settings(max_examples=3, deadline=None)
def test_bound_kernels_obey_the_laws_of_kernels(kernel) -> None:
    check_kernel(kernel["genres"], n=6)


@pytest.mark.parametrize("text", ["conjunctive(2)[a]", "0.3*disjunctive(3)[a]", "tanimoto[a]"])
def test_known_bound_kernels_obey_the_laws_of_kernels(text: str) -> None:
    check_kernel(parse_kernel(text))


def test_a_sum_over_users_and_tags_takes_no_single_matrix() -> None:
    kernel, X = parse_kernel("linear + linear[genres]"), np.eye(3)
    for call in (
        lambda: kernel(X),
        lambda: kernel.diag(X),
        lambda: kernel.on_counts(3, 1, 1, 1),
        lambda: kernel.on_masses(3, 1, 1, 1, 3),
    ):
        with pytest.raises(InputError, match="over users and genres"):
            call()


@pytest.mark.parametrize("name", ["kernel-ease", "mean-ranker", "cf-omd", "spectral-ranker"])
def test_other_models_take_kernels_over_users_alone(name: str) -> None:
    with pytest.raises(ParameterError, match="over users"):
        make_model(name, kernel="linear[genres]").checked()


def draw(seed: int, users: int, items: int) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
    """Draw interactions and tags; some items have no users, some no tags, some the same ones."""
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < rng.beta(0.5, 3, items)
    X[:, -2:] = False
    tags = {name: rng.random((items, n)) < 0.3 for name, n in (("genres", 6), ("words", 4))}
    tags["genres"][:2] = False
    tags["genres"][-1] = tags["genres"][2]
    return X, tags


def rows(tags: dict[str, NDArray[Any]]) -> dict[str, Tags]:
    return {
        name: Tags(Rows.of_lists([np.flatnonzero(row) for row in each]), each.shape[1])
        for name, each in tags.items()
    }


def filled(matrix: ItemMatrix) -> NDArray[Any]:
    return np.array([matrix.row(i) for i in range(len(matrix.pull))])


@pytest.mark.parametrize("text", SUMS)
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(4, 25), st.sampled_from([0, 0.5]))
@settings(max_examples=tries(20), deadline=None)
def test_compressed_and_dense_hold_the_sum_of_the_normalised_terms(
    text: str, seed: int, users: int, items: int, exponent: float
) -> None:
    X, tags = draw(seed, users, items)
    data, kernel = Interactions.from_matrix(X if X.any() else ~X), parse_kernel(text)
    overlaps, terms = Overlaps.of(data, user_exponent=exponent), Terms.of(kernel)
    if exponent and "monotone" in text:
        return  # values below doubles are not compared
    dense, compressed = (
        kernel_matrix(kernel, overlaps, storage, tags=rows(tags))
        for storage in ("dense", "compressed")
    )
    assert np.abs(filled(dense) - filled(compressed)).max() < 1e-12
    assert np.abs(dense.means - compressed.means).max() < 1e-12
    assert np.linalg.eigvalsh(filled(dense))[0] > -1e-12
    assert terms.share + sum(weight for weight, _ in terms.bound) == pytest.approx(1)
    if exponent:
        return
    expected = np.zeros((items, items))
    if terms.users is not None:
        expected += terms.share * terms.users.normalized()(data.matrix().T.toarray())
    for weight, term in terms.bound:
        expected += weight * term.kernel.normalized()(tags[term.column])
    assert np.allclose(filled(compressed), expected, rtol=0, atol=1e-12)
    means = (expected.sum(axis=0) - 1) / items
    assert np.allclose(compressed.means, means, rtol=0, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=tries(20), deadline=None)
def test_values_over_tags_are_those_of_enumerated_features(seed: int, arity: int, d: int) -> None:
    """Features: conjunctions of `arity` tags, beside disjunctions of d users."""
    X, tags = draw(seed, 9, 7)
    X[0, 0] = True

    def features(B: NDArray[Any], size: int, join: Any) -> NDArray[Any]:
        chosen = combinations(range(B.shape[1]), size)
        F = np.array([join(B[:, each], axis=1) for each in chosen]).T.astype(float)
        length = np.linalg.norm(F, axis=1, keepdims=True)
        return np.divide(F, length, where=length > 0, out=np.zeros_like(F))

    of_users, of_tags = features(X.T, d, np.any), features(tags["genres"], arity, np.all)
    expected = 0.7 * of_users @ of_users.T + 0.3 * of_tags @ of_tags.T
    np.fill_diagonal(expected, 1)
    kernel = parse_kernel(f"7*disjunctive({d}) + 3*conjunctive({arity})[genres]")
    overlaps = Overlaps.of(Interactions.from_matrix(X))
    for storage in ("dense", "compressed"):
        found = filled(kernel_matrix(kernel, overlaps, storage, tags=rows(tags)))
        assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_items_with_the_same_tags_share_a_class() -> None:
    X, tags = draw(0, 40, 300)
    overlaps = Overlaps.of(Interactions.from_matrix(X))
    kernel = parse_kernel("linear + linear[genres] + linear[words]")
    matrix = kernel_matrix(kernel, overlaps, "compressed", tags=rows(tags))
    keys = np.column_stack([tags["genres"], tags["words"]])
    assert len(matrix.set_values) == len(np.unique(keys, axis=0))  # type: ignore[attr-defined]
    assert len(matrix.background) == len(np.unique(overlaps.sizes))  # type: ignore[attr-defined]


def test_too_many_classes_are_refused_before_they_are_made(monkeypatch) -> None:
    X, tags = draw(0, 20, 400)
    tags["genres"] = np.eye(400, dtype=bool)
    overlaps = Overlaps.of(Interactions.from_matrix(X))
    monkeypatch.setattr("boolrank._memory.free_memory", lambda: 8 * 399**2)
    with pytest.raises(MatrixTooLargeError):
        kernel_matrix(parse_kernel("linear[genres]"), overlaps, "compressed", rows(tags))


def test_an_arity_above_the_number_of_tags_is_told() -> None:
    X, tags = draw(0, 20, 10)
    overlaps = Overlaps.of(Interactions.from_matrix(X))
    with pytest.raises(ParameterError, match=r"arity of disjunctive.*only 6 variables"):
        kernel_matrix(parse_kernel("linear + disjunctive(7)[genres]"), overlaps, tags=rows(tags))
