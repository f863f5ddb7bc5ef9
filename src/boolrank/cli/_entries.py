"""The help, completion and range of every option and argument, one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import typer

from .._version import __version__
from ..data import DATASETS
from ..data.protocols import SPLITS
from ..evaluation import METRICS
from ..kernels import KERNELS
from ..models import MODELS
from ..paper.published import PAPER

Complete = Callable[[str], list[str]]


class Entry(NamedTuple):
    """Help, completion, smallest value, placeholder and, if not ``--name``, flag of an option.

    The callback, if there is one, gets the value before other options are looked at.
    """

    help: str
    complete: Complete | None = None
    least: int | None = None
    metavar: str | None = None
    flag: str = ""
    callback: Callable[[bool], None] | None = None


def _one_of(names: Callable[[], Iterable[str]], shortest: int = 0) -> Complete:
    """Return a completion by names, in a list with commas of its last part.

    Below ``shortest`` letters nothing is offered, and shells offer files instead.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        if len(last) < shortest:
            return []
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"boolrank {__version__}")
        raise typer.Exit


def _metric_names() -> Iterable[str]:
    cuts = {"none": ("",), "optional": ("", "@10"), "needed": ("@10",)}
    return [name + cut for name, metric in METRICS.items() for cut in cuts[metric.cut]]


_KERNELS = _one_of(lambda: KERNELS)
_METRICS = _one_of(_metric_names)
_MODELS = _one_of(lambda: MODELS)
_FIT_MODELS = _one_of(lambda: ("auto", *MODELS))
_PAPER_SETS = _one_of(lambda: PAPER)
_ORDERS = _one_of(lambda: ("time", "file", "random"))
_PROTOCOLS = _one_of(lambda: (*SPLITS, "published"))
_SETS = _one_of(lambda: (*DATASETS, "synthetic"), shortest=1)

_IDS = "as id,id,... or @FILE with one id per line"
_MODEL = "Model as name or 'name(parameter=value, ...)', see `boolrank models`"
_BY_NAME = "found by its name if not given."

# By parameter, or by verb and parameter where a verb has its own meaning.
ENTRIES = {
    "version": Entry("Print the version.", callback=_print_version),
    "debug": Entry("Show the traceback of an error; also after the verb."),
    "modules": Entry(
        "Import a module or .py file with your kernels, models or metrics; repeat for more; also "
        "after the verb.",
        metavar="MODULE",
        flag="--import",
    ),
    "inputs": Entry(
        "CSV, TSV, Parquet or JSON-lines files with a row per event, globs of them, or the name of "
        "a data set (see `boolrank datasets`).",
        _SETS,
        metavar="INPUT",
    ),
    "update inputs": Entry("Files with new events.", metavar="INPUT"),
    "folder": Entry("Folder that `boolrank fit` wrote.", metavar="MODEL"),
    "user": Entry(f"User column; {_BY_NAME}"),
    "item": Entry(f"Item column; {_BY_NAME}"),
    "rating": Entry(f"Rating column; {_BY_NAME}"),
    "time": Entry(f"Time column; {_BY_NAME}"),
    "positive": Entry("Ratings that count, such as '>= 4'; all if not given."),
    "as_json": Entry("Print JSON.", flag="--json"),
    "as_csv": Entry("Print CSV.", flag="--csv"),
    "model": Entry(f"{_MODEL}; default kernel-ranker.", _MODELS),
    "tune model": Entry("Name of a model, see `boolrank models`; default kernel-ranker.", _MODELS),
    "evaluate model": Entry(f"{_MODEL}; repeat for more models.", _MODELS),
    "models": Entry(
        "Models as name,name,...; all that are installed if not given. A model with parameters, "
        "such as 'ease(reg=500)', is not tuned.",
        _MODELS,
    ),
    "kernel": Entry("Kernel of the model, see `boolrank kernels`.", _KERNELS),
    "evaluate kernel": Entry(
        "Kernel of a kernel-ranker, see `boolrank kernels`; repeat for more models.", _KERNELS
    ),
    "spectrum kernel": Entry(
        "Kernel family, such as disjunctive or 'threshold(2, {})'; repeat for more; default "
        "disjunctive.",
        _KERNELS,
    ),
    "arity": Entry(
        "Search only the arity of a kernel family, such as disjunctive or 'threshold(2, {})'.",
        _KERNELS,
    ),
    "arities": Entry("Arities as 1:150, 1:150:10 or 1,2,5; a range of them if not given."),
    "tuned": Entry("Fit the best model of a folder that `tune` or `compare` wrote."),
    "metric": Entry(
        "Metrics as name,name@k,...; trials are sorted by the first; default auc,ndcg@10.", _METRICS
    ),
    "fit model": Entry(
        f"{_MODEL}; default auto, which tries some and takes the best.", _FIT_MODELS
    ),
    "fit metric": Entry(
        "Metric that decides; default ndcg@10, with --tuned the first of the folder.", _METRICS
    ),
    "fit trials": Entry("Settings to try when choosing; default 24.", least=1),
    "budget": Entry("Time for choosing, such as 120s or 10m; default 5m unless --trials is given."),
    "metrics": Entry("Metrics as name,name@k,...; the text above has the default.", _METRICS),
    "trials": Entry("Parameter sets to try for a model; default 30, 0 means no tuning.", least=0),
    "seconds": Entry("Time limit for all trials of a model."),
    "protocol": Entry(
        "How to split: paper, leave_one_out, hold_out, temporal, strong, published; default paper.",
        _PROTOCOLS,
    ),
    "folds": Entry("Number of folds, if the protocol has any."),
    "order": Entry(
        "Order in which a user's first events train: time, file or random; default time.", _ORDERS
    ),
    "least": Entry("Minimum number of events of a test user."),
    "share": Entry("Share of the events that test, if the protocol has one."),
    "seed": Entry("Random seed; default 0.", least=0),
    "threads": Entry("Number of threads; all cores if not given.", least=1),
    "users": Entry(f"Users {_IDS}; all users if not given."),
    "profile": Entry(f"Items of somebody who may not be in the data, {_IDS}."),
    "profiles": Entry("File with a profile per line, as id,id,...", metavar="FILE"),
    "candidates": Entry(f"The only items to recommend, {_IDS}."),
    "exclude": Entry(f"Items not to recommend, {_IDS}."),
    "include_seen": Entry("Recommend items that the user already has, too."),
    "strict": Entry("Refuse unknown ids instead of ignoring them."),
    "n": Entry("Maximum number of items.", least=1, flag="--n"),
    "items": Entry("Ids of items.", metavar="ITEM"),
    "ids": Entry("A user and an item; with --profile only an item.", metavar="USER ITEM"),
    "remove": Entry("File with events to remove; repeat for more."),
    "name": Entry("Name of a data set.", _SETS, metavar="NAME"),
    "check": Entry("Read those on this machine, and count."),
    "data": Entry("Folder of data sets; BOOLRANK_DATA or the cache if not given.", flag="--folder"),
    "datasets": Entry("Data sets as name,name,...; all that are here if not given.", _PAPER_SETS),
    "sweep": Entry("Measure AUC by arity, which takes longest."),
    "compiling": Entry("Compile what a first run would.", flag="--compile/--no-compile"),
    "out": Entry("Folder for the page, tables, figures and results."),
    "fit out": Entry("Folder for the model."),
    "recommend out": Entry("File for the result: .parquet, .csv or .jsonl."),
    "spectrum out": Entry("File for a figure: .svg or .png."),
    "evaluate out": Entry("Folder for results; those that exist are not computed again."),
    "tune out": Entry("Folder for studies; trials that exist are not repeated."),
}
