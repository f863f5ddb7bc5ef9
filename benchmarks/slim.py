"""SLIM and GLSLIM beside the kernel ranker: AUC, nDCG@10, seconds and memory.

    python benchmarks/slim.py FOLDER [SET ...]

By the paper's protocol with six folds: the first chooses among three settings of each model, by
each metric, and the others test. Each model is measured in a process of its own. Results in the
folder are not computed again.
"""

from __future__ import annotations

import sys

from boolrank import load_dataset, paper_protocol
from boolrank.data.protocols import usual_order
from boolrank.evaluation import Evaluation
from boolrank.evaluation.metrics import parse_metrics
from boolrank.models import parse_model
from boolrank.studies.cache import Task
from boolrank.studies.executor import Executor

COSTS = ("reg=0.05, l1_ratio=0.01", "reg=0.5, l1_ratio=0.003", "reg=5, l1_ratio=0.001")
SETTINGS = {
    "kernel-ranker": [f"kernel-ranker(kernel=disjunctive({arity}))" for arity in (2, 8, 38)],
    "slim": [f"slim({each})" for each in COSTS],
    "glslim": [
        f"glslim(subsets=3, rounds=4, local_{each.split(',')[0]}, {each})" for each in COSTS
    ],
}
SETS = ("filmtrust", "movielens-1m")


def main(folder: str, *names: str) -> None:
    """Print a Markdown table, a row per set and model."""
    print(
        "| data set | model | AUC | nDCG@10 | fit | rank | memory |\n|---|---|--:|--:|--:|--:|--:|"
    )
    metrics = tuple(parse_metrics(("auc", "ndcg@10")))
    with Executor(folder, apart=True) as executor:
        for name in names or SETS:
            data = load_dataset(name)
            folds = paper_protocol(data, folds=6, order=usual_order(data))

            def run(text: str, first: int, last: int, folds=folds) -> Evaluation:
                tasks = [Task(each, parse_model(text), metrics, True) for each in folds[first:last]]
                return Evaluation(text, "", "", tuple(executor.run(each) for each in tasks))

            for model, settings in SETTINGS.items():
                tried = [run(text, 0, 1) for text in settings]
                best = {m: max(tried, key=lambda e, m=m: e.means[m]).model for m in tried[0].means}
                found = {metric: run(text, 1, 6) for metric, text in best.items()}
                values = [f"{each.means[m]:.4f}, {best[m]}" for m, each in found.items()]
                fit, rank = found["auc"].seconds
                memory = f"{found['auc'].peak_memory / 1e6:,.0f} MB"
                cells = [name, model, *values, f"{fit:.1f} s", f"{rank:.1f} s", memory]
                print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
