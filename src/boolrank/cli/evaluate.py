"""``boolrank evaluate``: how well models rank held-out data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..evaluation.result import nulls
from ..models.spec import ModelSpec, labels, parse_model
from ..studies import Experiment, Run, Summary, read_experiment, run_experiment, summarize
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
        found = summarize(run)
    output.show(_table(run), records=[_record(each, run) for each in found])
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


def _record(found: Summary, run: Run) -> dict[str, Any]:
    row = found.versus_best
    return {
        "model": found.model,
        "means": nulls(found.means),
        "deviations": nulls(found.deviations),
        "folds": len(run.split),
        "split_hash": run.split.hash,
        "best": row and row.baseline,
        "difference": row and row.difference,
        "interval": row and list(row.interval),
        "p": row and row.t_holm,
        "p_wilcoxon": row and row.wilcoxon_holm,
    }


def _table(run: Run) -> Table:
    from ..report.tables import COSTS, by_metric, evaluation_table

    names = labels(run.experiment.models)
    evaluations = dict(zip(names, run.evaluations.values(), strict=True))
    results = evaluation_table(evaluations, run.experiment.seed)
    (table,) = by_metric(results, ["p (Wilcoxon)", *COSTS])
    users = sum(len(fold.users) for fold in evaluations[names[0]].folds)
    title = f"{users:,} test users in {len(run.split)} folds"
    return replace(table, title=title, note=repr(run.split))
