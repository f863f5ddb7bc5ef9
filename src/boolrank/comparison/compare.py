"""Compare models on a split: the first fold is for choosing parameters, the others test.

The users of the first fold are not tested in any other, and all models have the same number of
trials and the same time to find their parameters. What was measured is kept as it comes, so that a
comparison that was stopped goes on where it was. A model that fails is part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..data.splits import Split
from ..errors import MissingExtraError, ParameterError
from ..evaluation.folds import model_text
from ..evaluation.metrics import users_metrics
from ..evaluation.result import Evaluation
from ..experiments.cells import Cells, cell_key, check_folder
from ..experiments.specs import ModelSpec, parse_model
from ..tuning.arity import FOLDS
from ..tuning.study import check_budget
from .found import ModelResult, SetComparison
from .measure import Bench, ModelFailedError, reason

__all__ = ["FOLDS", "METRICS", "compare_models"]

METRICS = ("auc", "ndcg@10")

# As `boolrank.tuning.tune_model`: called with a name, a fold and options, it gives a study, whose
# ``best(metric).params`` are the parameters that were best by a metric, and which has ``trials``,
# each with an ``error``.
Tuner = Callable[..., Any]
Told = Callable[[str], None]


def compare_models(
    split: Split,
    models: Sequence[str],
    metrics: Iterable[str] | str = METRICS,
    *,
    title: str = "",
    tuner: Tuner | None = None,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Told = lambda _: None,
) -> SetComparison:
    """Choose parameters of each model on the first fold, and measure them on the others.

    Each model is measured in a process of its own.

    Parameters
    ----------
    split : of two folds or more; the users of one are not tested in another
    models : names such as ``"ease"``; with parameters, ``"ease(reg=500)"``, as it is
    metrics : that users have values of; for each, the parameters that are best by it are measured
    title : of the data
    tuner : what finds parameters; those that models have by default if not given
    trials, seconds : how many it may try for each model, and how long
    seed : of all that is random
    folder : where results are kept; nowhere if not given
    n_threads : all by default
    progress : told what is done next

    >>> from boolrank import paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(60, 30, 700), folds=3)
    >>> found = compare_models(split, ["popularity"], "auc")
    >>> len(found.models[0].by("auc").folds), found.computed
    (2, 2)
    """
    measures = users_metrics(metrics)
    check_budget(trials, seconds, seed, least=0)
    if len(split) < 2:
        raise ParameterError(
            f"a comparison needs a fold for validation and others that test; {split.name} has "
            f"{len(split)} fold"
        )
    if not models:
        raise ParameterError("there is no model to compare; give some, such as 'kernel-ranker'")
    for name in models:
        with suppress(MissingExtraError):  # that is a result; a misspelt name is not
            parse_model(name)
    if folder is not None:
        check_folder(folder)
    names = tuple(str(each) for each in measures)
    with TemporaryDirectory() as temporary:
        place = Path(temporary)
        kept = place if folder is None else Path(folder)
        search = _Search(tuner, trials, seconds, seed, None if folder is None else kept)
        bench = Bench(split, place / "folds", kept / "measured", names, n_threads)
        users = [list(fold.users) for fold in split]
        plan = _Plan(title or split.name, split, users, bench, search, progress)
        before = plan.results()
        found = tuple(plan.compared(model) for model in dict.fromkeys(models))
        computed = plan.results() - before
    trials = 0 if tuner is None else trials
    return SetComparison(plan.title, split, names, found, trials, seconds, seed, computed)


@dataclass(frozen=True)
class _Search:
    """How parameters are found."""

    tuner: Tuner | None
    trials: int
    seconds: float | None
    seed: int
    folder: Path | None


@dataclass(frozen=True)
class _Plan:
    """How models are compared."""

    title: str
    split: Split
    users: list[list[Any]]
    bench: Bench
    search: _Search
    progress: Told

    def results(self) -> int:
        """How many there are."""
        return sum(1 for _ in self.bench.cells.rglob("*.json"))

    def compared(self, name: str) -> ModelResult:
        try:
            chosen, trials = self._chosen(name)
            specs = dict.fromkeys(chosen.values())
            found = {str(spec): self._measured(spec) for spec in specs}
        except Exception as error:  # noqa: BLE001 - what ends one model must not end the others
            return ModelResult(name, error=reason(error))
        failed = sum(1 for each in trials if each.error)
        return ModelResult(name, chosen, found, len(trials), failed)

    def _chosen(self, name: str) -> tuple[dict[str, ModelSpec], Sequence[Any]]:
        """By metric, the parameters of a model; and what was tried."""
        spec, search = parse_model(name), self.search
        if search.tuner is None or search.trials < 1 or name != spec.name:
            return dict.fromkeys(self.bench.metrics, spec), ()
        self.progress(f"{self.title}, {name}: choosing parameters")
        kept = None if search.folder is None else search.folder / "studies" / self.split.hash[:16]
        study = search.tuner(
            name,
            self.split[0],
            metrics=self.bench.metrics,
            trials=search.trials,
            seconds=search.seconds,
            seed=search.seed,
            folder=kept,
            n_threads=self.bench.n_threads,
            progress=lambda done, total, what: self.progress(
                f"{self.title}, {name}: trial {done} of {total} ({what})"
            ),
        )
        best = {metric: study.best(metric) for metric in self.bench.metrics}
        return {metric: ModelSpec(name, each.params) for metric, each in best.items()}, study.trials

    def _measured(self, spec: ModelSpec) -> Evaluation:
        self.progress(f"{self.title}, {spec.name}: measuring {spec}")
        cells, metrics = Cells(self.bench.cells), self.bench.metrics
        tested = range(1, len(self.split))
        keys = {k: cell_key(self.split, k, spec, metrics) for k in tested}
        missing = {k: keys[k] for k in tested if cells.read(keys[k], self.users[k]) is None}
        if missing:
            self.bench.measure(spec, missing)
        found = [cells.read(keys[k], self.users[k]) for k in tested]
        results = tuple(each for each in found if each is not None)
        if len(results) < len(found):
            raise ModelFailedError("its results cannot be read again; is the disk full?")
        measured = Evaluation(model_text(spec.make()), repr(self.split), self.split.hash, results)
        for metric, mean in measured.means.items():
            if math.isnan(mean):
                raise ModelFailedError(
                    f"no test user has a value of {metric}: with other metrics, or more items than "
                    "users have, there is something to compare"
                )
        return measured
