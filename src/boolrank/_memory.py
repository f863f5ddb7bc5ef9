"""Free and used memory, asked for before large allocations."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from .errors import MatrixTooLargeError, ParameterError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUP = Path("/sys/fs/cgroup")
# Folder, limit, use and cached files of a control group, in its two versions.
_VERSIONS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
_NO_LIMIT = 1 << 62


def free_memory() -> int:
    """Return the bytes available without swapping, within limits of containers and the process.

    If the system does not say, the number is larger than any machine's memory.
    """
    return min(_of_machine(), _of_groups(), _of_process())


def require_memory(
    needed: int, what: str, *, hint: str, parameter: str = "", free: int | None = None
) -> None:
    """Raise if fewer bytes are free; ``what`` ends in "takes". "boolrank.memory" logs the need."""
    import logging  # slow to import

    logging.getLogger("boolrank.memory").debug(
        "%s %s", what, size(needed), extra={"needed": needed}
    )
    free = free_memory() if free is None else free
    if needed > free:
        raise MatrixTooLargeError(
            f"{what} {size(needed)}, and {size(free)} are free", hint=hint, parameter=parameter
        )


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None if the system does not say."""
    # On Linux ru_maxrss includes memory of the parent process; VmHWM does not.
    held = _entry(_STATUS, "VmHWM:")
    if held is not None:
        return 1024 * held
    if resource is None:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def held_memory() -> int:
    """Return the memory of this process in bytes; 0 if the system does not say."""
    return 1024 * (_entry(_STATUS, "VmRSS:") or 0)


def parse_size(name: str, given: int | str) -> int:
    """Return a number of bytes, as a number or as text such as ``"4GB"``.

    Text needs a unit: 4 was hardly meant as bytes.

    >>> parse_size("memory", "1.5GB"), parse_size("memory", "1KiB"), parse_size("memory", 10**9)
    (1500000000, 1024, 1000000000)
    """
    text = given if isinstance(given, str) else f"{given}b"
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(?:([kmgt])(i?)b?|b)\s*", text.lower())
    if found is None or not float(found[1]):
        raise ParameterError(
            f"{name} is a size such as 4GB or 500MB, not {given!r}", parameter=name
        )
    unit = 1024 if found[3] else 1000
    return int(float(found[1]) * unit ** " kmgt".index(found[2] or " "))


def size(count: float) -> str:
    """Return a number of bytes as text.

    >>> size(43_200_000_000), size(8_000)
    ('43.2 GB', '0.0 MB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _of_machine() -> int:
    # Free pages alone would leave out the cache of files.
    available = _entry(_MEMINFO, "MemAvailable:")
    if available is not None:
        return 1024 * available
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _NO_LIMIT


def _of_groups() -> int:
    """Return the bytes left in the control groups of this process and those around them."""
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    left = [_NO_LIMIT]
    for kind, *names in _VERSIONS:
        own = {line.split(":", 2)[2] for line in lines if kind in line.split(":")[1].split(",")}
        inner = [_GROUP / kind / path.strip("/") for path in own]
        around = {_GROUP / kind, *inner, *(each for path in inner for each in path.parents)}
        left += [_of_group(place, *names) for place in around]
    return min(left)


def _of_group(place: Path, limit: str, use: str, cached: str) -> int:
    try:
        most, used = (int((place / name).read_text()) for name in (limit, use))
    except (OSError, ValueError):  # no such limit, or none in force ("max")
        return _NO_LIMIT
    # Cached files that were not used lately are given back.
    return max(most - used + (_entry(place / "memory.stat", cached) or 0), 0)


def _of_process() -> int:
    """Return the bytes left of the address space (``ulimit -v``)."""
    if resource is None:
        return _NO_LIMIT
    limit, used = resource.getrlimit(resource.RLIMIT_AS)[0], _entry(_STATUS, "VmSize:")
    return _NO_LIMIT if limit < 0 or used is None else max(limit - 1024 * used, 0)


def _entry(path: Path, name: str) -> int | None:
    """Return the number after a name in a file of the system; None if there is none."""
    try:
        lines = map(str.split, path.read_text(encoding="utf-8").splitlines())
        return next((int(words[1]) for words in lines if words[:1] == [name]), None)
    except (OSError, ValueError, IndexError):
        return None
