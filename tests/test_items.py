"""Item tables: reading, alignment, storage, titles on the command line; filters and limits."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import (
    InputError,
    Interactions,
    ItemKNN,
    ItemTable,
    ModelFileError,
    ParameterError,
    UnknownIdError,
    load_model,
    make_model,
)
from boolrank.data.filters import filter_items
from boolrank.data.vocabulary import Vocabulary
from boolrank.errors import ParameterTypeError
from boolrank.models import model_info
from folder_fuzz import seal

CSV = """item_id,title,category,price,genres,released,in_stock,code
1,Heat (1995),films,9.5,Action|Crime,1995-12-15,true,007
2,"Matrix, The (1999)",films,12,Action|Sci-Fi,1999-03-31,false,012
3,Tea,food,3.25,,2020-01-01,true,013

4,heat (1995),books,NA,Crime,,true,014
9,Jam,food,2,,2021-05-05,false,015
"""
TYPES = {
    "title": "text",
    "category": "text",
    "price": "number",
    "genres": "set",
    "released": "date",
    "in_stock": "bool",
    "code": "text",
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture
def table(path):
    return ItemTable.from_file(path)


def events(items=(1, 2, 3, 4, 5, 6), users=30, seed=0):
    rng = np.random.default_rng(seed)
    return Interactions.from_matrix(rng.random((users, len(items))) < 0.4, items=list(items))


def values(column):
    """The values of a column as Python has them, None where nothing is known."""
    if column.kind == "numbers":
        known = zip(column.values.tolist(), column.known.tolist(), strict=True)
        return [value if there else None for value, there in known]
    rows = [[column.words[k] for k in column.rows.row(r)] for r in range(column.rows.n_rows)]
    return rows if column.type == "set" else [next(iter(row), None) for row in rows]


def test_types_of_columns_follow_all_values(table):
    assert {name: column.type for name, column in table.columns.items()} == TYPES
    assert table.title == "title"
    assert list(table.ids) == [1, 2, 3, 4, 9]
    assert values(table.column("price")) == [9.5, 12, 3.25, None, 2]
    assert values(table.column("genres"))[:3] == [["Action", "Crime"], ["Action", "Sci-Fi"], []]
    assert values(table.column("in_stock")) == [1, 0, 1, 1, 0]
    assert values(table.column("released"))[2:4] == [1577836800, None]
    assert values(table.column("code"))[0] == "007"


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_frames_of_every_kind_give_the_same_table(make):
    columns = {
        "movieId": [3, 1],
        "name": ["b", "a"],
        "tags": [["x", "y"], []],
        "year": [1999, 2001],
        "day": pd.to_datetime(["2020-01-01", "2021-01-01"]).to_pydatetime().tolist(),
        "new": [True, False],
    }
    table = ItemTable.from_frame(make(columns))
    assert list(table.ids) == [1, 3]
    assert table.titles.tolist() == ["a", "b"]
    assert values(table.column("tags")) == [[], ["x", "y"]]
    assert values(table.column("year")) == [2001, 1999]
    assert values(table.column("day")) == [1609459200, 1577836800]
    assert values(table.column("new")) == [0, 1]


def test_missing_values_of_pandas_are_unknown_and_times_are_in_utc():
    columns = {
        "id": ["a", "b"],
        "count": pd.array([1, None], "Int64"),
        "new": pd.array([None, True], "boolean"),
        "old": [True, None],
        "day": pd.to_datetime(["2020-01-01T00:00+02:00", None], utc=False),
    }
    table = ItemTable.from_frame(pd.DataFrame(columns))
    assert table.summary == "count (number), new (bool), old (bool), day (date)"
    assert values(table.column("count")) == [1, None]
    assert values(table.column("new")) == [None, 1]
    assert values(table.column("old")) == [1, None]
    assert values(table.column("day")) == [1577836800 - 7200, None]


def test_whole_ids_match_those_of_events_though_a_frame_holds_them_as_floats():
    """Frames of pandas turn whole numbers into floats where one was missing once."""
    events = Interactions.from_pairs([1, 1, 2, 3], [10, 11, 10, 11])
    frame = pd.DataFrame({"item": [11.0, 10.0], "title": ["jam", "tea"]})
    assert ItemTable.from_frame(frame).matched(events.items).titles.tolist() == ["tea", "jam"]


def test_lists_with_nulls_are_sets_and_arrow_streams_are_tables():
    made = pa.table({"id": ["b", "a"], "tags": [["x", None], None]})
    for form in (made, made.to_reader(), pl.from_arrow(made).lazy()):
        assert values(ItemTable.from_frame(form).column("tags")) == [[], ["x"]]


@pytest.mark.parametrize("read", [ItemTable.from_frame, Interactions.from_frame])
def test_columns_without_a_name_of_their_own_are_refused(read):
    frame = pd.DataFrame([["a", "b", 1, 2]], columns=["user", "item", "p", "p"])
    with pytest.raises(InputError, match="2 columns are named 'p'"):
        read(frame)
    with pytest.raises(InputError, match="a column is named 0"):
        read(pd.DataFrame({"user": ["a"], "item": ["b"], 0: [1]}))


def test_a_column_without_a_name_is_left_out(tmp_path):
    path = tmp_path / "items.csv"
    pd.DataFrame({"id": [1, 2], "title": ["a", "b"]}).to_csv(path)  # with its index
    with pytest.warns(UserWarning, match="a column with the name ''"):
        table = ItemTable.from_file(path)
    model = ItemKNN().fit(events((1, 2)), items=table)
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").item_table.summary == "title (text)"


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_lists_in_files_are_sets(tmp_path, ending):
    frame = pl.DataFrame({"id": ["b", "a"], "title": ["B", "A"], "tags": [["x"], ["y", "x"]]})
    path = tmp_path / f"items.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ndjson(path)
    assert values(ItemTable.from_file(path).column("tags")) == [["x", "y"], ["x"]]


def test_sets_are_told_or_found_by_frequent_separators():
    frame = pd.DataFrame({"id": [1, 2], "a": ["x,y", "z"], "b": ["x|y", "z"], "c": ["p; q", "r"]})
    found = {name: each.type for name, each in ItemTable.from_frame(frame).columns.items()}
    assert found == {"a": "text", "b": "set", "c": "set"}
    told = ItemTable.from_frame(frame, sets=["a"])
    assert {name: each.type for name, each in told.columns.items()} == {
        "a": "set",
        "b": "text",
        "c": "text",
    }
    assert values(told.column("a")) == [["x", "y"], ["z"]]
    with pytest.raises(InputError, match="no column 'd'"):
        ItemTable.from_frame(frame, sets=["d"])
    with pytest.raises(ParameterTypeError, match="sets are a list of columns, not 'a'"):
        ItemTable.from_frame(frame, sets="a")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"id": [1, 1, 2, 2, 3], "title": list("abcde")}, "more than one row for 1, 2"),
        ({"id": [1.0, None], "title": ["a", "b"]}, "1 row has nothing in the column 'id'"),
        ({"colour": ["red"]}, "no column looks like the ids"),
        ({"id": [], "title": []}, "has no rows"),
    ],
)
def test_a_frame_without_distinct_ids_is_refused(frame, said):
    with pytest.raises(InputError, match=said):
        ItemTable.from_frame(pd.DataFrame(frame))


def test_a_table_is_aligned_and_counts_what_is_missing_on_both_sides(table):
    items = events().items
    assert table.unmatched(items) == (2, 1)
    assert table.aligned(items).titles.tolist() == [*table.titles[:4], None, None]
    assert values(table.aligned(items).column("price"))[3:] == [None, None, None]


def test_ids_take_the_type_of_the_events(table):
    text = Vocabulary.of(["1", "9", "x"], "item")[0]
    assert list(table.matched(text).ids) == ["1", "2", "3", "4", "9"]
    assert table.matched(text).aligned(text).titles.tolist() == ["Heat (1995)", "Jam", None]
    with pytest.raises(InputError, match="such as"):
        table.matched(Vocabulary.of(["p", "q"], "item")[0])


def test_the_table_travels_with_the_model(tmp_path, table):
    model = make_model("item-knn").fit(events(), items=table)
    before = model.recommend(n=3, where="in_stock").to_dict()
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.recommend(n=3, where="in_stock").to_dict() == before
    assert before["title"] == [
        {1: "Heat (1995)", 3: "Tea", 4: "heat (1995)"}[item] for item in before["item"]
    ]
    info = model_info(tmp_path / "model")["table"]
    assert info == {"rows": 5, "title": "title", "columns": TYPES}
    loaded.update(Interactions.from_pairs([0], [9]))  # its row was there all the time
    assert loaded.item_table.titles.tolist() == [*table.titles[:4], None, None, "Jam"]
    loaded.save(tmp_path / "model")
    assert load_model(tmp_path / "model").fitted.table.titles.tolist() == table.titles.tolist()


def _renamed(about):
    about["table"]["columns"][1]["name"] = "title"


@pytest.mark.parametrize(
    "change",
    [
        _renamed,
        lambda about: about["table"].update(title="price"),
        lambda about: about["table"].update(title=["x"]),
        lambda about: about["table"].update(rows="many"),
        lambda about: about["table"].update(columns={}),
        lambda about: about["table"]["columns"][0].update(name=7),
        lambda about: about["table"]["columns"][0]["content"].update(type="sets"),
        lambda about: about["table"]["columns"][2]["content"].update(type="bool"),  # prices
        lambda about: about["table"]["columns"][3]["content"].update(type="text"),  # genres
        lambda about: about.update(table=[]),
        lambda about: about.pop("table"),
    ],
)
def test_a_forged_description_of_the_table_is_refused(tmp_path, table, change):
    make_model("popularity").fit(events(), items=table).save(tmp_path / "model")
    path = tmp_path / "model" / "header.json"
    header = json.loads(path.read_text())
    change(header["content"]["about"])
    path.write_text(json.dumps(header))
    seal(tmp_path / "model")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("column0-text", lambda a: a[::-1]),  # words that fall
        ("column0-text", lambda a: a | 128),  # not UTF-8
        ("column0-ends", lambda a: a[::-1]),
        ("column0-indptr", lambda a: a[::-1]),
        ("column0-indices", lambda a: a + 1),
        ("column3-indices", lambda a: a * 0),
        ("column2-values", lambda a: a * np.nan),
        ("column2-known", lambda a: a + 1),
        ("column5-values", lambda a: a + 0.5),
        ("table-ids", lambda a: a[::-1]),
    ],
)
def test_a_forged_array_of_the_table_is_refused(tmp_path, table, name, change):
    make_model("popularity").fit(events(), items=table).save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "header.json").read_text())
    entry = header["content"]["arrays"][name]
    file = tmp_path / "model" / entry["file"]
    array = np.frombuffer(file.read_bytes(), entry["type"])
    file.write_bytes(np.ascontiguousarray(change(array)).astype(entry["type"]).tobytes())
    seal(tmp_path / "model")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model")


ROWS = [
    {"price": 5.0, "kind": "a", "new": True, "tags": ["x", "y"], "day": "2020-01-01"},
    {"price": 20.0, "kind": "b", "new": False, "tags": ["y"], "day": "2021-06-01"},
    {"price": None, "kind": "c", "new": None, "tags": [], "day": None},
    {"price": -3.5, "kind": None, "new": True, "tags": ["z"], "day": "2020-01-01"},
]
SMALL = ItemTable.from_frame(
    pl.DataFrame(ROWS).with_columns(pl.col("day").str.to_date(), id=pl.int_range(pl.len()))
)
COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)


def _test(name, value, sign):
    text = f"{name} {sign} {_literal(value)}"
    return text, lambda row: None if row[name] is None else COMPARE[sign](row[name], value)


def _has(word):
    return f"tags has '{word}'", lambda row: word in row["tags"]


def _among(some):
    text = f"kind in ({', '.join(map(_literal, some))})"
    return text, lambda row: None if row["kind"] is None else row["kind"] in some


def _null(name):
    return f"{name} is null", lambda row: not row[name] and row[name] not in (0, False)


def _both(pair):
    (a, of_a), (b, of_b) = pair

    def holds(row):
        found = of_a(row), of_b(row)
        return False if False in found else None if None in found else True

    return f"({a}) and ({b})", holds


def _either(pair):
    (a, of_a), (b, of_b) = pair

    def holds(row):
        found = of_a(row), of_b(row)
        return True if True in found else None if None in found else False

    return f"{a} or {b}", holds


def _negation(one):
    text, holds = one
    return f"not ({text})", lambda row: None if holds(row) is None else not holds(row)


SIGNS = st.sampled_from(list(COMPARE))
TESTS = st.one_of(
    st.builds(_test, st.just("price"), st.sampled_from([5.0, -3.5, 7.0, 20]), SIGNS),
    st.builds(_test, st.just("kind"), st.sampled_from(["a", "b", "bb", ""]), SIGNS),
    st.builds(_test, st.just("day"), st.sampled_from(["2020-01-01", "2021-01-01"]), SIGNS),
    st.builds(_test, st.just("new"), st.booleans(), st.sampled_from(["=", "!="])),
    st.builds(_has, st.sampled_from(["x", "y", "w"])),
    st.builds(_among, st.lists(st.sampled_from(["a", "b", "q"]), min_size=1)),
    st.builds(_null, st.sampled_from(["price", "kind", "tags", "new"])),
)
FILTERS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(_both),
        st.tuples(inner, inner).map(_either),
        inner.map(_negation),
    ),
    max_leaves=6,
)


@given(FILTERS)
def test_a_filter_selects_what_a_row_by_row_evaluation_selects(one):
    text, holds = one
    assert filter_items(SMALL, text).tolist() == [holds(row) is True for row in ROWS]


def test_and_binds_stronger_than_or_and_not_stronger_than_and():
    assert filter_items(SMALL, "new or price > 0 and price > 9").tolist() == [1, 1, 0, 1]
    assert filter_items(SMALL, "not new and price > 0").tolist() == [0, 1, 0, 0]
    assert filter_items(SMALL, "KIND NOT IN ('a', 'c') And \"price\" IS NOT NULL").tolist() == [
        *(0, 1, 0, 0)
    ]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("prize < 3", "no column 'prize'; did you mean 'price'"),
        ("price = '5'", "'price' has numbers; compare it with a number"),
        ("kind = 5", "'kind' has text; put the text in single quotes"),
        ("kind has 'a'", "'kind' has text; use = or in"),
        ("tags = 'x'", "'tags' has sets of text; use has"),
        ("tags has 5", "single quotes"),
        ("new = 1", "'new' has truth values; compare it with true or false"),
        ("day > 5", "'day' has dates"),
        ("day > 'soon'", "'soon' is not a date"),
        ("price", "where a comparison"),
        ("price < ", "has the end where a number"),
        ("price < 3 and", "has the end where a column"),
        ("price < 3 price > 1", "where 'and', 'or' or the end"),
        ("(price < 3", "where '\\)' is expected"),
        ("kind in ('a'", "where ',' or '\\)'"),
        ("kind = 'a", "close the quotation mark"),
        ("price < 1__0", "not a part of one"),
        ("", "has the end"),
        ("__import__('os').system('true')", "system"),
        ("__import__('os')", "no column '__import__'"),
        ("().__class__", "'.__class__'"),
        ("kind = ''; drop table items", "'; drop table items'"),
        ("1 = 1", "where a column"),
        ("kind = 'a' -- x", "not a part of one"),
        ("list-price < 3", "double quotes"),
        ("(" * 60 + "new" + ")" * 60, "nested more than 50 deep"),
        ("not " * 3000 + "new", "more than 10,000"),
        ("not " * 300 + "new", "nested more than 50 deep"),
        ("new or " * 2000 + "new", "more than 10,000"),
        (5, "a filter is text"),
    ],
)
def test_a_filter_that_does_not_fit_is_refused(where, said):
    with pytest.raises(InputError, match=said) as caught:
        filter_items(SMALL, where)
    assert caught.value.parameter == "where"
    assert caught.value.hint


@pytest.mark.parametrize("name", ["item-knn", "kernel-ranker", "popularity", "spectral-ranker"])
def test_a_filtered_list_is_the_ranking_without_the_other_items(name):
    items = list(range(40))
    table = ItemTable.from_frame(pd.DataFrame({"id": items, "size": np.arange(40) % 7}))
    model = make_model(name).fit(events(items, users=60), items=table)
    everything = model.recommend(n=40).lists()
    for where, keep in (("size < 3", lambda i: i % 7 < 3), ("size = 6", lambda i: i % 7 == 6)):
        expected = [[item for item in row if keep(item)][:4] for row in everything]
        assert model.recommend(n=4, where=where).lists() == expected
        some = [item for item in items if item % 2]
        expected = [[item for item in row if keep(item) and item % 2][:4] for row in everything]
        assert model.recommend(n=4, where=where, candidates=some).lists() == expected


@pytest.mark.parametrize("name", ["item-knn", "kernel-ranker", "popularity"])
@pytest.mark.parametrize("where", ["size < 700", "size = 3", "size = 3 or size >= 990"])
def test_a_filtered_list_is_exact_where_few_items_of_many_are_reached(name, where):
    rng = np.random.default_rng(1)
    items = np.concatenate([np.arange(4000), rng.integers(0, 4000, 2000)])
    data = Interactions.from_pairs(np.repeat(np.arange(500), 12), rng.permutation(items))
    size = np.arange(4000) % 1000
    table = ItemTable.from_frame(pd.DataFrame({"id": np.arange(4000), "size": size}))
    options = {"storage": "compressed"} if name == "kernel-ranker" else {}
    model = make_model(name, **options).fit(data, items=table)
    passing = set(np.flatnonzero(filter_items(table, where)).tolist())
    users = list(range(40))
    everything = model.recommend(users, n=4000).lists()
    expected = [[item for item in row if item in passing][:6] for row in everything]
    assert model.recommend(users, n=6, where=where).lists() == expected


@pytest.mark.parametrize("name", ["item-knn", "kernel-ranker", "popularity"])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_limits_per_group_are_exact_however_deep_the_list_must_go(name, n):
    items = list(range(120))
    rng = np.random.default_rng(3)
    # Most items are of one group: a list of different ones needs almost the whole ranking.
    group = np.where(rng.random(120) < 0.95, "many", [f"g{k % 3}" for k in items])
    tags = [[f"t{t}" for t in rng.choice(5, rng.integers(0, 3), replace=False)] for _ in items]
    frame = pl.DataFrame({"id": items, "group": group, "tags": tags})
    data = events(items, users=25)
    model = make_model(name).fit(data, items=ItemTable.from_frame(frame))
    everything = model.recommend(n=120).lists()
    for per in ({"group": 2}, {"tags": 1}, {"group": 3, "tags": 2}):
        expected = []
        for row in everything:
            taken, counts = [], {}
            for item in row:
                own = [group[item]] * ("group" in per) + tags[item] * ("tags" in per)
                most = [per["group" if each in group else "tags"] for each in own]
                full = any(counts.get(g, 0) >= k for g, k in zip(own, most, strict=True))
                if not full and len(taken) < n:
                    taken.append(item)
                    counts |= {each: counts.get(each, 0) + 1 for each in own}
            expected.append(taken)
        assert model.recommend(n=n, per=per).lists() == expected


def test_diversity_keeps_similar_items_apart_and_0_keeps_the_ranking():
    rng = np.random.default_rng(0)
    half = rng.random((80, 1)) < 0.5
    matrix = np.hstack([half & (rng.random((80, 10)) < 0.7), ~half & (rng.random((80, 10)) < 0.5)])
    model = make_model("item-knn").fit(Interactions.from_matrix(matrix))
    plain = model.recommend_profile([0, 1, 2, 10], n=4)
    assert model.recommend_profile([0, 1, 2, 10], n=4, diversity=0).lists() == plain.lists()
    (diverse,) = model.recommend_profile([0, 1, 2, 10], n=4, diversity=0.7).lists()
    (first,) = plain.lists()
    assert diverse[0] == first[0]
    assert sum(item >= 10 for item in diverse) > sum(item >= 10 for item in first)
    with pytest.raises(ParameterError, match="diversity"):
        model.recommend(n=4, diversity=1.5)
    with pytest.raises(ParameterError, match="diversity"):
        make_model("popularity").fit(Interactions.from_matrix(matrix)).recommend(diversity=0.5)


def test_similar_items_pass_the_filter(table):
    model = make_model("item-knn").fit(events(), items=table)
    near = model.similar_items([1, 3], n=6, where="category = 'films'")
    assert [sorted(row) for row in near.lists()] == [[2], [1, 2]]
    assert near.to_dict()["title"][0] == "Matrix, The (1999)"


def test_filters_and_limits_need_a_table():
    model = make_model("popularity").fit(events())
    with pytest.raises(InputError, match="where needs a table of items"):
        model.recommend(where="price < 3")
    with pytest.raises(ParameterTypeError, match="per must be a dictionary such as"):
        model.recommend(per=3)
    with pytest.raises(InputError, match="per needs a table of items"):
        model.recommend(per={"category": 1})


def test_titles_are_found_in_any_case_unless_they_are_ambiguous(table):
    assert table.number("2") == 1
    assert table.number("matrix, the (1999)") == 1
    with pytest.raises(UnknownIdError, match="2 items have the title 'Heat \\(1995\\)'; use 1, 4"):
        table.number("Heat (1995)")
    with pytest.raises(UnknownIdError, match="did you mean 'Matrix, The \\(1999\\)'"):
        table.number("Matrix (1999)")


@pytest.fixture
def model(run, tmp_path, path):
    """A model with an item table, made on the command line; the folder and what was said."""
    data = events().to_frame()
    data.write_csv(tmp_path / "events.csv")
    folder = tmp_path / "model"
    words = ("--items", path, "--model", "item-knn", "--out", folder)
    code, _, said = run("fit", tmp_path / "events.csv", *words)
    assert code == 0
    return folder, said


def test_fit_says_what_the_table_has_and_lacks(model):
    _, said = model
    assert "5 items; title (text), category (text), price (number), genres (set)" in said
    assert re.search(r"note: \S+ has no row for 2 of 6 items with events\n", said)
    assert re.search(r"note: no events for 1 of 5 rows of \S+\n", said)


def test_commands_show_titles_and_take_them(run, model):
    folder, _ = model
    code, out, _ = run("recommend", folder, "--profile", "tea", "--n", 3, "--json")
    rows = json.loads(out)
    assert code == 0
    assert {"item", "title", "score"} < rows[0].keys()
    assert {row["title"] for row in rows} <= {
        "Heat (1995)",
        "Matrix, The (1999)",
        "heat (1995)",
        None,
    }
    excluded = '"Matrix, The (1999)",5'
    code, out, _ = run("recommend", folder, "--profile", "3", "--exclude", excluded, "--csv")
    assert "Matrix" not in out
    assert "\n1,1," in out
    code, out, _ = run("similar", folder, "matrix, the (1999)", "--where", "in_stock")
    assert code == 0
    assert "Similar to 2 'Matrix, The (1999)'" in out
    assert "Tea" in out
    code, out, _ = run("explain", folder, "--profile", "tea,1", "Matrix, The (1999)")
    assert code == 0
    assert "Why 2 'Matrix, The (1999)' for tea,1" in out
    assert "Heat (1995)" in out
    code, out, _ = run("show", folder)
    assert "5 rows; title (text)" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recommend", "--where", "gener = 'x'"), "hint: did you mean 'genres'?"),
        (("recommend", "--where", "price = 'x'"), "'price' has numbers"),
        (("recommend", "--per", "category"), "such as category=2"),
        (("recommend", "--per", "categry=1"), "did you mean 'category'?"),
        (("recommend", "--profile", "heat (1995)"), "2 items have the title"),
        (("similar", "matrix"), "no item 'matrix'"),
        (("explain", "0", "Te"), "did you mean 'Tea'"),
    ],
)
def test_a_wrong_column_or_title_is_an_error_with_a_hint(run, model, words, said):
    verb, *rest = words
    code, out, err = run(verb, model[0], *rest)
    assert code in (1, 2)
    assert not out
    assert said in err


def test_duplicates_in_the_file_of_items_are_refused_before_the_fit(run, tmp_path, path):
    path.write_text(CSV + "2,again,films,1,,,true,016\n", encoding="utf-8")
    events().to_frame().write_csv(tmp_path / "events.csv")
    words = ("--items", path, "--model", "item-knn", "--out", tmp_path / "model")
    code, _, said = run("fit", tmp_path / "events.csv", *words)
    assert code == 1
    assert "more than one row for 2" in said
    assert not (tmp_path / "model").exists()


def test_a_column_of_the_usual_name_has_the_titles_before_one_that_ends_in_it() -> None:
    frame = pl.DataFrame({"item": [1], "subtitle": ["b"], "Title": ["a"], "brand_name": ["c"]})
    assert ItemTable.from_frame(frame).title == "Title"
