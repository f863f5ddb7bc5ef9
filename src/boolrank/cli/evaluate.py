"""``boolrank evaluate``: how well models rank held-out data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.splits import Split
from ..errors import ParameterError
from ..models.spec import ModelSpec, labels, parse_model
from ..studies import Experiment, Run, choose, read_experiment, run_experiment
from ..studies.experiment import PUBLISHED
from ..table import Table, counted
from ._inputs import AUTO, Columns, given, race_options, read_items, say_read
from ._options import option_name
from ._output import Output, counter, done, say, status


def evaluate(
    inputs: list[str] | None = None,
    *,
    train: str | None = None,
    test: str | None = None,
    model: list[str] | None = None,
    kernel: list[str] | None = None,
    protocol: str | None = None,
    folds: int | None = None,
    order: str | None = None,
    least: int | None = None,
    share: float | None = None,
    metrics: str | None = None,
    seed: int | None = None,
    items: str | None = None,
    sets: str | None = None,
    trials: int | None = None,
    budget: str | None = None,
    out: Path | None = None,
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Split the data, fit each model on the training part, and measure how it ranks the rest.

    Without a model, the one that `fit` would choose is measured beside popularity: auto is chosen
    on the training part alone, and needs a split of one fold; the default is then hold_out. --train
    and --test give an existing split. The input can also be an experiment: one .toml file instead
    of all other options.

    A row has the mean over the folds with its standard deviation, and the difference to the best
    model with its 95 % interval (paired bootstrap over users) and p value (paired t test, Holm's
    correction); * means p < 0.05. Default metrics: auc, map@10 and ndcg@10 for accuracy; coverage,
    novelty and top10_share for the variety of lists.
    """
    from ..report.tables import evaluation_table

    is_experiment = inputs is not None and [i.lower()[-5:] for i in inputs] == [".toml"]
    if not (model or kernel or is_experiment):
        model = [AUTO, "popularity"]
    auto = AUTO in (model or [])
    race = race_options(metrics, trials, budget, auto=auto)
    if train is not None or test is not None:
        if inputs or train is None or test is None or protocol not in (None, PUBLISHED):
            hint = "give both, and no other data or protocol"
            raise ParameterError("--train and --test are a whole split", hint=hint)
        inputs, protocol = [train, test], PUBLISHED
    inputs = columns.inputs(inputs, "--train and --test, or ")
    split = given({"folds": folds, "order": order, "least": least, "share": share})
    others = given({"protocol": protocol, "metrics": metrics, "seed": seed})
    specs: list[ModelSpec] = []
    if is_experiment:
        extra = given({"model": model, "kernel": kernel}) | split | columns.given() | others
        if extra:
            raise ParameterError(
                f"{inputs[0]} describes the whole experiment",
                hint=f"leave out {option_name(next(iter(extra)))}, or change the file",
            )
        experiment = read_experiment(inputs[0])
    else:
        if auto:
            others.setdefault("protocol", "hold_out")
        specs += [ModelSpec("kernel-ranker", {"kernel": each}) for each in kernel or []]
        specs += [parse_model(each) for each in model or [] if each != AUTO]
        models, read = tuple(specs), columns.given()
        experiment = Experiment(tuple(inputs), models, split=split, columns=read, **others)
    with status("Reading and splitting"):
        parts = experiment.load_split()
    say_read(parts.data)
    if items is not None:
        table = read_items(items, sets, parts.data)
        parts = replace(parts, data=replace(parts.data, table=table))
    if auto:
        chosen = _chosen(parts, experiment, race, threads)
        experiment = replace(experiment, models=(chosen, *specs))
    with counter("Evaluating") as count:
        run = run_experiment(experiment, out, split=parts, n_threads=threads, progress=count)
    with status("Comparing"):
        results = evaluation_table(run.evaluations, experiment.seed)
    _show(run, results, output)
    where = "" if run.folder is None else f"; {run.folder / 'results.json'}"
    total = counted(len(parts) * len(run.evaluations), "result", "are")
    done(f"{run.computed} of {total} new{where}", beside_data=out is None)


def _show(run: Run, results: Table, output: Output) -> None:
    """Print the results with short names, and cautions about the best model."""
    from ..report.cautions import cautions
    from ..report.tables import COSTS, by_metric, split_variety

    (table,) = by_metric(results, ["p (Wilcoxon)", *COSTS])
    short = dict(zip(run.evaluations, labels(run.experiment.models), strict=True))
    first = next(iter(run.evaluations.values()))
    shown = replace(
        table.mapped("model", short.__getitem__), title=first.size_text, note=repr(run.split)
    )
    output.show(*split_variety(shown), records=results.records())
    metric = (first.user_metrics or first.metrics)[0]
    means = {short[name]: each.means for name, each in run.evaluations.items()}
    ranked = sorted(means, key=lambda name: first.gain(metric, means[name][metric]), reverse=True)
    for caution in cautions({name: means[name] for name in ranked}, metric):
        say(f"note: {caution}")


def _chosen(
    parts: Split, experiment: Experiment, race: dict[str, Any], threads: int | None
) -> ModelSpec:
    """Choose a model on the training part alone, by the first metric given or as `fit` does."""
    if len(parts) > 1:
        raise ParameterError(
            f"auto needs one fold, and there are {len(parts)} folds, which share interactions",
            hint="take one fold, such as --protocol hold_out, or name the model",
        )
    if "metric" in race:
        race["metric"] = experiment.metrics[0]
    race["order"] = parts.parameters.get("order")
    with counter("Choosing") as count:
        choice = choose(parts[0].train, **race, n_threads=threads, progress=count)
    say(f"auto is {choice.spec}, chosen on the training part: {choice.reason}")
    return choice.spec
