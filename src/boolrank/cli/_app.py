"""The typer application: the verbs, their examples, and the options before the verb."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from .._version import __version__
from ._errors import EXIT_CODES
from ._options import typer_function
from .datasets import fetch

__all__ = ["BELOW", "EXAMPLES", "VERBS", "app", "usage"]

EXAMPLES = {
    None: "boolrank models",
    "fit": "boolrank fit ratings.csv --positive '>= 4' --model 'ease(reg=500)' --out model",
    "recommend": "boolrank recommend model --users ann,bob --n 5",
    "similar": "boolrank similar model tea --n 5",
    "explain": "boolrank explain model ann tea",
    "update": "boolrank update model new.csv --remove old.csv",
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

# A verb is the function in the module of the same name, which imports the library when it runs.
VERBS: dict[str, Callable[..., None]] = {
    name: getattr(import_module(f"{__package__}.{name}"), name)
    for name in EXAMPLES
    if name is not None and " " not in name
}
# Verbs below a verb, which runs itself if none of them follows.
BELOW: dict[str, dict[str, Callable[..., None]]] = {"datasets": {"fetch": fetch}}

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

_HELP = f"""Top-N item recommendation with boolean kernels.

Data goes to stdout, messages go to stderr. Exit codes: {
    "; ".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
}.
"""

app = typer.Typer(
    context_settings=HELP_OPTIONS,
    epilog=f"Example:  {EXAMPLES[None]}",
    pretty_exceptions_enable=False,  # a bug gets the plain traceback, which people can paste
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"boolrank {__version__}")
        raise typer.Exit


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
        bool, typer.Option("--debug", help="Show the traceback of an error; also after the verb.")
    ] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Import a module or .py file with your kernels, models or metrics; also after the "
            "verb, and repeatedly.",
        ),
    ] = None,
) -> None:
    """Do nothing: main() handles --debug and --import wherever they stand."""


def _add(parent: typer.Typer, name: str, verb: Callable[..., None], path: str) -> None:
    """Add a verb, and those below it, to its parent."""
    # typer keeps the line breaks of a docstring: one line per paragraph instead.
    help_text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(verb.__doc__ or ""))
    look: dict[str, Any] = {
        "help": help_text,
        "epilog": f"Example:  {EXAMPLES[path]}",
        "context_settings": HELP_OPTIONS,
    }
    if path not in BELOW:
        parent.command(name, **look)(typer_function(verb, path))
        return
    group = typer.Typer(invoke_without_command=True, **look)
    group.callback()(typer_function(verb, path))
    for below, its_verb in BELOW[path].items():
        _add(group, below, its_verb, f"{path} {below}")
    parent.add_typer(group, name=name)


for _name, _verb in VERBS.items():
    _add(app, _name, _verb, _name)


def usage(args: Sequence[str]) -> tuple[str, set[str]]:
    """Return a hint and the options for the verb in these arguments."""
    verb = next((arg for arg in args if arg in VERBS), None)
    below = next((arg for arg in args if arg in BELOW.get(verb or "", ())), None)
    names = [name for name in (verb, below) if name]
    command: Any = typer.main.get_command(app)
    parameters = [*command.params]
    for name in names:
        command = command.commands[name]
        parameters += command.params
    example = f"; for example: {EXAMPLES[' '.join(names)]}" if names else ""
    options = {option for parameter in parameters for option in parameter.opts}
    return f"see `{' '.join(['boolrank', *names, '-h'])}`{example}", options
