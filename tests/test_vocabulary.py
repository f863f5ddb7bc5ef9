"""Vocabularies: conversion between ids of any type and row numbers."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import InputError, UnknownIdError
from boolrank.data.vocabulary import Vocabulary
from boolrank.errors import ParameterTypeError

IDS = st.one_of(
    st.lists(st.integers(-(2**70), 2**70), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.integers(0, 9), min_size=1),
    st.lists(st.text(), min_size=1),
    st.lists(st.uuids(), min_size=1),
    st.lists(st.tuples(st.integers(), st.text()), min_size=1),
    st.lists(st.frozensets(st.integers(0, 40)), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.datetimes(), min_size=1),
    st.lists(st.integers() | st.text() | st.binary() | st.frozensets(st.text()), min_size=1),
)


@given(IDS)
def test_ids_and_numbers_convert_into_each_other(values):
    vocabulary, numbers = Vocabulary.of(values)
    assert [vocabulary[k] for k in numbers] == values
    assert len(set(vocabulary)) == len(vocabulary) == len(set(values))
    assert vocabulary.numbers(values).tolist() == numbers.tolist()
    assert all(value in vocabulary for value in values)
    assert vocabulary.names(numbers).tolist() == values


@given(IDS, st.randoms())
def test_the_numbers_do_not_depend_on_the_order_of_the_events(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert list(Vocabulary.of(values)[0]) == list(Vocabulary.of(shuffled)[0])


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3], np.int8),
        np.array([3, 1, 3], np.uint16),
        np.array([3.0, 1.0, 3.0]),
        [np.int64(3), np.int64(1), np.int64(3)],
        range(3, 0, -2),
    ],
    ids=str,
)
def test_whole_numbers_of_any_kind_are_whole_numbers(values):
    vocabulary, _ = Vocabulary.of(values)
    assert list(vocabulary) == [1, 3]
    assert {type(key) for key in vocabulary} == {int}
    assert vocabulary.number(np.int32(3)) == 1


def test_numbers_past_64_bits_are_not_truncated():
    values = np.array([2**64 - 1, 5], np.uint64)
    assert list(Vocabulary.of(values)[0]) == [5, 2**64 - 1]
    assert list(Vocabulary.of([2**80, 5])[0]) == [5, 2**80]


def test_distant_whole_numbers_are_encoded_like_near_ones():
    values = np.array([10**15, -4, 10**15, 7])
    vocabulary, numbers = Vocabulary.of(values)
    assert (list(vocabulary), numbers.tolist()) == ([-4, 7, 10**15], [2, 0, 2, 1])


@pytest.mark.parametrize("key", ["3", 3.5, True, None, 2**90, -(2**90), 4, (1,)])
@pytest.mark.parametrize("ids", [[3, 5], ["a", "b"], [UUID(int=3)]], ids=str)
def test_an_unknown_id_is_an_error_and_not_contained(ids, key):
    vocabulary, _ = Vocabulary.of(ids, "user")
    assert key not in vocabulary
    with pytest.raises(UnknownIdError, match="there is no user"):
        vocabulary.number(key)
    with pytest.raises(KeyError):
        vocabulary.numbers([ids[0], key])


@given(IDS, IDS)
def test_find_gives_the_number_of_known_ids_and_minus_one_for_others(values, others):
    vocabulary, _ = Vocabulary.of(values)
    found = vocabulary.find([*values, *others]).tolist()
    assert found[: len(values)] == vocabulary.numbers(values).tolist()
    for key, number in zip(others, found[len(values) :], strict=True):
        assert number == (vocabulary.number(key) if key in vocabulary else -1)


def test_find_accepts_arrays_vocabularies_and_empty_lists():
    numbers, text = Vocabulary.of([3, 5])[0], Vocabulary.of(["a", "c"])[0]
    assert numbers.find(np.array([5, 4])).tolist() == [1, -1]
    assert numbers.find(Vocabulary.of([4, 5])[0]).tolist() == [-1, 1]
    assert numbers.find([]).tolist() == []
    assert Vocabulary.of([])[0].find([1]).tolist() == [-1]
    assert text.find(["b", "c", 3]).tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("ids", "key", "hint"),
    [
        (["tea", "coffee"], "cofee", "did you mean 'coffee'?"),
        (["tea", "coffee"], "zzz", "items look like 'coffee'"),
        ([3, 5], "3", "items here are of type int, such as 3"),
        (["3", "5"], 3, "items here are of type str, such as '3'"),
        ([], "3", "there are no items at all"),
        ([10, 95, 195], 950, "items look like 10"),
        (["0095", "0195"], "95", "did you mean '0095'?"),
        (["0095", "0195"], "950", "items look like '0095'"),
        (["1.0", "2.0"], "2", "did you mean '2.0'?"),
        ([f"SKU-{k}" for k in range(900)], "sku-77", "did you mean 'SKU-77'?"),
    ],
)
def test_the_error_about_an_unknown_id_has_a_hint(ids, key, hint):
    with pytest.raises(UnknownIdError) as caught:
        Vocabulary.of(ids, "item")[0].number(key)
    assert caught.value.hint == hint


def test_the_hint_is_quick_among_many_ids():
    vocabulary, _ = Vocabulary.of([f"user-{k:07d}" for k in range(200_000)])
    with pytest.raises(UnknownIdError) as caught:
        vocabulary.number("user-12345")
    assert "user-" in caught.value.hint


def test_a_single_id_in_place_of_a_list_is_refused():
    for key in ("ann", 5):
        with pytest.raises(ParameterTypeError, match="a list of ids"):
            Vocabulary.of(["ann"], "user")[0].numbers(key)


def test_ids_that_do_not_hash_are_refused():
    with pytest.raises(ParameterTypeError, match="hashable"):
        Vocabulary.of([[1], [2]])


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NaT, pd.NA], ids=str)
def test_missing_values_are_not_ids(missing):
    for ids in ([1.5, missing], ["a", missing], [missing], np.array([1, missing], object)):
        with pytest.raises(InputError, match=r"some users are .*, not an id"):
            Vocabulary.of(ids, "user")


def test_equal_ids_of_different_types_merge_into_the_same_one():
    for ids in ([1, "a", 1.0, True], [1.0, 1, True, "a"], ["a", True, 1.0, 1]):
        kept, numbers = Vocabulary.of(ids)
        assert [(type(key), key) for key in kept] == [(bool, True), (str, "a")]
        assert numbers.tolist() == [int(key == "a") for key in ids]


def test_the_order_of_sets_does_not_depend_on_insertion():
    one, other = frozenset([8, 0]), frozenset([0, 8])
    assert str(one) != str(other), "otherwise this test shows nothing"
    rest = [frozenset([0, 1]), frozenset([8, 1]), frozenset()]
    assert list(Vocabulary.of([one, *rest])[0]) == list(Vocabulary.of([*rest, other])[0])


def test_an_array_of_ids_has_one_dimension():
    with pytest.raises(ParameterTypeError, match="2 dimensions"):
        Vocabulary.of(np.eye(2))


@pytest.mark.parametrize(("ids", "more"), [([1, 2], ["3"]), (["a"], [1]), ([UUID(int=1)], ["x"])])
def test_ids_of_another_type_are_not_merged_in(ids, more):
    with pytest.raises(InputError, match="give ids of the same type"):
        Vocabulary.of(ids, "user")[0].merged(Vocabulary.of(more)[0])


def test_text_is_parsed_to_the_type_of_the_ids():
    key = UUID(int=77)
    assert Vocabulary.of([key])[0].parsed(str(key)) == key
    assert Vocabulary.of([7])[0].parsed("7") == 7
    assert Vocabulary.of(["007"])[0].parsed("007") == "007"
    assert Vocabulary.of([7])[0].parsed("x") == "x"
    for text in ("1_0", "+10", " 10", "10\n", "\uff11\uff10"):
        assert Vocabulary.of([10])[0].parsed(text) == text, "int() reads more than numbers"


@given(st.lists(st.text()), st.lists(st.text()))
def test_a_merged_vocabulary_has_both(left, right):
    a, b = Vocabulary.of(left)[0], Vocabulary.of(right)[0]
    both, (from_a, from_b) = a.merged(b)
    assert set(both) == {*left, *right}
    assert [both[k] for k in from_a] == list(a)
    assert [both[k] for k in from_b] == list(b)


@pytest.mark.parametrize("make", [list, np.array])
def test_a_message_shows_an_unknown_number_as_people_write_it(make):
    with pytest.raises(UnknownIdError, match="there is no item 9"):
        Vocabulary.of([7, 8], "item")[0].numbers(make([np.int64(7), np.int64(9)]))


def test_padded_numbers_are_text_as_in_files():
    whole = Vocabulary.of([0, 7])[0]
    assert [whole.parsed(text) for text in ("007", "-0", "0", "-7")] == ["007", "-0", 0, -7]


def test_ids_keep_their_type_if_they_would_become_equal():
    text = Vocabulary.of(["7", "8"])[0]
    mixed = Vocabulary.of([7, "7"])[0]
    assert mixed.typed_as(text)[0] is mixed
    made, numbers = Vocabulary.of([8, 7])[0].typed_as(text)
    assert (list(made), numbers.tolist()) == (["7", "8"], [0, 1])
