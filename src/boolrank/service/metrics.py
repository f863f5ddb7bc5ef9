"""Metrics in Prometheus' text format, of all workers together.

With several processes, prometheus_client keeps values in files of the folder that
``PROMETHEUS_MULTIPROC_DIR`` names; it must be set before the first import.
"""

from __future__ import annotations

import os
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts of requests, events and refreshes. Labels are routes, never what a client sent."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self._requests = Counter(
            "boolrank_requests", "Requests", ["method", "route", "status"], registry=own
        )
        self._seconds = Histogram(
            "boolrank_request_seconds",
            "Time of requests",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        self.events = Counter("boolrank_events", "Events stored", registry=own)
        self.refreshes = Counter("boolrank_refreshes", "Refreshes", ["outcome"], registry=own)
        self.loads = Counter("boolrank_model_loads", "Models loaded", ["outcome"], registry=own)
        low, high = (
            partial(Gauge, multiprocess_mode=mode, registry=own) for mode in ("livemin", "livemax")
        )
        self.created = low("boolrank_model_created_seconds", "Date of the oldest model in use")
        self.contained = low("boolrank_model_sequence", "Last event in the oldest model in use")
        self.sequence = high("boolrank_event_sequence", "Last event in the store")

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in ("GET", "POST", "HEAD") else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return the values of all processes."""
        registry = self.registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
