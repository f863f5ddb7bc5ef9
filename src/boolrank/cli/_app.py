"""The typer application: the verbs, their examples, and the options before the verb."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import typer

from ._errors import EXIT_CODES
from ._options import typer_function
from .datasets import fetch

EXAMPLES = {
    None: "boolrank models",
    "fit": "boolrank fit ratings.csv --positive '>= 4' --model 'ease(reg=500)' --out model",
    "estimate": "boolrank estimate ratings.csv",
    "recommend": "boolrank recommend model --users ann,bob --n 5",
    "similar": "boolrank similar model tea --n 5",
    "explain": "boolrank explain model ann tea",
    "update": "boolrank update model new.csv --remove old.csv",
    "serve": "boolrank serve model --items items.csv --refresh 10m",
    "show": "boolrank show model",
    "evaluate": "boolrank evaluate ratings.csv --model ease --kernel 'disjunctive(8)'",
    "tune": "boolrank tune ratings.csv --model kernel-ranker --metric ndcg@10 --trials 8",
    "compare": "boolrank compare ratings.csv --models kernel-ranker,popularity --trials 0",
    "spectrum": "boolrank spectrum ratings.csv --kernel disjunctive --arities 1:150",
    "reproduce": "boolrank reproduce --datasets filmtrust,movielens-1m --out reproduction",
    "models": "boolrank models --json",
    "kernels": "boolrank kernels --json",
    "datasets": "boolrank datasets --check",
    "datasets fetch": "boolrank datasets fetch movielens-1m",
    "demo": "boolrank demo --out demo",
    "doctor": "boolrank doctor",
}

# A verb is the function in the module of the same name.
VERBS: dict[str, Callable[..., None]] = {
    name: getattr(import_module(f"{__package__}.{name}"), name)
    for name in EXAMPLES
    if name is not None and " " not in name
}
# Verbs below a verb, which runs itself if none of them follows.
BELOW: dict[str, dict[str, Callable[..., None]]] = {"datasets": {"fetch": fetch}}

_HELP = f"""Top-N item recommendation with boolean kernels.

Data goes to stdout, messages go to stderr. Exit codes: {
    "; ".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
}.
"""


def _boolrank(
    *, version: bool = False, debug: bool = False, modules: list[str] | None = None
) -> None:
    """Do nothing: these options act before any verb, wherever they stand."""
    del version, debug, modules


def _group(verb: Callable[..., None], path: str, below: Mapping[str, Any]) -> typer.Typer:
    """Return a verb with others below it, and its own options."""
    # Plain tracebacks of bugs, which people can paste.
    group = typer.Typer(
        invoke_without_command=True, pretty_exceptions_enable=False, **_look(verb, path)
    )
    group.callback()(typer_function(verb, path))
    for name, each in below.items():
        words = f"{path} {name}".strip()
        if words in BELOW:
            group.add_typer(_group(each, words, BELOW[words]), name=name)
        else:
            group.command(name, **_look(each, words))(typer_function(each, words))
    return group


def _look(verb: Callable[..., None], path: str) -> dict[str, Any]:
    # typer keeps the line breaks of a docstring: one line per paragraph instead.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(verb.__doc__ or ""))
    return {
        "help": text if path else _HELP,
        "epilog": f"Example:  {EXAMPLES[path or None]}",
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }


app = _group(_boolrank, "", VERBS)
