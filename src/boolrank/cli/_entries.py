"""The help, completion and range of every option and argument, one row each."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ENTRIES", "Entry"]

_IDS = "as id,id,... or @FILE with one id per line"
_MODEL = "Model as name or 'name(parameter=value, ...)', see `boolrank models`"
_BY_NAME = "found by its name if not given."


class Entry(NamedTuple):
    """Help, completion, smallest value, placeholder and, if not ``--name``, flag of an option."""

    help: str
    complete: str = ""
    least: int | None = None
    metavar: str | None = None
    flag: str = ""


# By parameter, or by verb and parameter where a verb has its own meaning.
ENTRIES = {
    "inputs": Entry(
        "CSV, TSV, Parquet or JSON-lines files with a row per event, globs of them, or the name of "
        "a data set (see `boolrank datasets`).",
        "sets",
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
    "model": Entry(f"{_MODEL}; default kernel-ranker.", "models"),
    "tune model": Entry("Name of a model, see `boolrank models`; default kernel-ranker.", "models"),
    "evaluate model": Entry(f"{_MODEL}; repeat for more models.", "models"),
    "models": Entry(
        "Models as name,name,...; all that are installed if not given. A model with parameters, "
        "such as 'ease(reg=500)', is not tuned.",
        "models",
    ),
    "kernel": Entry("Kernel of the model, see `boolrank kernels`.", "kernels"),
    "evaluate kernel": Entry(
        "Kernel of a kernel-ranker, see `boolrank kernels`; repeat for more models.", "kernels"
    ),
    "spectrum kernel": Entry(
        "Kernel family, such as disjunctive or 'threshold(2, {})'; repeat for more; default "
        "disjunctive.",
        "kernels",
    ),
    "arity": Entry(
        "Search only the arity of a kernel family, such as disjunctive or 'threshold(2, {})'.",
        "kernels",
    ),
    "arities": Entry("Arities as 1:150, 1:150:10 or 1,2,5; a range of them if not given."),
    "tuned": Entry("Fit the best model of a folder that `tune` or `compare` wrote."),
    "metric": Entry(
        "Metrics as name,name@k,...; trials are sorted by the first; default auc,ndcg@10.",
        "metrics",
    ),
    "fit metric": Entry(
        "Metric that decides with --tuned; the first of the folder if not given.", "metrics"
    ),
    "metrics": Entry("Metrics as name,name@k,...; the text above has the default.", "metrics"),
    "trials": Entry("Parameter sets to try for a model; default 30, 0 means no tuning.", least=0),
    "seconds": Entry("Time limit for all trials of a model."),
    "protocol": Entry(
        "How to split: paper, leave_one_out, hold_out, temporal, strong, published; default paper.",
        "protocols",
    ),
    "folds": Entry("Number of folds, if the protocol has any."),
    "order": Entry(
        "Order in which a user's first events train: time, file or random; default time.",
        "orders",
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
    "name": Entry("Name of a data set.", "sets", metavar="NAME"),
    "check": Entry("Read those on this machine, and count."),
    "data": Entry("Folder of data sets; BOOLRANK_DATA or the cache if not given.", flag="--folder"),
    "datasets": Entry("Data sets as name,name,...; all that are here if not given.", "paper_sets"),
    "sweep": Entry("Measure AUC by arity, which takes longest."),
    "compiling": Entry("Compile what a first run would.", flag="--compile/--no-compile"),
    "out": Entry("Folder for the page, tables, figures and results."),
    "fit out": Entry("Folder for the model."),
    "recommend out": Entry("File for the result: .parquet, .csv or .jsonl."),
    "spectrum out": Entry("File for a figure: .svg or .png."),
    "evaluate out": Entry("Folder for results; those that exist are not computed again."),
    "tune out": Entry("Folder for studies; trials that exist are not repeated."),
}
