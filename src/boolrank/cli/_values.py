"""Values of options: where events come from, times, and options written as a command again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..data.database import Database
from ..engines.user_modules import user_modules
from ..errors import ParameterError
from ..models.spec import ModelSpec

AUTO = "auto"  # the model is to be chosen


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Query and database, if events are not in files; columns of events; filters."""

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
        """Return the files, or the query. ``others`` are further options for the hint."""
        if self.sql is not None and files:
            raise ParameterError("--sql and files exclude each other", hint="leave one out")
        if self.sql is None and not files:
            hint = f"name files, or give {others}--sql and --from"
            raise ParameterError("there are no data", hint=hint)
        return list(files or []) if self.sql is None else [self.sql]

    def given(self) -> dict[str, Any]:
        """Return the options that have a value, without the query and the password."""
        options = asdict(self) | {"sql": None}
        return given(options | {"database": self.database and Database(self.database)})


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
    """Return a command with the options that have a value; True means a flag.

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
    """Return the command that fits a given model, or chooses one."""
    return command_text("fit", inputs, {**columns.given(), "model": spec, **more, "out": "model"})
