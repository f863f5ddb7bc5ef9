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
)
from ._output import AsCsv, AsJson, new_table, print_records
from ._work import Work
from .evaluate import given, load_split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from ..comparison import ModelResult, SetComparison
    from ..experiments import Experiment

__all__ = ["compare"]

# What a record has of a model and metric, where there is any.
_FOUND = (
    *("parameters", "mean", "deviation", "best", "difference", "interval", "p", "p_wilcoxon"),
    *("fit_seconds", "rank_seconds", "peak_memory", "error"),
)


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
    from ..comparison import METRICS, compare_models, record
    from ..experiments.cells import check_folder
    from ..report.comparison import check_report, write_comparison

    work, started = Work(), clock.time()
    trials = 30 if trials is None else trials
    check_report()
    check_folder(out)
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
    command = _command(inputs, options | others | columns)
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
            text = f"{each.title}: {failed.name} failed: {failed.error}"
            work.messages.print(text, markup=False, soft_wrap=True)
    work.done(f"{page}")
    if not any(each.measured for each in found):
        raise typer.Exit(1)


def _sets(
    inputs: list[str], split: dict[str, Any], columns: dict[str, Any], seed: int
) -> dict[str, Experiment]:
    """By title, what is split; it does not depend on the models."""
    from ..comparison import FOLDS
    from ..data.inputs import is_name
    from ..experiments import Experiment, ModelSpec

    parts = [[each] for each in inputs] if all(is_name([each]) for each in inputs) else [inputs]
    models = (ModelSpec("popularity"),)
    return {
        ", ".join(Path(each).name for each in part): Experiment(
            tuple(part), models, split={"folds": FOLDS} | split, columns=columns, seed=seed
        )
        for part in parts
    }


def _models(given: str | None) -> list[str]:
    from ..experiments.specs import split_commas
    from ..models import MODELS

    if given is not None:
        return split_commas(given)
    here = []
    for name, entry in MODELS.items():
        with suppress(MissingExtraError):
            entry.load()
            here.append(name)
    return here


def _tuner() -> Callable[..., Any]:
    with needs("tune", "Finding parameters"):  # better said now than of every model
        import optuna  # noqa: F401
    from ..tuning import tune_model

    return tune_model


def _command(inputs: list[str], options: dict[str, Any]) -> str:
    from shlex import join

    words = [word for name, value in given(options).items() for word in (f"--{name}", str(value))]
    return join(["boolrank", "compare", *inputs, *words])


def _record(found: SetComparison, model: ModelResult, metric: str) -> dict[str, Any]:
    out: dict[str, Any] = {"data_set": found.title, "model": model.name, "metric": metric}
    out |= dict.fromkeys(_FOUND)
    if model.error:
        return out | {"error": model.error}
    measured, versus = model.by(metric), found.versus_best[metric].get(model.name)
    fit, rank = model.seconds(metric)
    out |= {
        "parameters": str(model.chosen[metric]),
        "mean": measured.means[metric],
        "deviation": measured.deviations[metric],
        "fit_seconds": fit,
        "rank_seconds": rank,
        "peak_memory": model.peak_memory(metric),
    }
    if versus is not None:
        out |= {
            "best": versus.baseline,
            "difference": versus.difference,
            "interval": list(versus.interval),
            "p": versus.t_holm,
            "p_wilcoxon": versus.wilcoxon_holm,
        }
    return out


def _table(sets: Sequence[SetComparison], metric: str) -> Table:
    """Models by a metric, with the parameters chosen by it, the best first."""
    from rich.text import Text

    users = ", ".join(f"{each.title}: {each.users:,} test users" for each in sets)
    table = new_table(title=f"{metric}; {users}; {len(sets[0].split) - 1} folds")
    if len(sets) > 1:
        table.add_column("data set")
    table.add_column("model", style="cyan", overflow="fold")
    for name in (metric, "beside best", "p", "fit s", "rank s", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in sets:
        for place, model in enumerate([*each.ranked(metric), *each.failed]):
            title = ["" if place else each.title] if len(sets) > 1 else []
            table.add_row(*title, Text(model.name), *_cells(_record(each, model, metric)))
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    """What a record says, as people read it."""
    if row["error"]:
        return ["failed"]
    mean = f"{row['mean']:.4f} ± {row['deviation']:.4f}"
    beside = ["best", ""]
    if row["best"]:
        beside = [f"{row['difference']:+.4f}", f"{row['p']:.2g}"]
    memory = "" if row["peak_memory"] is None else f"{row['peak_memory'] / 1e6:,.0f}"
    return [mean, *beside, f"{row['fit_seconds']:.2f}", f"{row['rank_seconds']:.2f}", memory]
