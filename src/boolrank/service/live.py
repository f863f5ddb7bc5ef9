"""The model in use: loaded, watched, replaced and refreshed while requests run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.items import ItemTable
from ..engines.worker import Worker, WorkerEndedError
from ..errors import BoolrankError
from ..models import model_info
from ..storage.output import HEADER
from .access import Keys
from .catalogue import Catalogue
from .events import EventStore
from .history import refresher
from .metrics import Metrics
from .pool import Pool
from .problems import Refusal, StoreError

log = logging.getLogger("boolrank.service")

_EVERY = 0.5  # seconds between looks at the folder
_STEP = 5.0  # seconds between the refreshes of two workers


@dataclass
class Live:
    """State of one worker process, with its model; raises if that is damaged."""

    folder: Path
    store: EventStore
    items: ItemTable | None = None  # in place of the table of the model
    keys: Keys | None = None  # if clients need any
    period: float | None = None  # seconds between refreshes; None for refreshes on demand alone
    n_threads: int = 1  # for requests
    worker: int = 0  # number of this process among the workers
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.pool = Pool(self.n_threads)
        self.writers = Pool(1, most_together=1)
        self.checks = Pool(1)  # answers while requests and writers wait
        self._loader = ThreadPoolExecutor(1)
        about = {"folder": str(self.folder), "events": self.store.place}
        self._refresher = Worker(refresher, about)
        self._tried = time.time()
        self._loading, self._refreshing = asyncio.Lock(), asyncio.Lock()
        self._seen: object = self._stamp()
        self._take(self._loader.submit(self._load).result())

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Watch the model; end all threads in the end."""
        task = asyncio.create_task(self._watch())
        yield
        task.cancel()
        for pool in (self.pool, self.writers, self.checks):
            pool.stop()
        self._loader.shutdown(wait=False)
        self._refresher.end()  # the folder has the old model or the new one
        self.store.close()

    def hang_up(self) -> None:
        """Reload keys and model. Titles would need polars, which does not survive a fork."""
        try:
            if self.keys is not None:
                self.keys = Keys(self.keys.path)
        except BoolrankError as error:
            log.error("the keys stay as they are: %s", error)  # noqa: TRY400 - expected
        self._seen = None

    def _stamp(self) -> object:
        with suppress(OSError):
            found = (self.folder / HEADER).stat()
            return found.st_mtime_ns, found.st_dev, found.st_ino, self.store.files()[0]
        return "missing"

    async def reload(self) -> None:
        """Take over the model in the folder; refuse and report a damaged one once."""
        async with self._loading:
            stamp = self._stamp()
            if stamp == self._seen:
                return
            self._seen = stamp
            try:
                # Always the same thread: the allocator keeps freed memory for each thread.
                found = await asyncio.get_running_loop().run_in_executor(self._loader, self._load)
            except StoreError:  # logged already; the model may be good
                self._seen = None
                return
            except (BoolrankError, OSError, ValueError) as error:
                self.metrics.loads.labels("refused").inc()
                log.error("the model in the folder is refused: %s", error)  # noqa: TRY400
                return
            if self._stamp() != stamp:
                self._seen = None
            self._take(found)

    def _take(self, found: Catalogue) -> None:
        log.info("worker %d serves model %s", self.worker, found.hash[:12])
        self.current = found
        self.metrics.loads.labels("loaded").inc()
        self.metrics.created.set(found.model.fitted.created)
        self.metrics.contained.set(found.sequence)

    def _load(self) -> Catalogue:
        self.store.last()  # raises before the work of loading
        return Catalogue.load(self.folder, self.store, self.items, self.n_threads)

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

    def _due(self) -> bool:
        with suppress(OSError):
            written = (self.folder / HEADER).stat().st_mtime
            age = time.time() - max(written, self._tried)
            return self.period is not None and age >= self.period + self.worker * _STEP
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
                log.info("refreshed in %.1f s, changes: %d", found["seconds"], found["changed"])
            return found

    def _refresh(self) -> dict[str, Any]:
        try:
            info, last = model_info(self.folder), self.store.last()[0]
            if last == self.store.contained(info["last_event"]):
                name = info["hash"]
                return {"model": name, "previous": name, "changed": 0, "seconds": 0.0}
            return self._refresher.ask({})
        except StoreError:
            raise
        except (BoolrankError, WorkerEndedError, ValueError) as error:  # stop(): a ValueError
            log.error("the refresh failed: %s", error)  # noqa: TRY400 - expected
            raise Refusal(503, "the refresh failed", "see the log of the service") from error
        finally:
            self._refresher.end()

    def last_event(self) -> int:
        """Return the last sequence number of the store."""
        last = self.store.last()[0]
        self.metrics.sequence.set(last)
        return last
