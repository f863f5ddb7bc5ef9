"""Results on disk, and manifests: when, where and with which versions they were computed."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._version import __version__
from ..engines.threads import threads
from .cache import write_json, write_text

# The last ones are optional.
_LIBRARIES = ("numpy", "scipy", "numba", "narwhals", "implicit", "irspack")


def write_results(
    folder: Path,
    results: Mapping[str, Any],
    about: Mapping[str, Any],
    computed: int,
    started: float,
    n_threads: int | None,
) -> dict[str, Any]:
    """Write results.json and manifest.json; keep the manifest if nothing was recomputed."""
    write_json(folder / "results.json", results, indent=1)
    manifest = dict(about) | machine()
    for name, moment in (("started", started), ("finished", time.time())):
        manifest[name] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    with threads(n_threads) as manifest["threads"]:
        pass
    path = folder / "manifest.json"
    if not computed:
        with suppress(OSError, ValueError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(kept, dict) and kept.keys() >= manifest.keys():
                return kept
    write_text(path, json.dumps(manifest, indent=1) + "\n")
    return manifest


def machine() -> dict[str, Any]:
    """Return the machine and the versions of the libraries that compute.

    >>> sorted(machine()), sorted(machine()["machine"])
    (['machine', 'versions'], ['architecture', 'cores', 'processor', 'system'])
    """
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    versions = {"python": platform.python_version(), "boolrank": __version__}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    processor = platform.processor()
    with suppress(OSError):  # Linux has the name only in a file
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        processor = next(named, processor)
    about = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": processor,
        "cores": os.cpu_count(),
    }
    return {"versions": versions, "machine": about}
