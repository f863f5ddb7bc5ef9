"""Named data sets: read from their distributed files, with errors that name file and line."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from boolrank import Interactions, load_dataset, synthetic
from boolrank.cli._app import BELOW, EXAMPLES
from boolrank.data import DATASETS, Dataset, Delimited, Size, data_folder
from boolrank.errors import DatasetNotFoundError, InputError, MissingExtraError, ParameterError


def put(folder: Path, name: str, file: str, content: bytes | dict[str, bytes]) -> Path:
    """Write a file of a data set, or an archive with these members."""
    place = folder / name
    place.mkdir(exist_ok=True)
    if isinstance(content, bytes):
        (place / file).write_bytes(content)
    else:
        with zipfile.ZipFile(place / file, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in content.items():
                archive.writestr(member, text)
    return place / file


def triples(events: Interactions) -> list[tuple[object, object, object]]:
    """Return user, item and time of each interaction, None without times."""
    rows = np.repeat(np.arange(len(events.users)), np.diff(events.indptr))
    times = [None] * len(rows) if events.time is None else events.time.tolist()
    return [
        (events.users[row], events.items[item], when)
        for row, item, when in zip(rows.tolist(), events.indices.tolist(), times, strict=True)
    ]


def jokes(*rows: dict[int, float]) -> list[list[float]]:
    """Return rows of Jester: the number of ratings, then the ratings, 99 for none."""
    return [[len(row), *(row.get(k, 99) for k in range(1, 101))] for row in rows]


def as_csv(rows: list[list[float]]) -> bytes:
    return "".join(",".join(f"{v:g}" for v in row) + "\n" for row in rows).encode()


def workbook(rows: list[list[float]]) -> bytes:
    """Return an Excel 97 file with the rows as its first sheet, in all three encodings."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def packed(value: float) -> int:
        return (round(value * 100) << 2 | 3) & 0xFFFFFFFF

    cells = b""
    for at, row in enumerate(rows):
        cells += record(0x0203, struct.pack("<HHHd", at, 0, 0, row[0]))
        cells += record(0x027E, struct.pack("<HHHI", at, 1, 0, packed(row[1])))
        many = b"".join(struct.pack("<HI", 0, packed(v)) for v in row[2:])
        cells += record(0x00BD, struct.pack("<HH", at, 2) + many + struct.pack("<H", len(row) - 1))
    bof = [record(0x0809, struct.pack("<HH", 0x0600, kind) + bytes(12)) for kind in (5, 16)]
    first, second = (struct.pack("<BBBB", 0, 0, 1, 0) + name for name in (b"a", b"b"))
    start = len(bof[0]) + 2 * (8 + len(first)) + 4
    ends = start + len(bof[1]) + len(cells) + 4
    stream = bof[0] + record(0x0085, struct.pack("<I", start) + first)
    stream += record(0x0085, struct.pack("<I", ends) + second) + record(0x000A)
    stream += bof[1] + cells + record(0x000A)
    stream += bof[1] + record(0x0203, struct.pack("<HHHd", 0, 0, 0, 7.0)) + record(0x000A)
    length = max(len(stream), 4096)
    sectors = -(-length // 512)
    end, used, free = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
    table = [used, end, *range(3, sectors + 2), end]
    table += [free] * (128 - len(table))

    def entry(name: str, kind: int, first: int, size: int) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0"
        links = struct.pack("<BB3I", kind, 1, free, free, 1 if kind == 5 else free)
        out = text.ljust(64, b"\0") + struct.pack("<H", len(text)) + links + bytes(36)
        return out + struct.pack("<IQ", first, size)

    directory = entry("Root Entry", 5, end, 0) + entry("Workbook", 2, 2, length)
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x3I4I", 62, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0)
    header += struct.pack("<2I", end, 0) + struct.pack("<109I", 0, *[free] * 108)
    content = header[:512] + struct.pack("<128I", *table) + directory.ljust(512, b"\0")
    return content + stream.ljust(sectors * 512, b"\0")


RATED = jokes({1: 1.5, 3: -2, 100: 9.25}, {5: -1}, {7: 0.01}, dict.fromkeys(range(1, 91), 3.0))
LIKED = [(1, 1, 0), (1, 100, 1), (3, 7, 2)]
DAYS = [np.datetime64(day).item() for day in ("2000-07-12", "2004-02-29")]

# data set -> its file, a small one in its form, and what is in it
SMALL: dict[str, tuple[str, bytes | dict[str, bytes], list[tuple[object, object, object]]]] = {
    "movielens-1m": (
        "ml-1m.zip",
        {"ml-1m/README": b"", "ml-1m/ratings.dat": b"1::20::5::978300760\n2::3::1::978302109\n"},
        [(1, 20, 978300760), (2, 3, 978302109)],
    ),
    "movielens-100k": (
        "ml-100k.zip",
        {"ml-100k/u.data": b"196\t242\t3\t881250949\n22\t377\t1\t878887116\n"},
        [(22, 377, 878887116), (196, 242, 881250949)],
    ),
    "movielens-20m": (
        "ml-20m.zip",
        {
            "ml-20m/ratings.csv": b"userId,movieId,rating,timestamp\r\n"
            b"1,2,3.5,1112486027\r\n1,29,0.5,9\r\n"
        },
        [(1, 2, 1112486027), (1, 29, 9)],
    ),
    "bookcrossing": (
        "BX-CSV-Dump.zip",
        {
            "BX-Book-Ratings.csv": b'"User-ID";"ISBN";"Book-Rating"\r\n'
            b'"276725";"034545104X";"0"\r\n"8";"\\"0210;10";"8"\r\n"8";"caf\xe9";"0"\r\n'
        },
        [(8, '"0210;10', 1), (8, "café", 2), (276725, "034545104X", 0)],
    ),
    "ciaodvd": (
        "CiaoDVD.zip",
        {
            "movie-ratings.txt": b"1,7,1,1,5,2004-02-29\n1,7,1,1,4,2000-07-12\n"
            b"3,2,9,9,1,2004-02-29",
            "trusts.txt": b"1,2,1\n",
        },
        [(1, 7, DAYS[0]), (3, 2, DAYS[1])],
    ),
    "netflix": (
        "combined_data_1.txt",
        b"1:\n1488844,3,2000-07-12\n822109,5,2004-02-29\n17770:\n822109,1,2000-07-12\n",
        [(822109, 1, DAYS[1]), (822109, 17770, DAYS[0]), (1488844, 1, DAYS[0])],
    ),
    "filmtrust": (
        "ratings.txt",
        b"2 9 4\n1 1 2\n1 2 3.5\n\n",
        [(1, 1, 1), (1, 2, 2), (2, 9, 0)],
    ),
    "jester": ("jester-data-1.zip", {"jester-data-1.csv": as_csv(RATED)}, LIKED),
}


def test_every_data_set_has_a_small_sample_here():
    assert {*SMALL, "bookcrossing-reduced", "gowalla"} == set(DATASETS)


@pytest.mark.parametrize("name", SMALL)
def test_data_sets_are_read_from_their_distributed_files(tmp_path, name):
    file, content, expected = SMALL[name]
    put(tmp_path, name, file, content)
    assert triples(load_dataset(name, tmp_path)) == expected


@pytest.mark.parametrize("name", [n for n in SMALL if isinstance(SMALL[n][1], dict)])
def test_data_sets_are_read_from_unpacked_files(tmp_path, name):
    _, members, expected = SMALL[name]
    member = next(m for m in members if m.split("/")[-1] not in ("README", "trusts.txt"))
    put(tmp_path, name, member.split("/")[-1], members[member])
    assert triples(load_dataset(name, tmp_path)) == expected


def test_the_netflix_prize_is_read_from_several_files_in_an_archive(tmp_path):
    _, content, expected = SMALL["netflix"]
    more = b"17771:\n5,5,2000-07-12\n"
    members = {"combined_data_1.txt": content, "combined_data_2.txt": more, "README": b""}
    put(tmp_path, "netflix", "archive.zip", members)
    assert triples(load_dataset("netflix", tmp_path)) == [(5, 17771, DAYS[0]), *expected]


def test_jester_is_read_from_a_workbook(tmp_path):
    put(tmp_path, "jester", "jester-data-1.zip", {"jester-data-1.xls": workbook(RATED)})
    assert triples(load_dataset("jester", tmp_path)) == LIKED


@pytest.mark.parametrize(
    "at", [48, 76, 512 + 8, 1024 + 128], ids=["directory", "table", "chain", "name"]
)
def test_a_damaged_workbook_raises_an_input_error(tmp_path, at):
    content = bytearray(workbook(RATED))
    content[at : at + 4] = b"\x13" * 4
    put(tmp_path, "jester", "jester-data-1.xls", bytes(content))
    with pytest.raises(InputError, match=r"jester-data-1\.xls is a damaged workbook"):
        load_dataset("jester", tmp_path)


def test_the_error_names_an_empty_cell_of_a_workbook(tmp_path):
    rows = [row.copy() for row in RATED]
    put(tmp_path, "jester", "jester-data-1.xls", workbook([*rows[:2], rows[2][:50]]))
    with pytest.raises(InputError, match=r"line 3: .* is not count,joke1,joke2"):
        load_dataset("jester", tmp_path)


def test_a_truncated_workbook_raises_an_input_error(tmp_path):
    put(tmp_path, "jester", "jester-data-1.xls", workbook(RATED)[:1800])
    with pytest.raises(InputError, match=r"jester-data-1\.xls is a damaged workbook"):
        load_dataset("jester", tmp_path)


def test_a_workbook_without_its_reader_raises_with_the_install_command(tmp_path, monkeypatch):
    put(tmp_path, "jester", "jester-data-1.xls", workbook(RATED))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'boolrank\[cli\]'"):
        load_dataset("jester", tmp_path)


def test_the_published_fold_is_one_set_and_two_parts(tmp_path):
    put(tmp_path, "bookcrossing", "reduced_fold_train.dat", b"0 0\r\n0 2\r\n5 1\r\n")
    with pytest.raises(DatasetNotFoundError, match="bookcrossing-reduced is not in"):
        load_dataset("bookcrossing-reduced", tmp_path)
    put(tmp_path, "bookcrossing", "reduced_fold_test.dat", b"0 1\r\n5 9\r\n")
    whole = load_dataset("bookcrossing-reduced", tmp_path)
    assert triples(whole) == [(0, 0, 0), (0, 1, 3), (0, 2, 1), (5, 1, 2), (5, 9, 4)]
    train, test = DATASETS["bookcrossing-reduced"].load_parts(tmp_path)
    assert triples(train) == [(0, 0, 0), (0, 2, 1), (5, 1, 2)]
    assert triples(test) == [(0, 1, 0), (5, 9, 1)]
    for part in (train, test):
        assert (list(part.users), list(part.items)) == (list(whole.users), list(whole.items))


def test_lists_have_one_line_per_user(tmp_path):
    put(tmp_path, "gowalla", "train.txt", b"0 5 7\n\n1 \n2 5\n")
    put(tmp_path, "gowalla", "test.txt", b"0 9\n2 7")
    train, test = DATASETS["gowalla"].load_parts(tmp_path)
    assert triples(train) == [(0, 5, None), (0, 7, None), (2, 5, None)]
    assert triples(test) == [(0, 9, None), (2, 7, None)]
    assert load_dataset("gowalla", tmp_path).size == 5
    put(tmp_path, "gowalla", "test.txt", b"0 9\n2 x\n")
    with pytest.raises(InputError, match=r"test\.txt, line 2: not a user and items"):
        load_dataset("gowalla", tmp_path)
    put(tmp_path, "gowalla", "test.txt", b"\n")
    with pytest.raises(InputError, match=r"test\.txt is empty: it has no rows"):
        load_dataset("gowalla", tmp_path)


def test_the_number_of_a_malformed_line_counts_blank_lines(tmp_path):
    rows = [f"{k % 7} {k} {k % 5}.5" if k % 50 else "" for k in range(100_000)]
    rows[776] = "1 x 2"
    put(tmp_path, "filmtrust", "ratings.txt", "\n".join(rows).encode())
    with pytest.raises(InputError, match="line 777: '1 x 2' is not user item rating"):
        load_dataset("filmtrust", tmp_path)


WRONG = [
    (
        "filmtrust",
        "1 2 3\n1 2\n",
        "line 2: '1 2' is not user item rating",
    ),
    ("filmtrust", "1 2 3 4\n", "line 1: '1 2 3 4' is not user item rating"),
    ("filmtrust", "1 2 3\n\n1 2.5 3\n", "line 3: .* is not user item rating"),
    ("filmtrust", "1 -2 3\n", "line 1: .* is not user item rating"),
    ("filmtrust", "1 2 x\n", "line 1: .* is not user item rating"),
    ("filmtrust", "1 2 \n", "line 1: .* is not user item rating"),
    ("filmtrust", "99999999999999999999 2 3\n", "line 1: .* is not user item rating"),
    ("filmtrust", "1 2 3\n" + "é" * 99 + "\n", "line 2: .*…"),
    ("movielens-1m", "1::2::3::4\n1:2:3:4\n", "line 2: .* is not user::item::rating::time"),
    ("movielens-1m", "1::2::3\n", "line 1: .* is not user::item::rating::time"),
    (
        "movielens-20m",
        "userId\n1,2,3.5,9\n1,2,3.5.1,9\n",
        "line 3: .* is not user,item,rating,time",
    ),
    (
        "ciaodvd",
        "1,2,1,1,5,2001-02-29\n",
        "line 1: .* is not user,item,category",
    ),
    (
        "ciaodvd",
        "1,2,1,1,5,2001-13-01\n",
        "line 1: .* is not user,item,category",
    ),
    (
        "ciaodvd",
        "1,2,1,1,5,12/07/2000\n",
        "line 1: .* is not user,item,category",
    ),
    ("bookcrossing", '"a";"b";"c"\n"1";"x;"2"\n', "line 2: .* is not user"),
    ("bookcrossing", '"a";"b";"c"\n"1";"";"2"\n', "line 2: .* is not user"),
    ("bookcrossing", '"a";"b";"c"\n"1";"x"y;"2"\n', "line 2: .* is not user"),
    ("bookcrossing", '"a";"b";"c"\n1;x;2\n', "line 2: .* is not user"),
    ("netflix", "5,5,2000-07-12\n1:\n", "line 1: .* is not user,rating,time"),
    ("netflix", "one:\n5,5,2000-07-12\n", "line 1: 'one:'"),
    ("netflix", "1:\nx,5,2000-07-12\n", "line 2: .* is not user,rating,time"),
    ("netflix", "1:\n5,5,2000-07-12\n,5,2000-07-12\n", "line 3: .* is not user,rating,time"),
    ("netflix", "1:\n5,5\n", "line 2: .* is not user,rating,time"),
    ("jester", "1,2,3\n", "line 1: .* is not count,joke1,joke2"),
]
FILES = {
    name: next(m.split("/")[-1] for m in content if not m.endswith("README"))
    if isinstance(content, dict)
    else file
    for name, (file, content, _) in SMALL.items()
}


@pytest.mark.parametrize(("name", "text", "words"), WRONG)
def test_a_malformed_row_is_an_error_with_file_and_line(tmp_path, name, text, words):
    path = put(tmp_path, name, FILES[name], text.encode("latin-1"))
    with pytest.raises(InputError, match=words) as caught:
        load_dataset(name, tmp_path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("content", [b"", b"\n\n", b" "])
def test_an_empty_file_raises_an_input_error(tmp_path, name, content):
    path = put(tmp_path, name, FILES[name], content)
    with pytest.raises(InputError, match=r"is empty: it has no rows|line 1: ") as caught:
        load_dataset(name, tmp_path)
    assert str(path) in str(caught.value)


def test_the_error_lists_the_members_of_a_wrong_archive(tmp_path):
    put(tmp_path, "movielens-1m", "ml-1m.zip", {"ml-1m/movies.dat": b"1::Tea::x\n"})
    with pytest.raises(InputError, match=r"has no ratings\.dat, but ml-1m/movies\.dat"):
        load_dataset("movielens-1m", tmp_path)


@pytest.mark.parametrize("cut", [10, 60, -30])
def test_a_damaged_archive_raises_an_input_error(tmp_path, cut):
    file, content, _ = SMALL["movielens-1m"]
    path = put(tmp_path, "movielens-1m", file, content)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match=r"cannot be read: .* delete it and fetch it again"):
        load_dataset("movielens-1m", tmp_path)


def test_flipped_bytes_in_an_archive_are_found(tmp_path):
    path = put(tmp_path, "filmtrust", "filmtrust.zip", {"ratings.txt": b"1 2 3\n" * 500})
    content = bytearray(path.read_bytes())
    content[50] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"filmtrust\.zip.* cannot be read"):
        load_dataset("filmtrust", tmp_path)


def test_an_encrypted_archive_raises_an_input_error(tmp_path):
    path = put(tmp_path, "filmtrust", "filmtrust.zip", {"ratings.txt": b"1 2 3\n"})
    content = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + flags] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"filmtrust\.zip cannot be read: .*password"):
        load_dataset("filmtrust", tmp_path)


def test_any_flipped_byte_of_an_archive_is_harmless(tmp_path):
    """Reading gives the original content or an InputError."""
    members = {"ml/": b"", "ml/ratings.txt": b"1 2 3\n4 5 6\n"}
    path = put(tmp_path, "filmtrust", "filmtrust.zip", members)
    right, content = triples(load_dataset("filmtrust", tmp_path)), path.read_bytes()
    for at in range(len(content)):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :])
            with suppress(InputError):
                assert triples(load_dataset("filmtrust", tmp_path)) == right


def test_a_folder_in_an_archive_is_not_a_file(tmp_path):
    members = {"ratings.txt/": b"", "ratings.txt/ratings.txt": b"1 2 3\n"}
    put(tmp_path, "filmtrust", "filmtrust.zip", members)
    assert triples(load_dataset("filmtrust", tmp_path)) == [(1, 2, 0)]


def test_an_archive_that_unpacks_to_more_than_any_data_set_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("boolrank.data.archives._LARGEST", 10_000)
    put(tmp_path, "filmtrust", "filmtrust.zip", {"ratings.txt": b"1 2 3\n" * 2_000})
    with pytest.raises(InputError, match=r"ratings\.txt has more than 10,000 bytes"):
        load_dataset("filmtrust", tmp_path)


def test_any_flipped_byte_of_a_workbook_is_harmless(tmp_path):
    content = bytearray(workbook(RATED[:2]))
    rng = np.random.default_rng(0)
    for at in [*range(28, 80, 2), *rng.integers(80, len(content), 60).tolist()]:
        broken = content.copy()
        broken[at] ^= int(rng.integers(1, 256))
        put(tmp_path, "jester", "jester-data-1.xls", bytes(broken))
        with suppress(InputError):
            load_dataset("jester", tmp_path)


@pytest.mark.parametrize(
    "member", ["../ratings.dat", "/ratings.dat", "a/../../ratings.dat", "C:\\ratings.dat", "..\\r"]
)
def test_an_archive_that_climbs_out_of_its_folder_is_not_read(tmp_path, member):
    good = {"ml-1m/ratings.dat": b"1::2::3::4\n"}
    put(tmp_path, "movielens-1m", "ml-1m.zip", good | {member: b"1::2::3::4\n"})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="leads out of its folder"):
        load_dataset("movielens-1m", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_times_do_not_depend_on_the_order_of_rows(tmp_path):
    rows = [f"{u}::{i}::3::{t}\n" for u, i, t in [(1, 5, 9), (1, 4, 9), (2, 5, 1), (1, 5, 3)]]
    put(tmp_path, "movielens-1m", "ratings.dat", "".join(rows).encode())
    forward = triples(load_dataset("movielens-1m", tmp_path))
    put(tmp_path, "movielens-1m", "ratings.dat", "".join(reversed(rows)).encode())
    assert triples(load_dataset("movielens-1m", tmp_path)) == forward
    assert forward == [(1, 4, 9), (1, 5, 3), (2, 5, 1)]


def test_the_error_for_a_missing_data_set_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="movielens-1m is not in") as caught:
        load_dataset("movielens-1m")
    assert "boolrank datasets fetch movielens-1m" in caught.value.hint
    assert f"save it as {tmp_path / 'movielens-1m' / 'ml-1m.zip'}" in caught.value.hint
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize(
    ("name", "words"),
    [("movielense-1m", "'movielens-1m'"), ("Netflix", "'netflix'"), ("synthetic:9", "USERSxITEMS")],
)
def test_the_error_for_an_unknown_name_suggests_a_similar_one(name, words):
    with pytest.raises(ParameterError, match="there is no data set") as caught:
        load_dataset(name)
    assert words in caught.value.hint


def test_without_polars_the_error_has_the_install_command(tmp_path, monkeypatch):
    put(tmp_path, "filmtrust", *SMALL["filmtrust"][:2])
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'boolrank\[cli\]'"):
        load_dataset("filmtrust", tmp_path)


def test_synthetic_data_have_names():
    made = load_dataset("synthetic:40x30x200:5")
    assert triples(made) == triples(synthetic(40, 30, 200, seed=5))
    assert repr(load_dataset("synthetic")).endswith(
        "2,000 users x 1,000 items, 40,000 interactions"
    )


def test_the_data_folder_is_given_or_in_the_environment_or_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path / "a"))
    assert data_folder() == tmp_path / "a"
    assert data_folder(tmp_path / "b") == tmp_path / "b"
    monkeypatch.delenv("BOOLRANK_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert data_folder() == tmp_path / "c" / "boolrank" / "datasets"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_folder() == Path.home() / ".cache" / "boolrank" / "datasets"


REAL = [name for name in DATASETS if name != "netflix"]


@pytest.mark.parametrize("name", REAL)
def test_real_data_sets_have_the_known_counts(data_dir, name):
    if not DATASETS[name].is_here(data_dir):
        pytest.skip(f"{name} is not in BOOLRANK_DATA")
    events = load_dataset(name, data_dir)
    size = Size(*events.shape, events.size)
    assert size == DATASETS[name].size
    assert events.duplicates == {"ciaodvd": 320, "filmtrust": 3}.get(name, 0)
    printed = DATASETS[name].printed
    if printed:
        assert (str(size.users), str(size.items)) == printed[:2]
        same = printed[2] in (str(events.size), "1M")
        same = same and f"{100 * size.density:.2f}%" == printed[3]
        assert same == (not DATASETS[name].differs)


def test_the_real_fold_has_its_two_parts(data_dir):
    if not DATASETS["bookcrossing-reduced"].is_here(data_dir):
        pytest.skip("bookcrossing-reduced is not in BOOLRANK_DATA")
    train, test = DATASETS["bookcrossing-reduced"].load_parts(data_dir)
    assert (train.size, test.size) == (55_995, 14_598)
    assert train.shape == test.shape == (2_802, 5_892)


def test_the_real_gowalla_has_its_two_parts(data_dir):
    if not DATASETS["gowalla"].is_here(data_dir):
        pytest.skip("gowalla is not in BOOLRANK_DATA")
    train, test = DATASETS["gowalla"].load_parts(data_dir)
    assert (train.size, test.size) == (810_128, 217_242)


def test_a_real_excerpt_of_the_netflix_prize(data_dir):
    if not DATASETS["netflix"].is_here(data_dir):
        pytest.skip("netflix is not in BOOLRANK_DATA")
    events = load_dataset("netflix", data_dir)
    text = b"".join(p.read_bytes() for p in (data_dir / "netflix").glob("combined_data_*.txt"))
    lines = text.split()
    assert events.size + events.duplicates == sum(not line.endswith(b":") for line in lines)
    assert len(events.items) == len({line for line in lines if line.endswith(b":")})


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Run the command line on the folder of the test, on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path))
    return run


def test_the_list_has_every_set_and_fits_80_columns(run, tmp_path):
    put(tmp_path, "filmtrust", *SMALL["filmtrust"][:2])
    code, out, err = run("datasets")
    assert code == 0
    assert str(tmp_path) in err
    assert max(map(len, out.splitlines())) <= 80
    for name in DATASETS:
        assert f"\n {name} " in out
    row = next(line for line in out.splitlines() if line.startswith(" filmtrust"))
    assert row.split() == ["filmtrust", "1,508", "2,071", "35,494", "1.14", "%", "≠", "yes"]
    assert "of 1,000,209 ratings by 6,040 users" in " ".join(out.split())


def test_brackets_in_the_name_of_a_folder_are_not_markup(run, tmp_path, monkeypatch):
    folder = tmp_path / "sets [bold] :tea:"
    monkeypatch.setenv("BOOLRANK_DATA", str(folder))
    code, _, err = run("datasets")
    assert code == 0
    assert str(folder) in err


def own(**changes) -> Dataset:
    """Return a data set as a user writes it, with the least that is needed."""
    given = {
        "name": "own",
        "title": "Own",
        "files": ("own.csv",),
        "page": "https://example.com/own",
    }
    given |= {"format": Delimited("user:text item:text"), "licence": "", "citation": ""}
    return Dataset(**given | {"size": Size(1, 1, 1)} | changes)


def test_without_instructions_the_page_is_where_to_get_a_set(run, monkeypatch, tmp_path):
    monkeypatch.setitem(DATASETS, "own", own())
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("own")
    assert caught.value.hint.startswith(f"see https://example.com/own; put it into {tmp_path}")
    assert re.search(r"get it +see https://example.com/own *$", run("datasets")[1], re.MULTILINE)


@pytest.mark.parametrize(
    ("columns", "lacks"),
    [
        (Delimited("usr:text item:text"), "user"),
        (Delimited("user:text thing:text"), "item"),
        (lambda *_: None, "user"),
    ],
)
def test_a_format_without_user_or_item_is_an_error(tmp_path, columns, lacks):
    put(tmp_path, "own", "own.csv", b"ann,tea\n")
    with pytest.raises(InputError, match=f"the format of own gives no column '{lacks}'"):
        own(format=columns).load(tmp_path)


@pytest.mark.parametrize("fields", ["user:string item", "user:text,item:text"])
def test_a_field_of_an_unknown_kind_is_an_error(fields):
    with pytest.raises(ParameterError, match=r"field user has an unknown .*text.*spaces separate"):
        Delimited(fields)


def test_json_and_csv_have_the_same_content(run):
    _, as_json, _ = run("datasets", "--json")
    _, text, _ = run("datasets", "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == [r["name"] for r in json.loads(as_json)]
    assert [row["licence"] for row in rows] == [r["licence"] for r in json.loads(as_json)]
    assert all(record["citation"] and record["page"] for record in json.loads(as_json))


def test_verbs_below_a_verb_have_help_with_an_example(run):
    for verb, below in BELOW.items():
        for name in below:
            _, out, _ = run(verb, name, "-h")
            assert out.strip().splitlines()[-1].strip() == f"Example:  {EXAMPLES[f'{verb} {name}']}"


@pytest.mark.usefixtures("worker_here")
def test_fit_takes_the_name_of_a_set(run, tmp_path):
    put(tmp_path, "filmtrust", *SMALL["filmtrust"][:2])
    code, _, err = run("fit", "filmtrust", "--kernel", "linear", "--out", tmp_path / "model")
    assert code == 0
    assert "2 users x 3 items, 3 interactions" in err
    code, _, err = run("fit", "synthetic:30x20x90", "--out", tmp_path / "model")
    assert "30 users x 20 items, 90 interactions" in err


@pytest.mark.parametrize(
    ("code", "args", "words"),
    [
        (1, ["fit", "jester", "--out", "OUT"], "the data set jester is not in"),
        (1, ["fit", "jestr", "--out", "OUT"], "there is a data set 'jester'"),
        (1, ["fit", "jester", "--positive", "> 1", "--out", "OUT"], "leave out positive"),
        (2, ["datasets", "fetch", "jestr"], "hint: did you mean 'jester'?"),
        (1, ["datasets", "fetch", "netflix"], "cannot be downloaded by a program"),
        (2, ["datasets", "--json", "--csv"], "exclude each other"),
    ],
)
def test_mistakes_give_a_one_line_error(run, tmp_path, code, args, words):
    found, out, err = run(*(tmp_path / "model" if arg == "OUT" else arg for arg in args))
    assert (found, out) == (code, "")
    assert words in err
    assert not list(tmp_path.iterdir())


def test_a_folder_with_the_name_of_a_data_set_is_not_a_file(run, tmp_path, monkeypatch):
    """The folder of data sets has folders with their names."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "filmtrust", *SMALL["filmtrust"][:2])
    code, _, err = run("fit", "filmtrust", "--kernel", "linear", "--out", "model")
    assert code == 0
    assert "2 users x 3 items, 3 interactions" in err


def test_a_file_precedes_a_data_set_of_the_same_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jester").write_text("user,item\n1,2\n")
    code, _, err = run("fit", "jester", "--out", "model")
    assert code == 1
    assert "files that can be read end in" in err
