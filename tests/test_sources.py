"""Events from databases and Arrow streams, and recommendations written to tables."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from boolrank import InputError, Interactions, ItemKNN
from boolrank.data.database import ArrowStream, Database, SqlTable
from boolrank.data.dataset import Dataset
from boolrank.data.protocols import temporal_cut
from boolrank.errors import BoolrankError, MissingExtraError, ParameterError
from boolrank.models.spec import ModelSpec
from boolrank.studies import Experiment
from services import postgres_place

_EVENTS = 500


def _frame(ids: str = "text") -> pl.DataFrame:
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 40, _EVENTS), rng.integers(0, 30, _EVENTS)
    times = np.datetime64("2026-01-01T00:00:00", "us") + np.arange(_EVENTS) * np.timedelta64(1, "h")
    frame = pl.DataFrame({"user": users, "item": items, "time": times, "note": ["wide"] * _EVENTS})
    return frame if ids == "ints" else frame.with_columns(pl.col("user", "item").cast(pl.String))


def _content(data: Interactions) -> list[tuple[object, ...]]:
    return data.to_frame().rows()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is missing")
        yield f"sqlite:///{tmp_path / 'shop.db'}"
    else:
        with postgres_place() as url:
            yield url


@pytest.fixture
def postgres() -> Iterator[str]:
    with postgres_place() as url:
        yield url


class _Stream:
    """An object with the Arrow C stream interface and nothing else."""

    def __init__(self, frame: pl.DataFrame, rows: int = 64) -> None:
        self._reader = frame.to_arrow().to_reader(max_chunksize=rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("ids", ["ints", "text"])
def test_a_query_gives_the_interactions_of_a_file(place, tmp_path, ids):
    frame = _frame(ids)
    frame.write_parquet(tmp_path / "events.parquet")
    SqlTable(place, "events").write(frame)
    expected = Interactions.from_files(tmp_path / "events.parquet")
    found = Interactions.from_sql("select * from events", place)
    assert _content(found) == _content(expected)
    assert found.readings[0].rows == _EVENTS
    in_order = Interactions.from_sql("select * from events order by 3", place, file_order=True)
    hours = (found.time - np.datetime64("2026-01-01")) // np.timedelta64(1, "h")
    assert in_order.time.tolist() == hours.tolist()


def test_uuids_numerics_zones_and_lists_of_postgresql_are_read(postgres):
    events = Interactions.from_sql(
        "select '6d1ebea4-0d13-4c0a-a1ee-0e8d0d3a3c32'::uuid as user_id, array['tea', ' jam '] as "
        "item, 1.5::numeric as rating, '2026-01-01 01:00+01'::timestamptz as time",
        postgres,
        positive="> 1",
    )
    assert list(events.users) == ["6d1ebea4-0d13-4c0a-a1ee-0e8d0d3a3c32"]
    assert list(events.items) == ["jam", "tea"]
    assert events.time.tolist() == [np.datetime64("2026-01-01T00:00", "us").item()] * 2


def test_blanks_and_missing_ids_of_a_query_are_dropped_and_counted(place):
    frame = pl.DataFrame({"user": ["ann", "bob", None, "NaN"], "item": ["tea ", "jam", "tea", "x"]})
    SqlTable(place, "events").write(pl.concat([frame, frame[:2]]))
    found = Interactions.from_sql("select * from events", place)
    assert _content(found) == [("ann", "tea"), ("bob", "jam")]
    assert "dropped 2 rows without user; removed blanks around 2 ids" in str(found.readings[0])


@pytest.mark.parametrize("ids", ["ints", "text"])
@pytest.mark.parametrize(
    "form",
    [
        _Stream,
        lambda frame: frame.to_arrow().to_reader(max_chunksize=7),
        lambda frame: frame.to_arrow(),
        lambda frame: frame.lazy(),
        lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    ],
    ids=["interface", "reader", "pyarrow", "lazy", "pandas"],
)
def test_streams_give_the_interactions_of_frames(form, ids):
    frame = _frame(ids)
    assert _content(Interactions.from_frame(form(frame))) == _content(
        Interactions.from_frame(frame)
    )


def test_a_stream_keeps_the_columns_of_events_and_numbers_for_text():
    roles = {"user": "user", "item": "item", "time": None, "rating": None}
    kept = ArrowStream(_Stream(_frame())).collect(roles)
    assert dict(kept.schema) == {"user": pl.Categorical, "item": pl.Categorical}
    assert kept["user"].to_list() == _frame()["user"].to_list()


def test_a_stream_is_not_kept_in_memory():
    rows, held = 10_000, []
    ids = pa.array([f"a long id of a user {k % 100:040}" for k in range(rows)])
    schema = pa.schema({"user": pa.string(), "item": pa.string(), "note": pa.string()})

    def batches():
        for _ in range(30):
            note = pa.array(["x" * 500] * rows)
            batch = pa.record_batch(
                [pa.concat_arrays([ids]), pa.concat_arrays([ids]), note], schema=schema
            )
            yield batch
            held.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    found = Interactions.from_frame(pa.RecordBatchReader.from_batches(schema, batches()))
    assert found.shape == (100, 100)
    assert len(held) == 30
    assert max(held) - before < 5 * 500 * rows  # five batches of thirty


def test_errors_about_streams_are_those_of_frames():
    with pytest.raises(InputError, match="no column 'who'"):
        Interactions.from_frame(_Stream(_frame()), user="who")
    with pytest.raises(InputError, match="1 row has nothing in the column 'item'"):
        Interactions.from_frame(
            _Stream(pl.DataFrame({"user": [1], "item": pl.Series([None], dtype=pl.Int64)}))
        )
    with pytest.raises(InputError, match="no rows"):
        Interactions.from_frame(_Stream(_frame()[:0]))


def test_a_file_and_a_table_have_the_same_recommendations(run, place, tmp_path):
    _frame().write_parquet(tmp_path / "events.parquet")
    model = tmp_path / "model"
    assert run("fit", tmp_path / "events.parquet", "--kernel", "linear", "--out", model)[0] == 0
    assert run("recommend", model, "--n", 3, "--out", tmp_path / "recs.parquet")[0] == 0
    for _ in range(2):  # rows are replaced, not added
        code, out, err = run("recommend", model, "--n", 3, "--to", place, "--table", "recs")
        assert (code, out) == (0, "")
        assert "table recs: 120 rows for 40 users" in err
    with Database(place).stream("select * from recs order by user_id, rank") as rows:
        found = pl.from_arrow(rows.read_all())
    expected = pl.read_parquet(tmp_path / "recs.parquet").sort("user", "rank")
    names = ["user_id", "rank", "item_id", "score", "popular"]
    assert found.columns == names
    assert found.cast({"popular": pl.Boolean}).rows() == expected.rows()
    again = run(
        "fit", "--sql", "select * from recs", "--from", place, "--kernel", "linear", "--out", model
    )
    assert again[0] == 0


def test_a_table_with_other_columns_keeps_its_rows(place):
    SqlTable(place, "recs").write(pl.DataFrame({"a": [1, 2]}))
    with pytest.raises(InputError, match="table recs cannot be written") as caught:
        SqlTable(place, "recs").write(pl.DataFrame({"b": [3]}))
    assert "name another table" in caught.value.hint
    with Database(place).stream("select a from recs") as rows:
        assert rows.read_all()["a"].to_pylist() == [1, 2]


_ROWS = 40_000
_WRITER = f"""
import sys
import polars as pl
from boolrank.data.database import SqlTable
table = SqlTable(sys.argv[1], "recs")
for version in range(int(sys.argv[2]), int(sys.argv[3])):
    print(version, flush=True)
    table.write(pl.DataFrame({{"version": [version] * {_ROWS}, "text": ["x" * 40] * {_ROWS}}}))
"""


def _versions(place: str) -> dict[int, int]:
    """Return the number of rows of each version; none if there is no table."""
    try:
        with Database(place).stream("select version, count(*) n from recs group by 1") as rows:
            return dict(zip(*rows.read_all().to_pydict().values(), strict=True))
    except InputError:  # no such table
        return {}


def test_a_sqlite_file_of_a_killed_writer_is_read_as_it_was_before(tmp_path):
    """The writer's pages are in the file already, and only its journal can undo them."""
    path = tmp_path / "shop.db"
    program = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.executescript("pragma cache_size = 1; create table t (version, text)")
connection.execute("insert into t values (1, 'x')")
connection.commit()
connection.executemany("insert into t values (2, ?)", [("x" * 1000,)] * 5000)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert path.with_name("shop.db-journal").exists()
    with Database(f"sqlite:///{path}").stream("select version, count(*) n from t group by 1") as it:
        assert it.read_all().to_pylist() == [{"version": 1, "n": 1}]


def test_a_writer_that_is_killed_leaves_all_of_one_version_or_nothing(place):
    rng = np.random.default_rng(0)
    seen = []
    for attempt in range(4):
        first = 1_000 * attempt
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, place, str(first), str(first + 1_000)],
            stdout=subprocess.PIPE,
        )
        for _ in range(1 + attempt % 3):  # it begins a version when the one before is there
            writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        found = _versions(place)
        assert set(found.values()) <= {_ROWS}
        # The first may leave no table; later ones leave a version, the last complete one.
        assert len(found) == 1 or not (seen or found or attempt % 3)
        seen += found
    assert len(set(seen)) > 1


_STOPPED = """
import sys, time
from contextlib import contextmanager
import polars as pl
from boolrank.data.database import Database, SqlTable
real, steps = Database.cursor, iter(range(int(sys.argv[2])))
class Cursor:
    def __init__(self, cursor):
        self.cursor = cursor
    def __getattr__(self, name):
        if next(steps, None) is None:
            print(name, flush=True)
            time.sleep(600)
        return getattr(self.cursor, name)
@contextmanager
def cursor(self, **options):
    with real(self, **options) as made:
        yield Cursor(made)
Database.cursor = cursor
SqlTable(sys.argv[1], "recs").write(pl.DataFrame({"version": [2, 2], "text": ["x", "x"]}))
"""


def test_a_writer_that_is_killed_before_any_of_its_statements_leaves_the_old_rows(place):
    SqlTable(place, "recs").write(pl.DataFrame({"version": [1, 1, 1], "text": ["x"] * 3}))
    names = []
    for step in range(20):
        words = [sys.executable, "-c", _STOPPED, place, str(step)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
            names.append(writer.stdout.readline().decode().strip())
            if not names[-1]:  # it went through
                break
            writer.send_signal(signal.SIGKILL)
        assert _versions(place) == {1: 3}, names
    assert names[-4:] == ["execute", "adbc_ingest", "connection", ""]
    assert _versions(place) == {2: 2}


def test_two_writers_at_once_leave_the_rows_of_one(postgres):
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, postgres, str(k), str(k + 3)], stdout=-3)
        for k in (0, 100)
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert list(_versions(postgres).values()) == [_ROWS]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select nope from events", "nope"),
        ("select * from nowhere", "nowhere"),
        ("not sql at all", "syntax error"),
        ("select * from events where 1 = 0", "has no rows"),
        ("delete from events", "no column looks like|readonly"),
        ("", "query fails"),
    ],
)
def test_a_query_that_cannot_be_used_is_an_error_with_a_hint(place, query, message):
    SqlTable(place, "events").write(_frame())
    with pytest.raises(InputError, match=message) as caught:
        Interactions.from_sql(query, place)
    assert caught.value.hint
    assert len(Interactions.from_sql("select * from events", place).users) == 40


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/x", "postgresql://u@127.0.0.1:1/x cannot be opened"),
        ("postgresql://u@127.0.0.1:1/x?password=hunter2", "cannot be opened"),
        ("postgresql://u:hun@ter2@127.0.0.1:1/x", "ambiguous"),
        ("postgresql://u:hunter2/@127.0.0.1:1/x", "ambiguous"),
        ("postgresql://u:hunter2%zz@127.0.0.1:1/x", "ambiguous"),
        ("postgresql://u:hunter2", "ambiguous"),
        ("mysql://u:hunter2@127.0.0.1/x", "a database is postgresql://"),
        ("hunter2", "a database is postgresql://"),
        ("sqlite://hunter2", "a database is .* sqlite:///file.db"),
        ("sqlite:///no/such/file.db", "there is no file"),
    ],
)
def test_a_database_that_cannot_be_opened_is_an_error_without_password(address, message):
    if "postgresql://" in address:
        pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is missing")
    with pytest.raises(BoolrankError, match=message) as caught:
        Interactions.from_sql("select 1", address)
    assert caught.value.hint
    assert "hunter2" not in f"{caught.value!r} {caught.value}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_wrong_password_is_never_shown(run, postgres, tmp_path):
    wrong = postgres.replace("@", "-hunter2@", 1)
    words = ("--sql", "select 1", "--from", wrong, "--kernel", "linear", "--out", tmp_path / "m")
    code, out, err = run("fit", *words)
    assert code == 1
    assert "password authentication failed" in err
    assert "hunter2" not in out + err


def test_the_password_is_in_no_output_and_no_file(run, postgres, tmp_path):
    SqlTable(postgres, "events").write(_frame())
    password = postgres.split(":")[2].partition("@")[0]
    source = ("--sql", "select * from events", "--from", postgres)
    said = ""
    for words in (
        ("fit", "--kernel", "linear", "--out", tmp_path / "model"),
        ("evaluate", "--model", "popularity", "--out", tmp_path / "evaluated"),
        ("tune", "--model", "popularity", "--trials", "1", "--out", tmp_path / "tuned"),
        ("compare", "--models", "popularity", "--trials", "0", "--out", tmp_path / "compared"),
        ("spectrum", "--arities", "1"),
    ):
        code, out, err = run(words[0], *source, *words[1:])
        assert code == 0, err
        said += out + err
    code, out, err = run("update", tmp_path / "model", *source)
    assert code == 0, err
    code, out, err = run("show", tmp_path / "model")
    said += out + err
    assert "boolrank fit --sql 'select * from events' --from 'postgresql://boolrank@" in said
    assert password not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if password.encode() in path.read_bytes()]


def test_an_experiment_on_a_database_can_be_read_back_without_its_password():
    made = Experiment(
        ("select * from events",),
        (ModelSpec("popularity"),),
        columns={"database": "postgresql://u:hunter2@h/x", "min_count": 2, "since": "2026-01-01"},
    )
    assert "hunter2" not in repr(made) + str(made.to_dict())
    assert Experiment.from_dict(made.to_dict()).to_dict() == made.to_dict()


@pytest.mark.parametrize(
    "name",
    ['a"b', "a; drop table b", "a.b.c", "", "1a", "a b", "a'b", "a--", "a" * 64, "ä" * 32 + ".b"],
)
def test_odd_names_of_tables_are_refused(name):
    with pytest.raises(ParameterError, match="not the name of a table"):
        SqlTable("sqlite:///x.db", name)


def test_a_table_may_be_in_a_schema(postgres):
    SqlTable(postgres, "pg_temp.recs")  # a valid name
    with pytest.raises(InputError, match="cannot be written"):
        SqlTable(postgres, "no_such_schema.recs").write(pl.DataFrame({"a": [1]}))


def test_a_missing_driver_gives_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'boolrank\[sql\]'"):
        Interactions.from_sql("select 1", "postgresql://localhost/x")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["events.csv", "--sql", "select 1", "--from", "sqlite:///x.db"], "exclude each other"),
        (["--sql", "select 1"], "--sql and --from go together"),
        (["--from", "sqlite:///x.db"], "--sql and --from go together"),
        ([], "there are no data"),
    ],
)
@pytest.mark.parametrize("verb", ["fit", "evaluate", "tune", "compare", "spectrum"])
def test_files_and_queries_exclude_each_other(run, verb, words, message, tmp_path):
    out = [] if verb == "spectrum" else ["--out", tmp_path / "out"]
    code, _, err = run(verb, *words, *out)
    assert (code, message in err, "hint:" in err) == (2, True, True)


# Filters of events.

_DAYS = pl.DataFrame(
    {
        "user": ["ann", "ann", "ann", "bob", "bob", "cid"],
        "item": ["tea", "tea", "jam", "tea", "tea", "jam"],
        "time": [
            "2026-01-01",
            "2026-01-05",
            "2026-02-01",
            "2026-03-01",
            "2026-03-02",
            "2026-03-03",
        ],
    }
).with_columns(pl.col("time").str.to_datetime())


@pytest.mark.parametrize("unix", [0, 1, 1_000])
@pytest.mark.parametrize(
    ("filters", "kept", "said"),
    [
        ({"min_count": 2}, "ann tea, bob tea", "2 rows of a user with an item fewer than 2 times"),
        ({"since": "2026-02-01"}, "ann jam, bob tea, cid jam", "dropped 2 rows before 2026-02-01"),
        ({"until": "2026-02-01"}, "ann tea", "dropped 4 rows not before 2026-02-01"),
        ({"until": "2026-02-01T00:00:01"}, "ann jam, ann tea", "dropped 3 rows not before"),
        ({"last": "2d"}, "bob tea, cid jam", "dropped 3 rows before the last 2d"),
        ({"last": "4w", "min_count": 2}, "bob tea", "3 rows before the last 4w, 1 row of"),
        ({"until": "2026-03-03", "last": "24h"}, "bob tea", "1 row not before 2026-03-03, 3 rows"),
        ({"min_count": 1, "last": None}, "ann jam, ann tea, bob tea, cid jam", "2 duplicates"),
    ],
)
def test_events_are_chosen_by_time_and_count(unix, filters, kept, said):
    frame = _DAYS
    if unix:
        frame = frame.with_columns(pl.col("time").dt.epoch("s") * unix)
    for form in (frame, _Stream(frame, rows=2)):
        found = Interactions.from_frame(form, **filters)
        assert ", ".join(f"{user} {item}" for user, item, _ in _content(found)) == kept
        assert said in str(found.readings[0])


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"since": "soon"}, "since is a date such as 2026-01-31, not 'soon'"),
        ({"since": "2027-01-01"}, "all rows are dropped, 6 before 2027-01-01"),
        ({"since": "5"}, "since is a date such as"),
        ({"last": "3 moons"}, "last is a time such as 90d"),
        ({"last": "999999d"}, "last is a time such as 90d"),
        ({"last": "0d"}, "last is a time such as 90d"),
        ({"until": "0001-01-01T00:00+14:00"}, "until is a date such as"),
        ({"min_count": 5}, "all rows are dropped, 6 of a user"),
        ({"min_count": 0}, "min_count"),
    ],
)
def test_filters_that_cannot_be_used_are_errors(filters, message):
    with pytest.raises(BoolrankError, match=message):
        Interactions.from_frame(_DAYS, **filters)


def test_filters_of_time_need_times_that_are_dates_or_unix_times():
    with pytest.raises(InputError, match="since needs the times") as caught:
        Interactions.from_frame(_DAYS.drop("time"), since="2026-01-01")
    assert "column of times" in caught.value.hint
    steps = _DAYS.with_columns(time=pl.int_range(6))
    with pytest.raises(InputError, match="not seconds since 1970"):
        Interactions.from_frame(steps, last="2d")
    stamps = _DAYS.with_columns(pl.col("time").dt.strftime("%Y%m%d%H%M%S").cast(pl.Int64))
    with pytest.raises(InputError, match=r"from 2.02601e\+13 to .* not seconds since 1970"):
        Interactions.from_frame(stamps, since="2026-02-01")


def _of_kind(kind: str, times: pl.Series, folder: Path) -> Interactions:
    """The events of _DAYS with other times, from a file, a frame, a query or lists."""
    table = _DAYS.with_columns(time=times)
    if kind == "lists":
        return Interactions.from_pairs(*(table[name].to_list() for name in table.columns))
    if kind == "file":
        table.write_csv(folder / "events.csv")
        return Interactions.from_files(folder / "events.csv")
    frames = {"polars": table, "pandas": table.to_pandas(), "stream": _Stream(table, rows=2)}
    return Interactions.from_frame(frames[kind])


@pytest.mark.parametrize("kind", ["file", "polars", "pandas", "stream", "lists"])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt32, pl.Float64])
def test_numbers_such_as_20260105_are_dates(kind, dtype, tmp_path):
    if (kind, dtype) == ("file", pl.Float64):
        dtype = pl.Int64
    days = _DAYS["time"].dt.strftime("%Y%m%d").cast(dtype)
    found, same = (_of_kind(kind, each, tmp_path) for each in (days, _DAYS["time"].dt.date()))
    assert found.time.dtype == "datetime64[D]"
    assert np.array_equal(found.time, same.time)
    if kind != "lists":
        assert found.readings[0].notes == ["times such as 20260101 are read as dates"]
    ages = [ItemKNN(recency="10d").fit(each).score() for each in (found, same)]
    assert np.array_equal(*ages, equal_nan=True)
    for number in (20260132, 20261301, 20260100, 18991231, 21010101):
        odd = _of_kind(kind, pl.Series([*days[:5], number], dtype=dtype), tmp_path)
        assert odd.time.dtype.kind != "M", number


def test_missing_days_stay_missing_and_filters_take_days_as_dates():
    days = _DAYS["time"].dt.strftime("%Y%m%d").cast(pl.Int64)
    some = _DAYS.with_columns(time=pl.Series([None, *days[1:]]))
    found = Interactions.from_frame(some, since="2026-03-01", until="20260303")
    said = "dropped 1 row without time, 2 rows before 2026-03-01, 1 row not before 20260303"
    assert said in str(found.readings[0])
    assert Interactions.from_frame(some, last="1d").size == 2
    again = pl.Series([20260101, 20260303, 20260101, 20260301, 20260302, 20260101])
    data = Interactions.from_frame(_DAYS.with_columns(item=pl.Series(list("abcabb")), time=again))
    by_number, by_text = (temporal_cut(data, at=at)[0] for at in (20260302, "2026-03-02"))
    assert by_number.relevant.indices.tolist() == by_text.relevant.indices.tolist() == [1, 1]


def test_events_without_a_time_are_dropped_by_filters_of_time_and_counted():
    some = _DAYS.with_columns(pl.when(pl.col("user") != "cid").then("time").alias("time"))
    found = Interactions.from_frame(some, last="1d")
    assert "dropped 1 row without time, 3 rows before the last 1d" in str(found.readings[0])


def test_filters_apply_to_named_data_sets_and_are_told(run, monkeypatch, tmp_path):
    monkeypatch.setattr(Dataset, "_frames", lambda *_: [_DAYS])
    words = ("fit", "movielens-1m", "--kernel", "linear", "--out", tmp_path / "model")
    code, _, err = run(*words, "--last", "2d")
    assert code == 0
    assert "read movielens-1m: user 'user', item 'item', time 'time'; 6 rows, 2 users" in err
    assert "dropped 3 rows before the last 2d" in err
    assert "read" not in run(*words)[2]
    code, _, err = run("fit", "synthetic", *words[2:], "--last", "2d")
    assert (code, "synthetic data have no last" in err) == (2, True)


def test_filters_are_checked_before_anything_is_read():
    for filters in ({"last": "x"}, {"since": "x"}, {"min_count": 0}):
        with pytest.raises(BoolrankError, match=next(iter(filters))):
            Interactions.from_sql("select 1", "sqlite:///no/such.db", **filters)
    with pytest.raises(TypeError, match="no parameter 'mincount'; did you mean 'min_count'"):
        Interactions.from_files("no/such.csv", mincount=2)


def test_the_options_of_the_command_line_filter_events(run, tmp_path):
    path = tmp_path / "events.csv"
    _DAYS.write_csv(path)
    words = ("--min-count", "2", "--since", "2026-01-01", "--until", "2027-01-01", "--last", "300d")
    code, _, err = run("fit", path, *words, "--kernel", "linear", "--out", tmp_path / "model")
    assert code == 0
    assert "dropped 2 rows of a user with an item fewer than 2 times" in err


# Folders and object stores.


def test_partitions_of_a_folder_are_columns(tmp_path):
    frame = (
        _frame()
        .drop("time")
        .with_columns(day=pl.lit("2026-01-0") + (pl.col("user").cast(int) % 3 + 1).cast(str))
    )
    for (day,), part in frame.group_by("day"):
        folder = tmp_path / "events" / f"day={day}" / "shop=007"
        folder.mkdir(parents=True)
        part.drop("day").write_parquet(folder / "part.parquet")
    (tmp_path / "events" / "_log").mkdir()
    (tmp_path / "events" / "_log" / "other.parquet").write_bytes(b"no Parquet at all")
    found = Interactions.from_files(tmp_path / "events")
    expected = Interactions.from_frame(frame.with_columns(pl.col("day").str.to_datetime()))
    assert _content(found) == _content(expected)
    assert found.readings[0].columns["time"] == "day"
    pattern = str(tmp_path / "events" / "**" / "*.parquet")
    with pytest.raises(InputError, match="_log"):  # a glob takes all
        Interactions.from_files(pattern)
    shops = Interactions.from_files(tmp_path / "events", user="shop")
    assert list(shops.users) == ["007"]


def test_addresses_in_object_stores_are_read_by_polars(monkeypatch):
    asked = []

    def scan(address, **_):
        asked.append(address)
        if "broken" in address:
            raise OSError("no access key")
        return _frame().lazy()

    monkeypatch.setattr(pl, "scan_parquet", scan)
    found = Interactions.from_files("s3://shop/events/*.parquet")
    assert _content(found) == _content(Interactions.from_frame(_frame()))
    assert asked == ["s3://shop/events/*.parquet"]
    with pytest.raises(InputError, match=r"gs://broken/x cannot be read: no access key") as caught:
        Interactions.from_files("gs://broken/x")
    assert "boolrank[cloud]" in caught.value.hint
