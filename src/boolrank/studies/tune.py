"""Tune a model: optuna's TPE sampler on a validation fold.

Trial k is drawn by a sampler that is seeded with (seed, k) and knows only the trials before it.
So a study that was killed and resumed has the trials of an undisturbed one, a longer one starts
with those of a shorter one, and the cache of results is all that needs to be kept. Trials run in a
worker process, whose death does not end the study.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import needs
from ..checks import real, whole
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import paper_protocol
from ..data.splits import Fold
from ..errors import InputError, ParameterTypeError
from ..evaluation.metrics import Metrics, user_metrics
from ..models.registry import find_model
from ..models.spec import ModelSpec
from .cache import Outcome, Task, check_folder, digest, write_json
from .executor import Executor
from .study import Study, Trial

__all__ = ["FOLDS", "Progress", "tune_model", "validation_fold"]

# Called with the number of trials done and planned, and the best so far.
Progress = Callable[[int, int, str], None]

# The first of these folds of users is for tuning, the others are left for tests.
FOLDS = 6
# Users with fewer interactions are in no fold, as in the paper.
_LEAST = 5


def tune_model(
    name: str,
    fold: Fold,
    metrics: Metrics = ("auc", "ndcg@10"),
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Progress = lambda _done, _total, _what: None,
) -> Study:
    """Try parameters of a model on a fold, the defaults first.

    With several metrics the search is for all of them at once, and `Study.best` gives the best
    trial by each. A trial that fails is recorded with its reason, and the study continues.

    Parameters
    ----------
    name : name of the model, see `make_model`
    fold : the validation data; keep them apart from the test data
    metrics : metrics of users
    trials : number of trials, including those that fail
    seconds : for all trials together; the trial that runs then is ended and recorded as failed
    folder : for results and a summary; a study there is resumed
    progress : called with the number of trials done and planned, and the best so far

    >>> from boolrank import paper_protocol, synthetic
    >>> fold = paper_protocol(synthetic(60, 30, 700), folds=6)[0]
    >>> study = tune_model("kernel-ranker", fold, "auc", trials=4)
    >>> len(study.trials), study.best("auc").metrics["auc"] >= study.trials[0].metrics["auc"]
    (4, True)
    """
    entry = find_model(name)
    entry.load()  # raises if its library is missing
    if not isinstance(fold, Fold):
        raise ParameterTypeError(
            f"a study takes a Fold, not {type(fold).__name__}",
            hint="take one of make_split(interactions)",
        )
    measures = tuple(user_metrics(metrics))
    check_budget(trials, seconds, seed, least=1)
    if folder is not None:
        check_folder(folder)
    lower = tuple(str(each) for each in measures if not each.metric.higher_is_better)
    study = Study(name, tuple(map(str, measures)), seed, fold.hash, (), lower)
    file = f"{name}-{digest([study.fold, study.metrics, seed])[:16]}.json"
    path = None if folder is None else Path(folder) / "studies" / file
    space = entry.space
    most = trials if space else 1
    with _quiet_optuna() as optuna, Executor(folder, n_threads, apart=True) as executor:
        sides = ["minimize" if each in lower else "maximize" for each in study.metrics]
        search = optuna.create_study(directions=sides)
        for number in range(most):
            left = None if seconds is None else seconds - study.seconds
            if left is not None and left <= 0:
                break
            draws = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            search.sampler = optuna.samplers.TPESampler(seed=draws, multivariate=False)
            asked = search.ask()
            drawn = space if number else {}
            params = {key: each.draw(asked, key, fold.train) for key, each in drawn.items()}
            task = Task(fold, ModelSpec(name, params), measures)
            trial = _trial(params, executor.attempt(task, left))
            if trial.worked:
                search.tell(asked, [trial.metrics[metric] for metric in study.metrics])
            else:
                search.tell(asked, state=optuna.trial.TrialState.FAIL)
            study = replace(study, trials=(*study.trials, trial))
            if path is not None and executor.computed:
                write_json(path, study.to_dict(), indent=1)
            progress(number + 1, most, _best_text(study))
    study.best()  # raises if no trial worked
    if path is not None:
        write_json(path, study.to_dict(), indent=1)
    return study


def validation_fold(data: Interactions, order: str = "time", seed: int = 0) -> Fold:
    """Return the fold to tune on: the first of six by the paper's protocol.

    The users of the other five are for tests; no user is in two folds.

    >>> from boolrank import synthetic
    >>> validation_fold(synthetic(60, 30, 700))
    Fold: 66 test interactions of 8 users, 634 for training
    """
    check_interactions(data, "parameters are chosen on")
    able = int((np.diff(data.indptr) >= _LEAST).sum())
    if able < FOLDS:
        raise InputError(
            f"{able} users have {_LEAST} interactions or more, and {FOLDS} folds need one each",
            hint="give data with more users, or more of each",
        )
    return paper_protocol(data, folds=FOLDS, order=order, seed=seed, least=_LEAST)[0]


def check_budget(trials: Any, seconds: Any, seed: Any, *, least: int) -> None:
    """Raise if a number of trials, a time limit or a seed is out of range."""
    whole("", "trials", trials, low=least)
    whole("", "seed", seed, low=0)
    if seconds is not None and seconds != math.inf:
        real("", "seconds", seconds, above=0)


def _trial(params: Mapping[str, Any], outcome: Outcome) -> Trial:
    means = {} if outcome.result is None else outcome.result.means
    undefined = [name for name, value in means.items() if not math.isfinite(value)]
    if undefined:
        return Trial(params, {}, outcome.seconds, f"no user has a value of {undefined[0]}")
    return Trial(params, means, outcome.seconds, outcome.error, outcome.ended_after)


def _best_text(study: Study) -> str:
    if study.failed == len(study.trials):
        return f"{study.model}: no trial has worked yet"
    best = (f"{name} {study.best(name).metrics[name]:.4f}" for name in study.metrics)
    return f"{study.model}: {', '.join(best)}"


@contextmanager
def _quiet_optuna() -> Iterator[Any]:
    """Yield optuna without its messages; the level is restored afterwards."""
    with needs("tune", "Tuning"):
        import optuna
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)
