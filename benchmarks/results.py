"""Put the table of ``bench/peers.json`` into docs/results.md, between its two markers.

    python benchmarks/results.py [--page docs/results.md]

Only a run over all sets and contestants is put there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from contestants import CONTESTANTS
from measuring import OUT, SETS, Found
from peers import markdown

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


def missing(found: Found) -> list[str]:
    """Sets and contestants that a run has nothing of."""
    sets = found["sets"]
    return [name for name in SETS if name not in sets] + [
        name
        for name in CONTESTANTS
        if any(name not in each["contestants"] for each in sets.values())
    ]


def replaced(text: str, table: str) -> str:
    """The text with something else between the markers."""
    for marker in (BEGIN, END):
        if text.count(marker) != 1:
            raise ValueError(f"the text has {marker} {text.count(marker)} times; put it there once")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table.strip()}\n\n{END}{after}"


def main() -> None:
    """Write the table, or say what has to be measured first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--page", type=Path, default=Path("docs/results.md"))
    page: Path = parser.parse_args().page
    source = OUT / "peers.json"
    if not source.is_file():
        raise SystemExit(f"there is no {source}; run python benchmarks/peers.py first")
    found = json.loads(source.read_text(encoding="utf-8"))
    if missing(found):
        raise SystemExit(
            f"{source} has nothing of {', '.join(missing(found))}; run python benchmarks/peers.py "
            "without options, with BOOLRANK_DATA naming the folder of data sets"
        )
    text = page.read_text(encoding="utf-8")
    page.write_text(replaced(text, markdown(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
