"""Experiments as TOML files."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from ..errors import BoolrankError, InputError, ParameterError, ParameterTypeError
from ..models.spec import ModelSpec
from .arity import family, parse_arities
from .experiment import Experiment, check_keys

_KEYS = ("data", "seed", "metrics", "split", "columns", "models")


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file. Files that it names are relative to it."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"the experiment {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}") from None
    try:
        return _experiment(content, path.parent)
    except BoolrankError as error:
        where = f"{path}{_line(text, error.parameter)}"
        raise InputError(f"{where}: {error.message}", hint=error.hint) from None


def _experiment(content: dict[str, Any], folder: Path) -> Experiment:
    check_keys("key", content, _KEYS)
    for key in ("data", "models"):
        if not content.get(key):
            raise ParameterError(f"{key} is missing")
    models: list[dict[str, Any]] = []
    for number, table in enumerate(content["models"], start=1):
        try:
            models += [spec.to_dict() for spec in _models(table)]
        except BoolrankError as error:
            message = f"models, number {number}: {error.message}"
            raise InputError(message, hint=error.hint, parameter=error.parameter) from None
    return Experiment.from_dict(content | {"models": models}).anchored(folder)


def _models(table: Any) -> list[ModelSpec]:
    if not isinstance(table, dict) or not table.keys() & {"model", "kernel"}:
        raise ParameterTypeError(f'kernel = "linear" or model = "ease" is missing in {table!r}')
    given = {"model": "kernel-ranker"} | table
    if "arities" not in given:
        return [ModelSpec.from_dict(given)]
    kernels = family(str(given.get("kernel")), parse_arities(str(given.pop("arities"))))
    return [ModelSpec.from_dict(given | {"kernel": kernel}) for kernel in kernels]


def _line(text: str, key: str) -> str:
    """Return the line of a key as text, if exactly one line has it."""
    form = rf"""\s*(?:\[+\s*)?["']?{re.escape(key)}["']?\s*[\]=]"""
    lines = enumerate(text.split("\n"), start=1)
    found = [number for number, line in lines if key and re.match(form, line)]
    return f", line {found[0]}" if len(found) == 1 else ""


def to_toml(experiment: Experiment) -> str:
    """Return an experiment as the text of a TOML file."""
    content = experiment.to_dict()
    tables = [(f"[{name}]\n", content.pop(name)) for name in ("split", "columns")]
    tables += [("[[models]]\n", model) for model in content.pop("models")]
    parts = []
    for head, table in [("", content), *tables]:
        texts = {key: json.dumps(value, ensure_ascii=False) for key, value in table.items()}
        lines = "".join(f"{key} = {text}\n" for key, text in texts.items())
        parts += [head + lines] if table else []
    # JSON writes values as TOML does, except for one control character.
    return "\n".join(parts).replace("\x7f", "\\u007f")
