"""Make typer commands of verbs; the table of all arguments and options.

A verb is a plain function. Positional parameters become arguments, keyword-only ones options. A
parameter whose type is a dataclass is a bundle: each of its fields becomes an option, and the verb
receives one object.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any

import typer

from .._version import __version__
from ..data import DATASETS
from ..data.database import Database
from ..data.protocols import SPLITS
from ..engines.user_modules import user_modules
from ..errors import ParameterError
from ..evaluation import METRICS
from ..kernels import KERNELS
from ..models import MODELS
from ..models.spec import ModelSpec
from ..paper.published import PAPER

# A model that is to be chosen.
AUTO = "auto"

Complete = Callable[[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where events come from if not from files, their columns, and which of them count."""

    sql: str | None = None
    database: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    positive: str | None = None
    min_count: int | None = None
    since: str | None = None
    until: str | None = None
    last: str | None = None
    k_core: int | None = None

    def __post_init__(self) -> None:
        if (self.sql is None) != (self.database is None):
            raise ParameterError("--sql and --from go together", hint="give both, or files")

    def inputs(self, files: Sequence[str] | None, others: str = "") -> list[str]:
        """Return the files, or the query; an error names ``others`` that could be given."""
        if self.sql is not None and files:
            raise ParameterError("--sql and files exclude each other", hint="leave one out")
        if self.sql is None and not files:
            hint = f"name files, or give {others}--sql and --from"
            raise ParameterError("there are no data", hint=hint)
        return list(files or []) if self.sql is None else [self.sql]

    def given(self) -> dict[str, Any]:
        """Return the options that have a value, but for the query; a database has no password."""
        options = asdict(self) | {"sql": None}
        return given(options | {"database": self.database and Database(self.database)})


def _one_of(names: Callable[[], Iterable[str]], shortest: int = 0) -> Complete:
    """Return a completion by names, in a list with commas of its last part.

    Below ``shortest`` letters nothing is offered, and shells offer files instead.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        known = names() if len(last) >= shortest else ()
        return [before + comma + name for name in known if name.startswith(last)]

    return complete


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"boolrank {__version__}")
        raise typer.Exit


def _metric_names() -> Iterable[str]:
    cuts = {"none": ("",), "optional": ("", "@10"), "needed": ("@10",)}
    return [name + cut for name, metric in METRICS.items() for cut in cuts[metric.cut]]


def _row(text: str, complete: Complete | None = None, **settings: Any) -> dict[str, Any]:
    return {"help": text, "autocompletion": complete, **settings}


_ITEM_FILE = _row(
    "CSV, Parquet, JSON or Excel file with a row per item: id, title and any columns.",
    metavar="FILE",
)
_KERNELS = _one_of(lambda: KERNELS)
_METRICS = _one_of(_metric_names)
_MODELS = _one_of(lambda: MODELS)
_AUTO_MODELS = _one_of(lambda: (AUTO, *MODELS))
_SETS = _one_of(lambda: (*DATASETS, "synthetic"), shortest=1)

_IDS = "as id,id,... or @FILE with one id per line"
_ITEMS = "as id,id,... or titles, or @FILE with one per line"
_MODEL = "Model as name or 'name(parameter=value, ...)', see `boolrank models`"
_BY_NAME = "found by its name if not given."
_TRIALS = "Settings to try when choosing; default 24."

# By parameter, or by verb and parameter where a verb has its own meaning; ``flag`` is the option if
# it is not ``--parameter``.
OPTIONS = {
    "version": _row("Print the version.", callback=_print_version, is_eager=True),
    "debug": _row("Show the traceback of an error; also after the verb."),
    "modules": _row(
        "Import a module or .py file with your kernels, models or metrics; repeat for more; also "
        "after the verb.",
        metavar="MODULE",
        flag="--import",
    ),
    "inputs": _row(
        "CSV, TSV, Parquet, JSON or Excel files with a row per event, globs of them, or the name "
        "of a data set (see `boolrank datasets`).",
        _SETS,
        metavar="INPUT",
    ),
    "update inputs": _row("Files with new events.", metavar="INPUT"),
    "folder": _row("Folder that `boolrank fit` wrote.", metavar="MODEL"),
    "sql": _row("Query with a row per event, in place of files; needs --from.", metavar="QUERY"),
    "database": _row(
        "Database of the query: postgresql://user@host/name or sqlite:///file.db.",
        metavar="ADDRESS",
        flag="--from",
    ),
    "user": _row(f"User column; {_BY_NAME}"),
    "item": _row(f"Item column; {_BY_NAME}"),
    "rating": _row(f"Rating column; {_BY_NAME}"),
    "time": _row(f"Time column; {_BY_NAME}"),
    "positive": _row("Ratings that count, such as '>= 4' or '= good'; all but false by default."),
    "min_count": _row("Events that a user and an item need together to count.", min=1),
    "since": _row("Time of the first event that counts, such as 2026-01-31."),
    "until": _row("Time before which events count."),
    "last": _row("Time up to the newest event in which events count, such as 90d, 2w or 12h."),
    "k_core": _row("Keep users and items with this many events or more, repeatedly.", min=1),
    "as_json": _row("Print JSON.", flag="--json"),
    "as_csv": _row("Print CSV.", flag="--csv"),
    "safe_csv": _row("In CSV, put ' before text that a spreadsheet would take for a formula."),
    "as_latex": _row("Print LaTeX tables that fit a page.", flag="--latex"),
    "model": _row(f"{_MODEL}; default auto, which tries some and takes the best.", _AUTO_MODELS),
    "tune model": _row("Name of a model, see `boolrank models`; default kernel-ranker.", _MODELS),
    "evaluate model": _row(f"{_MODEL}, or auto; repeat for more models.", _AUTO_MODELS),
    "models": _row(
        "Models as name,name,...; all that are installed if not given. A model with parameters, "
        "such as 'ease(reg=500)', is not tuned.",
        _MODELS,
    ),
    "kernel": _row("Kernel of the model, see `boolrank kernels`.", _KERNELS),
    "evaluate kernel": _row(
        "Kernel of a kernel-ranker, see `boolrank kernels`; repeat for more models.", _KERNELS
    ),
    "spectrum kernel": _row(
        "Kernel family, such as disjunctive or 'threshold(2, {})'; repeat for more; default "
        "disjunctive.",
        _KERNELS,
    ),
    "arity": _row(
        "Search only the arity of a kernel family, such as disjunctive or 'threshold(2, {})'.",
        _KERNELS,
    ),
    "arities": _row("Arities as 1:150, 1:150:10 or 1,2,5; a range of them if not given."),
    "memory": _row(
        "Most memory that the process may take, such as 4GB; pairs of items are counted on disk "
        "if they do not fit.",
        metavar="SIZE",
    ),
    "user_exponent": _row("Exponent of the weights of users, of which counts are larger."),
    "tuned": _row("Fit the best model of a folder that `tune` or `compare` wrote."),
    "metric": _row(
        "Metrics as name,name@k,...; trials are sorted by the first; default ndcg@10,auc.", _METRICS
    ),
    "fit metric": _row(
        "Metric that decides; default ndcg@10, with --tuned the first of the folder.", _METRICS
    ),
    "fit trials": _row(_TRIALS, min=1),
    "evaluate trials": _row(_TRIALS, min=1),
    "train": _row("File with the training part of a split that exists."),
    "test": _row("File with the test part of it."),
    "budget": _row("Time for choosing, such as 120s or 10m; default 5m unless --trials is given."),
    "metrics": _row("Metrics as name,name@k,...; the text above has the default.", _METRICS),
    "trials": _row("Parameter sets to try for a model; default 30, 0 means no tuning.", min=0),
    "seconds": _row("Time limit for all trials of a model."),
    "protocol": _row(
        "How to split: paper, leave_one_out, hold_out, temporal, strong, published; default paper.",
        _one_of(lambda: (*SPLITS, "published")),
    ),
    "folds": _row("Number of folds, if the protocol has any."),
    "order": _row(
        "Order in which a user's first events train: time, file or random; default time.",
        _one_of(lambda: ("time", "file", "random")),
    ),
    "least": _row("Minimum number of events of a test user."),
    "share": _row("Share of the events that test, if the protocol has one."),
    "seed": _row("Random seed; default 0.", min=0),
    "threads": _row("Number of threads; all cores if not given.", min=1),
    "engine": _row("Where to fit: local or spark.", _one_of(lambda: ("local", "spark"))),
    "master": _row("Spark master, such as spark://host:7077 or yarn; default local[*]."),
    "users": _row(f"Users {_IDS}; all users if not given."),
    "profile": _row(f"Items of somebody who may not be in the data, {_ITEMS}."),
    "profiles": _row("File with a profile per line, as id,id,...", metavar="FILE"),
    "candidates": _row(f"The only items to recommend, {_ITEMS}."),
    "exclude": _row(f"Items not to recommend, {_ITEMS}."),
    "include_seen": _row("Recommend items that the user already has, too."),
    "strict": _row("Refuse unknown ids instead of ignoring them."),
    "n": _row("Maximum number of items.", min=1),
    "items": _row("Ids or titles of items.", metavar="ITEM"),
    "ids": _row("A user and an item; with --profile only an item.", metavar="USER ITEM"),
    "rules": _row("Show the formulas of the kernel that add most; a user needs no item then."),
    "remove": _row("File with events to remove; repeat for more."),
    "name": _row("Name of a data set.", _SETS, metavar="NAME"),
    "check": _row("Read those on this machine, and count."),
    "data": _row("Folder of data sets; BOOLRANK_DATA or the cache if not given.", flag="--folder"),
    "datasets": _row(
        "Data sets as name,name,...; all that are here if not given.", _one_of(lambda: PAPER)
    ),
    "costs": _row("Measure memory too, each kernel in a process of its own."),
    "sweep": _row("Measure AUC by arity, which takes longest.", flag="--sweep/--no-sweep"),
    "everything": _row("Compile what any model and command needs.", flag="--all"),
    "compiling": _row("Compile what a first run would.", flag="--compile/--no-compile"),
    "out": _row("Folder for the page, tables, figures and results."),
    "fit out": _row("Folder for the model."),
    "recommend out": _row("File for the result: .parquet, .csv or .jsonl."),
    "to": _row(
        "Database for the result: postgresql://user@host/name or sqlite:///file.db.",
        metavar="ADDRESS",
    ),
    "sql_table": _row("Table of --to, as name or schema.name.", flag="--table"),
    "spectrum out": _row("File for a figure: .svg or .png."),
    "evaluate out": _row("Folder for results; those that exist are not computed again."),
    "host": _row("Address to listen on; 127.0.0.1 is this machine alone."),
    "port": _row("Port to listen on; 0 for any that is free.", min=0, max=65535),
    "workers": _row("Number of processes.", min=1, max=64),
    "fit items": _ITEM_FILE,
    "tune items": _ITEM_FILE,
    "evaluate items": _ITEM_FILE,
    "update items": _row("File with new rows of the item table.", metavar="FILE"),
    "attributes": _row(
        "Columns of the items whose values are tags, for kernels over them, as name,name,...; 0/1 "
        "columns as 'genre_*' or 'Action|Comedy'."
    ),
    "sets": _row(
        "Columns of the items with several values, such as Action|Comedy, as name,name,...; found "
        "by | or ; if not given."
    ),
    "where": _row(
        "Filter on the columns of the items, such as \"category = 'books' and price < 20\"."
    ),
    "per": _row(
        "At most so many items of a group, such as category=2; repeat for more columns.",
        metavar="COLUMN=N",
    ),
    "diversity": _row("0 to 1: how much similar items are kept apart.", min=0, max=1),
    "serve items": _row(
        "File with a row per item, in place of the item table of the model.", metavar="FILE"
    ),
    "events": _row(
        "SQLite file for events, or postgresql://...; default MODEL-events.sqlite.",
        metavar="FILE",
    ),
    "refresh": _row("Time between updates of the model with new events, such as 10m."),
    "api_key_file": _row(
        "File with a line 'read KEY' or 'write KEY' per key; without it no key is needed.",
        metavar="FILE",
    ),
    "no_auth": _row("Allow other machines to use the service without a key."),
    "tune out": _row("Folder for studies; trials that exist are not repeated."),
}


def typer_function(verb: Callable[..., None], name: str) -> Callable[..., None]:
    """Return a function for typer that calls the verb."""
    bundles: dict[str, Any] = {
        each.name: each.annotation
        for each in signature(verb, eval_str=True).parameters.values()
        if is_dataclass(each.annotation)
    }

    def run(**values: Any) -> None:
        for parameter, bundle in bundles.items():
            inner = {each.name: values.pop(each.name) for each in fields(bundle)}
            values[parameter] = bundle(**inner)
        verb(**values)

    run.__signature__ = Signature(list(_parameters(verb, name)))  # type: ignore[attr-defined]
    return run


def _parameters(function: Callable[..., Any], verb: str) -> Iterator[Parameter]:
    """Yield the parameters with typer's description of each as the default."""
    for each in signature(function, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            yield from _parameters(each.annotation, verb)  # type: ignore[arg-type]
        elif each.annotation is typer.Context:
            yield each
        else:
            settings = dict(OPTIONS.get(f"{verb} {each.name}") or OPTIONS[each.name])
            flag = settings.pop("flag", option_name(each.name))
            default = ... if each.default is Parameter.empty else each.default
            is_option = each.kind is Parameter.KEYWORD_ONLY
            made = typer.Option(default, flag, **settings) if is_option else None
            yield each.replace(default=made or typer.Argument(default, **settings))


def race_options(metric: str | None, trials: int | None, budget: str | None) -> dict[str, Any]:
    """Return the options of `choose`; the time is limited unless trials are."""
    budget = budget or ("5m" if trials is None else None)
    seconds = None if budget is None else seconds_of(budget, "budget")
    return given({"metric": metric, "trials": trials, "budget": seconds})


def seconds_of(text: str, parameter: str) -> float:
    """Return the seconds of a time such as 10m."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None or not float(match[1]):
        raise ParameterError(
            f"--{parameter} is a time such as 120s, 10m or 1h, not {text!r}", parameter=parameter
        )
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def option_name(parameter: str) -> str:
    """Return the option for a parameter, such as ``--include-seen`` for ``include_seen``."""
    return f"--{parameter.replace('_', '-')}"


def command_text(verb: str, inputs: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the command with the options that have a value; those that are True are flags.

    >>> command_text("fit", ["my file.csv"], {"user": "who", "seed": None, "strict": True})
    "boolrank fit 'my file.csv' --user who --strict"
    """
    options = dict(given(options))
    database = options.pop("database", None)
    words = ["boolrank", verb, *inputs]
    if database is not None:
        words[2:] = ["--sql", *inputs, "--from", str(database)]
    for name, value in options.items():
        words += [option_name(name)] if value is True else [option_name(name), str(value)]
    for module in user_modules():
        words += ["--import", module]
    return shlex.join(words)


def fit_command(
    inputs: Sequence[str], columns: Columns, spec: ModelSpec | None = None, **more: str | None
) -> str:
    """Return the command that fits a model on all of the data, or chooses one."""
    return command_text("fit", inputs, {**columns.given(), "model": spec, **more, "out": "model"})
