"""``boolrank compare``: models tuned with the same budget and measured on the same folds."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from .._extras import needs
from ..data.inputs import is_name
from ..models import MODELS
from ..models.spec import split_commas
from ..storage.output import check_output
from ..studies import FOLDS, Experiment, compare_models, record
from ..studies.comparison import check_comparison
from ._inputs import Columns, command_text, fit_command, given, say_read
from ._output import Output, done, say, status

# Columns of the results in a table; JSON and CSV have all.
_SHOWN = {
    *("model", "error", "mean", "deviation", "difference", "significant", "p (t)"),
    *("fit (s)", "memory (MB)"),
}


def compare(
    inputs: list[str] | None = None,
    *,
    models: str | None = None,
    metrics: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    order: str | None = None,
    least: int | None = None,
    seed: int | None = None,
    out: Path = Path("comparison"),
    columns: Columns,
    threads: int | None = None,
    output: Output,
) -> None:
    """Tune models with the same budget, measure them on the same folds, and write a report.

    Users are split into six folds by the paper's protocol: one to choose parameters, five to test.
    Parameters are chosen by each metric, and the first metric decides; the default metrics are
    ndcg@10 and auc. Data sets are compared one by one; files are parts of one data set.

    The folder gets comparison.html, tables/ (CSV, Markdown, LaTeX), figures/ (SVG, PNG) and
    results.json. A stopped run continues when the same command is run again. A model that fails is
    listed with the reason. At the end there is a `fit` command for the best model by each metric.
    """
    from ..report.comparison import doubts_about, write_comparison
    from ..report.page import claim_folder
    from ..report.tables import by_metric, comparison_table

    started, inputs = time.time(), columns.inputs(inputs)
    if trials != 0:
        with needs("tune", "Tuning"):  # fail now rather than for each model
            import optuna  # noqa: F401
    installed = [name for name, entry in MODELS.items() if entry.available]
    names = installed if models is None else split_commas(models)
    budget = given({"metrics": metrics, "trials": trials, "seconds": seconds, "seed": seed})
    check_comparison(names, **budget)
    check_output(out)
    split = given({"order": order, "least": least})
    if all(is_name([each]) for each in inputs):
        parts = {Path(each).name: [each] for each in inputs}
    else:
        files = ", ".join(Path(each).name for each in inputs)
        parts = {files if columns.sql is None else "query": inputs}
    with status() as tell:
        splits = {}
        for title, part in parts.items():
            tell(f"{title}: reading and splitting")
            splits[title] = Experiment(
                tuple(part),
                split={"folds": FOLDS} | split,
                columns=columns.given(),
                seed=seed or 0,
            ).load_split()
        claim_folder(out, "compare")
        how = budget | {"folder": out, "n_threads": threads, "progress": tell}
        found = [compare_models(each, names, title=key, **how) for key, each in splits.items()]
    for made in splits.values():
        say_read(made.data)
    shown = {"models": models, **budget, **split, "out": out, **columns.given()}
    command = command_text("compare", inputs, shown)
    with status("Writing the report"):
        manifest = record(found, out, command=command, started=started, n_threads=threads)
        commands = {
            (each.title, metric): fit_command(
                parts[each.title], columns, each.ranked(metric)[0].chosen[metric]
            )
            for each in found
            for metric in (each.metrics if each.measured else ())
        }
        page = write_comparison(found, out, manifest, commands)
    results = comparison_table(found)
    kept = _SHOWN if len(found) == 1 else {"data set", *_SHOWN}
    hidden = [column.name for column in results.columns if column.name not in kept]
    output.show(*by_metric(results, hidden), records=results.records())
    for each in found:
        for failed in each.failed:
            say(f"{each.title}: {failed.name} failed: {failed.error}")
        for doubt in doubts_about(each):
            say(f"note: {each.title}: {doubt}")
    done(f"{page}")
    for (title, metric), command in commands.items():
        say(f"best {metric} on {title}: {command}")
    if not any(each.measured for each in found):
        raise typer.Exit(1)
