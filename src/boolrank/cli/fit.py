"""``boolrank fit``: fit a model and save it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

from ..checks import one_of
from ..data.conditions import EventFilters
from ..data.inputs import is_name
from ..errors import ParameterError
from ..models import model_info
from ..models.disk_fit import fit_on_disk
from ..models.spec import ModelSpec, parse_model, split_commas
from ..report.cautions import concentration
from ..storage.folder import check_target
from ..studies import best_spec, choose
from ..studies.families import with_tags
from ..table import counted
from ._inputs import (
    AUTO,
    Columns,
    command_text,
    given,
    race_options,
    read_events,
    read_items,
    say_read,
)
from ._options import refuse
from ._output import Output, counter, done, say, status

# Options for which all events have to be in memory.
_NEED_ALL = ("items", *EventFilters.__annotations__, "k_core")


def fit(
    inputs: list[str] | None = None,
    *,
    out: Path,
    model: str | None = None,
    kernel: str | None = None,
    items: str | None = None,
    sets: str | None = None,
    attributes: str | None = None,
    tuned: Path | None = None,
    metric: str | None = None,
    trials: int | None = None,
    budget: str | None = None,
    memory: str | None = None,
    columns: Columns,
    engine: str = "local",
    master: str | None = None,
    threads: int | None = None,
    output: Output,
) -> None:
    """Fit a model on events and save it in a folder.

    By default the model is chosen: a race over models and settings on held-out events, printed as a
    table and kept with the model (see `boolrank show`). The same --trials give the same choice.
    Columns are found by the usual names (user, user_id, item, movieId, rating, timestamp, ...).
    Repeated events count once. --items adds a table with a row per item: its titles appear in
    lists, and its columns can be used in filters. With --attributes, the kernel of a kernel-ranker
    has terms over tags of items, and items without events are ranked, too; a --kernel such as
    'disjunctive(8) + 0.1*linear[genres]' gives the terms. With --memory, events are read in parts
    and pairs of items counted on disk; if the process is killed, the same command continues. With
    --engine spark, inputs are read and counted on the Spark cluster of --master, which has to see
    them and --out; the model is the same. The first run on a machine compiles some code.
    """
    inputs = columns.inputs(inputs)
    tags = split_commas(attributes or "")
    if tags and tuned is None:
        model = model or "kernel-ranker"
    spec = _spec(model, kernel, tuned, metric)
    if spec is None and tags:
        hint = "use --model kernel-ranker, or leave out --attributes"
        raise ParameterError("--attributes needs a model with a kernel", hint=hint)
    options = race_options(metric, trials, budget, auto=spec is None)
    if spec is not None and (kernel is not None or tags):
        spec = _with_kernel(spec, kernel, tags)
    for name in given({"sets": sets, "attributes": attributes}) if items is None else ():
        raise ParameterError(f"--{name} needs --items", hint="name the file of the items, too")
    check_target(out)
    one_of("engine", engine, ("local", "spark") if master is None else ("spark",))
    if engine == "spark":
        refuse("--engine spark", given({"items": items, "threads": threads, "memory": memory}))
        _fit_on_spark(master or "local[*]", spec, inputs, columns, out)
        return
    if memory is not None:
        chosen = given({"items": items} | ({} if is_name(inputs) else columns.given()))
        refuse("--memory", [name for name in _NEED_ALL if name in chosen])
        _fit_within(memory, spec, inputs, columns, out, threads)
        return
    # A race goes by time, and the order of rows in a file is none.
    file_order = False if spec is None else None
    events = read_events(inputs, columns.given(), file_order=file_order)
    table = None if items is None else read_items(items, sets, events)
    choice = None
    if spec is None:
        with counter("Choosing") as count:
            choice = choose(events, **options, n_threads=threads, progress=count)
        spec = choice.spec
        if choice.entrants:
            output.show(choice.table())
        else:
            say(choice.reason)
    with status("Fitting"):
        fitted = spec.make(threads).fit(events, items=table)
    if choice is not None:
        fitted.restore(replace(fitted.fitted, choice=choice.to_dict()))
    with status("Saving"):
        fitted.save(out)
    done(f"{out}: {spec} on {fitted.interactions!r}")
    # The race has compiled what lists need. Of a model that was asked for, `recommend` says it.
    caution = None if choice is None else concentration(fitted)
    if caution is not None:
        say(f"note: {caution} To try more: {command_text('compare', inputs, columns.given())}")


def _fit_within(
    memory: str,
    spec: ModelSpec | None,
    inputs: list[str],
    columns: Columns,
    out: Path,
    threads: int | None,
) -> None:
    """Fit within a limit of memory, on disk if need be."""
    if spec is None:
        hint = "add --model kernel-ranker or --model item-knn"
        raise ParameterError("--memory needs a model", hint=hint)
    chosen = columns.given()
    in_files = not is_name(inputs) and "database" not in chosen
    source = inputs if in_files else read_events(inputs, chosen)
    if in_files:
        chosen.pop("time", None)
    with counter("Counting") as count:
        model = fit_on_disk(spec.make(threads), source, out, memory, chosen, count)
    if in_files:
        say_read(model.interactions)
    done(f"{out}: {spec} on {model.interactions!r}")


def _fit_on_spark(
    master: str, spec: ModelSpec | None, inputs: list[str], columns: Columns, out: Path
) -> None:
    """Read, fit and save on a cluster."""
    if spec is None:
        raise ParameterError("--engine spark needs a model", hint="add --model kernel-ranker")
    with warnings.catch_warnings(), status("Fitting on Spark"):
        warnings.filterwarnings("ignore", category=FutureWarning)  # of pyspark, about pandas 3
        from .. import spark

        session = spark.start(master)
        try:
            spark.fit(spark.read(session, inputs, columns.given()), out, model=spec)
        finally:
            session.stop()
    found = model_info(out)
    users, items = (counted(found[f"{side}s"], side) for side in ("user", "item"))
    done(f"{out}: {spec} on {users} x {items}")


def _spec(
    model: str | None, kernel: str | None, tuned: Path | None, metric: str | None
) -> ModelSpec | None:
    """Return the model to fit; None if it is to be chosen."""
    if tuned is not None:
        refuse("--tuned", given({"model": model, "kernel": kernel}))
        return best_spec(tuned, metric)
    if model == AUTO or model is kernel is None:
        if kernel is not None:
            hint = "add --model kernel-ranker, or leave out --kernel"
            raise ParameterError("--kernel needs a model", hint=hint)
        return None
    if metric is not None:
        problem = "--metric goes with --model auto or --tuned"
        raise ParameterError(problem, hint="leave out one of them")
    return parse_model(model or "kernel-ranker")


def _with_kernel(spec: ModelSpec, kernel: str | None, tags: list[str]) -> ModelSpec:
    """Return a model with another kernel, which has a term over each column of tags."""
    if "kernel" not in spec.params:
        option = "--attributes" if kernel is None else "--kernel"
        hint = f"leave out {option}, or use --model kernel-ranker"
        raise ParameterError(f"{spec.name} has no kernel", hint=hint)
    text = str(spec.params["kernel"]) if kernel is None else kernel
    return ModelSpec(spec.name, {**spec.params, "kernel": with_tags(text, tags) if tags else text})
