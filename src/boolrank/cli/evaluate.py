"""``boolrank evaluate``: how well models rank held-out data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import ParameterError
from ..models.spec import ModelSpec, labels, parse_model
from ..studies import Experiment, read_experiment, run_experiment
from ._inputs import note_ratings
from ._options import Columns, given, option_name
from ._output import Output, Work


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
    from ..report.tables import COSTS, by_metric, evaluation_table

    work = Work()
    split = given({"folds": folds, "order": order, "least": least, "share": share})
    others = given({"protocol": protocol, "metrics": metrics, "seed": seed})
    models = given({"model": model, "kernel": kernel})
    if len(inputs) == 1 and inputs[0].lower().endswith(".toml"):
        extra = {**models, **split, **columns.given(), **others}
        if extra:
            raise ParameterError(
                f"{inputs[0]} describes the whole experiment",
                hint=f"leave out {option_name(next(iter(extra)))}, or change the file",
            )
        experiment = read_experiment(inputs[0])
    elif not models:
        raise ParameterError(
            "there is no model to evaluate",
            hint="give some, such as --model ease --model popularity, or --kernel 'disjunctive(8)'",
        )
    else:
        specs = [ModelSpec("kernel-ranker", {"kernel": each}) for each in kernel or []]
        specs += map(parse_model, model or [])
        experiment = Experiment(
            tuple(inputs), tuple(specs), split=split, columns=columns.given(), **others
        )
    with work.status("Reading and splitting"):
        parts = experiment.load_split()
    note_ratings(experiment.data, experiment.columns)
    with work.counter("Evaluating") as count:
        run = run_experiment(experiment, out, split=parts, n_threads=threads, progress=count)
    with work.status("Comparing"):
        results = evaluation_table(run.evaluations, experiment.seed)
    (table,) = by_metric(results, ["p (Wilcoxon)", *COSTS])
    short = dict(zip(run.evaluations, labels(experiment.models), strict=True))
    users = sum(len(fold.users) for fold in next(iter(run.evaluations.values())).folds)
    title = f"{users:,} test users in {len(parts)} folds"
    shown = replace(table.mapped("model", short.__getitem__), title=title, note=repr(parts))
    output.show(shown, records=results.records())
    where = "" if run.folder is None else f"; {run.folder / 'results.json'}"
    total = len(parts) * len(run.evaluations)
    work.done(f"{run.computed} of {total} results are new{where}", beside_data=out is None)
