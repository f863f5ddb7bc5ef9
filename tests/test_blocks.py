"""Counts of blocks of users and ranges of items add up to those of all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from boolrank import Interactions, parse_kernel
from boolrank.counts.blocks import combine, count_block, item_ranges, work_per_item
from boolrank.counts.counting import count_sparse
from boolrank.counts.weighting import user_weights
from boolrank.data.synthetic import synthetic
from boolrank.matrix import CompressedMatrix
from boolrank.matrix import pairs as pairs_module
from boolrank.matrix.pairs import ItemPairs


def draw(seed: int, users: int = 80, items: int = 60) -> Interactions:
    """Return skewed interactions: one user with most items, and one item with most users."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, users, 500), rng.integers(0, items, 500) ** 2 // items
    rows, columns = np.append(rows, np.zeros(50, int)), np.append(columns, np.arange(50))
    return Interactions.from_pairs(rows, columns)


@pytest.mark.parametrize("exponent", [0.0, 0.5])
@pytest.mark.parametrize(("blocks", "pairs"), [(1, 10**9), (1, 100), (2, 500), (7, 300), (7, 1)])
def test_blocks_of_users_and_ranges_of_items_give_the_rows_of_all(exponent, blocks, pairs) -> None:
    data = draw(blocks)
    users, items = data.shape
    weights = user_weights(data.rows.lengths, exponent)
    ranges = item_ranges(work_per_item(data.rows, items), pairs)
    edges = np.linspace(0, users, blocks + 1).astype(int)
    found = [
        combine(
            [
                count_block(data.rows.part(a, b), weights[a:b], first, last, items)
                for a, b in pairwise(edges)
            ]
        )
        for first, last in pairwise(ranges.tolist())
    ]
    expected = count_sparse(data, exponent)
    _, columns, counts = expected.rows()
    assert [block.first for block in found] == ranges[:-1].tolist()
    for name, whole in (("sizes", expected.sizes), ("columns", columns), ("counts", counts)):
        joined = np.concatenate([getattr(block, name) for block in found])
        assert joined.dtype == whole.dtype
        assert np.array_equal(joined, whole)
    assert np.array_equal(
        np.concatenate([block.lengths for block in found]), np.diff(expected.rows()[0])
    )


def test_ranges_bound_the_pairs_unless_one_row_has_more() -> None:
    data = draw(3)
    work = work_per_item(data.rows, data.shape[1])
    counted = np.diff(count_sparse(data).rows()[0])
    assert (np.minimum(work, len(work)) >= counted).all()
    ranges = item_ranges(work, 200)
    assert (ranges[0], ranges[-1]) == (0, data.shape[1])
    for first, last in pairwise(ranges):
        assert last > first
        assert counted[first:last].sum() <= 200 or last == first + 1


@pytest.mark.parametrize("exponent", [0.0, 0.5])
@pytest.mark.parametrize(
    "kernel",
    ["linear", "disjunctive(8)", "tanimoto", "threshold(2, 5)", "conjunctive(3) + tanimoto"],
)
def test_a_chunk_of_values_does_not_depend_on_others(kernel, exponent, monkeypatch) -> None:
    monkeypatch.setattr(pairs_module, "CHUNK", 10_000)
    counted = count_sparse(synthetic(2_000, 400, 20_000), exponent)
    parsed = parse_kernel(kernel)
    whole = CompressedMatrix.of(parsed, counted)
    nearest = np.zeros(counted.items)
    firsts = ItemPairs.of(parsed, counted).firsts()
    assert len(firsts) > 3
    for first in reversed(firsts):
        alone = ItemPairs.of(parsed, counted).correction(first, nearest)
        assert np.array_equal(alone, whole.values[first : first + 10_000])
    again = CompressedMatrix.of_pairs(ItemPairs.of(parsed, counted), whole.values, nearest)
    assert np.array_equal(again.pull, whole.pull)
