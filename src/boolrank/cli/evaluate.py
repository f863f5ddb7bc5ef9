"""``boolrank evaluate``: how well models rank on data that were held back."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from . import _complete
from ._errors import as_option
from ._inputs import note_ratings, time_in_options
from ._options import (
    Inputs,
    Item,
    Kernels,
    Least,
    Metrics,
    Models,
    NegativeWeight,
    Order,
    Positive,
    Rating,
    Reg,
    Seed,
    Threads,
    Time,
    User,
    given,
)
from ._output import NAME, NUMBER, AsCsv, AsJson, new_table, print_records
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table

    from ..data.splits import Split
    from ..evaluation import Comparison
    from ..studies import Experiment, ModelSpec, Run, Summary

__all__ = ["beside_best", "evaluate", "load_split"]

# Names up to this one stand in one line; longer ones, of sums of kernels, may break.
_LONGEST = 24
# What the library advises, too.
_FEWER_FOLDS = "take fewer folds, or "


def evaluate(
    inputs: Inputs,
    *,
    kernel: Kernels = None,
    model: Models = None,
    reg: Reg = None,
    negative_weight: NegativeWeight = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="How data are split: paper, leave_one_out, hold_out, temporal, strong, "
            "published; default paper.",
            autocompletion=_complete.protocols,
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="How many, where the protocol has any.")] = None,
    order: Order = None,
    least: Least = None,
    share: Annotated[
        float | None, typer.Option(help="Which part tests, where the protocol has one.")
    ] = None,
    metrics: Metrics = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results; what is there already is not computed again."),
    ] = None,
    user: User = None,
    item: Item = None,
    rating: Rating = None,
    time: Time = None,
    positive: Positive = None,
    threads: Threads = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Split data, fit each model on the training part, and measure how it ranks the rest.

    The one input can also be an experiment, a .toml file, which says all of it.

    A row has the means over the folds with their standard deviations, and how the model stands
    beside the best by the first metric: the difference, its 95 % interval (paired bootstrap over
    users), and p (paired t, Holm's correction). The metrics are auc, map@10 and ndcg@10, or those
    that are given.
    """
    from ..studies import Experiment, read_experiment, run_experiment, summarize

    work = Work()
    split = {"folds": folds, "order": order, "least": least, "share": share}
    columns = {"user": user, "item": item, "rating": rating, "time": time, "positive": positive}
    others = {"protocol": protocol, "metrics": metrics, "seed": seed}
    of_kernels = {"reg": reg, "negative_weight": negative_weight}
    if len(inputs) == 1 and inputs[0].lower().endswith(".toml"):
        models = {"kernel": kernel, "model": model} | of_kernels
        beside = given(models | split | columns | others)
        if beside:
            raise ParameterError(
                f"{inputs[0]} says all of it; leave out {as_option(next(iter(beside)))}, or change "
                "the file"
            )
        experiment = read_experiment(inputs[0])
    else:
        experiment = Experiment(
            tuple(inputs),
            _models(kernel or [], model or [], given(of_kernels)),
            split=given(split),
            columns=given(columns),
            **given(others),
        )
    with work.step("Reading and splitting"):
        parts = load_split(experiment, folds_chosen=True)
    note_ratings(experiment.data, experiment.columns)
    with work.counter("Measuring") as told:
        run = run_experiment(experiment, out, split=parts, n_threads=threads, progress=told)
    with work.step("Comparing"):
        found = summarize(run)
    records = [_record(each, run) for each in found]
    print_records(records, lambda: _table(found, run), as_json=as_json, as_csv=as_csv)
    where = "" if run.folder is None else f"; {run.folder / 'results.json'}"
    total = len(run.split) * len(run.evaluations)
    text = f"{run.computed} of {total} results were new{where}"
    work.done(text, beside_data=out is None)


def _models(
    kernels: list[str], names: list[str], of_kernels: dict[str, Any]
) -> tuple[ModelSpec, ...]:
    from ..studies import RankerSpec, parse_model

    if not kernels and not names:
        raise ParameterError(
            "there is no model to evaluate; give one or more, such as --kernel linear --kernel "
            "'disjunctive(8)' --model popularity"
        )
    return *(RankerSpec(each, **of_kernels) for each in kernels), *map(parse_model, names)


def load_split(experiment: Experiment, *, folds_chosen: bool = False) -> Split:
    """Read and split data; where there is no choice of folds, none is advised."""
    try:
        with time_in_options():
            return experiment.load_split()
    except ParameterError as error:
        said = str(error).replace(_FEWER_FOLDS, "")
        if folds_chosen or said == str(error):
            raise
        raise ParameterError(said) from error


def beside_best(versus: Comparison | None) -> dict[str, Any]:
    """What a record says of a model beside the best; nothing of the best one itself."""
    if versus is None:
        return dict.fromkeys(("best", "difference", "interval", "p", "p_wilcoxon"))
    return {
        "best": versus.baseline,
        "difference": versus.difference,
        "interval": list(versus.interval),
        "p": versus.t_holm,
        "p_wilcoxon": versus.wilcoxon_holm,
    }


def _record(found: Summary, run: Run) -> dict[str, Any]:
    from ..evaluation.result import nulls

    return {
        "model": found.model,
        "means": nulls(found.means),
        "deviations": nulls(found.deviations),
        "folds": len(run.split),
        "split_hash": run.split.hash,
    } | beside_best(found.versus_best)


def _table(found: list[Summary], run: Run) -> Table:
    metrics = list(found[0].means)
    versus = next((each.versus_best for each in found if each.versus_best is not None), None)
    users = sum(len(fold.users) for fold in next(iter(run.evaluations.values())).folds)
    # On a narrow terminal figures break between, never within; names give way last.
    short = max(len(each.model) for each in found) <= _LONGEST
    columns: dict[str, Any] = {"model": NAME | {"overflow": "fold", "no_wrap": short}}
    columns |= dict.fromkeys(metrics, NUMBER)
    if versus is not None:
        columns |= {f"{versus.metric} beside the best": NUMBER, "95 % interval": NUMBER}
        columns |= {"p": NUMBER | {"no_wrap": True}}
    table = new_table(columns, title=f"{users:,} test users in {len(run.split)} folds")
    for each in found:
        cells = [_figure(each.means[name], each.deviations[name]) for name in metrics]
        row = each.versus_best
        if versus is not None and row is None:
            cells += ["best", "", ""]
        elif row is not None:
            low, high = row.interval
            cells += [f"{row.difference:+.4f}", f"{low:+.4f} {high:+.4f}", f"{row.t_holm:.2g}"]
        table.add_row(each.model, *cells)
    table.caption = repr(run.split)
    table.caption_justify = "left"
    return table


def _figure(mean: float, deviation: float) -> str:
    if math.isnan(mean):
        return "none"
    return f"{mean:.4f}" + ("" if math.isnan(deviation) else f" ± {deviation:.4f}")
