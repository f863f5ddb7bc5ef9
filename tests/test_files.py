"""Files of events: formats, types of ids, globs and error messages."""

from __future__ import annotations

import gzip
import sys
from datetime import date

import numpy as np
import polars as pl
import pytest

from boolrank import InputError, Interactions
from boolrank.data.scans import ENDINGS, expand, scan_file
from boolrank.errors import MissingExtraError

EVENTS = pl.DataFrame(
    {"user": ["ann", "bob", "ann"], "item": [7, 7, 9], "rating": [5, 2, 4], "time": [3, 2, 1]}
)
WRITERS = {
    ".csv": lambda frame: frame.write_csv().encode(),
    ".txt": lambda frame: frame.write_csv(separator=";").encode(),
    ".dat": lambda frame: frame.write_csv(separator="|").encode(),
    ".tsv": lambda frame: frame.write_csv(separator="\t").encode(),
    ".tab": lambda frame: frame.write_csv(separator="\t").encode(),
    ".jsonl": lambda frame: frame.write_ndjson().encode(),
    ".ndjson": lambda frame: frame.write_ndjson().encode(),
    ".json": lambda frame: frame.write_json().encode(),
}


@pytest.fixture
def write(tmp_path):
    """Write a file, text or bytes, and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def _content(data: Interactions) -> list[tuple[object, list[object], list[object]]]:
    return [
        (user, [data.items[k] for k in data.rows.row(row)], [])
        for row, user in enumerate(data.users)
    ]


EXPECTED = [("ann", [7, 9], []), ("bob", [7], [])]


def test_every_ending_has_a_test():
    assert set(WRITERS) | {".parquet", ".pq", ".zip", ".xlsx", ".xls"} == set(ENDINGS)


@pytest.mark.parametrize("ending", [*WRITERS, *(f"{ending}.gz" for ending in WRITERS)])
def test_all_text_formats_give_the_same_interactions(write, ending):
    raw = WRITERS[ending.removesuffix(".gz")](EVENTS)
    path = write(f"events{ending}", gzip.compress(raw) if ending.endswith(".gz") else raw)
    data = Interactions.from_files(path)
    assert _content(data) == EXPECTED
    assert data.time.tolist() == [3, 1, 2]
    assert _content(Interactions.from_files(path, positive="> 4")) == [("ann", [7], [])]


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".PARQUET"])
def test_parquet_gives_the_same_interactions(tmp_path, ending):
    EVENTS.write_parquet(tmp_path / f"events{ending}")
    assert _content(Interactions.from_files(tmp_path / f"events{ending}")) == EXPECTED


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        (["1", "12", "-3"], [-3, 1, 12]),
        (["1", "007"], ["007", "1"]),
        (["1", "a"], ["1", "a"]),
        (["1", "-0"], ["-0", "1"]),
        (["1", "+2"], ["+2", "1"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["1", "1e3"], ["1", "1e3"]),
        (["1", " 2"], [1, 2]),
        (["a", "b ", "b"], ["a", "b"]),
        (["1", "NaN", "null", "NA", ""], [1]),
        (["1", "9223372036854775808"], ["1", "9223372036854775808"]),
        (["0", "10"], [0, 10]),
    ],
    ids=str,
)
def test_ids_in_text_files_are_whole_numbers_only_if_all_are(write, written, ids):
    # The odd one stands far behind: the first rows say nothing about the rest.
    rows = [written[0]] * 5000 + written
    path = write("events.csv", "user,item\n" + "".join(f"{user},x\n" for user in rows))
    assert list(Interactions.from_files(path).users) == ids


def test_text_in_parquet_and_json_stays_text_even_if_it_looks_like_a_number(tmp_path, write):
    path = tmp_path / "events.parquet"
    pl.DataFrame({"user": ["7", "8"], "item": [1, 2]}).write_parquet(path)
    assert list(Interactions.from_files(path).users) == ["7", "8"]
    path = write("events.jsonl", '{"user": "7", "item": 1}\n{"user": "8", "item": 2}\n')
    assert list(Interactions.from_files(path).users) == ["7", "8"]


def test_one_text_id_at_the_end_of_a_json_file_makes_all_text(write):
    rows = ['{"user": 7, "item": 1}'] * 3000 + ['{"user": "x", "item": 2}']
    path = write("events.jsonl", "\n".join(rows))
    assert list(Interactions.from_files(path).users) == ["7", "x"]


def test_large_whole_numbers_in_json_are_not_rounded(write):
    path = write("events.jsonl", f'{{"user": {2**64 - 1}, "item": {2**53 + 1}}}\n')
    data = Interactions.from_files(path)
    assert (list(data.users), list(data.items)) == ([2**64 - 1], [2**53 + 1])


def test_files_and_globs_are_read_together(write, tmp_path):
    write("a1.csv", "user,item\n1,2\n")
    write("a2.csv", "item,user\n3,1\n")
    write("b.tsv", "user\titem\n9\t7\n")
    data = Interactions.from_files(tmp_path / "a*.csv", str(tmp_path / "b.tsv"))
    assert _content(data) == [(1, [2, 3], []), (9, [7], [])]


def test_files_with_different_types_are_not_mixed(write, tmp_path):
    write("a.csv", "user,item\n1,2\n")
    EVENTS.select("user", "item").write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="'user' is of different types: String and untyped text"):
        Interactions.from_files(tmp_path / "a.csv", tmp_path / "b.parquet")


def test_a_leading_zero_in_one_of_several_files_keeps_the_ids_of_all_text(write, tmp_path):
    write("a1.csv", "user,item\n1,2\n")
    write("a2.csv", "user,item\n01,2\n")
    assert list(Interactions.from_files(tmp_path / "a*.csv").users) == ["01", "1"]


def test_each_file_is_read_once_and_globs_are_in_order(write, tmp_path):
    for name in ("b.csv", "a.csv", "c.csv"):
        write(name, "user,item\n1,2\n")
    found = expand([tmp_path / "b.csv", tmp_path / "*.csv"])
    assert [path.name for path in found] == ["b.csv", "a.csv", "c.csv"]


def test_an_existing_name_with_brackets_is_not_a_glob(write):
    path = write("events[1].csv", "user,item\n1,2\n")
    assert expand(path) == [path]
    assert _content(Interactions.from_files(path)) == [(1, [2], [])]


def test_scanning_reads_the_names_of_columns_only(write):
    scan = scan_file(write("events.csv", "user,item\n1,2\n"))
    assert isinstance(scan.frame, pl.LazyFrame)
    assert scan.schema == {"user": pl.String, "item": pl.String}


@pytest.mark.parametrize(
    "text",
    ["user,item\r\n1,2\r\n3,4\r\n", "\ufeffuser,item\n1,2\n3,4", "user,item\n\n1,2\n\n3,4\n\n"],
    ids=["windows", "byte order mark", "blank lines"],
)
def test_line_ends_byte_order_marks_and_blank_lines_are_read(write, text):
    data = Interactions.from_files(write("events.csv", text))
    assert _content(data) == [(1, [2], []), (3, [4], [])]


def test_quoted_ids_may_have_the_separator_and_quotes(write):
    path = write("events.csv", 'user,item\n"a, b","say ""x"""\n')
    assert _content(Interactions.from_files(path)) == [("a, b", ['say "x"'], [])]


def test_times_of_text_files_are_numbers_or_dates(write):
    text = "user,item,date\n1,2,{}\n1,2,{}\n"
    data = Interactions.from_files(write("a.csv", text.format("2024-05-01", "2023-05-01")))
    assert data.time.tolist() == [np.datetime64("2023-05-01", "us").item()]
    data = Interactions.from_files(write("b.csv", text.format("2.5", "1.5")))
    assert data.time.tolist() == [1.5]


@pytest.mark.parametrize(
    ("values", "wrong", "row"),
    [
        (("soon", "later"), "soon", 1),
        (("2024-05-01", "soon"), "soon", 2),
        (("2024-05-01", "2024-13-45"), "2024-13-45", 2),
        (("3", "1.5", "x"), "x", 3),
    ],
)
def test_an_invalid_time_warns_and_raises_if_the_column_was_named(write, values, wrong, row):
    path = write("c.csv", "user,item,date\n" + "".join(f"1,2,{value}\n" for value in values))
    message = (
        rf"'date' is not a time: it has '{wrong}' in .*c\.csv, row {row} below the header; correct"
    )
    with pytest.warns(UserWarning, match=f"left out: the column {message}"):
        assert Interactions.from_files(path).time is None
    with pytest.raises(InputError, match=message):
        Interactions.from_files(path, time="date")


def test_an_invalid_rating_raises_only_if_ratings_are_needed(write):
    path = write("events.csv", "user,item,rating\n1,2,5\n1,3,good\n")
    assert Interactions.from_files(path).size == 2
    where = r"events\.csv, row 2 below the header"
    with pytest.raises(InputError, match=rf"'rating' is not a rating: it has 'good' in .*{where}"):
        Interactions.from_files(path, positive=">= 4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.parquet", "", "a.parquet is empty"),
        ("a.jsonl", "", "a.jsonl is empty"),
        ("a.csv", "user,item\n", "no interactions"),
        ("a.csv", gzip.compress(b"user,item\n1,2\n", mtime=0), "a.csv, line 1: a NUL byte"),
        ("a.tsv", "user\titem\n1\t2\n".encode("utf-16"), "a NUL byte, .* as text in UTF-8"),
        ("a.doc", "x", r"a.doc ends in '.doc'; files that can be read end in .csv"),
        ("events", "x", "ends in 'nothing'"),
        ("a.parquet.gz", gzip.compress(b"x", mtime=0), "ends in '.parquet.gz'"),
        ("a.csv", "user,item\n1,2\n3,4,5\n", "a.csv, line 3: 3 fields instead of 2"),
        ("a.csv", "user,item\n1,2\n3\n", "a.csv, line 3: 1 field instead of 2"),
        ("a.csv", "user,item\né,2\n".encode("latin-1"), "a.csv, line 2: not UTF-8"),
        ("a.tsv", "user\titem\n1\t2\t3\n", "a.tsv, line 2: 3 fields instead of 2"),
        ("a.csv", 'user,item\n1,"2\n3,4\n', "a.csv, line 2: a quotation mark is not closed"),
        ("a.jsonl", '{"user": 1, "item": 2}\n{"user": \n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"user": 1, "item": 2}\n[3]\n', "a.jsonl, line 2: a JSON list, not an object"),
        ("a.parquet", b"PAR1 and more that is none", "a.parquet cannot be read"),
        (
            "a.csv.gz",
            gzip.compress(b"user,item\n" + b"1,2\n" * 9999, mtime=0)[:60],
            "a.csv.gz cannot be",
        ),
        (
            *("a.csv", "who,what\n1,2\n"),
            r"no.* the user or the item; name them; there are \['who', 'what'\]",
        ),
    ],
)
def test_errors_name_the_fault_of_a_file(write, name, content, message):
    path = write(name, content)
    with pytest.raises(InputError, match=message):
        Interactions.from_files(path)


def test_any_flipped_byte_of_a_compressed_file_is_an_error(write):
    rows = b"".join(b"%d,%d\n" % (k, k * 7919 % 1000) for k in range(3000))
    raw = gzip.compress(b"user,item\n" + rows, mtime=0)
    for at in range(0, len(raw), 211):
        path = write("a.csv.gz", raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :])
        with pytest.raises(InputError, match=r"a\.csv\.gz"):
            Interactions.from_files(path)


def test_the_broken_one_of_many_files_is_named(write, tmp_path):
    for k in range(5):
        write(f"a{k}.csv", "user,item\n1,2\n" + ("1,2,3\n" if k == 3 else ""))
    with pytest.raises(InputError, match=r"a3\.csv, line 3"):
        Interactions.from_files(tmp_path / "a*.csv")


def test_files_with_different_columns_are_not_mixed(write, tmp_path):
    write("a1.csv", "user,item\n1,2\n")
    write("a2.csv", "user,thing\n1,2\n")
    with pytest.raises(InputError, match=r"a2.csv has the columns \['user', 'thing'\]"):
        Interactions.from_files(tmp_path / "a*.csv")


def test_dates_with_slashes_begin_with_the_day(write):
    text = "user,item,date\nann,tea,{}\n"
    for day in ("2024-03-05", "05/03/2024"):
        data = Interactions.from_files(write("events.csv", text.format(day)))
        assert data.time is not None
        assert data.time.astype("datetime64[D]").tolist() == [date(2024, 3, 5)]


def test_globs_without_match_and_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="no file matches"):
        Interactions.from_files(tmp_path / "*.csv")
    with pytest.raises(InputError, match="is a folder"):
        Interactions.from_files(tmp_path)
    with pytest.raises(InputError, match="no files are given"):
        Interactions.from_files()


def test_without_polars_the_error_has_the_install_command(write, monkeypatch):
    path = write("events.csv", "user,item\n1,2\n")
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "boolrank.data.files", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'boolrank\[cli\]'"):
        Interactions.from_files(path)


@pytest.mark.parametrize("condition", ["= true", "!= false", "= yes", "!= No", "= TRUE"])
def test_truth_values_in_a_text_file_compare_in_any_form(write, condition):
    path = write("events.csv", b"user,item,liked\n1,a,TRUE\n1,b,FALSE\n2,b,True\n2,a,no\n")
    made = Interactions.from_files(path, rating="liked", positive=condition)
    assert made.readings[0].dropped == {f"with liked not {condition}": 2}


def test_truth_values_beside_other_words_compare_in_any_form(write):
    path = write("events.csv", b"user,item,liked\n1,a,TRUE\n1,b,FALSE\n2,b,maybe\n2,a,No\n")
    made = Interactions.from_files(path, rating="liked", positive="!= false")
    assert made.readings[0].dropped == {"with liked not != false": 2}
