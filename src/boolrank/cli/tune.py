"""``boolrank tune``: search the parameters of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..data.protocols import usual_order
from ..errors import ParameterError
from ..models.spec import parse_model, split_commas
from ..models.tag_columns import tag_table
from ..report.cautions import cautions
from ..storage.output import check_output
from ..studies import Study, Trial, tune_model, validation_fold
from ..table import Column, Table, counted
from ._inputs import Columns, command_text, fit_command, given, read_events, read_items
from ._output import Output, counter, done, say

_MAX_TRIALS = 10  # in a table


def tune(
    inputs: list[str] | None = None,
    *,
    model: str | None = None,
    metric: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    order: str | None = None,
    seed: int | None = None,
    items: str | None = None,
    sets: str | None = None,
    attributes: str | None = None,
    out: Path = Path("tuning"),
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Try parameters of a model on validation data, and print the best.

    Validation data is the first of six folds of users by the paper's protocol; the users of the
    other five are left for tests. The first trial has the default parameters, optuna's TPE sampler
    draws the others. Failed trials are recorded. A stopped study continues when the same command is
    run again. At the end there is a `fit` command for the best model by each metric. With --items,
    kernels have terms over the tags of items: all columns of sets, or --attributes.
    """
    inputs = columns.inputs(inputs)
    budget = given({"trials": trials, "seconds": seconds})
    names = [each.partition("(")[0] for each in split_commas(model or "")]
    if len(names) > 1:
        command = command_text("compare", inputs, {**columns.given(), "models": ",".join(names)})
        hint = f"several: {command}"
        raise ParameterError("tune takes one model", hint=hint, parameter="model")
    spec = parse_model(model or "kernel-ranker")
    if spec.changes:
        problem = f"tune chooses the parameters of {spec.name}"
        raise ParameterError(problem, hint=f"write --model {spec.name}")
    check_output(out)
    in_file_order = order == "file"
    events = read_events(inputs, columns.given(), file_order=in_file_order or None)
    if items is not None:
        table = read_items(items, sets, events)
        named = None if attributes is None else split_commas(attributes)
        events = replace(events, table=table if named is None else tag_table(table, named))
    chosen = "time" if in_file_order else order or usual_order(events)
    fold = validation_fold(events, chosen, seed or 0)
    options = budget | given({"metrics": metric, "seed": seed})
    try:
        with counter("Tuning") as count:
            study = tune_model(
                spec.name, fold, **options, folder=out, n_threads=threads, progress=count
            )
    except KeyboardInterrupt:
        say(f"finished trials are kept in {out}; the same command continues")
        raise
    numbers = {id(trial): number for number, trial in enumerate(study.trials)}
    _show(study, numbers, output)
    done(f"{counted(len(study.trials), 'trial')}, {study.failed} failed; {out}")
    for name in study.metrics:
        command = fit_command(inputs, columns, study.spec(name), items=items, sets=sets)
        say(f"best {name}, {study.best(name).metrics[name]:.4f}: {command}")
        ranked = {f"trial {numbers[id(each)]}": each.metrics for each in study.ranked(name)}
        for caution in cautions(ranked, name):
            say(f"note: {caution}")
    if model is None:
        command = fit_command(inputs, columns)
        say(f"note: only {spec.name} was tried; this compares several models: {command}")


def _show(study: Study, numbers: dict[int, int], output: Output) -> None:
    """Print the trials, the best first and the failed last; in a table only the best."""
    ranked = study.ranked()
    measured = list(ranked[0].metrics)
    records = [
        {
            "model": study.model,
            "trial": numbers[id(trial)],
            "params": dict(trial.params),
            "metrics": {name: trial.metrics.get(name) for name in measured},
            "seconds": round(trial.seconds, 3),
            "error": trial.error or None,
        }
        for trial in [*ranked, *(trial for trial in study.trials if not trial.worked)]
    ]
    columns = [Column("trial", "d"), Column("parameters", style="name", wrap="fold")]
    columns += [Column(name, ".4f", wrap="never") for name in measured]
    rows = [
        (numbers[id(trial)], _text(trial), *(trial.metrics[name] for name in measured))
        for trial in ranked[:_MAX_TRIALS]
    ]
    tried = f"{counted(len(study.trials), 'trial')} of {study.model}, {study.failed} failed"
    output.show(Table(f"The best of {tried}", columns, rows), records=records)


def _text(trial: Trial) -> str:
    """Return the parameters of a trial with four digits."""
    short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in trial.params.items()}
    return ", ".join(f"{name}={value}" for name, value in short.items()) or "defaults"
