"""Print the best of boolrank's models beside the best of the others, for docs/results.md.

``python benchmarks/scoreboard.py FOLDER``, with the folder that `boolrank compare` wrote.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from boolrank.report.tables import SIGNIFICANT
from boolrank.table import Table

# Models on boolean kernels; all others are baselines.
OURS = ("kernel-ranker", "kernel-ease", "mean-ranker", "spectral-ranker")
COLUMNS = {"data set": "", "metric": "", "boolrank’s best": "", "its value": ".4f"}
COLUMNS |= {"others’ best": "", "value": ".4f", "difference": "+.4f", "p": ".2g", "significant": ""}


def scoreboard(rows: list[dict[str, str]]) -> Table:
    """Return a row per data set and metric. Rows of a metric are best first."""
    found = []
    for key in dict.fromkeys((row["data set"], row["metric"]) for row in rows):
        ranked = [r for r in rows if (r["data set"], r["metric"]) == key and not r["error"]]
        ours, others = (
            next(r for r in ranked if (r["model"].partition("(")[0] in OURS) == wanted)
            for wanted in (True, False)
        )
        p = float(others["p (t)"] or ours["p (t)"])  # the best one has none
        values = [float(each["mean"]) for each in (ours, others)]
        significant = "yes" if p < SIGNIFICANT else "no"
        cells = (ours["model"], values[0], others["model"], values[1], values[0] - values[1])
        found.append((*key, *cells, p, significant))
    return Table.of("", COLUMNS, found)


if __name__ == "__main__":
    with (Path(sys.argv[1]) / "tables" / "results.csv").open(newline="", encoding="utf-8") as file:
        print(scoreboard(list(csv.DictReader(file))).to_markdown())
