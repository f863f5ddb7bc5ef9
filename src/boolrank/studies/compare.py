"""Compare models on a split: the first fold is for choosing parameters, the others are for tests.

No user of the first fold is tested in another, and all models have the same budget to find their
parameters. Results are cached one by one, so that a comparison that was stopped can be resumed. A
model that fails is part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data.splits import Split
from ..errors import MissingExtraError, ParameterError
from ..evaluation.folds import model_text
from ..evaluation.metrics import Metrics, user_metrics
from ..evaluation.result import Evaluation
from ..models.spec import ModelSpec, parse_model
from .cache import Task, check_folder
from .comparison import ModelResult, SetComparison
from .executor import Executor, TaskFailedError, reason
from .tune import check_budget

__all__ = ["METRICS", "compare_models"]

METRICS = ("auc", "ndcg@10")

# Called as `tune_model`. The study that it returns needs ``best(metric).params`` and ``trials``.
Tuner = Callable[..., Any]


def compare_models(
    split: Split,
    models: Sequence[str],
    metrics: Metrics = METRICS,
    *,
    title: str = "",
    tuner: Tuner | None = None,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> SetComparison:
    """Choose parameters of each model on the first fold, and measure them on the others.

    Each model is measured in a process of its own.

    Parameters
    ----------
    split : two folds or more, which share no test user
    models : names such as ``"ease"``; ``"ease(reg=500)"`` is not tuned
    metrics : metrics of users; for each, the parameters that are best by it are measured
    title : of the data
    tuner : `tune_model`, or None to use the default parameters
    trials, seconds : budget of the tuner for each model
    folder : for results; a comparison there is resumed
    progress : called with the next step

    >>> from boolrank import paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(60, 30, 700), folds=3)
    >>> found = compare_models(split, ["popularity"], "auc")
    >>> len(found.models[0].by("auc").folds), found.computed
    (2, 2)
    """
    measures = tuple(user_metrics(metrics))
    check_budget(trials, seconds, seed, least=0)
    if len(split) < 2:
        raise ParameterError(
            f"{split.name} has {len(split)} fold, and a comparison needs a fold for validation and "
            "others for tests"
        )
    if not models:
        raise ParameterError("there is no model to compare", hint="give some, such as 'ease'")
    for name in models:
        with suppress(MissingExtraError):  # it is part of the result; a wrong name is an error
            parse_model(name)
    if folder is not None:
        check_folder(folder)
    names = tuple(map(str, measures))
    tuner = tuner if trials else None
    tests = split[1:]

    def choose(name: str) -> tuple[dict[str, ModelSpec], Sequence[Any]]:
        """Return the parameters of a model by metric, and the trials."""
        spec = parse_model(name)
        if tuner is None or name != spec.name:
            return dict.fromkeys(names, spec), ()
        study = tuner(
            name,
            split[0],
            metrics=measures,
            trials=trials,
            seconds=seconds,
            seed=seed,
            folder=folder,
            n_threads=n_threads,
            progress=lambda done, total, what: progress(
                f"{title}, {name}: trial {done} of {total} ({what})"
            ),
        )
        return {each: ModelSpec(name, study.best(each).params) for each in names}, study.trials

    def evaluate(spec: ModelSpec) -> Evaluation:
        progress(f"{title}, {spec.name}: measuring {spec}")
        results = tuple(executor.run(Task(fold, spec, measures, alone=True)) for fold in tests)
        found = Evaluation(model_text(spec.make()), repr(split), split.hash, results)
        for metric, mean in found.means.items():
            if math.isnan(mean):
                raise TaskFailedError(
                    f"no test user has a value of {metric}: use other metrics, or data with more "
                    "items than users have"
                )
        return found

    def result(name: str) -> ModelResult:
        try:
            chosen, tried = choose(name)
            found = {str(spec): evaluate(spec) for spec in dict.fromkeys(chosen.values())}
        except Exception as error:  # noqa: BLE001 - the other models may work
            return ModelResult(name, error=reason(error))
        return ModelResult(name, chosen, found, len(tried), sum(bool(t.error) for t in tried))

    title = title or split.name
    with Executor(folder, n_threads, apart=True) as executor:
        results = tuple(result(model) for model in dict.fromkeys(models))
    trials = trials if tuner else 0
    return SetComparison(title, split, names, results, trials, seconds, seed, executor.computed)
