"""A hook of mkdocs: generate the page of commands from the command line itself.

The mark ``<!-- commands -->`` is replaced by the help of every command.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from boolrank.cli._app import EXAMPLES, app

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark by the commands."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown


def commands() -> str:
    """Return all commands with their arguments and options, as Markdown."""
    root = typer.main.get_command(app)
    parts = [((), root), *walk(root)]
    return "\n\n".join(section for path, each in parts for section in _section(path, each))


def walk(parent: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command below one, with the words that call it, in the order of ``-h``."""
    for name, each in getattr(parent, "commands", {}).items():
        yield (*path, name), each
        yield from walk(each, (*path, name))


def _section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    words = " ".join(path)
    yield f"{'#' * max(2, 1 + len(path))} boolrank {words}".strip()
    yield command.help
    yield f"```console\n$ {EXAMPLES[words or None]}\n```"
    rows = [f"| {_names(each)} | {_said(each)} |" for each in command.params if each.name != "help"]
    if rows:
        yield "\n".join(["| argument or option | description |", "|---|---|", *rows])


def _names(parameter: Any) -> str:
    """Return a parameter as written: an argument, or an option with a place for its value."""
    if parameter.param_type_name == "argument":
        word = parameter.metavar or parameter.name.upper()
        return f"`{word}`" if parameter.nargs == 1 else f"`{word} …`"
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar or '…'}"
    return ", ".join(f"`{name}{value}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _said(parameter: Any) -> str:
    said = parameter.help.replace("|", "\\|")
    if parameter.param_type_name == "option":
        if parameter.required:
            said += " Needed."
        if parameter.default not in (None, False, ()) and "default" not in said:
            said += f" Default: `{parameter.default}`."
    return str(said)
