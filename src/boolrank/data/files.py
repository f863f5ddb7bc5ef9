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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._extras import needs
from ..errors import InputError
from .events import USUAL_NAMES, find_columns

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENDINGS", "FileScan", "expand", "read_files", "scan_file"]

ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".dat", ".tsv", ".tab"), "text"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
}


@dataclass(frozen=True)
class FileScan:
    """One file, not read yet. All columns of a text file are text."""

    path: Path
    frame: pl.LazyFrame
    schema: Mapping[str, Any]
    is_text: bool


def read_files(
    paths: Iterable[str | Path],
    positive: str | None = None,
    *,
    file_order: bool = False,
    **given: str | None,
) -> tuple[pl.DataFrame, dict[str, str | None]]:
    """Return the columns of the events as one frame, and the role of each column.

    Users and items are whole numbers if all of them are written so, and text otherwise; ratings
    and times are numbers, times also dates. A time column that was not asked for and is of another
    kind is left out with a warning. In ``file_order``, the numbers of the rows are the times.
    """
    with needs("cli", "Reading files"):
        import polars as pl

    scans = [scan_file(path) for path in expand(paths)]
    events, untyped = _join(scans)
    columns = _columns(scans[0], positive, given)
    columns |= {"rating": None} if positive is None else {}
    columns |= {"time": None} if file_order else {}
    roles = {name: role for role, name in columns.items() if name is not None}
    frame = _collect(events.select(list(roles)), scans)
    if any(scan.is_text for scan in scans):
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for column, role in roles.items():
        if column in untyped or (role in ("time", "rating") and frame[column].dtype == pl.String):
            typed = _typed(frame[column], role)
            if typed is not None:
                frame = frame.with_columns(typed)
                continue
            wrong = _wrong_type(frame[column], role, scans)
            if role != "time" or given["time"] is not None:
                raise wrong
            columns[role] = None
            warnings.warn(f"left out: {wrong}", stacklevel=3)
    if not len(frame):
        raise InputError(
            f"there are no interactions: {scans[0].path} has no rows",
            hint="below the names of the columns, write a row per event",
        )
    for name in filter(None, (columns["user"], columns["item"])):
        missing = frame[name].null_count()
        if missing:
            raise InputError(
                f"{missing} rows have nothing in the column {name!r}, the first in "
                f"{_place(scans, name, None)}",
                hint="fill it in, or delete these rows",
            )
    frame = frame.select([name for name in columns.values() if name is not None])
    if file_order:
        columns["time"] = place = max(frame.columns, key=len) + "_place"
        frame = frame.with_row_index(place)
    return frame, columns


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
    """Open a file with the reader for its ending."""
    with needs("cli", "Reading files"):
        import polars as pl

    kind = _kind(path)
    with _readable(path):
        if path.stat().st_size == 0:
            raise InputError(
                f"{path} is empty", hint="write the names of its columns, and below a row per event"
            )
        if kind != "parquet":
            _check_content(path)
        if kind == "text":
            frame = pl.scan_csv(path, separator=_separator(path), infer_schema=False, glob=False)
        elif kind == "json":
            frame = pl.scan_ndjson(path, infer_schema_length=None)
        else:
            frame = pl.scan_parquet(path, glob=False)
        return FileScan(path, frame, dict(frame.collect_schema()), kind == "text")


# first bytes of other kinds of files -> what they are, and what to do
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", "give it a name that ends in .parquet"),
    b"PK\x03\x04": ("an Excel workbook or a zip archive", "save its table as CSV, in UTF-8"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save its table as CSV, in UTF-8"),
    b"\x1f\x8b": ("compressed with gzip", "give it a name that ends in .gz"),
    b"\xff\xfe": ("text in UTF-16", "save it in UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it in UTF-8"),
}


def _check_content(path: Path) -> None:
    """Raise if the ending of a text file does not fit its content."""
    with path.open("rb") as file:
        start = b"" if path.suffix.lower() == ".gz" else file.read(4)
    for beginning, (kind, to_do) in _BEGINNINGS.items():
        if start.startswith(beginning):
            raise InputError(f"{path} is {kind}, in spite of its name", hint=to_do)


def _kind(path: Path) -> str:
    """Return the kind of a file by its ending."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    kind = ENDINGS.get(ending, "")
    if not kind or (packed and kind == "parquet"):
        raise InputError(
            f"{path} ends in {(ending + '.gz' * packed) or 'nothing'!r}",
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


def _join(scans: list[FileScan]) -> tuple[pl.LazyFrame, set[str]]:
    """Return one frame of all files, and the columns without a type yet."""
    import polars as pl

    first = scans[0]
    for scan in scans:
        if set(scan.schema) != set(first.schema):
            raise InputError(
                f"{scan.path} has the columns {list(scan.schema)}, but {first.path} has "
                f"{list(first.schema)}",
                hint="read files with different columns separately",
            )
    some_text = any(scan.is_text for scan in scans)
    as_text, untyped = [], set()
    for name in first.schema:
        typed = {scan.schema[name] for scan in scans if not scan.is_text}
        if some_text and all(kind.is_integer() for kind in typed):
            untyped.add(name)
        kinds = typed | ({pl.String()} if some_text else set())
        if len(kinds) > 1 and not all(kind.is_numeric() for kind in kinds):
            as_text.append(pl.col(name).cast(pl.String))  # files disagree
    frames = [scan.frame.select(list(first.schema)).with_columns(as_text) for scan in scans]
    return (frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")), untyped


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


def _collect(events: pl.LazyFrame, scans: list[FileScan]) -> pl.DataFrame:
    from polars.exceptions import PanicException, PolarsError

    try:
        return events.collect()
    except (PolarsError, PanicException, OSError) as error:
        # polars does not name the file, so read one after the other.
        for scan in scans:
            with _readable(scan.path):
                scan.frame.collect()
        raise InputError(f"the files cannot be read together: {error}") from None


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
        raise InputError(
            f"{path} cannot be read: {said}", hint="check that its ending fits its content"
        ) from None


def _check_lines(path: Path) -> None:
    """Raise for the first broken line of a text file. Slow: only for broken files."""

    def broken(line: int, wrong: str, hint: str = "correct it") -> InputError:
        return InputError(f"{path}, line {line}: {wrong}", hint=hint)

    if _kind(path) == "json":
        for number, line in enumerate(_lines(path), 1):
            try:
                kind = type(json.loads(line)) if line.strip() else dict
            except ValueError as error:
                raise broken(number, f"not JSON ({error})") from None
            if kind is not dict:
                raise broken(number, f"a JSON {kind.__name__}, not an object")
    if _kind(path) == "text":
        for number, line in enumerate(_lines(path), 1):
            if "\ufffd" in line:
                raise broken(number, "not UTF-8", "save the file in UTF-8 (Excel: CSV UTF-8)")
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


def _typed(series: pl.Series, role: str) -> pl.Series | None:
    """Return the column in the first form of its role that loses nothing, or None."""
    made = (make(series) for make in _FORMS[role])
    return next((each for each in made if each.null_count() == series.null_count()), None)


def _wrong_type(series: pl.Series, role: str, scans: list[FileScan]) -> InputError:
    # The form that the fewest values break is the one that was meant.
    broken = [series.filter(make(series).is_null() & series.is_not_null()) for make in _FORMS[role]]
    wrong = min(broken, key=len).first()
    return InputError(
        f"the column {series.name!r} is not a {role}: it has {wrong!r} in "
        f"{_place(scans, series.name, str(wrong))}",
        hint=f"correct it, or name another column with {role}=...",
        parameter=role,
    )


def _whole_numbers(series: pl.Series) -> pl.Series:
    import polars as pl

    if series.dtype.is_integer():
        return series
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def _numbers(series: pl.Series) -> pl.Series:
    import polars as pl

    return series.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _dates(series: pl.Series) -> pl.Series:
    import polars as pl

    try:
        return series.str.to_datetime(time_unit="us", strict=False, time_zone="UTC")
    except pl.exceptions.PolarsError:  # no format of dates that it knows
        return pl.Series(series.name, [None] * len(series), pl.Datetime("us", "UTC"))


# The forms of a column by role; each gives null for values of another form.
_FORMS: dict[str, tuple[Callable[[pl.Series], pl.Series], ...]] = {
    "user": (_whole_numbers, lambda series: series),
    "item": (_whole_numbers, lambda series: series),
    "rating": (_numbers,),
    "time": (_whole_numbers, _numbers, _dates),
}
