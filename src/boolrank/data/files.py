"""Events in files: CSV, TSV, Parquet, JSON and Excel, one or many, read by polars.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._extras import needs
from ..errors import InputError
from .archives import contents
from .columns import find_columns, has_usual_name
from .events import Events, Reading, read_frame
from .formats import sheet
from .values import (
    BOOLEANS,
    Condition,
    cleaned,
    forms,
    is_ambiguous,
    is_date_like,
    suggest,
    whole_numbers,
    wrong_value,
)

if TYPE_CHECKING:
    import polars as pl

ENDINGS = {
    **dict.fromkeys((".csv", ".txt", ".dat", ".tsv", ".tab"), "text"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".xlsx", ".xls"), "workbook"),
    ".zip": "zip",
}
# first bytes of other kinds of files -> what they are, and what to do
_BEGINNINGS = {
    b"PAR1": ("a Parquet file", "give it a name that ends in .parquet"),
    b"PK\x03\x04": (
        "an Excel workbook or a zip archive",
        "give it a name that ends in .xlsx or .zip, or save its table as CSV",
    ),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "give it a name that ends in .xls"),
    b"\x1f\x8b": ("compressed with gzip", "give it a name that ends in .gz"),
    b"\xff\xfe": ("text in UTF-16", "save it in UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it in UTF-8"),
}
_SAMPLE = 200  # rows that tell what a column that is not read looks like


class Source(NamedTuple):
    """A file, or the content of one in an archive or a workbook."""

    label: str
    kind: str
    data: Path | bytes
    separator: str = ""  # of a text file

    def open(self) -> IO[bytes]:
        if isinstance(self.data, bytes):
            return io.BytesIO(self.data)
        zipped = self.data.suffix.lower() == ".gz"
        return gzip.open(self.data) if zipped else self.data.open("rb")  # type: ignore[return-value]

    def lines(self) -> Iterator[str]:
        with io.TextIOWrapper(self.open(), "utf-8-sig", errors="replace", newline="") as text:
            yield from text


class FileScan(NamedTuple):
    """One file, not read yet. All columns of a text file are text, and ``names`` is its header."""

    source: Source
    frame: pl.LazyFrame
    schema: Mapping[str, Any]
    names: list[str]

    @property
    def is_text(self) -> bool:
        return self.source.kind == "text"


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
    condition = None if positive is None else Condition.parse(positive)
    columns = _columns(scans[0], positive, given)
    columns |= {"time": None} if file_order else {}
    label = scans[0].source.label if len(scans) == 1 else f"{len(scans)} files"
    reading = Reading(label, dict(columns))
    _note_unused(scans[0], columns, condition, reading, file_order)
    roles = {role: name for role, name in columns.items() if name is not None}
    frame = _collect(scans, list(dict.fromkeys(roles.values())))
    reading.rows = len(frame)
    for role, name in roles.items():
        try:
            frame = _typed(frame, name, role, scans, condition, reading)
        except InputError as error:
            if role != "time" or given["time"] is not None:
                raise
            columns["time"] = None
            reading.columns = {**reading.columns, "time": None}
            warnings.warn(f"left out: {error}", stacklevel=3)

    def place(name: str) -> str:
        return f", the first in {_place(scans, name, None)}"

    events = read_frame(frame, columns, positive, reading, place)
    return events._replace(time=np.arange(len(events.rows))) if file_order else events


def expand(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files of names and globs: each glob in the order of names, none twice."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise InputError("no files are given", hint="give one, or a glob such as 'events/*.csv'")
    found: dict[Path, None] = {}
    for each in given:
        path = Path(each).expanduser()
        if re.match(r"\w{2,}:/", str(each)):
            hint = f"download it first, such as with: curl -LO {each}"
            raise InputError(f"{each} is an address, and only files are read", hint=hint)
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

    source = _source(path)
    with _readable(source):
        if source.kind == "text":
            return _scan_text(source)
        if source.kind == "parquet":
            frame = pl.scan_parquet(source.data, glob=False)
        elif next(source.lines(), "").lstrip().startswith("["):
            with source.open() as file:
                frame = pl.read_json(file.read(), infer_schema_length=None).lazy()
        else:
            frame = pl.scan_ndjson(source.data, infer_schema_length=None)
        schema = dict(frame.collect_schema())
        return FileScan(source, frame, schema, list(schema))


def _source(path: Path) -> Source:
    """Return a file with its kind; of an archive or a workbook the content as text."""
    label, kind = str(path), _kind(path.name)
    if not path.stat().st_size:
        hint = "write the names of its columns, and below a row per event"
        raise InputError(f"{path} is empty", hint=hint)
    with path.open("rb") as file:
        start = file.read(4)
    binary = kind in ("parquet", "workbook", "zip") or path.suffix.lower() == ".gz"
    for beginning, (other, to_do) in _BEGINNINGS.items():
        if start.startswith(beginning) and not binary:
            raise InputError(f"{path} is {other}, in spite of its name", hint=to_do)
    if kind == "zip":
        ((label, content),) = contents(path, only=True)
        kind = _kind(label.rpartition(", ")[2])
    elif kind == "workbook":
        content = path.read_bytes()
    else:
        return Source(label, kind, path)
    if kind == "workbook":
        return Source(label, "text", sheet(label, content, only=True))
    return Source(label, kind, content)


def _kind(name: str) -> str:
    name = name.lower()
    kind = ENDINGS.get(Path(name.removesuffix(".gz")).suffix, "")
    if not kind or (kind not in ("text", "json") and name.endswith(".gz")):
        raise InputError(
            f"{name} ends in {''.join(Path(name).suffixes[-2:]) or 'nothing'!r}",
            hint=f"files that can be read end in {', '.join(ENDINGS)}, text files also with .gz",
        )
    return kind


def _scan_text(source: Source) -> FileScan:
    """Scan a text file: its separator by the ending, or the most frequent one in the header."""
    import polars as pl

    with source.open() as file:
        start = file.read(1 << 16)
    header = next(source.lines(), "")
    if "::" in header:
        raise InputError(
            f"{source.label} has '::' between its columns",
            hint="put tabs there, and the names of the columns into the first line",
        )
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
    source = source._replace(separator=separator)
    return FileScan(source, frame, dict(frame.collect_schema()), names)


def _columns(
    scan: FileScan, positive: str | None, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    try:
        return find_columns(scan.names, positive, **given)
    except InputError as error:
        if scan.is_text and not has_usual_name(scan.names):
            error.hint += (
                f"; the first line of {scan.source.label} is taken for the names of its columns: "
                "if it is data, add a line above it, such as user,item"
            )
        raise


def _note_unused(
    scan: FileScan,
    columns: dict[str, str | None],
    condition: Condition | None,
    reading: Reading,
    file_order: bool,
) -> None:
    """Note ratings that are not used, unless they are truth values, and what may be the time."""
    import polars as pl

    rating = columns["rating"]
    to_find_time = columns["time"] is None and not file_order
    if not to_find_time and (rating is None or condition is not None):
        return
    with _readable(scan.source):
        some = scan.frame.head(_SAMPLE).collect()
    if rating is not None and condition is None:
        values = some[rating].drop_nulls()
        words = values.cast(pl.String, strict=False)
        if not len(values) or str(words[0]).strip().lower() not in BOOLEANS:
            columns["rating"] = None
            reading.notes.append(
                f"every row counts, whatever its {rating!r}; positive='{suggest(words)}' selects "
                "some"
            )
    others = [name for name in some.columns if name not in columns.values()] if to_find_time else []
    dated = [name for name in others if is_date_like(some[name])]
    if len(dated) == 1:
        reading.notes.append(f"{dated[0]!r} looks like a time; time={dated[0]!r} uses it")


def _collect(scans: list[FileScan], columns: list[str]) -> pl.DataFrame:
    """Read columns of all files into one frame, without the blank lines of text files."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    first = scans[0]
    for scan in scans:
        if set(scan.schema) != set(first.schema):
            raise InputError(
                f"{scan.source.label} has the columns {scan.names}, but {first.source.label} has "
                f"{first.names}",
                hint="read files with different columns separately",
            )
        if scan.is_text and not _is_regular(scan):
            _check_lines(scan.source)
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
            with _readable(scan.source):
                scan.frame.collect()
        raise InputError(f"the files cannot be read together: {error}") from None
    some_text = any(scan.is_text for scan in scans)
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if some_text else frame


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Convert errors of polars and the system, with the number of the broken line if possible."""
    from polars.exceptions import PanicException, PolarsError

    try:
        yield
    except (PolarsError, PanicException, OSError, EOFError) as error:
        said = str(error).partition("\n")[0].strip()
        with suppress(OSError, EOFError, csv.Error):  # for example of a broken archive
            _check_lines(source)
        hint = "check that its ending fits its content"
        raise InputError(f"{source.label} cannot be read: {said}", hint=hint) from None


def _is_regular(scan: FileScan) -> bool:
    """Return True if all lines of a text file have as many fields as the header.

    polars fills short lines up and cuts long ones. Without all other characters, a regular file
    repeats its separators, which is seen in a twentieth of the time that polars takes.
    """
    separator = scan.source.separator.encode()
    others = bytes(set(range(256)) - {*b'\r\n"', *separator})
    with scan.source.open() as file:
        left = b"".join(
            chunk.translate(None, others) for chunk in iter(lambda: file.read(1 << 22), b"")
        )
    if b'"' in left:
        left = re.sub(b'"[^"]*"', b"", left)
    if b"\r" in left:
        left = left.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line = separator * (len(scan.names) - 1) + b"\n"
    return not (left if left.endswith(b"\n") else left + b"\n").replace(line, b"")


def _check_lines(source: Source) -> None:
    """Raise for the first broken line of a text file. Slow: only for broken files."""

    def broken(line: int, wrong: str, hint: str = "correct it") -> InputError:
        return InputError(f"{source.label}, line {line}: {wrong}", hint=hint)

    for number, line in enumerate(source.lines() if source.kind != "parquet" else (), 1):
        if "\ufffd" in line:
            raise broken(number, "not UTF-8", "save the file in UTF-8 (Excel: CSV UTF-8)")
        if source.kind == "json" and line.strip():
            try:
                found = json.loads(line)
            except ValueError as error:
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
                raise broken(number, f"{fields} instead of {expected}")
            number = rows.line_num + 1


def _place(scans: list[FileScan], name: str, value: str | None) -> str:
    """Return where a value occurs first. Reads the files again."""
    import polars as pl

    for scan in scans:
        rows = scan.frame.filter(~pl.all_horizontal(pl.all().is_null()))
        column = cleaned(rows.select(pl.col(name).cast(pl.String)).collect().to_series())[0]
        same = column.eq_missing(value)
        if same.any():
            return f"{scan.source.label}, row {same.arg_true()[0] + 1} below the header"
    return "these files"


def _typed(
    frame: pl.DataFrame,
    name: str,
    role: str,
    scans: list[FileScan],
    condition: Condition | None,
    reading: Reading,
) -> pl.DataFrame:
    """Return the frame with a column of text in the first form of its role that loses nothing."""
    import polars as pl

    series, is_id = frame[name], role in ("user", "item")
    if role == "item" and series.dtype == pl.List:
        return _typed(frame.explode(name), name, role, scans, condition, reading)
    if series.dtype.is_nested():
        raise InputError(
            f"the column {name!r} has nested values, such as {series.drop_nulls().first()!r}",
            hint=f"write the part that is the {role} into a column of its own",
        )
    if series.dtype != pl.String:
        return frame
    as_text = all(scan.is_text or scan.schema[name].is_integer() for scan in scans)
    if role != "rating" and as_text:
        numbers = whole_numbers(series)
        if numbers.null_count() == series.null_count():
            return frame.with_columns(numbers)
    series, padded = cleaned(series)
    reading.padded += padded if is_id else 0
    if is_id and not as_text:
        return frame.with_columns(series)
    made = []
    for each in forms(series, role, condition):
        if each.null_count() == series.null_count():
            if role == "time" and is_ambiguous(series, each):
                example = series.drop_nulls().first()
                reading.notes.append(f"dates such as {example!r} are read as day/month/year")
            return frame.with_columns(each)
        made.append(each)
    wrong = wrong_value(series, made)
    raise InputError(
        f"the column {name!r} is not a {role}: it has {wrong!r} in "
        f"{_place(scans, name, str(wrong))}",
        hint=f"correct it, or name another column with {role}=...",
        parameter=role,
    )
