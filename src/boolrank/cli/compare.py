"""``boolrank compare``: models side by side, tuned alike and measured on the same folds."""

from __future__ import annotations

import time as clock
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._extras import needs
from ..errors import MissingExtraError
from . import _complete
from ._inputs import note_ratings
from ._options import (
    Inputs,
    Item,
    Least,
    Metrics,
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
from .evaluate import beside_best, load_split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from ..studies import Experiment, ModelResult, SetComparison

__all__ = ["compare"]


def compare(
    inputs: Inputs,
    *,
    models: Annotated[
        str | None,
        typer.Option(
            help="Models as name,name,...; all that can be had here if not given. One with "
            "parameters, such as 'ease(reg=500)', is not tuned.",
            autocompletion=_complete.models,
        ),
    ] = None,
    metrics: Metrics = None,
    trials: Trials = None,
    seconds: Seconds = None,
    order: Order = None,
    least: Least = None,
    seed: Seed = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page, tables, figures and results.")
    ] = Path("comparison"),
    user: User = None,
    item: Item = None,
    rating: Rating = None,
    time: Time = None,
    positive: Positive = None,
    threads: Threads = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Tune models with the same budget, measure them on the same folds, and write a page of it.

    Users are dealt into six folds, by the paper's protocol: the first is for finding parameters,
    the others test. By each metric, auc and ndcg@10 or those that are given, the parameters that
    are best by it are measured. Inputs that are names of data sets are compared one by one; files
    are parts of one set.

    Into the folder go comparison.html, which needs nothing else, tables/ (CSV, Markdown, LaTeX),
    figures/ (SVG, PNG) and results.json. Results are kept there as they come: stopped and started
    again, the run goes on where it was. A model that fails is in the table with its reason.
    """
    from ..report.comparison import check_report, write_comparison
    from ..report.output import claim_folder
    from ..studies import METRICS, compare_models, record

    work, started = Work(), clock.time()
    trials = 30 if trials is None else trials
    check_report()
    claim_folder(out, "compare")
    tuner = _tuner() if trials else None
    columns = {"user": user, "item": item, "rating": rating, "time": time, "positive": positive}
    sets = _sets(inputs, given({"order": order, "least": least}), given(columns), seed or 0)
    chosen = _models(models)
    found = []
    with work.teller() as told:
        for title, experiment in sets.items():
            told(f"{title}: reading and splitting")
            found.append(
                compare_models(
                    load_split(experiment),
                    chosen,
                    metrics or METRICS,
                    title=title,
                    tuner=tuner,
                    trials=trials,
                    seconds=seconds,
                    seed=seed or 0,
                    folder=out,
                    n_threads=threads,
                    progress=told,
                )
            )
    for experiment in sets.values():
        note_ratings(experiment.data, experiment.columns)
    options = {"models": models, "metrics": metrics, "trials": trials, "seconds": seconds}
    others = {"order": order, "least": least, "seed": seed, "out": out}
    command = command_text("compare", inputs, options | others | columns)
    with work.step("Writing the page"):
        manifest = record(found, out, command=command, started=started, n_threads=threads)
        page = write_comparison(found, out, manifest)
    records = [
        _record(each, model, metric)
        for each in found
        for model in each.models
        for metric in each.metrics
    ]
    print_records(
        records,
        lambda: [_table(found, metric) for metric in found[0].metrics],
        as_json=as_json,
        as_csv=as_csv,
    )
    for each in found:
        for failed in each.failed:
            work.say(f"{each.title}: {failed.name} failed: {failed.error}")
    work.done(f"{page}")
    if not any(each.measured for each in found):
        raise typer.Exit(1)


def _sets(
    inputs: list[str], split: dict[str, Any], columns: dict[str, Any], seed: int
) -> dict[str, Experiment]:
    """By title, what is split; it does not depend on the models."""
    from ..data.inputs import is_name
    from ..studies import FOLDS, Experiment, ModelSpec

    parts = [[each] for each in inputs] if all(is_name([each]) for each in inputs) else [inputs]
    models = (ModelSpec("popularity"),)
    return {
        ", ".join(Path(each).name for each in part): Experiment(
            tuple(part), models, split={"folds": FOLDS} | split, columns=columns, seed=seed
        )
        for part in parts
    }


def _models(names: str | None) -> list[str]:
    from ..models import MODELS
    from ..models.spec import split_commas

    if names is not None:
        return split_commas(names)
    here = []
    for name, entry in MODELS.items():
        with suppress(MissingExtraError):
            entry.load()
            here.append(name)
    return here


def _tuner() -> Callable[..., Any]:
    with needs("tune", "Finding parameters"):  # better said now than of every model
        import optuna  # noqa: F401
    from ..studies import tune_model

    return tune_model


def _record(found: SetComparison, model: ModelResult, metric: str) -> dict[str, Any]:
    figures: tuple[Any, ...] = (None, None, None)
    cost: tuple[Any, ...] = (None, None, None)
    if not model.error:
        measured = model.by(metric)
        figures = str(model.chosen[metric]), measured.means[metric], measured.deviations[metric]
        cost = *model.seconds(metric), model.peak_memory(metric)
    return {
        "data_set": found.title,
        "model": model.name,
        "metric": metric,
        **dict(zip(("parameters", "mean", "deviation"), figures, strict=True)),
        **beside_best(found.versus_best[metric].get(model.name)),
        **dict(zip(("fit_seconds", "rank_seconds", "peak_memory"), cost, strict=True)),
        "error": model.error or None,
    }


def _table(sets: Sequence[SetComparison], metric: str) -> Table:
    """The models of each set with the parameters chosen by a metric, the best first."""
    users = ", ".join(f"{each.title}: {each.users:,} test users" for each in sets)
    columns: dict[str, Any] = {"data set": {}} if len(sets) > 1 else {}
    columns |= {"model": NAME | {"overflow": "fold"}}
    figures = (metric, "beside best", "p", "fit s", "rank s", "MB")
    columns |= dict.fromkeys(figures, NUMBER | {"no_wrap": True})
    table = new_table(columns, title=f"{metric}; {users}; {len(sets[0].split) - 1} folds")
    for each in sets:
        for place, model in enumerate([*each.ranked(metric), *each.failed]):
            cells = _cells(_record(each, model, metric))
            title = ["" if place else each.title] if len(sets) > 1 else []
            table.add_row(*title, model.name, *cells)
    return table


def _cells(record: dict[str, Any]) -> list[str]:
    if record["error"]:
        return ["failed"]
    is_best, peak = record["best"] is None, record["peak_memory"]
    return [
        f"{record['mean']:.4f} ± {record['deviation']:.4f}",
        "best" if is_best else f"{record['difference']:+.4f}",
        "" if is_best else f"{record['p']:.2g}",
        f"{record['fit_seconds']:.2f}",
        f"{record['rank_seconds']:.2f}",
        "" if peak is None else f"{peak / 1e6:,.0f}",
    ]
