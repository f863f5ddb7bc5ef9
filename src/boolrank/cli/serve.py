"""``boolrank serve``: an HTTP service and a web page for a saved model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .._extras import needs
from ..service import ServiceOptions
from ..storage.folder import locked
from ._inputs import seconds_of
from ._output import say, status

_METRICS = "boolrank-metrics-"


def serve(folder: Path, *, options: ServiceOptions) -> None:
    """Serve a model over HTTP, with a web page at /.

    Events that are posted are stored before they are acknowledged, change the next list of their
    user, and enter the model at the next refresh. /docs describes the API.
    """
    with _metrics_folder() as metrics:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics  # before the first import
        with needs("serve", "The service"):
            from ..service.command import open_service
        with status("Opening"):
            text = options.refresh
            period = None if text is None else seconds_of(text, "refresh")
            model, processes = open_service(folder, options, period)
        say(f"{folder}: {model}, http://{processes.address} (Ctrl-C ends it)")
        processes.run()


@contextmanager
def _metrics_folder() -> Iterator[str]:
    """Make a folder for the metrics of all workers; remove those that killed services left."""
    for left in Path(tempfile.gettempdir()).glob(f"{_METRICS}*"):
        with suppress(OSError), locked(left, wait=False):
            shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_METRICS) as folder, locked(Path(folder)):
        yield folder
