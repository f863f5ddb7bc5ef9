"""The typer application: the verbs, their examples, and the options before the verb.

A verb is a plain function. Positional parameters become arguments, keyword-only ones options. A
parameter whose type is a dataclass is a bundle: each of its fields becomes an option, and the verb
receives one object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any

import typer

from .._version import __version__
from . import EXIT_CODES
from ._options import OPTIONS, option_name
from .listings import fetch

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
    "datasets": "boolrank datasets --json",
    "datasets fetch": "boolrank datasets fetch movielens-1m",
    "demo": "boolrank demo --out demo",
    "doctor": "boolrank doctor",
}

# Verbs that share a module; the others are in modules of their names.
_MODULES = dict.fromkeys(("models", "kernels", "datasets"), "listings")
_MODULES |= dict.fromkeys(("show", "similar", "explain"), "queries")
VERBS: dict[str, Callable[..., None]] = {
    name: getattr(import_module(f"{__package__}.{_MODULES.get(name, name)}"), name)
    for name in EXAMPLES
    if name is not None and " " not in name
}
# Verbs below a verb, which runs itself if none of them follows.
BELOW: dict[str, dict[str, Callable[..., None]]] = {"datasets": {"fetch": fetch}}

_HELP = f"""Recommend items from implicit feedback, and explain each recommendation.

Data goes to stdout, messages go to stderr. Exit codes: {
    "; ".join(f"{code}: {meaning}" for code, meaning in EXIT_CODES.items())
}.
"""


def _boolrank(
    *, version: bool = False, debug: bool = False, modules: list[str] | None = None
) -> None:
    """Print the version; the other options act before any verb, wherever they stand."""
    del debug, modules
    if version:
        typer.echo(f"boolrank {__version__}")
        raise typer.Exit


def _group(verb: Callable[..., None], path: str, below: Mapping[str, Any]) -> typer.Typer:
    """Return a verb with others below it, and its own options."""
    # Plain tracebacks of bugs, which people can paste.
    group = typer.Typer(
        invoke_without_command=True, pretty_exceptions_enable=False, **_look(verb, path)
    )
    group.callback()(_typer_function(verb, path))
    for name, each in below.items():
        words = f"{path} {name}".strip()
        if words in BELOW:
            group.add_typer(_group(each, words, BELOW[words]), name=name)
        else:
            group.command(name, **_look(each, words))(_typer_function(each, words))
    return group


def _look(verb: Callable[..., None], path: str) -> dict[str, Any]:
    # typer keeps the line breaks of a docstring: one line per paragraph instead.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(verb.__doc__ or ""))
    return {
        "help": text if path else _HELP,
        "epilog": f"Example:  {EXAMPLES[path or None]}",
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }


def _typer_function(verb: Callable[..., None], name: str) -> Callable[..., None]:
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


def verb_of(words: Sequence[str]) -> str:
    """Return the verb that a command begins with; "" if there is none."""
    return next((verb for k in (2, 1) if (verb := " ".join(words[:k])) in EXAMPLES), "")


def options_of(verb: str) -> dict[str, str]:
    """Return the options of a verb by parameter."""
    found = _parameters(VERBS[verb], verb) if verb in VERBS else ()
    return {each.name: option_name(each.name) for each in found if each.kind is each.KEYWORD_ONLY}


def _parameters(function: Callable[..., Any], verb: str) -> Iterator[Parameter]:
    """Yield the parameters with typer's description of each as the default."""
    for each in signature(function, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            yield from _parameters(each.annotation, verb)  # type: ignore[arg-type]
        elif each.annotation is typer.Context:
            yield each
        else:
            settings = dict(OPTIONS.get(f"{verb} {each.name}") or OPTIONS[each.name])
            settings.pop("flag", None)
            default = ... if each.default is Parameter.empty else each.default
            is_option = each.kind is Parameter.KEYWORD_ONLY
            made = typer.Option(default, option_name(each.name), **settings) if is_option else None
            yield each.replace(default=made or typer.Argument(default, **settings))


app = _group(_boolrank, "", VERBS)
