"""The spectral ratio equals its definition, and the paper's theorems about it hold.

The paper's first theorem assumes that no vector is null: every vector has at least as many active
variables as the larger arity. If a null vector has 1 on the diagonal and 0 elsewhere, the theorem
holds without that assumption, since a vector that becomes null only loses values. Both are tested.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from boolrank import Conjunctive, Disjunctive, InputError, Kernel, Linear, MonotoneDNF, Tanimoto
from boolrank.errors import KernelSyntaxError, ParameterTypeError
from boolrank.kernels import AllSubset
from boolrank.kernels.expressiveness import kernel_rank, spectral_ratio
from oracles import exact_value
from strategies import binary_matrices, expressions, leaves

# Ratios of sums of at most 64 squares: rounding of about 1e-14, and 1e-12 of the values.
ROUNDING = 1e-11


def by_definition(gram: np.ndarray) -> float:
    """Compute trace over Frobenius norm from the matrix."""
    return float(np.trace(gram) / np.sqrt((gram**2).sum()))


@given(expressions(4), binary_matrices(min_columns=4))
def test_the_ratio_is_trace_over_frobenius_norm(kernel: Kernel, X: np.ndarray) -> None:
    gram = kernel(X)
    assume(np.trace(gram) > 0)
    ratio = by_definition(gram)
    assert spectral_ratio(kernel, X, normalized=False) == pytest.approx(ratio, rel=ROUNDING)
    if len(X) > 1:
        unit = (ratio - 1) / (math.sqrt(len(X)) - 1)
        assert spectral_ratio(kernel, X) == pytest.approx(unit, rel=ROUNDING, abs=ROUNDING)


@given(leaves(4), binary_matrices(min_columns=4, min_rows=2))
def test_both_forms_lie_in_their_intervals(kernel: Kernel, X: np.ndarray) -> None:
    normal = kernel.normalized()
    assert (
        1 - ROUNDING <= spectral_ratio(normal, X, normalized=False) <= math.sqrt(len(X)) + ROUNDING
    )
    assert -ROUNDING <= spectral_ratio(normal, X) <= 1 + ROUNDING


@given(leaves(4), binary_matrices(min_columns=4, min_rows=2))
def test_compressed_rows_and_any_order_of_rows_give_the_same_ratio(
    kernel: Kernel, X: np.ndarray
) -> None:
    ratio = spectral_ratio(kernel.normalized(), X)
    assert spectral_ratio(kernel.normalized(), sparse.csr_array(X)) == ratio
    assert spectral_ratio(kernel.normalized(), X[::-1]) == pytest.approx(
        ratio, rel=ROUNDING, abs=1e-12
    )


def test_orthogonal_vectors_have_ratio_one() -> None:
    for kernel in (Linear(), Tanimoto(), Conjunctive(1), Disjunctive(1).normalized()):
        assert spectral_ratio(kernel, np.eye(7, dtype=int)) == pytest.approx(1, rel=1e-14)
        assert spectral_ratio(kernel, np.eye(7, dtype=int), normalized=False) == pytest.approx(
            math.sqrt(7), rel=1e-14
        )


def test_equal_vectors_have_ratio_zero() -> None:
    X = np.tile([1, 0, 1, 1], (5, 1))
    for kernel in (Linear(), Tanimoto(), Conjunctive(2), Disjunctive(2).normalized()):
        assert spectral_ratio(kernel, X) == pytest.approx(0, abs=1e-14)
        assert spectral_ratio(kernel, X, normalized=False) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("row", [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
@pytest.mark.parametrize(
    "kernel", [Linear(), Disjunctive(2), Linear() + Linear() @ Conjunctive(2), Tanimoto() ** 2]
)
def test_a_single_vector_has_plain_ratio_one(kernel: Kernel, row: list[int]) -> None:
    assert spectral_ratio(kernel.normalized(), [row], normalized=False) == 1


def test_null_vectors_are_orthogonal_to_all_when_normalised() -> None:
    X = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    assert spectral_ratio(Conjunctive(2).normalized(), X) == pytest.approx(1, rel=1e-14)
    # Raw, a null vector is a row of zeros: one value of 1 is left, so C = 1/√1.
    assert spectral_ratio(Conjunctive(2), X, normalized=False) == 1


def test_a_matrix_of_zeros_has_no_ratio() -> None:
    with pytest.raises(InputError, match="null"):
        spectral_ratio(Linear(), np.zeros((3, 4)))


def test_values_past_the_largest_double_have_a_ratio() -> None:
    X = np.zeros((3, 5000), dtype=np.uint8)
    X[0, :3000], X[1, 10:3010], X[2, 1500:4500] = 1, 1, 1
    counts = X.astype(int) @ X.T
    for kernel in (MonotoneDNF(), AllSubset(), Conjunctive(700)):
        exact = [
            [exact_value(kernel, 5000, *map(int, (counts[i, i], counts[j, j], counts[i, j])))
             for j in range(3)] for i in range(3)
        ]  # fmt: skip
        trace = sum(exact[i][i] for i in range(3))
        wanted = math.sqrt(trace**2 / sum(value**2 for row in exact for value in row))
        assert spectral_ratio(kernel, X, normalized=False) == pytest.approx(wanted, rel=ROUNDING)


@given(binary_matrices(min_rows=2, max_columns=12, min_ones=3), st.data())
def test_conjunctions_grow_more_expressive_with_the_arity(
    X: np.ndarray, data: st.DataObject
) -> None:
    """Theorem 1, under its condition: no vector is null."""
    d = data.draw(st.integers(1, int(X.sum(axis=1).min()) - 1))
    general, specific = (Conjunctive(k).normalized() for k in (d, d + 1))
    assert spectral_ratio(general, X) <= spectral_ratio(specific, X) + ROUNDING
    assert (general(X) ** 2 >= specific(X) ** 2 - ROUNDING).all()


@given(binary_matrices(min_rows=2, min_columns=2, max_columns=12), st.data())
def test_conjunctions_grow_more_expressive_even_with_null_vectors(
    X: np.ndarray, data: st.DataObject
) -> None:
    d = data.draw(st.integers(1, X.shape[1] - 1))
    general, specific = (Conjunctive(k).normalized() for k in (d, d + 1))
    assert spectral_ratio(general, X) <= spectral_ratio(specific, X) + ROUNDING


@given(binary_matrices(min_rows=2, min_columns=2, max_columns=12), st.data())
def test_disjunctions_grow_less_expressive_with_the_arity(
    X: np.ndarray, data: st.DataObject
) -> None:
    """Theorem 2: a vector is null for every arity or for none, so it needs no condition."""
    d = data.draw(st.integers(1, X.shape[1] - 1))
    specific, general = (Disjunctive(k).normalized() for k in (d, d + 1))
    assert spectral_ratio(specific, X) >= spectral_ratio(general, X) - ROUNDING
    assert (specific(X) ** 2 <= general(X) ** 2 + ROUNDING).all()


@given(leaves(4), leaves(4), binary_matrices(min_rows=2, min_columns=4))
def test_larger_normalised_values_mean_a_smaller_ratio(a: Kernel, b: Kernel, X: np.ndarray) -> None:
    """The lemma, for pairs of kernels that meet its condition; powers always do."""
    for larger, smaller in ((a, b), (b, a), (a, a**2)):
        first, second = larger.normalized(), smaller.normalized()
        if (first(X) ** 2 >= second(X) ** 2).all():
            assert spectral_ratio(first, X) <= spectral_ratio(second, X) + ROUNDING


@given(binary_matrices(min_rows=2, max_columns=6))
def test_the_rank_is_that_of_the_feature_vectors(X: np.ndarray) -> None:
    assert kernel_rank(Linear(), X) == np.linalg.matrix_rank(X.astype(float))
    # Over all conjunctions of variables, distinct vectors that are not null are independent.
    distinct = {tuple(row) for row in X.tolist() if any(row)}
    assert kernel_rank(MonotoneDNF(), X) == len(distinct)
    assert kernel_rank(AllSubset(), X) == len({tuple(row) for row in X.tolist()})


def test_the_kernel_can_be_text() -> None:
    X = np.random.default_rng(0).random((9, 20)) < 0.3
    assert spectral_ratio("normalized(linear)", X) == spectral_ratio(Linear().normalized(), X)
    assert kernel_rank("linear", X) == kernel_rank(Linear(), X)
    with pytest.raises(KernelSyntaxError):
        spectral_ratio("linar", X)
    with pytest.raises(ParameterTypeError):
        spectral_ratio(3, X)


@pytest.mark.parametrize("m", range(2, 60))
def test_rounding_does_not_exceed_the_bounds(m: int) -> None:
    assert spectral_ratio(Linear(), np.eye(m)) == pytest.approx(1, abs=1e-14)
    assert spectral_ratio(Linear(), np.eye(m)) <= 1
    assert spectral_ratio(0.1 * Linear(), np.ones((m, 3))) >= 0
