# ruff: noqa: E501 - a row of the tables is best read on one line
"""Bad files and arguments: one error line and one hint, exit code 1 or 2, nothing written.

And odd files that are read, with what must be read from them.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from boolrank import Interactions
from boolrank.data import archives

Run = Callable[..., tuple[int, str, str]]
GOOD = "user,item,rating,date\nann,tea,5,2024-01-01\nbob,tea,1,2024-01-02\nbob,jam,4,2024-01-03\n"


def _parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


def _zip(**members: str | bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_", "."), text)
    return out.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def _workbook(*sheets: list[list[object]]) -> bytes:
    """Return a workbook as Excel writes it, with the parts that readers need."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    listed = "".join(f'<sheet name="s{k}" sheetId="{k}" r:id="r{k}"/>' for k in numbers)
    targets = "".join(
        f'<Relationship Id="r{k}" Type="{links}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
        f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{targets}'
        "</Relationships>",
    }
    for k, rows in enumerate(sheets, 1):
        body = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{k}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


TABLE = [["user", "item"], ["ann", 7], ["bob", 7]]

# The name of a file, its content, further arguments of `fit`, the exit code, the error, the hint.
BAD: list[tuple[str, str | bytes, str, int, str, str]] = [
    # not a file
    ("", "", "nowhere.csv", 1, "no file matches 'nowhere.csv'", "check its name and folder"),
    ("", "", "*.csv", 1, "no file matches '*.csv'", "check its name and folder"),
    ("", "", ".", 1, ". is a folder", "name files of events"),
    (
        *("", "", "https://x.org/a.csv", 1),
        *("https://x.org/a.csv is an address, and only files are read", "curl -LO https://x.org/a"),
    ),
    ("", "", "tearoom", 1, "no file matches 'tearoom'", "for a data set of your own, import its mod"),
    ("", "", "movielens-1n", 1, "no file matches 'movielens-1n'", "there is a data set 'movielens-1m'; for a file, check"),
    # not a table
    ("a.csv", "", "", 1, "a.csv is empty", "write the names of its columns, and below a row"),
    ("a.csv", "user,item\n", "", 1, "there are no interactions", "give some"),
    ("a.csv", "\n \n\n", "", 1, "a.csv is empty", "write the names of its columns, and below a row"),
    ("a.csv", "user,item\n".encode("utf-16-le"), "", 1, "a.csv, line 1: a NUL byte", "save it as text in UTF-8"),
    ("a.csv", "user,item\nann,te\0a\n", "", 1, "a.csv, line 2: a NUL byte", "save it as text"),
    ("a.csv.gz", "user,item\n", "", 1, "a.csv.gz cannot be read: Not a gzipped file", "its ending fits"),
    ("a.json", '[{"user": 1, "item": 2},', "", 1, "a.json, line 1: not JSON", "correct it"),
    ("a.json", '{"user": [1], "item": [2]}', "", 1, "'user' has nested values, such as [1]", "a column of its own"),
    ("a.doc", "x", "", 1, "a.doc ends in '.doc'", "files that can be read end in .csv, .txt, .dat"),
    ("events", "x", "", 1, "events ends in 'nothing'", "files that can be read end in .csv"),
    ("a.csv", _parquet(user=[1], item=[1]), "", 1, "a.csv, line 1: a NUL byte", "such as .parquet"),
    ("a.csv", _workbook(TABLE), "", 1, "a.csv, line 1: a NUL byte", "the ending of its kind"),
    ("a.csv", gzip.compress(b"user,item\n", mtime=0), "", 1, "a NUL byte", "the ending of its kind"),
    ("a.csv", "user,item\n".encode("utf-16"), "", 1, "a NUL byte", "save it as text in UTF-8"),
    ("a.csv", "user,item\né,1\n".encode("latin-1"), "", 1, "a.csv, line 2: not UTF-8", "CSV UTF-8"),
    ("a.xlsx", "x", "", 1, "a.xlsx is a damaged workbook", "save it again, or its table as CSV"),
    ("a.xlsx", _workbook(TABLE, TABLE), "", 1, "has 2 sheets with rows: s1, s2", "save the one with"),
    ("a.zip", "x", "", 1, "a.zip cannot be read: File is not a zip file", "if it is damaged"),
    ("a.zip", _zip(a_csv=GOOD, b_csv=GOOD), "", 1, "has 2 files: a.csv, b.csv", "unpack it, and name"),
    ("a.zip", _zip(readme_md="x"), "", 1, "readme.md ends in '.md'", "files that can be read end"),
    ("a.dat", "1::2::5\n", "", 1, "no column looks like the user or the item", "there are ['1::2::5']; the first line has the names"),
    # lines
    ("a.csv", GOOD + "cid,tea,3\n", "", 1, "a.csv, line 5: 3 fields instead of 4", "correct it"),
    ("a.csv", GOOD + "cid,tea,3,x,y\n", "", 1, "line 5: 5 fields instead of 4", "correct it; text with a separator"),
    ("a.csv", GOOD + "cid\n" + GOOD, "", 1, "a.csv, line 5: 1 field instead of 4", "correct it"),
    ("a.csv", 'user,item\nann,"tea\nbob,jam\n', "", 1, "a quotation mark is not closed", "correct"),
    ("a.csv", 'user,item\n"a,b",tea\nann\n', "", 1, "line 3: 1 field instead of 2", "correct it"),
    ("a.jsonl", '{"user": 1, "item": 2}\n{"user":', "", 1, "a.jsonl, line 2: not JSON", "correct it"),
    ("a.jsonl", '{"user": 1, "item": 2}\n3\n', "", 1, "line 2: a JSON int, not an object", "correct"),
    ("a.jsonl", '{"user":' + "[" * 99999 + "]" * 99999 + ', "item":1}\n', "", 1, "a.jsonl, line 1: not JSON (", "correct"),
    ("a.json", "[" * 99999 + "]" * 99999, "", 1, "a.json, line 1: not JSON (", "correct it"),
    # columns
    ("a.csv", "ann,tea\nbob,tea\n", "", 1, "no column looks like the user or the item", "there are ['ann', 'tea']"),
    ("a.csv", "who,item\nann,tea\n", "", 1, "--user: no column looks like the user", "there are ['who', 'i"),
    ("a.csv", GOOD, "--user who", 1, "there is no column 'who' for the user", "there are ['user', 'it"),
    ("a.csv", GOOD, "--item user", 1, "user and item are the same column, 'user'", "name two columns"),
    ("a.csv", "user,item,user\n1,2,3\n", "", 1, "2 columns are named 'user'", "rename or remove one"),
    ("a.csv", "user,item,item\n1,2,3\n", "--item item", 1, "2 columns are named 'item'", "rename"),
    (
        *("a.csv", "user,client,item\n1,2,3\n", "", 1),
        *("2 columns look like the user: 'user' and 'client'", "name one of them"),
    ),
    ("a.csv", "user,sku,book_id\n1,2,3\n", "", 1, "--item: 2 columns look like the item", "name one"),
    ("a.csv", "user,item,date,ts\n1,2,3,4\n", "", 1, "--time: 2 columns look like the time", "name one"),
    (
        *("a.csv", "user,item,stars,score\n1,2,3,4\n", "--positive >3", 1),
        *("2 columns look like the rating: 'stars' and 'score'", "name one of them"),
    ),
    # values
    ("a.csv", "user,item\nNaN,tea\nNA,jam\n", "", 1, "all rows are dropped, 2 without user", "choose"),
    ("a.jsonl", '{"user": {"id": 1}, "item": 2}\n', "", 1, "'user' has nested values, such as {'id': 1}",
     "write the part that is the user into a column of its own"),
    ("a.csv", GOOD.replace("-02", "-32"), "--time date", 1, "it has '2024-01-32' in a.csv, row 2 below",
     "correct it, or name another time column"),
    ("a.csv", GOOD.replace("2024-01-01", "1 Feb 2024"), "--time date", 1, "it has '1 Feb 2024' in a.csv, row 1",
     "correct it"),
    ("a.csv", GOOD, "--time item", 1, "--time: the column 'item' is not a time: it has 'tea' in a.csv, row 1", "time column"),
    ("a.csv", GOOD.replace("5", "good"), "--positive >=4", 1, "is not a rating: it has 'good' in a.csv, row 1",
     "correct it, or name another rating column"),
    ("a.csv", GOOD.replace(",5,", ',"4,5",'), "--positive >=4", 1, "is not a rating: it has '4,5' in a.csv",
     "write numbers with a decimal point, such as 4.5"),
    ("a.csv", GOOD.replace(",5,", ",50%,"), "--positive >=4", 1, "is not a rating: it has '50%' in a.csv",
     "correct it"),
    # conditions
    ("a.csv", GOOD, "--positive 4", 2, "positive is a comparison", "write it as '>= 4', or for text as '= good'"),
    ("a.csv", GOOD, "--positive >=good", 2, "not '>=good'", "or for text as '= good'"),
    ("a.csv", GOOD, "--positive >=9", 1, "all rows are dropped, 3 with rating not >=9", "choose other events"),
    ("a.csv", GOOD, "--positive =good", 1, "all rows are dropped, 3 with rating not =good",
     "choose other events"),
    ("a.parquet", _parquet(user=[1, 2], item=[1, 2], rating=[True, False]), "--positive =good", 1,
     "the ratings in 'rating' are truth values", "compare numbers as '>= 4'"),
    ("a.parquet", _parquet(user=[1], item=[1], rating=[5]), "--positive =good", 1,
     "the ratings in 'rating' are numbers", "text as '= good'"),
    ("a.csv", "user,item,rating\nann,tea,NA\n", "--positive >=4", 1, "all rows are dropped, 1 without rating", "choose"),
    ("a.parquet", _parquet(user=[1], item=[1], rating=[b"x"]), "--positive =x", 1,
     "the ratings in 'rating' are not numbers", "text as '= good'"),
    ("a.csv", "user,item\nann,tea\n", "--positive >=4", 1, "--rating: no column looks like the rating", "name it"),
    # what remains
    ("a.csv", GOOD, "--k-core 3", 1, "the 3-core is empty", "lower k_core, or give more data"),
    ("a.csv", GOOD, "--k-core 0", 2, "Invalid value for '--k-core'", "see `boolrank fit -h`"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "args", "code", "error", "hint"), BAD)
@pytest.mark.filterwarnings("error")
def test_a_bad_input_has_an_error_and_a_hint(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes,
    args: str,
    code: int,
    error: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if name:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    call = ("fit", *([name] if name else []), *args.split(), "--kernel", "linear", "--out", "m")
    found, out, err = run(*call)
    assert (found, out) == (code, "")
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second
    assert not Path("m").exists()


def test_a_saved_model_in_place_of_its_events_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "header.json").write_text("{}")
    code, _, err = run("evaluate", str(tmp_path / "model"))
    assert code == 1
    hint = "name files of events; show, recommend, similar, explain, update and serve take a saved model"
    assert f"model is a saved model or split\nhint: {hint}\n" in err


def test_a_compressed_file_that_is_far_larger_than_it_looks_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are a thousandth here: 4 MB, and 1 MB for a workbook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(archives, "_LARGEST", 4 << 20)
    monkeypatch.setattr(archives, "_LARGEST_SHEET", 1 << 20)
    lines = "user,item\n" + "ann,tea\n" * (1 << 20)
    Path("a.csv.gz").write_bytes(gzip.compress(lines.encode()))
    Path("a.zip").write_bytes(_zip(a_csv=lines))
    Path("a.xlsx").write_bytes(_workbook([["user", "item"], *[["ann", "tea"]] * 20_000]))
    Path("b.zip").write_bytes(_zip(a_xlsx=Path("a.xlsx").read_bytes()))
    for name, why in (
        ("a.csv.gz", "holds more than 100 times its size"),
        ("a.zip", "a.csv has more than 4,194,304 bytes"),
        ("a.xlsx", "a.xlsx unpacks to"),
        ("b.zip", "a.xlsx unpacks to"),
    ):
        code, _, err = run("fit", name, "--kernel", "linear", "--out", "m")
        assert code == 1
        assert err.startswith("error: ")
        assert why in err


@pytest.mark.parametrize(
    ("name", "error"), [("a.json", "not JSON"), ("a.jsonl", "not JSON"), ("a.toml", "is not TOML")]
)
def test_deep_nesting_is_an_error(run: Run, tmp_path: Path, name: str, error: str) -> None:
    nest = "[" * 100_000 + "]" * 100_000
    (tmp_path / name).write_text(f"a = {nest}" if name.endswith("toml") else f'{{"user": {nest}}}')
    code, _, err = run("evaluate", str(tmp_path / name))
    assert code in (1, 2)
    assert err.startswith("error: ")
    assert error in err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf_8_is_an_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"na\xffme.csv")
    path.write_text(GOOD)
    code, _, err = run("fit", str(path), "--kernel", "linear", "--out", str(tmp_path / "m"))
    assert code == 1
    assert err.startswith("error: the name ")
    assert "hint: rename it" in err


@pytest.mark.parametrize(
    ("name", "value"),
    [("NUMBA_NUM_THREADS", "abc"), ("NUMBA_NUM_THREADS", "0"), ("NUMBA_OPT", "x")],
)
def test_a_bad_setting_of_numba_is_an_error(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "a.csv").write_text(GOOD)
    call = ("fit", "a.csv", "--model", "item-knn", "--out", "m")
    done = subprocess.run(
        [sys.executable, "-m", "boolrank", *call],
        cwd=tmp_path,
        env=os.environ | {name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error: numba refuses its settings: " in done.stderr
    assert "hint: correct or unset the variables" in done.stderr


def test_there_are_enough_of_them() -> None:
    assert len(BAD) >= 40


# The name of a file, its content, arguments, the pairs that must be read, a part of what is said.
ODD: list[tuple[str, str | bytes, str, str, str]] = [
    ("a.csv", "user,item,liked\nann,tea,true\nann,jam,False\n", "", "ann:tea",
     "rating 'liked', no time; 2 rows, 1 user, 1 item, 0 duplicates; dropped 1 row with liked false"),
    ("a.csv", "user,item,rating\nann,tea,yes\nann,jam,no\nbob,jam,\n", "", "ann:tea",
     "dropped 1 row without rating, 1 row with rating false"),
    ("a.jsonl", '{"user":1,"item":2,"like":true}\n{"user":1,"item":3,"like":false}\n', "", "1:2",
     "dropped 1 row with like false"),
    ("a.csv", "user,item\n ann,tea\nann ,tea\nbob,\tjam\n", "", "ann:tea bob:jam",
     "3 rows, 2 users, 2 items, 1 duplicate; removed blanks around 3 ids"),
    ("a.csv", "user,item\nann,tea\nnull,tea\nbob,N/A\nbob,jam\ncid,jam\n", "", "ann:tea bob:jam cid:jam",
     "dropped 1 row without user, 1 row without item"),
    ("a.csv", "user,item,rating\nann,tea,good\nann,jam,bad\n", "--positive =good", "ann:tea",
     "dropped 1 row with rating not =good"),
    ("a.csv", "user;item;rating\nann;tea;4.5\nann;jam;3.5\n", "--positive >=4", "ann:tea", "dropped 1 row"),
    ("a.csv", "user,item,rating\nann,tea,8\nann,jam,NaN\n", "--positive !=4", "ann:tea", "1 row without rating"),
    ("a.csv", "user,item,rating\nann,tea,8\nann,jam,1\n", "", "ann:jam ann:tea",
     "note: all rows count, regardless of 'rating'; a condition such as '>= 4' (positive) selects some"),
    ("a.csv", "user,item,rating\nann,tea,NaN\nann,jam,\n", "", "ann:jam ann:tea", "regardless of 'rating'; a condition"),
    ("a.jsonl", '{"user":1,"item":2,"score":[1]}\n', "", "1:2", "regardless of 'score'"),
    ("a.csv", "user,item,Quantity\nann,tea,2\nann,jam,-1\n", "", "ann:jam ann:tea",
     "note: 'Quantity' has negative values; name it as the rating and select '> 0' (positive) to leave these rows out"),
    ("a.jsonl", '{"user":1,"item":2,"count":[-1]}\n', "", "1:2", "0 duplicates\n"),
    ("a.csv", "user,item\rann,tea\rbob,jam\r", "", "ann:tea bob:jam", "2 rows"),
    ("a.csv", "user,item\n\nann,tea\n\n\nbob,jam\n\n", "", "ann:tea bob:jam", "2 rows"),
    ("a.txt", "user item\nann tea\nbob jam\n", "", "ann:tea bob:jam", "2 rows"),
    ("a.csv", "Customer ID, StockCode ,InvoiceDate\n7,x,12/1/2010 8:26\n7,y,12/13/2010 9:00\n", "", "7:x 7:y",
     "user 'Customer ID', item 'StockCode', time 'InvoiceDate';"),
    ("a.csv", "client,sku,when\n1,2,05/03/2024\n1,3,06/03/2024\n", "", "1:2 1:3",
     "note: dates such as '05/03/2024' are read as day/month/year"),
    ("a.csv", "member,title,moment\n1,2,2024-03-05\n1,3,2024-03-06\n", "", "1:2 1:3",
     "no time; 2 rows, 1 user, 2 items, 0 duplicates\nnote: 'moment' looks like a time; name it as the time to use it"),
    ("a.csv", "user_id,email,movieId,title\n1,a,2,x\n", "", "1:2", "user 'user_id', item 'movieId'"),
    ("a.csv", "username,User-ID,Product Nr.\na,1,2\n", "", "1:2", "user 'User-ID', item 'Product Nr.'"),
    ("a.csv", "Client No,Book name\n1,2\n", "", "1:2", "user 'Client No', item 'Book name'"),
    ("a.csv", "user,item,date\n1,2,2024-01-01\n1,3,\n", "", "1:2 1:3", "note: 1 row has no time"),
    ("a.csv", "user,item,time\n1,2,inf\n1,3,nan\n1,4,1e400\n", "", "1:2 1:3 1:4", "note: 3 rows have no time"),
    ("a.csv", "\ufeffuser\titem\nann\t\"tea\nhot\"\n", "", "ann:tea\nhot", "user 'user', item 'item'"),
    ("a.csv", "user,item\n10000000001,1\n99999999999999999999999,2\n", "", "10000000001:1 99999999999999999999999:2", "2 users"),
    ("a.json", '[{"user": 1, "item": 2},\n {"user": 1, "item": 3}]', "", "1:2 1:3", "2 rows"),
    ("a.jsonl", '[{"user": 1, "item": 2}]', "", "1:2", "1 row, 1 user, 1 item"),
    ("a.jsonl", '{"user": 1, "item": [2, 3]}\n', "", "1:2 1:3", "1 user, 2 items"),
    ("a.zip", _zip(a_csv="user,item\nann,tea\n"), "", "ann:tea", "read a.zip, a.csv: user 'user'"),
    ("a.xlsx", _workbook(TABLE, []), "", "ann:7 bob:7", "2 rows, 2 users, 1 item"),
    ("a.csv", "user,item\na,1\na,2\nb,1\nb,2\nc,3\n", "--k-core 2", "a:1 a:2 b:1 b:2",
     "dropped 1 row outside the 2-core"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "args", "pairs", "said"), ODD)
def test_an_odd_input_is_read_and_told(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str | bytes,
    args: str,
    pairs: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    code, _, err = run("fit", name, *args.split(), "--model", "popularity", "--out", "m")
    assert code == 0, err
    assert said in err
    option = re.match(r"--positive (.*)", args)
    data = Interactions.from_files(name, positive=option and option[1])
    data = data.k_core(int(args[-1])) if "core" in args else data
    assert " ".join(f"{user}:{item}" for user, item, *_ in data.to_frame().rows()) == pairs
