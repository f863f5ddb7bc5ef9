"""``boolrank evaluate``: how well models rank held-out data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..evaluation.result import nulls
from ..models.spec import ModelSpec, labels, parse_model
from ..studies import Experiment, Run, read_experiment, run_experiment
from ..table import Table
from ._inputs import note_ratings
from ._options import Columns, given, option_name
from ._output import Output
from ._work import Work


def evaluate(
    inputs: list[str],
    *,
    model: list[str] | None = None,
    kernel: list[str] | None = None,
    protocol: str | None = None,
    folds: int | None = None,
    order: str | None = None,
    least: int | None = None,
    share: float | None = None,
    metrics: str | None = None,
    seed: int | None = None,
    out: Path | None = None,
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Split the data, fit each model on the training part, and measure how it ranks the rest.

    The input can also be an experiment: one .toml file instead of all other options.

    A row has the mean over the folds with its standard deviation, and the difference to the best
    model with its 95 % interval (paired bootstrap over users) and p value (paired t test, Holm's
    correction); * means p < 0.05. The default metrics are auc, map@10 and ndcg@10.
    """
    work = Work()
    split = given({"folds": folds, "order": order, "least": least, "share": share})
    others = given({"protocol": protocol, "metrics": metrics, "seed": seed})
    if len(inputs) == 1 and inputs[0].lower().endswith(".toml"):
        extra = {**given({"model": model, "kernel": kernel}), **split, **columns.given(), **others}
        if extra:
            raise ParameterError(
                f"{inputs[0]} describes the whole experiment",
                hint=f"leave out {option_name(next(iter(extra)))}, or change the file",
            )
        experiment = read_experiment(inputs[0])
    else:
        models = _specs(model or [], kernel or [])
        experiment = Experiment(
            tuple(inputs), models, split=split, columns=columns.given(), **others
        )
    with work.status("Reading and splitting"):
        parts = experiment.load_split()
    note_ratings(experiment.data, experiment.columns)
    with work.counter("Evaluating") as count:
        run = run_experiment(experiment, out, split=parts, n_threads=threads, progress=count)
    with work.status("Comparing"):
        table, records = _results(run)
    output.show(table, records=records)
    where = "" if run.folder is None else f"; {run.folder / 'results.json'}"
    total = len(run.split) * len(run.evaluations)
    work.done(f"{run.computed} of {total} results are new{where}", beside_data=out is None)


def _specs(models: list[str], kernels: list[str]) -> tuple[ModelSpec, ...]:
    if not models and not kernels:
        raise ParameterError(
            "there is no model to evaluate",
            hint="give some, such as --model ease --model popularity, or --kernel 'disjunctive(8)'",
        )
    rankers = (ModelSpec("kernel-ranker", {"kernel": each}) for each in kernels)
    return *rankers, *map(parse_model, models)


def _results(run: Run) -> tuple[Table, list[dict[str, Any]]]:
    """Return a table for people, and a record per model for programs."""
    from ..report.tables import COSTS, by_metric, evaluation_table

    names, found = labels(run.experiment.models), run.evaluations
    results = evaluation_table(dict(zip(names, found.values(), strict=True)), run.experiment.seed)
    rows = dict(zip(found, results.records(), strict=True))
    best = next((name for name, row in rows.items() if row["difference"] is None), None)
    records = [
        {
            "model": name,
            "means": nulls(found[name].means),
            "deviations": nulls(found[name].deviations),
            "folds": len(run.split),
            "split_hash": run.split.hash,
            "best": None if row["difference"] is None else best,
            "difference": row["difference"],
            "interval": None if row["difference"] is None else [row["from"], row["to"]],
            "p": row["p (t)"],
            "p_wilcoxon": row["p (Wilcoxon)"],
        }
        for name, row in rows.items()
    ]
    (table,) = by_metric(results, ["p (Wilcoxon)", *COSTS])
    users = sum(len(fold.users) for fold in next(iter(found.values())).folds)
    title = f"{users:,} test users in {len(run.split)} folds"
    return replace(table, title=title, note=repr(run.split)), records
