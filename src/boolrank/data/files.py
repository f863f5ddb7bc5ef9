"""Events in files: CSV, TSV, Parquet and JSON lines, one or many, read by polars.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
"""

from __future__ import annotations

import csv
import glob
import gzip
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._extras import needs
from ..errors import InputError
from .events import USUAL_NAMES, Events, find_columns, read_frame

if TYPE_CHECKING:
    import polars as pl

ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".dat", ".tsv", ".tab"), "text"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
}

# first bytes of other kinds of files -> what they are, and what to do
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", "give it a name that ends in .parquet"),
    b"PK\x03\x04": ("an Excel workbook or a zip archive", "save its table as CSV, in UTF-8"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save its table as CSV, in UTF-8"),
    b"\x1f\x8b": ("compressed with gzip", "give it a name that ends in .gz"),
    b"\xff\xfe": ("text in UTF-16", "save it in UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it in UTF-8"),
}


class FileScan(NamedTuple):
    """One file, not read yet. All columns of a text file are text."""

    path: Path
    frame: pl.LazyFrame
    schema: Mapping[str, Any]
    is_text: bool


def read_files(
    paths: Iterable[str | Path],
    given: Mapping[str, str | None],
    positive: str | None = None,
    file_order: bool = False,
) -> Events:
    """Return the events of files; see `Interactions.from_files`.

    Users and items are whole numbers if all of them are written so, and text otherwise; ratings
    and times are numbers, times also dates. A time column that was not asked for and is of another
    kind is left out with a warning.
    """
    scans = [scan_file(path) for path in expand(paths)]
    import polars as pl

    columns = _columns(scans[0], positive, given)
    columns |= {"rating": None} if positive is None else {}
    columns |= {"time": None} if file_order else {}
    roles = {name: role for role, name in columns.items() if name is not None}
    frame = _collect(scans, list(roles))
    for name, role in roles.items():
        as_text = all(scan.is_text or scan.schema[name].is_integer() for scan in scans)
        if frame[name].dtype != pl.String or not (as_text or role in ("time", "rating")):
            continue
        try:
            frame = frame.with_columns(_typed(frame[name], role, scans))
        except InputError as error:
            if role != "time" or given["time"] is not None:
                raise
            columns["time"] = None
            warnings.warn(f"left out: {error}", stacklevel=3)

    def place(name: str) -> str:
        return f", the first in {_place(scans, name, None)}"

    users, items, rows, numbers, when = read_frame(frame, columns, positive, place)
    return users, items, rows, numbers, np.arange(len(rows)) if file_order else when


def expand(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files of names and globs: each glob in the order of names, none twice."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no files are given", hint="give one, or a glob such as 'events/*.csv'")
    found: dict[Path, None] = {}
    for each in given:
        path = Path(each).expanduser()
        if path.is_dir():
            raise InputError(f"{path} is a folder", hint=f"name its files, such as '{path}/*.csv'")
        # glob, not Path.glob, which refuses absolute patterns.
        names = [path] if path.is_file() else sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in map(Path, names) if file.is_file()]
        if not files:
            raise InputError(f"no file matches {str(each)!r}", hint="check its name and folder")
        found |= dict.fromkeys(files)
    return list(found)


def scan_file(path: Path) -> FileScan:
    """Open a file with the reader for its ending; raise if its content is of another kind."""
    with needs("cli", "Reading files"):
        import polars as pl

    kind = _kind(path)
    with _readable(path):
        with path.open("rb") as file:
            start = file.read(4)
        if not start:
            hint = "write the names of its columns, and below a row per event"
            raise InputError(f"{path} is empty", hint=hint)
        for beginning, (other, to_do) in _BEGINNINGS.items():
            expected = kind == "parquet" or path.suffix.lower() == ".gz"
            if start.startswith(beginning) and not expected:
                raise InputError(f"{path} is {other}, in spite of its name", hint=to_do)
        if kind == "text":
            frame = pl.scan_csv(path, separator=_separator(path), infer_schema=False, glob=False)
        elif kind == "json":
            frame = pl.scan_ndjson(path, infer_schema_length=None)
        else:
            frame = pl.scan_parquet(path, glob=False)
        return FileScan(path, frame, dict(frame.collect_schema()), kind == "text")


def _kind(path: Path) -> str:
    name = path.name.lower()
    kind = ENDINGS.get(Path(name.removesuffix(".gz")).suffix, "")
    if not kind or (kind == "parquet" and name.endswith(".gz")):
        raise InputError(
            f"{path} ends in {''.join(Path(name).suffixes[-2:]) or 'nothing'!r}",
            hint=f"files that can be read end in {', '.join(ENDINGS)}, text files also with .gz",
        )
    return kind


def _separator(path: Path) -> str:
    """Return the separator: by the ending, or the most frequent one in the first line."""
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes[-2:]}:
        return "\t"
    header = next(_lines(path), "")
    if "::" in header:
        raise InputError(
            f"{path} has '::' between its columns",
            hint="put tabs there, and the names of the columns into the first line",
        )
    return max(",", "\t", ";", "|", key=header.count)


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        yield from file


def _columns(
    scan: FileScan, positive: str | None, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    names = list(scan.schema)
    try:
        return find_columns(names, positive, **given)
    except InputError as error:
        usual = {name for each in USUAL_NAMES.values() for name in each}
        if scan.is_text and usual.isdisjoint(name.strip().lower() for name in names):
            error.hint += (
                f"; the first line of {scan.path} is taken for the names of its columns: if it is "
                "data, add a line above it, such as user,item"
            )
        raise


def _collect(scans: list[FileScan], columns: list[str]) -> pl.DataFrame:
    """Read columns of all files into one frame, without the blank lines of text files."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    first = scans[0]
    for scan in scans:
        if set(scan.schema) != set(first.schema):
            raise InputError(
                f"{scan.path} has the columns {list(scan.schema)}, but {first.path} has "
                f"{list(first.schema)}",
                hint="read files with different columns separately",
            )
    types = {name: {scan.schema[name] for scan in scans} for name in columns}
    differ = [
        pl.col(name).cast(pl.String)
        for name, kinds in types.items()
        if len(kinds) > 1 and not all(kind.is_numeric() for kind in kinds)
    ]
    frames = [scan.frame.select(columns).with_columns(differ) for scan in scans]
    try:
        frame = pl.concat(frames, how="vertical_relaxed").collect()
    except (PolarsError, PanicException, OSError) as error:
        # polars does not name the file, so read one after the other.
        for scan in scans:
            with _readable(scan.path):
                scan.frame.collect()
        raise InputError(f"the files cannot be read together: {error}") from None
    some_text = any(scan.is_text for scan in scans)
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if some_text else frame


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors of polars and the system, with the number of the broken line if possible."""
    from polars.exceptions import PanicException, PolarsError

    try:
        yield
    except (PolarsError, PanicException, OSError, EOFError) as error:
        said = str(error).partition("\n")[0].strip()
        with suppress(OSError, EOFError, csv.Error):  # for example of a broken archive
            _check_lines(path)
        hint = "check that its ending fits its content"
        raise InputError(f"{path} cannot be read: {said}", hint=hint) from None


def _check_lines(path: Path) -> None:
    """Raise for the first broken line of a text file. Slow: only for broken files."""
    kind = _kind(path)

    def broken(line: int, wrong: str, hint: str = "correct it") -> InputError:
        return InputError(f"{path}, line {line}: {wrong}", hint=hint)

    for number, line in enumerate(_lines(path) if kind != "parquet" else (), 1):
        if "\ufffd" in line:
            raise broken(number, "not UTF-8", "save the file in UTF-8 (Excel: CSV UTF-8)")
        if kind == "json" and line.strip():
            try:
                found = json.loads(line)
            except ValueError as error:
                raise broken(number, f"not JSON ({error})") from None
            if not isinstance(found, dict):
                raise broken(number, f"a JSON {type(found).__name__}, not an object")
    if kind == "text":
        rows = csv.reader(_lines(path), delimiter=_separator(path))
        expected, number = len(next(rows, [])), 2
        for row in rows:
            if any("\n" in cell for cell in row) and row[-1].endswith("\n"):
                raise broken(number, "a quotation mark is not closed")
            if len(row) > expected:
                raise broken(number, f"{len(row)} fields instead of {expected}")
            number = rows.line_num + 1


def _place(scans: list[FileScan], name: str, value: str | None) -> str:
    """Return where a value occurs first. Reads the files again."""
    import polars as pl

    for scan in scans:
        rows = scan.frame.filter(~pl.all_horizontal(pl.all().is_null()))
        same = rows.select(pl.col(name).cast(pl.String).eq_missing(value)).collect().to_series()
        if same.any():
            return f"{scan.path}, row {same.arg_true()[0] + 1} below the header"
    return "these files"


def _typed(series: pl.Series, role: str, scans: list[FileScan]) -> pl.Series:
    """Return a column of text in the first form of its role that loses nothing, or raise."""
    broken = []
    for made in _forms(series, role):
        broken.append(series.filter(made.is_null() & series.is_not_null()))
        if not len(broken[-1]):
            return made
    # The form that the fewest values break is the one that was meant.
    wrong = min(broken, key=len).first()
    raise InputError(
        f"the column {series.name!r} is not a {role}: it has {wrong!r} in "
        f"{_place(scans, series.name, str(wrong))}",
        hint=f"correct it, or name another column with {role}=...",
        parameter=role,
    )


def _forms(series: pl.Series, role: str) -> Iterator[pl.Series]:
    """Yield the forms that a column may have, null where a value has another form."""
    import polars as pl

    if role != "rating":
        numbers = series.cast(pl.Int64, strict=False)
        yield numbers.set(numbers.cast(pl.String).ne_missing(series), None)
    if role in ("user", "item"):
        yield series
    else:
        yield series.str.strip_chars().cast(pl.Float64, strict=False)
    if role == "time":
        with suppress(pl.exceptions.PolarsError):  # no format of dates that it knows
            yield series.str.to_datetime(time_unit="us", strict=False, time_zone="UTC")
