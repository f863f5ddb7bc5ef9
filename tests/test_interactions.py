"""Interactions from frames, matrices and pairs."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from boolrank import (
    InputError,
    Interactions,
    ItemTable,
    KernelRanker,
    ParameterError,
    UnknownIdError,
)
from boolrank.data.columns import USUAL_NAMES, find_columns
from boolrank.errors import ParameterTypeError

EVENTS = {"user": [3, 1, 3, 1], "item": ["b", "a", "b", "c"], "rating": [5.0, 3.0, 1.0, 4.0]}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": pl.LazyFrame,
}
PAIRS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abcdef")), min_size=1)


def _pairs(data: Interactions) -> set[tuple[object, object]]:
    return {
        (data.users[row], data.items[k])
        for row in range(len(data.users))
        for k in data.rows.row(row)
    }


@given(PAIRS)
def test_every_pair_occurs_once(pairs):
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    assert _pairs(data) == set(pairs)
    assert data.size + data.duplicates == len(pairs)
    assert all((np.diff(data.rows.row(k)) > 0).all() for k in range(len(data.users)))
    assert data.popularity().tolist() == data.matrix().sum(axis=0).tolist()


@given(PAIRS, st.randoms())
def test_the_order_of_events_does_not_matter(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    one = Interactions.from_pairs(*zip(*pairs, strict=True))
    other = Interactions.from_pairs(*zip(*shuffled, strict=True))
    assert one.indices.tolist() == other.indices.tolist()
    assert one.indptr.tolist() == other.indptr.tolist()


@given(PAIRS, st.data())
def test_the_time_kept_is_that_of_the_first_event(pairs, data):
    when = data.draw(
        st.lists(st.integers(0, 99), min_size=len(pairs), max_size=len(pairs)), label="when"
    )
    found = Interactions.from_pairs(*zip(*pairs, strict=True), time=np.array(when))
    rows = np.repeat(np.arange(len(found.users)), np.diff(found.indptr))
    for row, column, time in zip(rows, found.indices, found.time, strict=True):
        pair = found.users[row], found.items[column]
        assert time == min(t for p, t in zip(pairs, when, strict=True) if p == pair)


@given(PAIRS)
def test_transposed_twice_is_the_same_and_once_has_the_roles_swapped(pairs):
    when = np.arange(len(pairs))
    data = Interactions.from_pairs(*zip(*pairs, strict=True), time=when)
    assert _pairs(data.T) == {(item, user) for user, item in pairs}
    assert (data.T.users.kind, data.T.items.kind) == ("user", "item")
    assert data.T.T.indices.tolist() == data.indices.tolist()
    assert data.T.T.time.tolist() == data.time.tolist()


@given(PAIRS, PAIRS, st.data())
def test_updated_is_the_union_minus_the_removed(pairs, more, data):
    gone = data.draw(st.lists(st.sampled_from(pairs + more), unique=True), label="gone")
    before = Interactions.from_pairs(*zip(*pairs, strict=True))
    added = Interactions.from_pairs(*zip(*more, strict=True))
    removed = Interactions.from_pairs(*zip(*gone, strict=True)) if gone else None
    after = before.updated(added, removed)
    left = (set(pairs) | set(more)) - set(gone)
    assert _pairs(after) == left
    assert set(after.users) == {user for user, _ in left}
    assert set(after.items) == {item for _, item in left}


def test_users_without_interactions_stay_if_none_was_removed():
    empty = Interactions.from_pairs([1, 2, 2], ["a", "b", "a"]).updated()
    part = Interactions(empty.users, empty.items, np.array([0, 0, 1]), np.array([0], np.int32))
    after = part.updated(
        added=Interactions.from_pairs([3], ["c"]), removed=Interactions.from_pairs([2], ["a"])
    )
    assert (list(after.users), list(after.items)) == ([1, 3], ["b", "c"])


@given(PAIRS, PAIRS, st.data())
def test_updated_keeps_the_earliest_times(pairs, more, data):
    when = data.draw(
        st.lists(st.integers(0, 9), min_size=len(pairs + more), max_size=len(pairs + more))
    )
    times = np.array(when, "datetime64[s]")
    before = Interactions.from_pairs(*zip(*pairs, strict=True), time=times[: len(pairs)])
    added = Interactions.from_pairs(*zip(*more, strict=True), time=times[len(pairs) :])
    gone = Interactions.from_pairs(*zip(*more[:1], strict=True))
    together = Interactions.from_pairs(*zip(*(pairs + more), strict=True), time=times)
    left = together.updated(removed=gone)
    assert np.array_equal(before.updated(added).time, together.time)
    assert np.array_equal(before.updated(added, gone).time, left.time)
    assert len(left.time) == left.size == together.size - 1


def test_times_of_one_side_or_of_two_kinds_are_dropped():
    timed = Interactions.from_pairs([1, 2], ["a", "b"], time=[3, 4])
    for other in (None, np.array(["2024-01-01"], "datetime64[D]")):
        more = Interactions.from_pairs([1], ["b"], time=other)
        assert timed.updated(more).time is None
        assert more.updated(timed).time is None
    halves = Interactions.from_pairs([1], ["b"], time=[3.5])
    assert timed.updated(halves).time.tolist() == [3.0, 3.5, 4.0]


def test_unknown_interactions_cannot_be_removed():
    data = Interactions.from_pairs([1, 2], ["a", "b"])
    with pytest.raises(InputError, match="user 1 with item 'b'"):
        data.updated(removed=Interactions.from_pairs([1], ["b"]))
    with pytest.raises(UnknownIdError):
        data.updated(removed=Interactions.from_pairs([7], ["b"]))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_all_kinds_of_frames_give_the_same_interactions(frame):
    data = Interactions.from_frame(frame(EVENTS))
    assert _pairs(data) == {(3, "b"), (1, "a"), (1, "c")}
    assert data.duplicates == 1
    assert list(data.users) == [1, 3]
    assert repr(data) == "Interactions: 2 users x 3 items, 3 interactions, 1 duplicate left out"
    liked = Interactions.from_frame(frame(EVENTS), positive=">= 4")
    assert _pairs(liked) == {(3, "b"), (1, "c")}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_columns_can_have_any_name(frame):
    events = {"who": ["x", "y"], "what": [2, 1], "how": [1, 2], "when": [8, 9]}
    data = Interactions.from_frame(
        frame(events), user="who", item="what", rating="how", time="when", positive="> 1"
    )
    assert (_pairs(data), data.time.tolist()) == ({("y", 1)}, [9])


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    "when",
    [
        [datetime(2024, 1, 2), datetime(2023, 1, 1)],  # noqa: DTZ001 - frames have such
        [datetime(2024, 1, 2, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)],
    ],
    ids=["naive", "utc"],
)
def test_times_can_be_datetimes(frame, when):
    events = frame({"user": [1, 1], "item": [5, 5], "timestamp": when})
    (time,) = Interactions.from_frame(events).time
    assert time == np.datetime64("2023-01-01")


def test_times_can_be_dates():
    events = pl.DataFrame({"user": [1], "item": [5], "date": [date(2023, 1, 1)]})
    assert Interactions.from_frame(events).time[0] == np.datetime64("2023-01-01")


def test_a_column_that_merely_looks_like_a_time_is_left_alone():
    events = pl.DataFrame({"user": [1], "item": [5], "date": ["yesterday"]})
    assert Interactions.from_frame(events).time is None
    with pytest.raises(InputError, match="neither numbers nor dates"):
        Interactions.from_frame(events, time="date")


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("item", ["b", "a"], pl.Categorical),
        pl.Series("item", ["b", "a"], pl.Enum(["b", "a"])),
        pd.Series(["b", "a"], dtype="category"),
        pd.Series(["b", "a"], dtype="string"),
        pd.Series(["b", "a"], dtype=object),
    ],
    ids=lambda series: f"{type(series).__module__.split('.')[0]}-{series.dtype}",
)
def test_every_type_of_text_column_gives_text(series):
    frame = pl.DataFrame if isinstance(series, pl.Series) else pd.DataFrame
    data = Interactions.from_frame(frame({"user": [1, 2], "item": series}))
    assert (list(data.items), _pairs(data)) == (["a", "b"], {(1, "b"), (2, "a")})


def test_uuids_and_large_numbers_are_ids_too():
    ids = [UUID(int=2), UUID(int=1)]
    frame = pd.DataFrame({"user": ids, "item": np.array([2**64 - 1, 1], np.uint64)})
    data = Interactions.from_frame(frame)
    assert _pairs(data) == {(ids[0], 2**64 - 1), (ids[1], 1)}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_rows_without_an_id_are_refused(frame):
    with pytest.raises(InputError, match="1 row has nothing in the column 'item'"):
        Interactions.from_frame(frame({"user": [1, 2], "item": ["a", None]}))


def test_nan_is_not_an_id():
    with pytest.raises(InputError, match="some users are nan"):
        Interactions.from_frame(pl.DataFrame({"user": [1.0, float("nan")], "item": [1, 2]}))


@pytest.mark.parametrize(
    ("events", "options", "message"),
    [
        ({"a": [1], "b": [2]}, {}, "no column looks like the user"),
        ({"user": [1], "b": [2]}, {}, "no column looks like the item"),
        ({"user": [1], "b": [2]}, {"item": "c"}, "no column 'c' for the item"),
        ({"user": [1], "item": [2]}, {"item": "user"}, "same column"),
        ({"user": [1], "item": [2]}, {"positive": "> 3"}, r"the rating; .* \['user', 'item'\]"),
        ({"user": [1], "item": [2], "rating": ["x"]}, {"positive": "> 3"}, "not numbers"),
        ({"user": [1], "item": [2], "rating": [1]}, {"positive": "> 3"}, "1 with rating not > 3"),
        ({"user": [], "item": []}, {}, "no interactions"),
    ],
)
def test_errors_name_the_fault_of_a_frame(events, options, message):
    with pytest.raises(InputError, match=message):
        Interactions.from_frame(pl.DataFrame(events), **options)


@pytest.mark.parametrize("other", [{"user": [1], "item": [2]}, [(1, 2)], None])
def test_other_objects_than_frames_are_refused(other):
    with pytest.raises(ParameterTypeError, match=f"not {type(other).__name__}; make a"):
        Interactions.from_frame(other)


@pytest.mark.parametrize("text", ["4", ">= x", "=> 4", ">= 4 or so", ""])
def test_a_threshold_is_a_comparison_with_a_number(text):
    with pytest.raises(ParameterError, match="write it as '>= 4'"):
        Interactions.from_frame(pl.DataFrame(EVENTS), positive=text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (">3", [4]),
        (">= 3", [3, 4]),
        ("<3.5", [2, 3]),
        ("<= 2", [2]),
        ("==3", [3]),
        ("!= 3", [2, 4]),
    ],
)
def test_thresholds(text, kept):
    frame = pl.DataFrame({"user": [1, 1, 1], "item": [2, 3, 4], "rating": [2, 3, 4]})
    assert list(Interactions.from_frame(frame, positive=text).items) == kept


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("user", "client buyer account member email userId CUSTOMER_NO Username"),
        ("item", "sku StockCode article title track movieId product_name Film-Nr"),
        ("time", "purchase_date order_date InvoiceDate event_time ts day when timestamp"),
        ("rating", "rating Stars liked overall"),
    ],
)
def test_every_usual_name_is_found(role, names):
    others = {"user": "user", "item": "item", "time": "x", "rating": "y"} | {role: None}
    for name in names.split():
        columns = [name, *filter(None, others.values())]
        assert find_columns(columns, **others)[role] == name


def test_the_documented_names_of_columns_are_those_of_the_code():
    page = (Path(__file__).parent.parent / "docs" / "own-data.md").read_text(encoding="utf-8")
    for role, ranks in USUAL_NAMES.items():
        (row,) = re.findall(rf"^\| {role} \| (.*) \|$", page, re.MULTILINE)
        first, *others = re.split("; (?:if there is none of them|else),? ", row)
        written = [
            {re.sub(r"[\W_]", "", name.lower()) for name in part.split(", ")}
            for part in (first, *others)
        ]
        assert written == [set(names.split()) for names in ranks]


def test_usual_names_are_found_in_any_case():
    found = find_columns(["userId", "movieId", "Rating"], user=None, item=None, rating=None)
    assert found == {"user": "userId", "item": "movieId", "rating": "Rating"}


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_k_core_is_the_largest_part_with_k_interactions_each(seed, k):
    rng = np.random.default_rng(seed)
    pairs = sorted({(int(a), int(b)) for a, b in rng.integers(0, 12, (60, 2))})
    data = Interactions.from_pairs(*zip(*pairs, strict=True), time=np.arange(len(pairs)))
    left = list(pairs)
    while True:  # one user or item at a time
        sides = [Counter(("user", a) for a, _ in left), Counter(("item", b) for _, b in left)]
        poor = [key for side in sides for key, count in side.items() if count < k]
        if not poor:
            break
        kind, gone = poor[0]
        left = [pair for pair in left if pair[kind == "item"] != gone]
    if left:
        core = data.k_core(k)
        assert core.to_frame().select("user", "item").rows() == left
        assert core.to_frame()["time"].to_list() == [pairs.index(pair) for pair in left]
    else:
        with pytest.raises(InputError, match=f"the {k}-core is empty"):
            data.k_core(k)


def test_a_frame_of_interactions_gives_them_back():
    times = np.array(["2024-01-02", "2024-01-01", "2024-01-03"], "datetime64[us]")
    for users in ([3, 1, 2], ["c", "a", "b"], [2**63 + 5, 1, 2]):
        data = Interactions.from_pairs(users, ["x", "y", "x"], times)
        again = Interactions.from_frame(data.to_frame())
        assert (list(again.users), _pairs(again)) == (list(data.users), _pairs(data))
        assert np.array_equal(again.time, data.time)


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
)
def test_positive_cells_of_a_matrix_are_interactions(form):
    data = Interactions.from_matrix(form([[0, 2, 0], [1, 0, 1], [0, 0, 0]]), items=["z", "y", "x"])
    assert _pairs(data) == {(0, "y"), (1, "z"), (1, "x")}
    assert data.shape == (3, 3)


def test_a_matrix_needs_as_many_distinct_ids_as_it_has_rows():
    with pytest.raises(InputError, match="2 users, but 1 id is given"):
        Interactions.from_matrix(np.eye(2), users=["a"])
    with pytest.raises(InputError, match="not distinct"):
        Interactions.from_matrix(np.eye(2), users=["a", "a"])


def test_pairs_come_in_pairs():
    with pytest.raises(InputError, match="2 users and 1 item are given; give one of each"):
        Interactions.from_pairs([1, 2], [1])
    with pytest.raises(InputError, match="no interactions"):
        Interactions.from_pairs([], [])
    for single in (7, np.array(7)):
        with pytest.raises(TypeError, match=r"users are a list of ids, not .*; put it in \[\]"):
            Interactions.from_pairs(single, [1, 2, 3])


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_pairs_without_an_id_are_refused(missing):
    with pytest.raises(InputError, match="some users are"):
        Interactions.from_pairs(["a", missing], [1, 2])
    with pytest.raises(InputError, match="some items are"):
        Interactions.from_pairs([1, 2], ["a", missing])


def test_a_matrix_with_nan_or_negative_cells_or_of_another_shape_is_refused():
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(InputError, match="the matrix has nan in row 0, column 1"):
            Interactions.from_matrix(form([[1.0, np.nan], [np.nan, 0.0]]))
        with pytest.raises(InputError, match=r"has -1.* in row 1, column 0; .* matrix > 0"):
            Interactions.from_matrix(form([[0, 1], [-1, 1]]))
    with pytest.raises(InputError, match="2 dimensions, not 1"):
        Interactions.from_matrix([1, 0, 1])
    with pytest.raises(InputError, match="is not a matrix"):
        Interactions.from_matrix("events")


@pytest.mark.parametrize(
    "times",
    [
        [2, 1],
        (2.5, 1.5),
        pd.Series([2, 1]),
        [date(2024, 1, 2), date(2023, 1, 1)],
        [datetime(2024, 1, 2, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)],
        pd.Series(["2024-01-02", "2023-01-01"]).pipe(pd.to_datetime, utc=True),
    ],
    ids=str,
)
def test_times_of_pairs_can_be_any_sequence(times):
    (first,) = Interactions.from_pairs(["a", "a"], ["x", "x"], time=times).time
    expected = np.datetime64("2023-01-01") if isinstance(first, np.datetime64) else list(times)[1]
    assert first == expected


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1], "times of 2 events have the shape .1,."),
        ([1, 2, 3], "times of 2 events have the shape .3,."),
        ([[1, 2]], "times of 2 events have the shape .1, 2."),
        (["x", "y"], "numbers, dates or datetimes"),
        ([None, 1], "numbers, dates or datetimes"),
        (5, "times of 2 events have the shape .."),
    ],
)
def test_invalid_times_are_refused(times, message):
    with pytest.raises(InputError, match=message):
        Interactions.from_pairs(["a", "b"], ["x", "x"], time=times)


def test_parameters_of_other_types_are_errors_of_the_library():
    with pytest.raises(ParameterError, match="positive is a comparison"):
        Interactions.from_frame(pd.DataFrame({"user": [1], "item": [2], "rating": [3]}), positive=4)
    with pytest.raises(ParameterTypeError, match="files are names, not list"):
        Interactions.from_files(["a.csv"])


def test_updates_need_interactions_with_ids_of_the_same_type():
    data = Interactions.from_pairs([1, 2], ["a", "b"])
    with pytest.raises(ParameterTypeError, match="not DataFrame"):
        KernelRanker("linear").fit(data).update(pd.DataFrame(EVENTS))
    with pytest.raises(ParameterTypeError, match="not list"):
        data.updated(removed=[1])
    with pytest.raises(InputError, match="users here are of type int, such as 1, and '3' is of"):
        data.updated(Interactions.from_pairs(["3"], ["a"]))


@pytest.mark.parametrize("series", [pd.Series([1, 2]), pl.Series([1, 2])])
def test_a_series_is_not_a_frame(series):
    for read in (Interactions.from_frame, ItemTable.from_frame):
        with pytest.raises(ParameterTypeError, match="are a frame or an Arrow stream, not Series"):
            read(series)


def test_a_condition_that_is_a_number_is_an_error_with_a_hint():
    frame = pl.DataFrame({"user": [1], "item": [1], "rating": [4]})
    with pytest.raises(ParameterError, match=r"positive is a comparison .* not 4; write it as"):
        Interactions.from_frame(frame, positive=4)
