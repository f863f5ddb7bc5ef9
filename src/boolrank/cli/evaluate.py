"""``boolrank evaluate``: how well models rank held-out data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..data.splits import Split
from ..errors import ParameterError
from ..models.spec import ModelSpec, labels, parse_model
from ..studies import Experiment, choose, read_experiment, run_experiment
from ..studies.experiment import PUBLISHED
from ._inputs import say_read
from ._options import AUTO, Columns, given, option_name, race_options
from ._output import Output, Work, say


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
    trials: int | None = None,
    budget: str | None = None,
    out: Path | None = None,
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Split the data, fit each model on the training part, and measure how it ranks the rest.

    A split that exists is given by --train and --test. The input can also be an experiment: one
    .toml file instead of all other options. The model auto is chosen on the training part, as `fit`
    does, if there is one fold.

    A row has the mean over the folds with its standard deviation, and the difference to the best
    model with its 95 % interval (paired bootstrap over users) and p value (paired t test, Holm's
    correction); * means p < 0.05. The default metrics are auc, map@10 and ndcg@10.
    """
    from ..report.tables import COSTS, by_metric, evaluation_table

    work = Work()
    if AUTO not in (model or []):
        for name in given({"trials": trials, "budget": budget}):
            raise ParameterError(f"--{name} goes with --model auto", hint="leave out one of them")
    if train is not None or test is not None:
        inputs, protocol = _parts(inputs, train, test, protocol), PUBLISHED
    if not inputs:
        raise ParameterError("there are no data", hint="name files, or --train and --test")
    split = given({"folds": folds, "order": order, "least": least, "share": share})
    others = given({"protocol": protocol, "metrics": metrics, "seed": seed})
    models = given({"model": model, "kernel": kernel})
    specs: list[ModelSpec] = []
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
        specs += [ModelSpec("kernel-ranker", {"kernel": each}) for each in kernel or []]
        specs += [parse_model(each) for each in model or [] if each != AUTO]
        some = tuple(specs) or (ModelSpec("popularity"),)  # until auto is chosen
        experiment = Experiment(tuple(inputs), some, split=split, columns=columns.given(), **others)
    with work.status("Reading and splitting"):
        parts = experiment.load_split()
    if AUTO in (model or []):
        chosen = _chosen(work, parts, experiment, trials, budget, threads)
        experiment = replace(experiment, models=(*specs, chosen))
    say_read(parts.data)
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


def _parts(
    inputs: list[str] | None, train: str | None, test: str | None, protocol: str | None
) -> list[str]:
    if inputs or train is None or test is None or protocol not in (None, PUBLISHED):
        raise ParameterError(
            "--train and --test are a whole split", hint="give both, and no other data or protocol"
        )
    return [train, test]


def _chosen(
    work: Work,
    parts: Split,
    experiment: Experiment,
    trials: int | None,
    budget: str | None,
    threads: int | None,
) -> ModelSpec:
    """Choose a model by the first metric, on the training part alone."""
    if len(parts) > 1:
        raise ParameterError(
            f"auto needs one fold, and there are {len(parts)} folds, which share interactions",
            hint="take one fold, such as --protocol hold_out, or name the model",
        )
    race = race_options(experiment.metrics[0], trials, budget)
    with work.counter("Choosing") as count:
        choice = choose(parts[0].train, **race, n_threads=threads, progress=count)
    say(f"auto is {choice.spec}: {choice.reason}")
    return choice.spec
