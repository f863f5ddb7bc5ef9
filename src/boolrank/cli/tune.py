"""``boolrank tune``: search the parameters of a model, or the arity of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.inputs import load_inputs
from ..data.splits import Fold
from ..errors import ParameterError
from ..models.spec import parse_model
from ..studies import Study, arity_from_spectrum, best_arity, tune_model, validation_fold
from ..studies.cache import check_folder
from ..table import Column, Table
from ._inputs import note_ratings
from ._options import Columns, fit_command, given
from ._output import Output, say
from ._work import Work

_MAX_TRIALS = 10  # in a table


def tune(
    inputs: list[str],
    *,
    model: str | None = None,
    arity: str | None = None,
    metric: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    order: str | None = None,
    seed: int | None = None,
    out: Path = Path("tuning"),
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Try parameters of a model on validation data, and print the best.

    Validation data is the first of six folds of users by the paper's protocol; the users of the
    other five are left for tests. The first trial has the default parameters, optuna's TPE sampler
    draws the others. Failed trials are recorded. A stopped study continues when the same command is
    run again. At the end there is a `fit` command for the best model by each metric.
    """
    work = Work()
    budget = given({"trials": trials, "seconds": seconds})
    others = [*given({"model": model}), *budget]
    if arity is not None and others:
        raise ParameterError(
            f"--arity does not go with --{others[0]}", hint="leave out one of them"
        )
    spec = parse_model(model or "kernel-ranker")
    if spec.changes:
        raise ParameterError(
            f"tune chooses the parameters of {spec.name}", hint=f"write --model {spec.name}"
        )
    if arity is None:
        check_folder(out)
    with work.status("Reading and splitting"):
        fold = _fold(inputs, order, seed or 0, columns.given())
    note_ratings(inputs, columns.given())
    if arity is not None:
        _tune_arity(work, fold, arity, metric or "auc", threads, output)
        return
    try:
        with work.counter("Tuning") as count:
            study = tune_model(
                spec.name,
                fold,
                **given({"metrics": metric, "seed": seed}),
                **budget,
                folder=out,
                n_threads=threads,
                progress=count,
            )
    except KeyboardInterrupt:
        say(f"finished trials are kept in {out}; the same command continues")
        raise
    records = _records(study)
    output.show(_table(study, records), records=records)
    work.done(f"{len(study.trials)} trials, {study.failed} failed; {out}")
    for each in study.metrics:
        best = study.best(each)
        command = fit_command(inputs, columns, study.spec(each))
        say(f"best {each}, {best.metrics[each]:.4f}: {command}")


def _fold(inputs: list[str], order: str | None, seed: int, columns: dict[str, str]) -> Fold:
    in_file_order = order == "file"
    data = load_inputs(inputs, None, in_file_order, **columns)
    return validation_fold(data, "time" if in_file_order else order or "time", seed)


def _tune_arity(
    work: Work, fold: Fold, family: str, metric: str, threads: int | None, output: Output
) -> None:
    if "," in metric:
        raise ParameterError(
            "an arity is chosen by one metric", hint="give one, such as --metric auc"
        )
    with work.counter("Evaluating") as count:
        found = best_arity(fold, family, metric, n_threads=threads, progress=count)
    columns = {"kernel": "", "arity": "d", found.measure: ".4f", "best": ""}
    rows = [(family, arity, value, arity == found.arity) for arity, value in found.measured.items()]
    output.show(Table.of("", columns, rows).emphasise_max(found.measure))
    try:
        spectrum = f"; by the spectrum alone: {arity_from_spectrum(fold.train, family).kernel}"
    except ParameterError:  # that rule needs a ratio that falls with the arity
        spectrum = ""
    work.done(f"best by {found.measure}: {found.kernel}{spectrum}")


def _records(study: Study) -> list[dict[str, Any]]:
    """Return the trials, the best first and the failed last."""
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
    columns = [Column("trial", "d"), Column("parameters", style="name", wrap="fold")]
    columns += [Column(name, ".4f", wrap="never") for name in study.metrics]
    rows = [
        (record["trial"], _text(record["params"]), *record["metrics"].values())
        for record in records[: min(_MAX_TRIALS, len(study.trials) - study.failed)]
    ]
    title = f"The best of {len(study.trials)} trials of {study.model}, {study.failed} failed"
    return Table(title, columns, rows)


def _text(params: dict[str, Any]) -> str:
    texts = (f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in params.items())
    return ", ".join(texts) or "defaults"
