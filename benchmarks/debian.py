"""Real data that no setting was chosen on: the packages of a Debian machine.

    python benchmarks/debian.py

Writes two files to ``bench/``: ``dependencies.csv``, where a package is a user and the packages it
depends on are items, and ``tags.csv``, with its tags. Both come from ``apt-cache dumpavail``, so
the figures of docs/results.md change a little with the release of Debian and its updates.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import polars as pl
from measuring import OUT

FIELD = re.compile(r"^(Package|Depends|Pre-Depends|Tag): (.*(?:\n .*)*)", re.MULTILINE)
# The name of a package ends before its version, its architecture and other choices.
NAME = re.compile(r"[^\s(:|]+")


def dependencies(fields: dict[str, str]) -> Iterator[str]:
    """Yield the packages that a package needs, the first one of a choice."""
    for field in ("Pre-Depends", "Depends"):
        for each in fields.get(field, "").split(","):
            if found := NAME.match(each.strip()):
                yield found[0]


def tags(fields: dict[str, str]) -> Iterator[str]:
    """Yield the tags of a package."""
    for each in fields.get("Tag", "").split(","):
        if each.strip():
            yield each.strip()


def main() -> None:
    """Write both files, and print their sizes."""
    call = ["apt-cache", "dumpavail"]
    text = subprocess.run(call, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    packages = [dict(FIELD.findall(each)) for each in text.split("\n\n")]
    OUT.mkdir(exist_ok=True)
    for read in (dependencies, tags):
        pairs = {(each["Package"], item) for each in packages if each for item in read(each)}
        frame = pl.DataFrame(sorted(pairs), schema=["user", "item"], orient="row")
        path = OUT / f"{read.__name__}.csv"
        frame.write_csv(path)
        print(f"{path}: {len(frame):,} pairs of {frame['user'].n_unique():,} packages")


if __name__ == "__main__":
    main()
