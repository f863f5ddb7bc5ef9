"""Files of events, CSV, TSV, Parquet and JSON lines, one or many, as one lazy polars frame."""

from __future__ import annotations

import csv
import glob
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._extras import needs
from ..errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENDINGS", "FileScan", "expand", "joined", "scan_events", "scan_file", "unreadable"]


@dataclass(frozen=True)
class FileScan:
    """One file that is not read yet; of a text file all columns are text."""

    path: Path
    frame: pl.LazyFrame
    schema: Mapping[str, Any]
    is_text: bool

    def trouble(self) -> InputError | None:
        """Why this file cannot be read, with the line where it can be found; None where it can."""
        try:
            with unreadable(self.path):
                self.frame.collect()
        except InputError as error:
            return error
        return None


def scan_events(paths: str | Path | Iterable[str | Path]) -> pl.LazyFrame:
    """The rows of all files, in the order given; those of text files with all columns as text.

    Parameters
    ----------
    paths : files, or globs of them such as ``"events/*.parquet"``
    """
    return joined([scan_file(path) for path in expand(paths)])[0]


def expand(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Files of names and globs: each glob in order of names, none twice."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no files are given; give at least one, or a glob such as 'events/*.csv'")
    found: dict[Path, None] = {}
    for each in given:
        path = Path(each).expanduser()
        if path.is_dir():
            raise InputError(f"{path} is a folder; name its files, such as '{path}/*.parquet'")
        # glob, not Path.glob: it takes absolute patterns too.
        names = [] if path.is_file() else sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
        matches = [path, *map(Path, names)]
        files = [match for match in matches if match.is_file()]
        if not files:
            raise InputError(f"no file matches {str(each)!r}; look at its name and its folder")
        found |= dict.fromkeys(files)
    return list(found)


def scan_file(path: Path) -> FileScan:
    """A file by the reader that the end of its name tells."""
    with needs("cli", "Reading files"):
        import polars as pl  # noqa: F401 - said here, before any file is opened

    ending = _ending(path)
    if ending not in ENDINGS:
        raise InputError(
            f"{path} ends in {ending or 'nothing'!r}; files that can be read end in "
            f"{', '.join(ENDINGS)}, the text ones also with .gz"
        )
    with unreadable(path):
        if path.stat().st_size == 0:
            raise InputError(
                f"{path} is empty; a file has the names of its columns, and below a row per event"
            )
        _check_content(path, ending)
        frame = ENDINGS[ending](path)
        return FileScan(path, frame, dict(frame.collect_schema()), ENDINGS[ending] is _scan_csv)


# How files of other kinds begin, what these are, and what to do.
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", "give it a name that ends in .parquet"),
    b"PK\x03\x04": ("an Excel workbook or a zip archive", "save its table as CSV, in UTF-8"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save its table as CSV, in UTF-8"),
    b"\x1f\x8b": ("compressed with gzip", "give it a name that ends in .gz"),
    b"\xff\xfe": ("text in UTF-16", "save it in UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it in UTF-8"),
}


def _check_content(path: Path, ending: str) -> None:
    """Refuse what the name of a text file hides: as text it would be a riddle of odd signs."""
    if ENDINGS[ending] is _scan_parquet or path.suffix.lower() == ".gz":
        return
    with path.open("rb") as file:
        start = file.read(4)
    for beginning, (what, to_do) in _BEGINNINGS.items():
        if start.startswith(beginning):
            raise InputError(f"{path} is {what}, whatever its name says; {to_do}")


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        inner = "".join(suffixes[-2:-1])
        return f"{inner}.gz" if ENDINGS.get(inner) is _scan_parquet else inner
    return "".join(suffixes[-1:])


def _scan_csv(path: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_csv(path, separator=_separator(path), infer_schema=False, glob=False)


def _scan_parquet(path: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(path, glob=False)


def _scan_json(path: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_ndjson(path, infer_schema_length=None)


# What reads a file, by how its name ends.
ENDINGS: dict[str, Callable[[Path], pl.LazyFrame]] = {
    ".csv": _scan_csv,
    ".txt": _scan_csv,
    ".dat": _scan_csv,
    ".tsv": _scan_csv,
    ".tab": _scan_csv,
    ".parquet": _scan_parquet,
    ".pq": _scan_parquet,
    ".jsonl": _scan_json,
    ".ndjson": _scan_json,
}


def _separator(path: Path) -> str:
    """As the name says, or else the sign that is most often in the header; a comma if none is."""
    if _ending(path) in (".tsv", ".tab"):
        return "\t"
    header = next(_lines(path), "")
    if "::" in header:
        raise InputError(
            f"{path} has '::' between its columns, which cannot be read; put tabs there, and the "
            "names of the columns into the first line"
        )
    return max(",", "\t", ";", "|", key=header.count)


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield from file


def joined(scans: list[FileScan]) -> tuple[pl.LazyFrame, set[str]]:
    """One frame of all files, and which of its columns have types still to be found."""
    import polars as pl

    first = scans[0]
    for scan in scans:
        if set(scan.schema) != set(first.schema):
            raise InputError(
                f"{scan.path} has the columns {list(scan.schema)} and {first.path} has "
                f"{list(first.schema)}; files that are read together have the same"
            )
    changed, untyped = [], set()
    for name in first.schema:
        typed = {scan.schema[name] for scan in scans if not scan.is_text}
        if any(scan.is_text for scan in scans) and all(t.is_integer() for t in typed):
            untyped.add(name)
        kinds = typed | ({pl.String()} if any(scan.is_text for scan in scans) else set())
        if len(kinds) > 1 and not all(kind.is_numeric() for kind in kinds):
            changed.append(pl.col(name).cast(pl.String))  # where files disagree, it is text
    frames = [scan.frame.select(list(first.schema)).with_columns(changed) for scan in scans]
    return (frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")), untyped


@contextmanager
def unreadable(path: Path | None = None) -> Iterator[None]:
    """Turn what polars or the system say about a file into an error of ours."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError) as error:
        said = str(error).partition("\n")[0].strip()
        line = None if path is None else _bad_line(path)
        broken = f"{path or 'a file'} cannot be read: {said}; is it what its name says?"
        raise InputError(f"{path}, {line}" if line else broken) from None


def _bad_line(path: Path) -> str | None:
    """The first line that breaks the form of a text file. Slow: for files known to be broken."""
    reader = ENDINGS[_ending(path)]
    try:
        if reader is _scan_json:
            return next(filter(None, map(_bad_json, enumerate(_lines(path), 1))), None)
        if reader is _scan_csv:
            return _bad_row(path, _separator(path))
    except (OSError, EOFError, csv.Error):
        pass  # a broken archive, say: what polars said has to do
    return None


def _bad_json(numbered: tuple[int, str]) -> str | None:
    number, line = numbered
    try:
        kind = type(json.loads(line)) if line.strip() else dict
    except ValueError as error:
        return f"line {number}: no JSON ({error}); correct it"
    wrong = f"line {number}: a JSON {kind.__name__}, not an object; write one, with its columns"
    return None if kind is dict else wrong


def _bad_row(path: Path, separator: str) -> str | None:
    if bad := next((n for n, line in enumerate(_lines(path), 1) if "\ufffd" in line), None):
        return f"line {bad}: no UTF-8; save the file in that encoding (Excel: CSV UTF-8)"
    rows = csv.reader(_lines(path), delimiter=separator)
    expected, line = len(next(rows, [])), 2
    for row in rows:
        if any("\n" in cell for cell in row) and row[-1].endswith("\n"):
            return f"line {line}: a quotation mark is not closed; correct it"
        if len(row) > expected:
            return f"line {line}: {len(row)} fields instead of {expected}; correct it"
        line = rows.line_num + 1
    return None
