"""The event store: an append-only table in SQLite or PostgreSQL.

An event adds a (user, item) pair or removes it. A pair's last events decide, so applying a part of
the log again changes nothing. The header of a model names its last event by number and id; a store
that has another event there, or none, applies the whole log again.

Writers take turns, so events become visible in the order of their sequence numbers, and a reader
that has seen a number has seen all before it.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from .._extras import needs
from ..data.database import Database
from ..errors import InputError
from ..table import counted
from .problems import LATER, Refusal, StoreError

log = logging.getLogger("boolrank.service")

_EVENTS = (
    "CREATE TABLE IF NOT EXISTS boolrank_events (sequence {}, id TEXT NOT NULL UNIQUE, "
    "user_id TEXT NOT NULL, item TEXT NOT NULL, action TEXT NOT NULL, "
    "time DOUBLE PRECISION NOT NULL)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS boolrank_events_user ON boolrank_events (user_id, sequence)"
_LAST = "SELECT sequence, id FROM boolrank_events ORDER BY sequence DESC LIMIT 1"


class Change(NamedTuple):
    """The change that an event makes to the history of its user."""

    item: str
    adds: bool
    time: float


class _SQLite:
    """SQL and connections of SQLite."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error, OSError)
    begin = ("BEGIN IMMEDIATE",)
    schema = (_EVENTS.format("INTEGER PRIMARY KEY AUTOINCREMENT"),)
    rows = (
        "SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS user_id, "
        "json_extract(value, '$[2]') AS item, json_extract(value, '$[3]') AS action, "
        "json_extract(value, '$[4]') AS time, key AS place FROM json_each(?)"
    )
    texts = "SELECT value FROM json_each(?)"
    wait = 10.0  # seconds for other writers

    def __init__(self, place: str) -> None:
        self.label = place
        # A file that is gone is an error: a new one would not have the events before.
        self._address = f"{Path(place).absolute().as_uri()}?mode=rw"

    def connect(self) -> Any:
        # The store gives a connection to one thread at a time.
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
        connection = sqlite3.connect(self._address, timeout=self.wait, uri=True, **options)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the log
        return connection

    def cleaned(self, error: Exception) -> str:
        return str(error)


class _PostgreSQL:
    """SQL and connections of PostgreSQL, through ADBC."""

    begin = ("BEGIN", "LOCK TABLE boolrank_events IN EXCLUSIVE MODE")  # others read meanwhile
    schema = (
        "SELECT pg_advisory_xact_lock(7205759)",  # CREATE IF NOT EXISTS fails if two run at once
        _EVENTS.format("BIGSERIAL PRIMARY KEY"),
    )
    rows = (
        "SELECT value->>0 AS id, value->>1 AS user_id, value->>2 AS item, value->>3 AS action, "
        "(value->>4)::double precision AS time, place "
        "FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS given(value, place)"
    )
    texts = "SELECT value FROM jsonb_array_elements_text(?::jsonb) AS given(value)"

    def __init__(self, place: str) -> None:
        with needs("sql", "An event store in PostgreSQL"):
            import adbc_driver_postgresql.dbapi as adbc
        database = Database(place)
        self.cleaned, self.label = database.cleaned, str(database)
        self.connect = partial(adbc.connect, place, autocommit=True)
        self.errors: tuple[type[Exception], ...] = (adbc.Error, OSError)


class EventStore:
    """Events in a file of SQLite, or in PostgreSQL if the place is a URL. Threads may share it."""

    def __init__(self, place: str | Path) -> None:
        self.place = str(place)
        self.remote = re.match(r"postgres(ql)?://", self.place) is not None
        made = _PostgreSQL(self.place) if self.remote else _SQLite(self.place)
        self._database: _PostgreSQL | _SQLite = made
        self.label = self._database.label  # without a password
        self._idle: list[tuple[Any, object]] = []  # connections, and the files that each has open

    def create(self) -> None:
        """Create the tables where they are missing."""
        if not self.remote:
            Path(self.place).touch()
        with self._connection() as run:
            run("BEGIN")
            for statement in (*self._database.schema, _INDEX):
                run(statement)
            run("COMMIT")

    def close(self) -> None:
        """Close the connections that are not in use."""
        with suppress(IndexError):
            while True:
                self._close(self._idle.pop()[0])

    def add(self, events: Iterable[tuple[str, str, str, str, float]]) -> tuple[int, int]:
        """Store events (id, user, item, action, time); return the number of new ones and the last.

        All or none are stored, and durable when this returns. Known ids are left out, and raise if
        their events are others.
        """
        events, contents = list(events), dict[str, tuple[str, ...]]()
        if any(contents.setdefault(each[0], each[1:4]) != each[1:4] for each in events):
            raise Refusal(409, "two different events have the same id", "give each its own id")
        ids, rows = self._database.texts, self._database.rows
        with self._connection() as run:
            for statement in self._database.begin:
                run(statement)
            known = run(
                "SELECT id, user_id, item, action FROM boolrank_events "  # noqa: S608
                f"WHERE id IN ({ids})",
                list(contents),
            )
            different = sum(contents[each[0]] != tuple(each[1:]) for each in known)
            if different:
                problem = f"another event has the id of {counted(different, 'event')}"
                raise Refusal(409, problem, "give a new event a new id")
            run(
                "INSERT INTO boolrank_events (id, user_id, item, action, time) "  # noqa: S608
                f"SELECT id, user_id, item, action, time FROM ({rows}) AS new "
                "WHERE true ORDER BY place ON CONFLICT (id) DO NOTHING",
                events,
            )
            last = _last(run)[0]
            run("COMMIT")
        return len(contents) - len(known), last

    def of_users(self, users: list[str], after: int) -> dict[str, list[Change]]:
        """Return the changes of some users after a sequence number, if they have any."""
        return self._changes(f"user_id IN ({self._database.texts}) AND sequence > ?", users, after)

    def since(self, after: int, last: int) -> dict[str, list[Change]]:
        """Return the changes of all users after a sequence number, up to another one."""
        return self._changes("sequence > ? AND sequence <= ?", after, last)

    def _changes(self, where: str, *parameters: Any) -> dict[str, list[Change]]:
        query = (
            "SELECT user_id, item, action, time FROM boolrank_events "  # noqa: S608
            f"WHERE {where} ORDER BY user_id, sequence"
        )
        with self._connection() as run:
            found = run(query, *parameters)
        return {
            user: [Change(item, action == "add", time) for _, item, action, time in rows]
            for user, rows in groupby(found, key=lambda row: row[0])
        }

    def files(self) -> tuple[object, object]:
        """Return the identities of the store's files; None for a missing one."""
        return _identity(self.place), _identity(f"{self.place}-wal")

    def last(self) -> tuple[int, str]:
        """Return the sequence number and the id of the last event; 0 and no text without events."""
        with self._connection() as run:
            return _last(run)

    def contained(self, last_event: Sequence[Any] | None) -> int:
        """Return the number of the last event of a model; 0 if it is not an event of this store."""
        number, name = last_event or (0, "")
        with self._connection() as run:
            found = run("SELECT id FROM boolrank_events WHERE sequence = ?", int(number))
        return int(number) if [tuple(row) for row in found] == [(name,)] else 0

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Yield a function that runs a statement on a connection.

        After an error the connection is closed: what was not committed is gone, and the next call
        connects again. Files that were deleted or replaced meanwhile are an error too, since what
        was committed may be in the deleted ones.
        """
        database = self._database
        try:
            connection, files = self._open()
            try:
                yield partial(self._run, connection)
                self._check(files)
            except BaseException:
                self._close(connection)
                raise
            self._idle.append((connection, files))
        except database.errors as error:
            log.error("the event store is unavailable: %s", database.cleaned(error))  # noqa: TRY400
            raise StoreError("the event store is unavailable", hint=LATER) from error

    def _open(self) -> tuple[Any, object]:
        """Return a connection to the files that are there now, and their identities."""
        before = self.files()
        with suppress(IndexError):
            connection, files = self._idle.pop()
            if files == before:
                return connection, files
            self._close(connection)
            if None in before:
                self._check(files)
        connection = self._database.connect()
        return connection, (before[0], self.files()[1])

    def _check(self, files: object) -> None:
        if self.files() != files:
            raise OSError("its files were deleted or replaced")

    def _close(self, connection: Any) -> None:
        with suppress(*self._database.errors):
            connection.close()

    def _run(self, connection: Any, statement: str, *parameters: Any) -> list[Any]:
        values = [json.dumps(each) if isinstance(each, list) else each for each in parameters]
        if self.remote:
            for number in range(1, len(values) + 1):
                statement = statement.replace("?", f"${number}", 1)
        cursor = connection.cursor()
        try:
            cursor.execute(statement, *([values] if values else []))
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()


def _identity(path: str) -> object:
    with suppress(OSError):  # missing, or not a file
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None


def _last(run: Any) -> tuple[int, str]:
    found = run(_LAST)
    return (int(found[0][0]), str(found[0][1])) if found else (0, "")


def check_store(place: str) -> EventStore:
    """Return the store with its tables; raise with a hint if it cannot be used."""
    store = EventStore(place)
    try:
        store.create()
    except OSError as error:
        why = error.__cause__ or error
        raise InputError(
            f"events cannot be stored in {store.label}: "
            f"{'the server does not answer or refuses' if store.remote else why}",
            hint="check the URL and the server" if store.remote else "name a writable file",
            parameter="events",
        ) from error
    finally:
        store.close()
    return store
