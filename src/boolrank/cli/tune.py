"""``boolrank tune``: the parameters of a model, or the arity of a kernel, on validation data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from . import _complete
from ._inputs import note_ratings, time_in_options
from ._options import (
    Inputs,
    Item,
    Order,
    Positive,
    Rating,
    Seconds,
    Seed,
    Threads,
    Time,
    Trials,
    User,
    command_text,
    given,
)
from ._output import NAME, NUMBER, AsCsv, AsJson, new_table, print_records
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table

    from ..data.splits import Fold
    from ..studies import ArityChoice, Study

__all__ = ["tune"]

# As many of the best trials as a table shows.
_SHOWN = 10


def tune(
    inputs: Inputs,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Which model, such as ease or als; default kernel-ranker.",
            autocompletion=_complete.models,
        ),
    ] = None,
    arity: Annotated[
        str | None,
        typer.Option(
            help="Search only the arity of a family of kernels, such as disjunctive or "
            "'threshold(2, {})'.",
            autocompletion=_complete.kernels,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metrics as name,name@k,...; the best is by the first; default auc,ndcg@10.",
            autocompletion=_complete.metrics,
        ),
    ] = None,
    trials: Trials = None,
    seconds: Seconds = None,
    order: Order = None,
    seed: Seed = None,
    out: Annotated[
        Path, typer.Option(help="Folder for studies; what is there already is not tried again.")
    ] = Path("tuning"),
    user: User = None,
    item: Item = None,
    rating: Rating = None,
    time: Time = None,
    positive: Positive = None,
    threads: Threads = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Try parameters of a model on validation data, and print the best.

    Validation data are the first of six folds of users by the paper's protocol; the users of the
    other five are left for tests. The first trial has the default parameters, the others are drawn
    by optuna's TPE sampler. A trial that fails is recorded, and the study goes on. Stopped and
    started again with the same command, it goes on where it was.
    """
    from ..studies import tune_model
    from ..studies.cache import check_folder

    work = Work()
    if trials == 0:
        raise typer.BadParameter("at least one is needed", param_hint="'--trials'")
    others = given({"model": model, "trials": trials, "seconds": seconds})
    if arity is not None and others:
        raise ParameterError(
            f"--arity searches by itself: leave out --{next(iter(others))}, or tune the model "
            "without --arity"
        )
    if arity is None:
        check_folder(out)
    columns = given(
        {"user": user, "item": item, "rating": rating, "time": time, "positive": positive}
    )
    measures = (metric or ("auc" if arity else "auc,ndcg@10")).split(",")
    with work.step("Reading and splitting"):
        fold = _fold(inputs, order, seed or 0, columns)
    note_ratings(inputs, columns)
    if arity is not None:
        _tune_arity(work, fold, arity, measures, threads, as_json=as_json, as_csv=as_csv)
        return
    name = model or "kernel-ranker"
    with work.counter("Tuning") as told:
        try:
            study = tune_model(
                name,
                fold,
                measures,
                trials=trials or 30,
                seconds=seconds,
                seed=seed or 0,
                folder=out,
                n_threads=threads,
                progress=told,
            )
        except KeyboardInterrupt:
            work.say(f"the trials so far are kept in {out}; the same command goes on from there")
            raise
    records = _records(study)
    print_records(records, lambda: _table(study, records), as_json=as_json, as_csv=as_csv)
    for measure in study.metrics:
        work.say(f"best {measure}: {_python(study, measure)}")
    if name == "kernel-ranker":
        options = {**columns, **study.best().params, "out": "model"}
        work.say(f"to use it: {command_text('fit', inputs, options)}")
    work.done(f"{len(study.trials)} trials, {study.failed} failed; {out}")


def _fold(inputs: list[str], order: str | None, seed: int, columns: dict[str, str]) -> Fold:
    from ..data.inputs import load_inputs
    from ..studies import validation_fold

    in_file_order = order == "file"
    data = load_inputs(inputs, None, in_file_order, **columns)
    with time_in_options():
        return validation_fold(data, "time" if in_file_order else order or "time", seed)


def _tune_arity(
    work: Work,
    fold: Fold,
    family: str,
    measures: list[str],
    threads: int | None,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    from ..studies import arity_from_spectrum, best_arity

    if len(measures) > 1:
        raise ParameterError("an arity is chosen by one metric; give one, such as --metric auc")
    with work.counter("Measuring") as told:
        found = best_arity(fold, family, measures[0], n_threads=threads, progress=told)
    records = [
        {"kernel": family, "arity": arity, found.measure: value, "best": arity == found.arity}
        for arity, value in found.measured.items()
    ]
    print_records(records, lambda: _arities(found), as_json=as_json, as_csv=as_csv)
    try:
        from_spectrum = (
            f"; from the spectrum alone: {arity_from_spectrum(fold.train, family).kernel}"
        )
    except ParameterError:  # the rule is for families whose ratio falls
        from_spectrum = ""
    work.done(f"best by {found.measure}: {found.kernel}{from_spectrum}")


def _records(study: Study) -> list[dict[str, Any]]:
    """The trials, the best first, and those that failed at the end."""
    numbers = {id(trial): number for number, trial in enumerate(study.trials)}
    order = [*study.ranked(), *(trial for trial in study.trials if not trial.worked)]
    return [
        {
            "model": study.model,
            "trial": numbers[id(trial)],
            "params": dict(trial.params),
            "metrics": {name: trial.metrics.get(name) for name in study.metrics},
            "seconds": round(trial.seconds, 3),
            "error": trial.error or None,
        }
        for trial in order
    ]


def _table(study: Study, records: list[dict[str, Any]]) -> Table:
    shown = records[: min(_SHOWN, len(study.trials) - study.failed)]
    title = f"The best of {len(study.trials)} trials of {study.model}, {study.failed} failed"
    columns: dict[str, Any] = {"trial": NUMBER, "parameters": NAME | {"overflow": "fold"}}
    columns |= dict.fromkeys(study.metrics, NUMBER | {"no_wrap": True})
    table = new_table(columns, title=title)
    for row in shown:
        given = ", ".join(f"{name}={_short(value)}" for name, value in row["params"].items())
        values = [f"{row['metrics'][name]:.4f}" for name in study.metrics]
        table.add_row(f"{row['trial']}", given or "the defaults", *values)
    return table


def _arities(found: ArityChoice) -> Table:
    table = new_table({"arity": NUMBER, found.measure: NUMBER, "": {}})
    for arity, value in found.measured.items():
        table.add_row(f"{arity}", f"{value:.4f}", "best" if arity == found.arity else "")
    return table


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _python(study: Study, measure: str) -> str:
    best = study.best(measure)
    given = "".join(f", {name}={value!r}" for name, value in best.params.items())
    return f"make_model({study.model!r}{given})  # {best.metrics[measure]:.4f}"
