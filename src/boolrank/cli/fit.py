"""``boolrank fit``: fit a model and save it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..data.event_filters import EventFilters
from ..data.inputs import is_name
from ..data.interactions import Interactions
from ..errors import ParameterError
from ..models import model_info
from ..models.disk_fit import fit_on_disk
from ..models.spec import ModelSpec, parse_model, split_commas
from ..models.tag_columns import tag_table
from ..report.cautions import concentration
from ..storage.folder import check_target
from ..studies import best_spec, choose
from ..studies.families import with_tags
from ._inputs import read_events, read_items, say_read
from ._output import Output, Work, say
from ._values import AUTO, Columns, command_text, given, option_name, race_options

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
    'disjunctive(8) + 0.1*linear[genres]' gives the terms, and --model auto tries some. With
    --memory, events are read in parts and pairs of items counted on disk; if the process is killed,
    the same command continues. With --engine spark, inputs are read and counted on the Spark
    cluster of --master, which has to see them and --out; the model is the same. The first run on a
    machine compiles some code.
    """
    work, inputs = Work(), columns.inputs(inputs)
    race = {"trials": trials, "budget": budget}
    columns_of_tags = [] if attributes is None else split_commas(attributes)
    if columns_of_tags and tuned is None:
        model = model or "kernel-ranker"
    spec = _spec(model, kernel, tuned, metric, race)
    if columns_of_tags and spec is not None:
        spec = _with_tags(spec, columns_of_tags)
    for name in given({"sets": sets, "attributes": attributes}) if items is None else ():
        raise ParameterError(f"--{name} needs --items", hint="name the file of the items, too")
    check_target(out)
    if engine != "local" or master is not None:
        others = given({"items": items, "threads": threads, "memory": memory})
        _fit_on_spark(engine, master, work, spec, inputs, columns.given(), out, others)
        return
    if memory is not None:
        _fit_within(memory, work, spec, inputs, columns, out, threads, items)
        return
    options = race_options(metric, trials, budget)
    events = read_events(work, inputs, columns.given())
    table = None if items is None else read_items(items, sets, events)
    choice = None
    if spec is None:
        tags = tag_table(table, columns_of_tags) if table is not None and columns_of_tags else None
        options |= {"attributes": columns_of_tags, "n_threads": threads}
        with work.counter("Choosing") as count:
            choice = choose(replace(events, table=tags), **options, progress=count)
        spec = choice.spec
        if choice.entrants:
            output.show(choice.table())
        else:
            say(choice.reason)
        if columns_of_tags and "[" not in str(spec.params.get("kernel", "")):
            say(f"note: {spec.name} does not use --attributes; --model kernel-ranker does")
    with work.status("Fitting"):
        fitted = spec.make(threads).fit(events, items=table)
    if choice is not None:
        fitted.restore(replace(fitted.fitted, choice=choice.to_dict()))
    with work.status("Saving"):
        fitted.save(out)
    work.done(f"{out}: {spec} on {fitted.interactions!r}")
    with work.status("Looking at lists"):
        caution = concentration(fitted)
    if caution is not None:
        others = {} if choice else {"items": items, "out": out}
        command = command_text("compare" if choice else "fit", inputs, columns.given() | others)
        say(f"note: {caution} To try other models: {command}")


def _fit_within(
    memory: str,
    work: Work,
    spec: ModelSpec | None,
    inputs: list[str],
    columns: Columns,
    out: Path,
    threads: int | None,
    items: str | None,
) -> None:
    """Fit within a limit of memory, on disk if need be."""
    chosen = columns.given()
    if spec is None:
        hint = "add --model kernel-ranker or --model item-knn"
        raise ParameterError("--memory needs a model", hint=hint)
    others = {"items": items} if is_name(inputs) else {"items": items, **chosen}
    for name in given({name: others.get(name) for name in _NEED_ALL}):
        problem = f"--memory and {option_name(name)} exclude each other"
        raise ParameterError(problem, hint="leave out one of them")
    source: Interactions | list[str] = inputs
    if is_name(inputs) or "database" in chosen:
        source = read_events(work, inputs, chosen)
    elif "time" in chosen:
        del chosen["time"]
    with work.counter("Counting") as count:
        model = fit_on_disk(
            *(spec.make(threads), source, out, memory, chosen),
            progress=lambda done, total: count(done, total, ""),
        )
    if source is inputs:
        say_read(model.interactions)
    work.done(f"{out}: {spec} on {model.interactions!r}")


def _fit_on_spark(
    engine: str,
    master: str | None,
    work: Work,
    spec: ModelSpec | None,
    inputs: list[str],
    columns: Mapping[str, object],
    out: Path,
    others: Mapping[str, object],
) -> None:
    """Read, fit and save on a cluster."""
    from .. import spark

    if engine != "spark":
        wrong = "--master needs --engine spark" if engine == "local" else f"no engine {engine!r}"
        raise ParameterError(wrong, hint="use --engine local or --engine spark")
    for name in others:
        problem = f"--engine spark and --{name} exclude each other"
        raise ParameterError(problem, hint="leave out one of them")
    if spec is None:
        raise ParameterError("--engine spark needs a model", hint="add --model kernel-ranker")
    with warnings.catch_warnings(), work.status("Fitting on Spark"):
        warnings.filterwarnings("ignore", category=FutureWarning)  # of pyspark, about pandas 3
        session = spark.start(master or "local[*]")
        try:
            spark.fit(spark.read(session, inputs, columns), out, model=spec)
        finally:
            session.stop()
    found = model_info(out)
    work.done(f"{out}: {spec} on {found['users']:,} users x {found['items']:,} items")


def _with_tags(spec: ModelSpec, columns: list[str]) -> ModelSpec:
    """Return a model whose kernel has a term over each column."""
    if "kernel" not in spec.params:
        raise ParameterError(
            f"--attributes needs a kernel, and {spec.name} has none",
            hint="leave out --model, or use --model kernel-ranker or auto",
        )
    kernel = with_tags(str(spec.params["kernel"]), columns)
    return ModelSpec(spec.name, {**spec.params, "kernel": kernel})


def _spec(
    model: str | None,
    kernel: str | None,
    tuned: Path | None,
    metric: str | None,
    race: Mapping[str, object],
) -> ModelSpec | None:
    """Return the model to fit; None if it is to be chosen."""
    auto = model == AUTO or (model is None and kernel is None)
    if tuned is not None or not auto:
        for name in given(race):
            raise ParameterError(f"--{name} goes with --model auto", hint="leave out one of them")
    if tuned is not None:
        if model or kernel:
            raise ParameterError(
                "--tuned chooses the model and its kernel", hint="leave out --model and --kernel"
            )
        return best_spec(tuned, metric)
    if auto:
        if kernel is not None:
            raise ParameterError(
                "--kernel needs a model", hint="add --model kernel-ranker, or leave out --kernel"
            )
        return None
    if metric is not None:
        raise ParameterError(
            "--metric goes with --model auto or --tuned", hint="leave out one of them"
        )
    spec = parse_model(model or "kernel-ranker")
    if kernel is None:
        return spec
    if "kernel" not in spec.params:
        raise ParameterError(
            f"{spec.name} has no kernel",
            hint="leave out --kernel, or choose another --model, such as kernel-ranker",
        )
    return ModelSpec(spec.name, {**spec.params, "kernel": kernel})
