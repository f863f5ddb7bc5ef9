"""What a run was made with and on: facts that results do not depend on, and people ask for."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from .._version import __version__

__all__ = ["machine"]


def machine() -> dict[str, Any]:
    """Versions of what computes, and the machine it runs on."""
    return {
        "versions": {"python": platform.python_version()}
        | {name: _version(name) for name in ("boolrank", "numpy", "scipy", "numba", "narwhals")},
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
        return "not installed"


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
