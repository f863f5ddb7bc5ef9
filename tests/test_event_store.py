"""Files read in batches onto the disk give the interactions, or the error, of files in memory."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from boolrank import Interactions
from boolrank.data.event_store import store_events
from boolrank.errors import BoolrankError
from boolrank.storage.job import Job

if TYPE_CHECKING:
    from pathlib import Path

LARGE = 2**63
COLUMNS = ("user", "item", "rating")


def csv(*users: str) -> tuple[str, str]:
    return ".csv", "user,item\n" + "".join(f"{user},tea\n" for user in users)


def ratings(*values: str) -> tuple[str, str]:
    rows = (f"{k},tea,{value}\n" for k, value in enumerate(values))
    return ".csv", "user,item,rating\n" + "".join(rows)


def lines(*users: Any, item: Any = "tea") -> tuple[str, str]:
    return ".jsonl", "".join(json.dumps({"user": u, "item": item}) + "\n" for u in users)


def parquet(*users: Any, dtype: Any = None) -> tuple[str, pl.DataFrame]:
    frame = pl.DataFrame({"user": pl.Series(users, dtype=dtype)})
    return ".parquet", frame.with_columns(item=pl.lit("tea"))


# Several files of users each, and the ids of users that these stand for; None for an error.
IDS: dict[str, tuple[list[Any], list[Any] | None]] = {
    "numbers": ([csv("3", "1", "2", "1")], [1, 2, 3]),
    "a leading zero in a late batch": ([csv("1", "2", "3", "4", "007")], ["007", *"1234"]),
    "text in a late file": ([csv("7", "8"), csv("9", "x")], ["7", "8", "9", "x"]),
    "blanks around numbers": ([csv("1", "2", " 3 ", "1 ")], [1, 2, 3]),
    "blanks around text": ([csv("1", "2", " x", "1 ")], ["1", "2", "x"]),
    "missing ids in a late batch": ([csv("1", "2", "1", "3", "NA", "")], [1, 2, 3]),
    "a batch without ids": ([csv("1", "2", "NA", "", "7", "8")], [1, 2, 7, 8]),
    "most without ids": ([csv("1", "2", "NA", "", "", "")], [1, 2]),
    "text beside numbers": ([lines("6"), lines(7)], None),
    "numbers of text beside numbers of Parquet": ([csv("7", "8"), parquet(7, 9)], None),
    "floats beside numbers": ([parquet(1.0, 3.0), parquet(2, 3)], None),
    "no ids": ([csv("NA", "", "")], None),
    "numbers past 64 bits in text": ([csv("1", "2", str(LARGE))], ["1", "2", str(LARGE)]),
    "large numbers of JSON": ([lines(5, LARGE, 7)], [5, 7, LARGE]),
    "large numbers of JSON beside numbers of JSON": (
        [lines(5, 6), lines(LARGE, 7)],
        [5, 6, 7, LARGE],
    ),
    "unsigned and signed numbers": (
        [parquet(LARGE, 2, dtype=pl.UInt64), parquet(-1, 2)],
        [-1, 2, LARGE],
    ),
    "whole floats": ([parquet(2.0, 1.0, 3.0)], [1, 2, 3]),
    "whole floats of text": ([csv("1", "2", "2.0")], ["1", "2", "2.0"]),
    "missing floats": ([parquet(1.0, 2.0, None, float("nan"))], [1, 2]),
    "lists of items": ([lines(1, 2, item=["a", "b"])], [1, 2]),
    "lists beside text": ([lines(1, item=["a"]), lines(2, item="b")], None),
    "lists of text beside lists of numbers": ([lines(1, item=["a"]), lines(2, item=[1])], None),
    "objects": ([lines({"a": 1}, {"a": 2})], None),
    "objects beside text": ([lines({"a": 1}), csv("x")], None),
}
# Ratings in files, a condition, and the number of users who count; None for an error.
RATINGS: dict[str, tuple[list[Any], str, int | None]] = {
    "numbers": ([ratings("5", "4", "1", "2")], ">= 4", 2),
    "truth values in a late batch": ([ratings("1", "0", "true", "false")], ">= 1", None),
    "missing in a whole batch": ([ratings("", "", "5", "1")], ">= 4", 1),
    "text of several types": (
        [ratings("5", "1"), (".jsonl", '{"user": 7, "item": "tea", "rating": 4}')],
        ">= 4",
        None,
    ),
    "truth values": ([ratings("yes", "no", "True", "f")], "= true", 2),
    "truth values beside text": ([ratings("yes", "no", "Yes", "maybe")], "= yes", 2),
    "text beside truth values": ([ratings("maybe", "so", "Yes", "yes")], "= yes", 2),
    "text after truth values": ([ratings("yes", "no", "good", "bad")], "= good", 1),
    "words for numbers": ([ratings("5", "4", "good", "bad")], ">= 4", None),
    "none that counts": ([ratings("5", "4", "3")], "> 5", None),
}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes files and returns their paths."""

    def write_all(files: list[Any]) -> list[Path]:
        paths = [tmp_path / f"{number}{ending}" for number, (ending, _) in enumerate(files)]
        for path, (_, content) in zip(paths, files, strict=True):
            if isinstance(content, str):
                path.write_text(content)
            else:
                content.write_parquet(path)
        return paths

    return write_all


def in_memory(paths: list[Path], positive: str | None = None) -> Interactions:
    return Interactions.from_files(*paths, positive=positive, file_order=True)


def on_disk(paths: list[Path], positive: str | None = None) -> Interactions:
    with Job.open(paths[0].parent / "model", "key") as job:
        return store_events(job, paths, dict.fromkeys(COLUMNS), positive, 10**9)


def result(read: Any, paths: list[Path], positive: str | None = None) -> Any:
    """Return what interactions or an error say."""
    try:
        data = read(paths, positive)
    except BoolrankError as error:
        # The value that an error names may be another, since batches are typed one by one.
        return type(error), error.message.partition(" it has ")[0], error.hint
    (reading,) = data.readings
    users, items = list(data.users), list(data.items)
    pairs = data.indptr.tolist(), data.indices.tolist()
    return users, [type(each) for each in users], items, pairs, asdict(reading)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("name", IDS)
def test_ids_on_disk_are_those_in_memory(name, size, write, monkeypatch) -> None:
    monkeypatch.setattr("boolrank.data.event_store._ROWS", size)
    files, users = IDS[name]
    paths = write(files)
    expected = result(in_memory, paths)
    assert result(on_disk, paths) == expected
    assert (users if expected[0] == users else None) == users, expected


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("name", RATINGS)
def test_ratings_on_disk_are_those_in_memory(name, size, write, monkeypatch) -> None:
    monkeypatch.setattr("boolrank.data.event_store._ROWS", size)
    files, positive, count = RATINGS[name]
    paths = write(files)
    expected = result(in_memory, paths, positive)
    assert result(on_disk, paths, positive) == expected
    assert (len(expected[0]) if isinstance(expected[0], list) else None) == count, expected
