"""Arrow streams, and SQL databases through ADBC, whose queries are such streams.

Of a stream only the columns of events are kept, with text as categories: 4 bytes for each id of any
length, and each distinct text once. Tables are written all or nothing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .._extras import needs
from ..errors import InputError, ParameterError

if TYPE_CHECKING:
    import polars as pl

# PostgreSQL's batches of 16 MB, halved: less is left to do after the last one.
_POSTGRES = "adbc_driver_postgresql", {"adbc.postgresql.batch_size_hint_bytes": str(1 << 23)}
# SQLite's driver makes batches of 1,024 rows, and types columns by the first batch.
_SQLITE = "adbc_driver_sqlite", {"adbc.sqlite.query.batch_rows": "65536"}
_DRIVERS = {"postgresql": _POSTGRES, "postgres": _POSTGRES, "sqlite": _SQLITE}
_UUID = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))  # start and length of its groups
_SERVER = (
    "check the address, the user and that the server runs; passwords may also come from PGPASSWORD "
    "or ~/.pgpass"
)
_ENCODE = "write special characters percent-encoded, such as %40 for @ and %2F for /"


class ArrowStream:
    """An object with the Arrow C stream interface. Its first batch is read at once."""

    def __init__(self, source: Any) -> None:
        with needs("sql", "Reading Arrow streams"):
            import pyarrow as pa
        with needs("cli", "Reading Arrow streams"):
            import polars as pl

        reader = pa.RecordBatchReader.from_stream(source)
        kinds = {each.name: getattr(each.type, "extension_name", "") for each in reader.schema}
        plain = pa.schema(
            (each.name, each.type.storage_type if kinds[each.name] else each.type)
            for each in reader.schema
        )
        self.columns: list[str] = reader.schema.names
        batches = map(pl.DataFrame, reader.cast(plain) if any(kinds.values()) else reader)
        uuids = [
            pl.concat_str(
                [pl.col(name).bin.encode("hex").str.slice(*p) for p in _UUID], separator="-"
            )
            for name, kind in kinds.items()
            if kind == "arrow.uuid"
        ]
        self._batches = (batch.with_columns(uuids) for batch in batches)
        self.first: pl.DataFrame = next(self._batches, pl.DataFrame(plain.empty_table()))

    def collect(self, roles: Mapping[str, str | None]) -> pl.DataFrame:
        """Return the columns of roles, text ids as categories."""
        import polars as pl

        columns = list(dict.fromkeys(name for name in roles.values() if name is not None))
        ids = [name for name in columns if name in (roles["user"], roles["item"])]
        kinds = [self.first.schema[name] for name in ids]
        texts = [name for name, kind in zip(ids, kinds, strict=True) if kind == pl.String]
        # Merging sorted batches is faster than sorting all rows, and overlaps with fetching. With
        # times, the order of rows has no meaning.
        is_sortable = roles["time"] is not None and all(kind.is_integer() for kind in kinds)

        def kept(batch: pl.DataFrame) -> pl.DataFrame:
            part = batch.select(columns).with_columns(pl.col(texts).cast(pl.Categorical))
            return part.sort(ids[0]) if is_sortable else part

        with closing(_fetched(self._batches)) as others:
            return pl.concat(map(kept, chain([self.first], others)))


def _fetched(batches: Iterator[pl.DataFrame]) -> Generator[pl.DataFrame]:
    """Yield batches; the next one is fetched while a batch is processed."""
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(next, batches, None)
        while (batch := later.result()) is not None:
            later = pool.submit(next, batches, None)
            yield batch


class Database:
    """The address of a database: ``postgresql://...``, or ``sqlite:///`` and a path.

    Its text has no password, and errors never show one.

    >>> Database("postgresql://ann:secret@localhost/shop")
    postgresql://ann@localhost/shop
    """

    def __init__(self, uri: str | Database) -> None:
        self._uri: str = uri._uri if isinstance(uri, Database) else uri  # noqa: SLF001
        self.kind, _, rest = self._uri.partition("://")
        if self.kind not in _DRIVERS or not re.match("/." if self.kind == "sqlite" else "", rest):
            raise ParameterError(
                "a database is postgresql://user@host/name or sqlite:///file.db",
                hint="use one of these forms; an absolute path has a fourth slash",
                parameter="database",
            )
        self._secrets: list[str] = []
        self._text = self._uri if self.kind == "sqlite" else self._without_password(rest)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _without_password(self, rest: str) -> str:
        """Return the address without passwords; raise if libpq could show a part of one."""
        host, path = re.fullmatch("([^/?#]*)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        account, at, server = host.rpartition("@")
        user, _, password = account.partition(":")
        place, mark, options = path.partition("?")
        pairs = [pair for pair in options.split("&") if pair]
        hidden = [pair for pair in pairs if "password" in pair.partition("=")[0]]
        self._secrets = [password, *(pair.partition("=")[2] for pair in hidden)]
        odd_escape = re.search("%(?![0-9A-Fa-f]{2})", "".join(self._secrets))
        odd_port = re.search(r":(?!\d*(,|$))", re.sub(r"\[[^]]*\]", "", server))
        if "@" in account + path or odd_escape or odd_port:
            raise ParameterError(
                "the address of the database is ambiguous", hint=_ENCODE, parameter="database"
            )
        shown = "&".join(pair for pair in pairs if pair not in hidden)
        return f"{self.kind}://{user}{at}{server}{place}{mark if shown else ''}{shown}"

    @property
    def label(self) -> str:
        """The address without options."""
        return self._text.partition("?")[0]

    @contextmanager
    def stream(self, query: str) -> Iterator[Any]:
        """Run a query and yield a pyarrow reader of record batches."""
        hint = "correct the query, or cast a column in it; the database's own shell may say more"
        with self.cursor() as cursor, self.errors("the query fails", hint):
            cursor.adbc_statement.set_options(**_DRIVERS[self.kind][1])
            cursor.execute(query)
            yield cursor.fetch_record_batch()

    @contextmanager
    def cursor(self, *, write: bool = False) -> Iterator[Any]:
        """Yield a cursor; uncommitted changes are rolled back at the end."""
        uri, hint = self._uri, _SERVER
        if self.kind == "sqlite":
            path = Path(uri.removeprefix("sqlite:///"))
            if not write and not path.is_file():
                raise InputError(f"there is no file {path}", hint="check its name and folder")
            if not write:
                _roll_back(path)
            uri = f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
            hint = "check that the folder exists"
        with needs("sql", f"Access to {self.kind} databases"):
            adbc = import_module(f"{_DRIVERS[self.kind][0]}.dbapi")
        with self.errors(f"{self.label} cannot be opened", hint):
            connection = adbc.connect(uri)
        with connection, connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def errors(self, what: str, hint: str) -> Iterator[None]:
        """Convert errors of drivers, without passwords in their messages."""
        from adbc_driver_manager import Error
        from pyarrow import ArrowException

        try:
            yield
        except (Error, ArrowException, OSError) as error:
            raise InputError(f"{what}: {self.cleaned(error)}", hint=hint) from None

    def cleaned(self, error: Exception) -> str:
        """Return the message of a driver on one line, without passwords."""
        said = " ".join(str(error).split())
        for secret in filter(None, self._secrets):
            said = said.replace(secret, "***").replace(unquote(secret), "***")
        return said


def _roll_back(path: Path) -> None:
    """Undo what a killed writer of SQLite left: a connection that only reads cannot."""
    if path.with_name(f"{path.name}-journal").exists():
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("select * from sqlite_schema").fetchall()


class SqlTable:
    """A table of a database that is written all or nothing; its name has letters, digits and _.

    >>> SqlTable("sqlite:///shop.db", 'recs"; drop table users')
    Traceback (most recent call last):
    boolrank.errors.ParameterError: 'recs"; drop table users' is not the name of a table; use up \
to 63 letters, digits and _, as in recs or shop.recs
    """

    def __init__(self, database: str | Database, name: str) -> None:
        self.database, self.name = Database(database), name
        # PostgreSQL would cut names of more than 63 bytes, and two tables could become one.
        if not re.fullmatch(r"([a-z_]\w{0,62}\.)?[a-z_]\w{0,62}", name, re.ASCII | re.IGNORECASE):
            raise ParameterError(
                f"{name!r} is not the name of a table",
                hint="use up to 63 letters, digits and _, as in recs or shop.recs",
                parameter="table",
            )

    def __str__(self) -> str:
        return f"{self.database.label}, table {self.name}"

    def write(self, frame: pl.DataFrame) -> None:
        """Replace the rows, or make the table, in one transaction."""
        schema, _, name = self.name.rpartition(".")
        where = {"db_schema_name": schema} if schema else {}
        quoted = ".".join(f'"{part}"' for part in self.name.split("."))
        hint = "name another table if its columns differ; try again if another program writes"
        errors = self.database.errors(f"{self} cannot be written", hint)
        with self.database.cursor(write=True) as cursor, errors:
            if self.database.kind != "sqlite":  # two writers would both make it, or both insert
                cursor.execute(f"SELECT pg_advisory_xact_lock(hashtext('boolrank {name}'))")
                cursor.fetchall()
            cursor.adbc_ingest(name, frame.clear(), mode="create_append", **where)
            cursor.execute(f"DELETE FROM {quoted}")  # noqa: S608 - the name was checked
            cursor.adbc_ingest(name, frame, mode="append", **where)
            cursor.connection.commit()
