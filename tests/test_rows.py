"""Compressed rows: parts, choices and lists, as plain lists have them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from boolrank.data.rows import Rows

LISTS = st.lists(st.lists(st.integers(0, 30)), max_size=12)


def as_lists(rows: Rows) -> list[list[int]]:
    return [rows.row(k).tolist() for k in range(rows.n_rows)]


@given(LISTS)
def test_rows_of_lists_are_sorted_sets(lists):
    rows = Rows.of_lists(lists)
    assert as_lists(rows) == [sorted(set(each)) for each in lists]
    assert rows.lengths.tolist() == [len(set(each)) for each in lists]
    assert (rows.indptr.dtype, rows.indices.dtype) == (np.int64, np.int32)
    assert rows.numbers.tolist() == [k for k, each in enumerate(lists) for _ in set(each)]


@given(LISTS, st.data())
def test_parts_and_choices_are_those_of_a_list(lists, data):
    rows, expected = Rows.of_lists(lists), [sorted(set(each)) for each in lists]
    stop = data.draw(st.integers(0, len(lists)))
    start = data.draw(st.integers(0, stop))
    assert as_lists(rows.part(start, stop)) == expected[start:stop]
    numbers = data.draw(st.lists(st.integers(0, len(lists) - 1)) if lists else st.just([]))
    taken = rows.take(np.array(numbers, np.int64))
    assert as_lists(taken) == [expected[k] for k in numbers]
    assert (taken.indptr.dtype, taken.indices.dtype) == (np.int64, np.int32)


def test_all_rows_in_order_are_taken_without_a_copy():
    rows = Rows.of_lists([[1], [0, 2]])
    assert rows.take(np.arange(2)) is rows
