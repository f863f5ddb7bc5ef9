"""What a run was made with and on: facts that results do not depend on, and people ask for."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from .._version import __version__

__all__ = ["clock", "machine"]


_NONE = "not installed"


def clock(moment: float) -> str:
    """Seconds since 1970 as a date and a time, in UTC.

    >>> clock(0)
    '1970-01-01T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def machine(*others: str) -> dict[str, Any]:
    """Versions of what computes, other packages too where they are installed, and the machine."""
    core = ("boolrank", "numpy", "scipy", "numba", "narwhals")
    found = {name: _version(name) for name in (*core, *others)}
    return {
        "versions": {"python": platform.python_version()}
        | {name: text for name, text in found.items() if name in core or text != _NONE},
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
    }


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import, seldom needed

    try:
        return __version__ if package == "boolrank" else version(package)
    except PackageNotFoundError:
        return _NONE


def _processor() -> str:
    """The processor's name; Linux has it in a file only."""
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()
