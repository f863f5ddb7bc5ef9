"""How much memory is free, asked before something large is allocated; and how much was taken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
_GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that can be had without swapping, also within the limit of a container.

    Where a system does not tell, more than any machine has: the allocation itself decides then.
    """
    return min(_of_machine(), _of_group())


def peak_memory() -> int | None:
    """The most bytes that this process has held at once; None where the system does not say."""
    # On Linux ru_maxrss has in it what the process held that has started this one; VmHWM has not.
    held = _said(_STATUS, "VmHWM:")
    if held is not None:
        return 1024 * held
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def size(count: float) -> str:
    """Bytes for people.

    >>> size(43_200_000_000), size(8_000)
    ('43.2 GB', '0.0 MB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _of_machine() -> int:
    # Free pages alone would leave out what the cache of files gives back.
    available = _said(_MEMINFO, "MemAvailable:")
    if available is not None:
        return 1024 * available
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def _of_group() -> int:
    try:
        most, used = ((_GROUP / f"memory.{name}").read_text() for name in ("max", "current"))
        # Files that the group has cached and not used lately are given back first.
        idle = _said(_GROUP / "memory.stat", "inactive_file") or 0
        return max(int(most) - int(used) + idle, 0)
    except (OSError, ValueError):  # no such limit, or none in force ("max")
        return 1 << 62


def _said(path: Path, name: str) -> int | None:
    """The number behind a name in a file of the system's; None where it does not say."""
    try:
        lines = map(str.split, path.read_text(encoding="utf-8").splitlines())
        return next((int(words[1]) for words in lines if words[:1] == [name]), None)
    except (OSError, ValueError, IndexError):
        return None
