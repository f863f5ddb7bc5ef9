"""The model in use: loaded, watched, replaced and refreshed while requests run."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.items import ItemTable
from ..engines.worker import Worker, WorkerEndedError
from ..errors import BoolrankError
from ..models import model_info
from ..storage.folder import HEADER
from .access import Keys
from .catalogue import Catalogue
from .events import EventStore, StoreError
from .metrics import Metrics
from .pool import Pool
from .problems import Refusal
from .refresh import answer_refreshes

log = logging.getLogger("boolrank.service")

_EVERY = 0.5  # seconds between looks at the folder
_STEP = 5.0  # seconds between the refreshes of two workers


@dataclass
class Live:
    """State of one worker process.

    Attributes
    ----------
    folder : the model
    store : the events
    items : table of items in place of that of the model
    keys : keys of clients, if they need any
    key_file : file of the keys, to read them again
    period : seconds between refreshes; None for refreshes on demand alone
    n_threads : threads for requests
    worker : number of this process among the workers
    parent : process that must be there, if any
    """

    folder: Path
    store: EventStore
    items: ItemTable | None = None
    keys: Keys | None = None
    key_file: Path | None = None
    period: float | None = None
    n_threads: int = 1
    worker: int = 0
    parent: int | None = None
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.pool = Pool(self.n_threads, self.store.close)
        self.writers = Pool(1, self.store.close, most_together=1)
        self.checks = Pool(1, self.store.close)  # answers while requests and writers wait
        self._pools = self.pool, self.writers, self.checks
        self._loader = ThreadPoolExecutor(1)
        about = {"folder": str(self.folder), "events": self.store.place}
        self._refresher = Worker(answer_refreshes, about)
        self.catalogue: Catalogue | None = None
        self._seen: object = None
        self._tried = time.time()
        self._loading, self._refreshing = asyncio.Lock(), asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []

    def open(self) -> None:
        """Load the model before anything runs; raise if it is damaged."""
        self._seen = self._stamp()
        self._take(self._loader.submit(self._load).result())

    async def start(self) -> None:
        """Load the model unless it is open, and begin to watch it."""
        for pool in self._pools:
            pool.start()
        await self.reload()
        loop = asyncio.get_running_loop()
        # Windows has no SIGHUP, and only the main thread gets signals.
        with suppress(ValueError, RuntimeError, AttributeError, NotImplementedError):
            loop.add_signal_handler(signal.SIGHUP, self.hang_up)
        self._tasks = [asyncio.create_task(self._watch())]

    async def stop(self) -> None:
        """End threads and tasks."""
        for task in self._tasks:
            task.cancel()
        for pool in self._pools:
            pool.stop()
        self._loader.shutdown(wait=False)
        self._refresher.end()  # the folder has the old model or the new one

    @property
    def current(self) -> Catalogue:
        """The model in use."""
        if self.catalogue is None:
            raise StoreError("the model is not loaded yet", hint="try again in a second")
        return self.catalogue

    def hang_up(self) -> None:
        """Read the keys again, and the model. Titles would need polars, which does not fork."""
        try:
            if self.key_file is not None:
                self.keys = Keys.read(self.key_file)
        except BoolrankError as error:
            log.error("the keys stay as they are: %s", error)  # noqa: TRY400 - expected
        self._seen = None

    def _stamp(self) -> object:
        with suppress(OSError):
            found = (self.folder / HEADER).stat()
            return found.st_mtime_ns, found.st_dev, found.st_ino, self.store.identity()
        return "missing"

    async def reload(self) -> None:
        """Take over the model in the folder; one that is damaged is refused and reported once."""
        async with self._loading:
            if self._stamp() != self._seen:
                await self._reload()

    async def _reload(self) -> None:
        self._seen = stamp = self._stamp()
        try:
            # Always the same thread: memory that threads have freed is kept for each.
            found = await asyncio.get_running_loop().run_in_executor(self._loader, self._load)
        except StoreError:  # the log has it; the model may be good
            self._seen = None
            if self.catalogue is None:
                raise
            return
        except (BoolrankError, OSError, ValueError) as error:
            self.metrics.loads.labels("refused").inc()
            log.error("the model in the folder is refused: %s", error)  # noqa: TRY400 - expected
            if self.catalogue is None:
                raise
            return
        if self._stamp() != stamp:
            self._seen = None
        self._take(found)

    def _take(self, found: Catalogue) -> None:
        if self.catalogue is None or found.hash != self.catalogue.hash:
            log.info("worker %d serves model %s", self.worker, found.hash[:12])
        self.catalogue = found
        self.metrics.loads.labels("loaded").inc()
        self.metrics.created.set(found.model.fitted.created)
        self.metrics.contained.set(found.sequence)

    def _load(self) -> Catalogue:
        try:
            self.store.last()  # raises before the work of loading
            contained = self.store.contained
            return Catalogue.load(self.folder, self.items, self.n_threads, contained)
        finally:
            self.store.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self.reload()
                if self._due():
                    await self.refresh()
            except (BoolrankError, OSError) as error:
                log.error("%s", error)  # noqa: TRY400 - expected
            except Exception:
                log.exception("the watch failed")
            if self.parent is not None and os.getppid() != self.parent:
                os.kill(os.getpid(), signal.SIGTERM)

    def _due(self) -> bool:
        if self.period is None:
            return False
        with suppress(OSError):
            written = (self.folder / HEADER).stat().st_mtime
            age = time.time() - max(written, self._tried)
            return age >= self.period + self.worker * _STEP
        return False

    async def refresh(self) -> dict[str, Any]:
        """Update the folder with all events, and take it over."""
        async with self._refreshing:
            self._tried = time.time()
            try:
                found = await asyncio.to_thread(self._refresh)
            except BoolrankError:
                self.metrics.refreshes.labels("failed").inc()
                raise
            self.metrics.refreshes.labels("done").inc()
            await self.reload()
            if found["changed"]:
                log.info("refreshed with %d changes in %.1f s", found["changed"], found["seconds"])
            return found

    def _refresh(self) -> dict[str, Any]:
        try:
            info, last = model_info(self.folder), self.store.last()[0]
            if last == self.store.contained(info["last_event"]):
                name = info["hash"]
                return {"model": name, "previous": name, "changed": 0, "seconds": 0.0}
            found = self._refresher.ask({})
        except StoreError:
            raise
        except (BoolrankError, WorkerEndedError, ValueError) as error:  # stop(): a ValueError
            found = {"error": str(error), "cause": None}
        finally:
            self.store.close()
            self._refresher.end()
        if "error" in found:
            log.error("the refresh failed: %s (%s)", found["error"], found["cause"])
            raise Refusal(503, "the refresh failed", "the log has the reason", ("retry-after", "1"))
        return found

    def last_event(self) -> int:
        """Return the last sequence number of the store."""
        last = self.store.last()[0]
        self.metrics.sequence.set(last)
        return last
