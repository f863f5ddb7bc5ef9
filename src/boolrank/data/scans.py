"""Files by name, and each as a polars scan: its kind by its ending, its separator and header."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import polars as pl
from polars.exceptions import PanicException, PolarsError

from ..checks import IMPORT
from ..errors import InputError, ParameterTypeError
from ..storage.output import HEADER
from .archives import check_expansion, check_name, contents, sheet

AnyFrame = TypeVar("AnyFrame", pl.DataFrame, pl.LazyFrame)

ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".dat", ".tsv", ".tab"), "text"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".xlsx", ".xls"), "workbook"),
    ".zip": "zip",
}
_EMPTY = "write the names of its columns, and below a row per event"
_ACCESS = (
    "check the address and the access keys, from variables such as AWS_ACCESS_KEY_ID or, with "
    "boolrank[cloud], from where the store's own tools keep them"
)
_UNREADABLE = (OSError, EOFError, zlib.error)
_STORES = r"(s3a?|gs|gcs|az|azure|abfss?)://"


def expand(paths: str | Path | Iterable[str | Path]) -> list[Path | str]:
    """Return the files of names, globs and folders of Parquet, without repetitions.

    Addresses of Parquet in object stores stay text.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no files are given", hint="give one, or a glob such as 'events/*.csv'")
    found: dict[Path | str, None] = {}
    for each in given:
        if not isinstance(each, str | os.PathLike):
            problem = f"files are names, not {type(each).__name__}"
            raise ParameterTypeError(problem, hint="give the names one by one, as *names of a list")
        path = Path(each).expanduser()
        if re.match(_STORES, str(each)):
            found[str(each)] = None
            continue
        if re.match(r"\w{2,}:/", str(each)):
            hint = f"download it first, such as with: curl -LO {each}"
            raise InputError(f"{each} is an address, and only files are read", hint=hint)
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*.parquet") if file.is_file())
            # Files of other programs, such as those in _delta_log, begin with _ or a dot.
            parts = {file: file.relative_to(path).parts for file in inside}
            files = [f for f in inside if not any(p.startswith(("_", ".")) for p in parts[f])]
            problem = f"{path} is a folder without Parquet files"
            hint = "name files of events"
            if (path / HEADER).is_file():
                problem = f"{path} is a saved model or split"
                hint += "; show, recommend, similar, explain, update and serve take a saved model"
        else:
            # glob, not Path.glob, which refuses absolute patterns.
            names = [path] if path.exists() else sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
            files = [file for file in map(Path, names) if file.is_file()]
            problem = f"no file matches {str(each)!r}"
            hint = "check its name and folder; names with blanks need quotes"
            if re.fullmatch(r"[\w-]+", str(each)):
                hint += f"; for a data set of your own, {IMPORT}"
        if not files:
            raise InputError(problem, hint=hint)
        found |= dict.fromkeys(files)
    return list(found)


class FileScan(NamedTuple):
    """A file, or the content of one in an archive or a workbook, and its scan.

    All columns of a text file are text, and ``names`` is its header.
    """

    label: str
    kind: str
    data: Path | bytes
    separator: str = ""  # of a text file
    frame: pl.LazyFrame = pl.LazyFrame()
    schema: Mapping[str, Any] = {}
    names: Sequence[str] = ()
    untyped: Collection[str] = ()  # columns of text that may stand for numbers

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    def open(self) -> IO[bytes]:
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        zipped = self.data.suffix.lower() == ".gz"
        return gzip.open(self.data) if zipped else self.data.open("rb")  # type: ignore[return-value]

    def lines(self) -> Iterator[str]:
        with io.TextIOWrapper(self.open(), "utf-8-sig", errors="replace", newline="") as text:
            yield from text


def scan_file(path: Path | str) -> FileScan:
    """Open a file with the reader for its ending; raise if its content is of another kind.

    Text is an address in an object store, for polars. Folders such as ``day=2026-01-31`` of a
    Parquet file are columns.
    """
    source = FileScan(path, "remote", b"") if isinstance(path, str) else _source(path)
    keys: tuple[str, ...] = ()
    with readable(source):
        if isinstance(source.data, Path):
            check_expansion(source.data)
        if source.kind == "text":
            return _scan_text(source)
        if isinstance(path, str):
            frame = pl.scan_parquet(path, hive_partitioning=True)
        elif source.kind == "parquet":
            folders = source.data.parent.parts if isinstance(source.data, Path) else ()
            keys = tuple(part.partition("=")[0] for part in folders if part.find("=") > 0)
            types = dict.fromkeys(keys, pl.String)
            frame = pl.scan_parquet(
                source.data, glob=False, hive_partitioning=bool(keys), hive_schema=types or None
            )
        elif next(source.lines(), "").lstrip().startswith("["):
            with source.open() as file:
                frame = pl.read_json(file.read(), infer_schema_length=None).lazy()
        else:
            frame = pl.scan_ndjson(source.data, infer_schema_length=None)
        schema = dict(frame.collect_schema())
        return source._replace(frame=frame, schema=schema, names=list(schema), untyped=keys)


def _source(path: Path) -> FileScan:
    """Return a file with its kind; of an archive or a workbook the content as text."""
    label, kind = str(path), _kind(path.name)
    check_name(path)
    if not path.stat().st_size:
        raise InputError(f"{path} is empty", hint=_EMPTY)
    data: Path | bytes = path
    if kind == "zip":
        ((label, data),) = contents(path, only=True)
        kind = _kind(label.rpartition(", ")[2])
    if kind == "workbook":
        content = path.read_bytes() if isinstance(data, Path) else data
        return FileScan(label, "text", sheet(label, content, only=True))
    return FileScan(label, kind, data)


def _kind(name: str) -> str:
    name = name.lower()
    kind = ENDINGS.get(Path(name.removesuffix(".gz")).suffix, "")
    if not kind or (kind not in ("text", "json") and name.endswith(".gz")):
        raise InputError(
            f"{name} ends in {''.join(Path(name).suffixes[-2:]) or 'nothing'!r}",
            hint=f"files that can be read end in {', '.join(ENDINGS)}, text files also with .gz",
        )
    return kind


def _scan_text(source: FileScan) -> FileScan:
    """Scan a text file: its separator by the ending, or the most frequent one in the header."""
    with source.open() as file:
        start = file.read(1 << 16)
    if not start.strip():
        raise InputError(f"{source.label} is empty", hint=_EMPTY)
    before, nul, _ = start.partition(b"\0")
    if nul:
        number = before.count(b"\n") + 1
        problem = f"{source.label}, line {number}: a NUL byte, which is not text"
        hint = "save it as text in UTF-8, or give it the ending of its kind, such as .parquet"
        raise InputError(problem, hint=hint)
    header = next(source.lines(), "")
    tabs = re.search(r"\.(tsv|tab)(\.gz)?$", source.label.lower())
    usual = "\t" if tabs else max(",", "\t", ";", "|", key=header.count)
    separator = usual if usual in header or " " not in header.strip() else " "
    names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
    unique = [name if name not in names[:k] else f"{name}\0{k}" for k, name in enumerate(names)]
    frame = pl.scan_csv(
        source.data,
        separator=separator,
        eol_char="\r" if b"\r" in start and b"\n" not in start else "\n",  # old Macs
        infer_schema=False,
        glob=False,
        with_column_names=lambda _: unique,
    )
    schema = dict(frame.collect_schema())
    return source._replace(
        separator=separator, frame=frame, schema=schema, names=names, untyped=unique
    )


@contextmanager
def readable(source: FileScan) -> Iterator[None]:
    """Convert errors of polars and the system, with the number of the broken line if possible."""
    try:
        yield
    except (PolarsError, PanicException, ImportError, *_UNREADABLE) as error:
        said = str(error).partition("\n")[0].strip()
        with suppress(csv.Error, *_UNREADABLE):  # for example of a broken archive
            _check_lines(source)
        hint = _ACCESS if source.kind == "remote" else "check that its ending fits its content"
        raise InputError(f"{source.label} cannot be read: {said}", hint=hint) from None


def without_blank(frame: AnyFrame) -> AnyFrame:
    """Return a frame without blank lines."""
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def check_regular(scan: FileScan) -> None:
    """Raise if a line of a text file has more or fewer fields than the header.

    polars pads short lines and cuts long ones. Stripped of all other characters, a regular file
    repeats its separators; this check takes a twentieth of the time of polars.
    """
    if not scan.is_text:
        return
    separator = scan.separator.encode()
    others = bytes(set(range(256)) - {*b'\r\n"', *separator})
    with readable(scan), scan.open() as file:
        chunks = iter(lambda: file.read(1 << 22), b"")
        left = b"".join(chunk.translate(None, others) for chunk in chunks)
    if b'"' in left:
        left = re.sub(b'"[^"]*"', b"", left)
    if b"\r" in left:
        left = left.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line = separator * (len(scan.names) - 1) + b"\n"
    if (left if left.endswith(b"\n") else left + b"\n").replace(line, b""):
        _check_lines(scan)


def _check_lines(source: FileScan) -> None:
    """Raise for the first broken line of a text file. Slow: for broken files only."""
    if source.kind in ("parquet", "remote"):
        return

    def broken(line: int, wrong: str, hint: str = "correct it") -> InputError:
        return InputError(f"{source.label}, line {line}: {wrong}", hint=hint)

    for number, line in enumerate(source.lines(), 1):
        if "\ufffd" in line:
            raise broken(number, "not UTF-8", "save the file in UTF-8 (Excel: CSV UTF-8)")
        if source.kind == "json" and line.strip():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise broken(number, f"not JSON ({error})") from None
            if not isinstance(found, dict):
                raise broken(number, f"a JSON {type(found).__name__}, not an object")
    if source.separator:
        rows = csv.reader(source.lines(), delimiter=source.separator)
        expected, number = len(next(rows, [])), 2
        for row in rows:
            if any("\n" in cell for cell in row) and row[-1].endswith("\n"):
                raise broken(number, "a quotation mark is not closed")
            if len(row) != expected and (len(row) > 1 or "".join(row).strip()):
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                many = len(row) > expected
                hint = "correct it; text with a separator in it needs double quotes"
                raise broken(number, f"{fields} instead of {expected}", *[hint] * many)
            number = rows.line_num + 1
