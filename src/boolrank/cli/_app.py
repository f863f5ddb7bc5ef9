"""The typer application: the options that stand before the verb, and the list of verbs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from .._version import __version__
from ._errors import EXIT_CODES
from .compare import compare
from .datasets import datasets, fetch
from .demo import demo
from .doctor import doctor
from .evaluate import evaluate
from .explain import explain
from .fit import fit
from .kernels import kernels
from .recommend import recommend
from .reproduce import reproduce
from .similar import similar
from .spectrum import spectrum
from .tune import tune

__all__ = ["app", "usage"]

# One verb a file. Their modules import only typer; what a verb works with, it imports when it runs.
VERBS: dict[str, Callable[..., None]] = {
    "fit": fit,
    "recommend": recommend,
    "similar": similar,
    "explain": explain,
    "evaluate": evaluate,
    "compare": compare,
    "spectrum": spectrum,
    "tune": tune,
    "reproduce": reproduce,
    "kernels": kernels,
    "datasets": datasets,
    "demo": demo,
    "doctor": doctor,
}

# Verbs below a verb, which does its own work where none of them follows.
BELOW: dict[str, dict[str, Callable[..., None]]] = {"datasets": {"fetch": fetch}}

EXAMPLES = {
    None: "boolrank kernels",
    "fit": "boolrank fit ratings.csv --positive '>= 4' --kernel 'disjunctive(8)' --out model",
    "recommend": "boolrank recommend model --users ann,bob --n 5",
    "similar": "boolrank similar model tea --n 5",
    "explain": "boolrank explain model ann tea",
    "evaluate": "boolrank evaluate ratings.csv --kernel linear --kernel 'disjunctive(8)'",
    "compare": "boolrank compare ratings.csv --models kernel-ranker,popularity --trials 0",
    "spectrum": "boolrank spectrum ratings.csv --kernel disjunctive --arities 1:150",
    "tune": "boolrank tune ratings.csv --model kernel-ranker --metric ndcg@10 --trials 8",
    "reproduce": "boolrank reproduce --datasets filmtrust,movielens-1m --out reproduction",
    "kernels": "boolrank kernels --json",
    "datasets": "boolrank datasets --check",
    "datasets fetch": "boolrank datasets fetch movielens-1m",
    "demo": "boolrank demo --out demo",
    "doctor": "boolrank doctor",
}

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


def _unwrapped(docstring: str) -> str:
    """One line a paragraph: typer keeps the breaks of the source, at whatever width."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(docstring))


def _example(verb: str | None) -> str:
    return f"Example:  {EXAMPLES[verb]}"


def usage(args: Sequence[str]) -> str:
    """Where to read on, for somebody whose arguments were these."""
    verb = next((arg for arg in args if arg in VERBS), None)
    below = next((arg for arg in args if arg in BELOW.get(verb or "", ())), None)
    path = " ".join(filter(None, (verb, below))) or None
    words = " ".join(filter(None, ("boolrank", path, "-h")))
    example = f"; for example: {EXAMPLES[path]}" if path else ""
    return f"`{words}` says what there is{example}"


app = typer.Typer(
    context_settings=HELP_OPTIONS,
    epilog=_example(None),
    # A bug should look like one: the plain traceback, which people can paste.
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"boolrank {__version__}")
        raise typer.Exit


_HELP = f"""Boolean kernels for binary data and item recommendation.

Data goes to stdout, messages go to stderr. Exit codes: {
    "; ".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
}.
"""


@app.callback(help=_HELP)
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; after a verb, too.")
    ] = False,
) -> None:
    # Nothing to do: _print_version has acted by now, and main() looks for --debug by itself.
    """Boolean kernels for binary data and item recommendation."""


def _add(parent: typer.Typer, name: str, verb: Callable[..., None], path: str) -> None:
    """Hang a verb, and those below it, into its parent."""
    look: dict[str, Any] = {
        "help": _unwrapped(verb.__doc__ or ""),
        "epilog": _example(path),
        "context_settings": HELP_OPTIONS,
    }
    if path not in BELOW:
        parent.command(name, **look)(verb)
        return
    group = typer.Typer(invoke_without_command=True, **look)
    group.callback()(verb)
    for below, its_verb in BELOW[path].items():
        _add(group, below, its_verb, f"{path} {below}")
    parent.add_typer(group, name=name)


for _name, _verb in VERBS.items():
    _add(app, _name, _verb, _name)
