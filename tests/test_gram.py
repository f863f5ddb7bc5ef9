"""Matrices of items filled from dense or sparse overlaps, checked against exact values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from boolrank import Interactions, Overlaps, parse_kernel
from boolrank.models import gram
from boolrank.models.gram import Gram, mirror
from oracles import exact_value

# Values of 130 items are more than what is computed pair by pair.
ITEMS = 130


@pytest.fixture(scope="module")
def overlaps() -> Overlaps:
    seen = np.random.default_rng(0).random((50, ITEMS)) < np.linspace(0.05, 0.5, ITEMS)
    seen[0] = True
    return Overlaps.of(Interactions.from_matrix(seen))


@pytest.fixture(params=["dense", "sparse"])
def some(request, overlaps) -> Gram:
    """Most of the items, not in their order, by overlaps in either storage."""
    items = np.random.default_rng(1).permutation(ITEMS)[:110].astype(np.int32)
    held = overlaps.sparse()
    if request.param == "dense":
        held = Overlaps(held.n, held.sizes, dense=held.filled())
    return Gram(held, items)


def test_the_triangle_has_the_counts_and_the_sizes(some, overlaps):
    expected = overlaps.filled()[np.ix_(some.items, some.items)]
    found = some.triangle("float64")
    assert np.array_equal(np.triu(found), np.triu(expected))
    assert np.array_equal(mirror(found), expected)


@pytest.mark.parametrize("pairs", [1, 1000, 1 << 18])
@pytest.mark.parametrize("text", ["disjunctive(3)", "conjunctive(2)", "tanimoto"])
def test_values_are_those_of_the_kernel(some, overlaps, text, pairs, monkeypatch):
    """However many are computed at a time."""
    monkeypatch.setattr(gram, "_PAIRS", pairs)
    kernel, sizes = parse_kernel(text).normalized(), overlaps.sizes[some.items]
    shared = overlaps.filled()[np.ix_(some.items, some.items)]
    expected = kernel.on_counts(overlaps.n, sizes[:, None], sizes, shared)
    np.fill_diagonal(expected, 1.0)
    found = mirror(some.values(kernel, "float64"))
    assert np.allclose(found, expected, rtol=1e-13, atol=0)
    assert np.array_equal(found, found.T)


def test_numbers_of_users_past_single_precision_stay_whole():
    odd = (1 << 25) + 1
    sizes = np.full(ITEMS, odd + 1)
    columns = np.array([[j for j in range(ITEMS) if j != i] for i in range(ITEMS)], np.int32)
    held = Overlaps(
        3 * odd,
        sizes,
        indptr=np.arange(ITEMS + 1) * (ITEMS - 1),
        columns=columns.ravel(),
        counts=np.full(columns.size, odd, np.int32),
    )
    kernel = parse_kernel("disjunctive(2)")
    found = Gram.of_all(held).values(kernel, "float64")
    size = int(sizes[0])
    shared, own = (Fraction(exact_value(kernel, 3 * odd, size, size, c)) for c in (odd, size))
    assert abs(Fraction(found[0, 1]) / (shared / own) - 1) < 1e-15
