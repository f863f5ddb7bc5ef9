"""The table of all arguments and options: help texts and ranges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ParameterError


def option_name(parameter: str) -> str:
    """Return the option for a parameter, such as ``--include-seen`` for ``include_seen``."""
    row = OPTIONS.get(parameter, {})
    return str(row.get("flag", f"--{parameter.replace('_', '-')}"))


def refuse(option: str, others: Iterable[str]) -> None:
    """Raise if other options, given by parameter, stand beside one that excludes them."""
    for name in others:
        problem = f"{option} and {option_name(name)} exclude each other"
        raise ParameterError(problem, hint="leave out one of them")


def at_most_one(options: Iterable[str]) -> None:
    """Raise if two of these options are given."""
    first, *others = [*options] or [""]
    refuse(option_name(first), others)


def _row(text: str, **settings: Any) -> dict[str, Any]:
    return {"help": text, **settings}


_IDS = "as id,id,... or @FILE with one id per line"
_ITEMS = "as id,id,... or titles, or @FILE with one per line"
_MODEL = "Model as name or 'name(parameter=value, ...)', see `boolrank models`"
_DATABASE = "postgresql://user@host/name or sqlite:///file.db."
_BY_NAME = "detected by name if not given."
_TRIALS = "Settings to try when choosing; default 24."

# Keys are parameters, or a verb and a parameter where the verb gives it another meaning. ``flag``
# is the option, if it is not ``--parameter``.
OPTIONS: dict[str, dict[str, Any]] = {
    "version": _row("Print the version."),
    "debug": _row("Show the traceback of an error; also after the verb."),
    "modules": _row(
        "Import a module or .py file with your kernels, models, metrics or data sets; repeat for "
        "more; also after the verb.",
        metavar="MODULE",
        flag="--import",
    ),
    "inputs": _row(
        "CSV, TSV, Parquet, JSON or Excel files with a row per event, globs of them, or the name "
        "of a data set (see `boolrank datasets`).",
        metavar="INPUT",
    ),
    "update inputs": _row("Files with new events.", metavar="INPUT"),
    "folder": _row("Folder that `boolrank fit` wrote.", metavar="MODEL"),
    "sql": _row("Query with a row per event, in place of files; needs --from.", metavar="QUERY"),
    "database": _row(f"Database of the query: {_DATABASE}", metavar="ADDRESS", flag="--from"),
    "user": _row(f"User column; {_BY_NAME}"),
    "item": _row(f"Item column; {_BY_NAME}"),
    "rating": _row(f"Rating column; {_BY_NAME}"),
    "time": _row(f"Time column; {_BY_NAME}"),
    "positive": _row("Ratings that count, such as '>= 4' or '= good'; default: all except false."),
    "min_count": _row("Minimum number of events of a user with an item.", min=1),
    "since": _row("Use events from this time on, such as 2026-01-31."),
    "until": _row("Use events before this time."),
    "last": _row("Use the last events, such as 90d, 2w or 12h before the newest."),
    "k_core": _row("Drop users and items with fewer events, until all have this many.", min=1),
    "as_json": _row("Print JSON.", flag="--json"),
    "as_csv": _row("Print CSV.", flag="--csv"),
    "safe_csv": _row("In CSV, put ' before text that a spreadsheet would run as a formula."),
    "as_latex": _row("Print LaTeX tables that fit a page.", flag="--latex"),
    "model": _row(f"{_MODEL}; default auto: try several, take the best."),
    "tune model": _row("Name of a model, see `boolrank models`; default kernel-ranker."),
    "evaluate model": _row(f"{_MODEL}, or auto; repeat for more models."),
    "models": _row(
        "Models as name,name,...; default: all installed ones. A model with parameters, such as "
        "'ease(reg=500)', is not tuned.",
    ),
    "kernel": _row("Kernel of the model, see `boolrank kernels`."),
    "evaluate kernel": _row("Kernel of a kernel-ranker; repeat for more models."),
    "spectrum kernel": _row(
        "Kernel family, such as 'threshold(2, {})'; repeat for more; default disjunctive."
    ),
    "arities": _row("Arities as 1:150, 1:150:10 or 1,2,5."),
    "memory": _row("Memory limit, such as 4GB; the rest is counted on disk.", metavar="SIZE"),
    "activity_cap": _row("Leave out the pairs of users with more items than this.", min=1),
    "tuned": _row("Fit the best model of a folder that `tune` or `compare` wrote."),
    "metric": _row(
        "Metrics as name,name@k,...; the first one sorts the trials; default ndcg@10,auc."
    ),
    "fit metric": _row(
        "Metric to choose by; default ndcg@10, with --tuned the first one of the folder."
    ),
    "fit trials": _row(_TRIALS, min=1),
    "evaluate trials": _row(_TRIALS, min=1),
    "train": _row("File with the training part of an existing split."),
    "test": _row("File with the test part of an existing split."),
    "budget": _row("Time for choosing, such as 120s or 10m; default 5m unless --trials is given."),
    "metrics": _row("Metrics as name,name@k,...; defaults are above."),
    "trials": _row("Settings to try for each model; default 30, 0 for no tuning.", min=0),
    "seconds": _row("Time limit for all trials of a model."),
    "protocol": _row(
        "How to split: paper, leave_one_out, hold_out, temporal, strong, published; default paper.",
    ),
    "folds": _row("Number of folds, if the protocol has any."),
    "order": _row(
        "Order in which a user's first events train: time, file or random; default time.",
    ),
    "least": _row("Minimum number of events of a test user."),
    "share": _row("Share of the events that test, if the protocol has one."),
    "seed": _row("Random seed; default 0.", min=0),
    "threads": _row("Number of threads; all cores if not given.", min=1),
    "engine": _row("Where to fit: local or spark."),
    "master": _row("Spark master, such as spark://host:7077 or yarn; default local[*]."),
    "users": _row(f"Users {_IDS}; all users if not given."),
    "profile": _row(f"Items of somebody new, {_ITEMS}."),
    "profiles": _row("File with a profile per line, as id,id,...", metavar="FILE"),
    "candidates": _row(f"The only items to recommend, {_ITEMS}."),
    "exclude": _row(f"Items not to recommend, {_ITEMS}."),
    "include_seen": _row("Also recommend items that the user already has."),
    "strict": _row("Fail on unknown ids instead of ignoring them."),
    "n": _row("Maximum number of items.", min=1),
    "items": _row(
        "CSV, Parquet, JSON or Excel file with a row per item: id, title and any columns.",
        metavar="FILE",
    ),
    "similar items": _row("Ids or titles of items.", metavar="ITEM"),
    "ids": _row("A user and an item; with --profile only an item.", metavar="USER ITEM"),
    "rules": _row("Show the kernel's formulas that add most; the item is then optional."),
    "remove": _row("File with events to remove; repeat for more."),
    "name": _row("Name of a data set.", metavar="NAME"),
    "datasets": _row("Data sets as name,name,...; default: all on this machine."),
    "costs": _row("Also measure memory, with a separate process for each kernel."),
    "sweep": _row("Measure AUC by arity; takes most of the time.", flag="--sweep/--no-sweep"),
    "everything": _row("Compile the code of all models and commands.", flag="--all"),
    "compiling": _row("Compile the code that a first run needs.", flag="--compile/--no-compile"),
    "out": _row("Folder for the page, tables, figures and results."),
    "fit out": _row("Folder for the model."),
    "recommend out": _row("File for the result: .parquet, .csv or .jsonl."),
    "to": _row(f"Database for the result: {_DATABASE}", metavar="ADDRESS"),
    "sql_table": _row("Table of --to, as name or schema.name.", flag="--table"),
    "evaluate out": _row("Folder for results; existing ones are not computed again."),
    "host": _row("Address to listen on; 127.0.0.1 for this machine only."),
    "port": _row("Port to listen on; 0 for any free one.", min=0, max=65535),
    "workers": _row("Number of processes.", min=1, max=64),
    "update items": _row("File with new rows of the item table.", metavar="FILE"),
    "attributes": _row(
        "Item columns to use as tags in kernels, as name,name,...; 0/1 columns as 'genre_*' or "
        "'Action|Comedy'."
    ),
    "sets": _row(
        "Item columns with several values, such as Action|Comedy, as name,name,...; detected by | "
        "or ; if not given."
    ),
    "where": _row("Filter on item columns, such as \"category = 'books' and price < 20\"."),
    "per": _row(
        "Maximum number of items per group, such as category=2; repeat for more columns.",
        metavar="COLUMN=N",
    ),
    "diversity": _row("0 to 1; higher values keep similar items apart.", min=0, max=1),
    "serve items": _row("Item file, in place of the item table of the model.", metavar="FILE"),
    "events": _row(
        "SQLite file for events, or postgresql://...; default MODEL-events.sqlite.",
        metavar="FILE",
    ),
    "refresh": _row("Time between updates of the model with new events, such as 10m."),
    "api_key_file": _row(
        "File with a line 'read KEY' or 'write KEY' per key; without it no key is needed.",
        metavar="FILE",
    ),
    "no_auth": _row("Serve other machines without a key."),
    "tune out": _row("Folder for studies; existing trials are not repeated."),
}
