"""What the tests of the service share: small data, saved models, stores and clients."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boolrank import Interactions

POSTGRES = "BOOLRANK_POSTGRES"


def some_data(seed: int = 0, users: int = 40, items: int = 25, count: int = 300) -> Interactions:
    """Interactions with times; ids are text."""
    rng = np.random.default_rng(seed)
    who, what = rng.integers(0, users, count), np.floor(items * rng.random(count) ** 2).astype(int)
    times = np.arange(count)
    return Interactions.from_pairs([f"u{k}" for k in who], [f"p{k}" for k in what], times)


@contextmanager
def postgres_place() -> Iterator[str]:
    """A schema of its own in the database that the environment names."""
    url = os.environ.get(POSTGRES)
    if not url:
        pytest.skip(f"{POSTGRES} does not name a PostgreSQL database")
    adbc = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the extra sql is missing")
    name = f"boolrank_{uuid.uuid4().hex}"
    with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {name}")
        try:
            yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
        finally:
            cursor.execute(f"DROP SCHEMA {name} CASCADE")


@contextmanager
def client_of(folder: Path, place: str, **options: Any) -> Iterator[Any]:
    """A client of a service in this process; ``client.live`` is its state."""
    from starlette.testclient import TestClient

    from boolrank.service.app import create_app
    from boolrank.service.events import check_store
    from boolrank.service.live import Live

    local = options.pop("local", False)
    live = Live(folder, check_store(place), **options)
    with TestClient(create_app(live, local), raise_server_exceptions=False) as client:
        client.live = live
        yield client


def pairs(answer: dict[str, Any], value: str = "score") -> list[tuple[Any, float]]:
    """Items and scores of an answer."""
    return [(entry["item"], entry[value]) for entry in answer["items"]]


def expected(found: Any, row: int = 0) -> list[tuple[Any, float]]:
    """Items and scores of a row of the library's recommendations."""
    both = zip(found.items[row].tolist(), found.scores[row].tolist(), strict=True)
    return [(item, score) for item, score in both if item is not None]
