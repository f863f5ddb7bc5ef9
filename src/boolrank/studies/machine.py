"""Manifests: when, where and with which versions results were computed."""

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
from .cache import write_text

# The last ones are optional.
_LIBRARIES = ("numpy", "scipy", "numba", "narwhals", "implicit", "irspack", "optuna")


def write_manifest(
    path: Path, about: Mapping[str, Any], computed: int, started: float, n_threads: int | None
) -> dict[str, Any]:
    """Write and return a manifest; keep the one that is there if nothing was recomputed."""
    with threads(n_threads) as count:
        pass
    manifest = dict(about) | machine()
    manifest |= {"threads": count, "started": _clock(started), "finished": _clock(time.time())}
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
    about = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }
    return {"versions": versions, "machine": about}


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _processor() -> str:
    """Return the name of the processor, which Linux has only in a file."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()
