"""The event store: an append-only table in SQLite or PostgreSQL.

An event adds a (user, item) pair or removes it. A pair's last events decide, so applying a part of
the log again changes nothing. The header of a model names its last event by number and id; a store
that has another event there, or none, applies the whole log again: this costs time, not exactness.

Writers take turns, so events become visible in the order of their sequence numbers, and a reader
that has seen a number has seen all before it.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from .._extras import needs
from ..data.database import Database
from ..errors import BoolrankError, InputError

log = logging.getLogger("boolrank.service")

_WAIT = 10.0  # seconds for other writers
_EVENTS = (
    "CREATE TABLE IF NOT EXISTS boolrank_events (sequence {}, id TEXT NOT NULL UNIQUE, "
    "user_id TEXT NOT NULL, item TEXT NOT NULL, action TEXT NOT NULL, "
    "time DOUBLE PRECISION NOT NULL)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS boolrank_events_user ON boolrank_events (user_id, sequence)"
_LAST = "SELECT sequence, id FROM boolrank_events ORDER BY sequence DESC LIMIT 1"


class StoreError(BoolrankError, OSError):
    """The event store cannot be read or written."""


class ConflictError(BoolrankError, ValueError):
    """An event id is taken by another event."""


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

    def __init__(self, place: str) -> None:
        self.place, self.label, self.wait = place, place, _WAIT

    def said(self, error: Exception) -> str:
        return str(error)

    def create(self) -> None:
        Path(self.place).touch()

    def connect(self) -> tuple[Any, object]:
        # A file that is gone is an error: a new one would not have the events before.
        file = _identity(self.place)
        place = f"{Path(self.place).absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(place, timeout=self.wait, isolation_level=None, uri=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the log
        return connection, (file, _identity(f"{self.place}-wal"))

    def files(self) -> object:
        """Return the identity of the store's files; others of the same name have another."""
        return _identity(self.place), _identity(f"{self.place}-wal")


def _identity(path: str) -> object:
    found = Path(path).stat()
    return found.st_dev, found.st_ino


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
        self.place, self._adbc, self.said, self.label = place, adbc, database.cleaned, str(database)
        self.errors: tuple[type[Exception], ...] = (adbc.Error, OSError)

    def create(self) -> None:
        pass

    def connect(self) -> tuple[Any, object]:
        return self._adbc.connect(self.place, autocommit=True), None

    def files(self) -> object:
        return None


class EventStore:
    """Events in a file of SQLite, or in PostgreSQL if the place is a URL. Threads may share it."""

    def __init__(self, place: str | Path) -> None:
        self.place = str(place)
        remote = re.match(r"postgres(ql)?://", self.place)
        self._database = _PostgreSQL(self.place) if remote else _SQLite(self.place)
        self.label = self._database.label  # without a password
        self._local = threading.local()

    def create(self) -> None:
        """Create the tables where they are missing."""
        with self._connection(create=True) as run:
            run("BEGIN")
            for statement in (*self._database.schema, _INDEX):
                run(statement)
            run("COMMIT")

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            with suppress(*self._database.errors):
                connection.close()

    def add(self, events: Iterable[tuple[str, str, str, str, float]]) -> tuple[int, int]:
        """Store events (id, user, item, action, time); return the number of new ones and the last.

        All or none are stored, and durable when this returns. Known ids are left out, and raise if
        their events are others.
        """
        events, contents = list(events), dict[str, tuple[str, ...]]()
        if any(contents.setdefault(each[0], each[1:4]) != each[1:4] for each in events):
            raise ConflictError(
                "two different events have the same id", hint="give every event its own id"
            )
        given, rows = json.dumps(events), self._database.rows
        with self._connection() as run:
            for statement in self._database.begin:
                run(statement)
            different = run(
                f"SELECT count(*) FROM ({rows}) AS new JOIN boolrank_events AS old "  # noqa: S608
                "ON new.id = old.id WHERE (new.user_id, new.item, new.action) "
                "<> (old.user_id, old.item, old.action)",
                given,
            )[0][0]
            if different:
                run("ROLLBACK")
                raise ConflictError(
                    f"{different} ids of events belong to other events",
                    hint="give a new event a new id",
                )
            before = _last(run)[0]
            run(
                "INSERT INTO boolrank_events (id, user_id, item, action, time) "  # noqa: S608
                f"SELECT id, user_id, item, action, time FROM ({rows}) AS new "
                "WHERE true ORDER BY place ON CONFLICT (id) DO NOTHING",
                given,
            )
            stored = run("SELECT count(*) FROM boolrank_events WHERE sequence > ?", before)[0][0]
            last = _last(run)[0]
            run("COMMIT")
        return stored, last

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

    def identity(self) -> object:
        """Return the identity of the store's file; another one in its place has another."""
        with suppress(OSError):
            return _identity(self.place)
        return "missing"  # or not a file

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
    def _connection(self, create: bool = False) -> Iterator[Any]:
        """Yield a function that runs a statement on the connection of this thread.

        After an error the connection is closed: what was not committed is gone, and the next call
        connects again. Files that were deleted or replaced meanwhile are an error too, since what
        was committed may be in the deleted ones.
        """
        database, local = self._database, self._local
        try:
            if hasattr(local, "connection") and database.files() != local.files:
                self.close()
            if not hasattr(local, "connection"):
                if create:
                    database.create()
                local.connection, local.files = database.connect()
            connection = local.connection

            def run(statement: str, *parameters: Any) -> list[Any]:
                values = [
                    json.dumps(each) if isinstance(each, list) else each for each in parameters
                ]
                if isinstance(database, _PostgreSQL):
                    for number in range(1, len(values) + 1):
                        statement = statement.replace("?", f"${number}", 1)
                cursor = connection.cursor()
                try:
                    cursor.execute(statement, *([values] if values else []))
                    return list(cursor.fetchall()) if cursor.description else []
                finally:
                    cursor.close()

            yield run
            if database.files() != local.files:
                raise OSError("its files were replaced")
        except database.errors as error:
            self.close()
            log.error("the event store fails: %s", database.said(error))  # noqa: TRY400 - expected
            raise StoreError("the event store fails", hint="try again in a second") from error


def _last(run: Any) -> tuple[int, str]:
    found = run(_LAST)
    return (int(found[0][0]), str(found[0][1])) if found else (0, "")


def check_store(place: str) -> EventStore:
    """Return the store with its tables; raise with a hint if it cannot be used."""
    store = EventStore(place)
    try:
        store.create()
    except StoreError as error:
        remote = place.startswith("postgres")
        why = "the server does not answer or refuses" if remote else str(error.__cause__)
        raise InputError(
            f"events cannot be stored in {store.label}: {why}",
            hint="check the URL and the server" if remote else "name a writable file",
            parameter="events",
        ) from error
    finally:
        store.close()
    return store
