"""Make typer commands of verbs.

A verb is a plain function. Positional parameters become arguments, keyword-only ones options, both
described in ``ENTRIES``. A parameter whose type is a dataclass is a bundle: each of its fields
becomes an option, and the verb receives one object.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any

import typer

from ..engines.user_modules import user_modules
from ..models.spec import ModelSpec
from ._entries import ENTRIES


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns of the files, and which ratings count."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    positive: str | None = None

    def given(self) -> dict[str, str]:
        """Return the options that have a value."""
        return given(asdict(self))


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
            yield each.replace(default=_typer_info(each, verb))


def _typer_info(parameter: Parameter, verb: str) -> Any:
    name, default = parameter.name, parameter.default
    entry = ENTRIES.get(f"{verb} {name}") or ENTRIES[name]
    default = ... if default is Parameter.empty else default
    options: dict[str, Any] = {
        "help": entry.help,
        "metavar": entry.metavar,
        "min": entry.least,
        "autocompletion": entry.complete,
        "callback": entry.callback,
        "is_eager": entry.callback is not None,
    }
    if parameter.kind is not Parameter.KEYWORD_ONLY:
        return typer.Argument(default, **options)
    flag = entry.flag or (option_name(name) if default is False else "")
    return typer.Option(default, *filter(None, [flag]), **options)


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
    words = ["boolrank", verb, *inputs]
    for name, value in given(options).items():
        words += [option_name(name)] if value is True else [option_name(name), str(value)]
    for module in user_modules():
        words += ["--import", module]
    return shlex.join(words)


def fit_command(inputs: Sequence[str], columns: Columns, spec: ModelSpec) -> str:
    """Return the command that fits a model on all of the data."""
    return command_text("fit", inputs, {**columns.given(), "model": spec, "out": "model"})
