"""Tune a model: optuna's TPE sampler on a validation fold, which can be stopped and goes on.

Trial k draws with a sampler of its own, seeded by the study's seed and k, that knows the trials
before it and nothing else. So a study that was killed and resumed has the trials of one that was
not, and a longer one begins with those of a shorter one. The file of a study is written whole after
each trial, under a name that is a hash of all that the trials depend on.

Trials are measured in another process: one that is killed for want of memory ends no study.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from .._extras import needs
from .._version import __version__
from ..checks import whole
from ..counts.overlaps import Overlaps
from ..data.splits import Fold, read_fold, write_fold
from ..engines.worker import OutOfTimeError, Worker, WorkerEndedError
from ..errors import ParameterError, ParameterTypeError
from ..evaluation.folds import evaluate_fold
from ..evaluation.metrics import Measure, user_metrics
from ..models import MODELS, make_model
from ..models.spaces import draw, space_of
from .cache import canonical, check_folder, digest, library_of, write_text
from .study import Study, Trial

__all__ = ["Progress", "Trials", "check_budget", "fold_hash", "trials_apart", "tune_model"]

# Told how many trials there are of how many, and what the best is.
Progress = Callable[[int, int, str], None]

# To be raised when the same key is to mean other trials.
_FORMAT = 1


def tune_model(
    name: str,
    fold: Fold,
    metrics: Iterable[str | Measure] | str = ("auc", "ndcg@10"),
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Study:
    """Try parameters of a model on a fold, the defaults first, and measure each by all metrics.

    With several metrics the search is for all of them at once, and `Study.best` has the best of
    each. A trial that fails is recorded with what it said, and the study goes on.

    Parameters
    ----------
    name : of the model, see `make_model`
    fold : what to fit and measure on; keep it apart from what the model is tested on
    metrics : that users have values of
    trials : how many, those that fail among them
    seconds : for all trials together; the one that runs then is ended, and recorded as failed
    seed : of the sampler
    folder : where the study is kept; there, it goes on where it was. Nowhere if not given
    n_threads : all by default
    progress : told how many trials there are of how many, and the best so far

    >>> from boolrank import paper_protocol, synthetic
    >>> fold = paper_protocol(synthetic(60, 30, 700), folds=6)[0]
    >>> study = tune_model("kernel-ranker", fold, "auc", trials=4)
    >>> len(study.trials), study.best("auc").metrics["auc"] >= study.trials[0].metrics["auc"]
    (4, True)
    """
    space = space_of(name)
    make_model(name)  # says what there is, or what to install, where it is not here
    if not isinstance(fold, Fold):
        raise ParameterTypeError(
            f"a study takes a Fold, not {type(fold).__name__}; take one of make_split(interactions)"
        )
    measured = tuple(str(each) for each in user_metrics(metrics))
    check_budget(trials, seconds, seed)
    if folder is not None:
        check_folder(folder)
    path = None if folder is None else study_path(folder, name, fold, measured, seed)
    kept = _read(path)
    study = Study(name, measured, seed, fold_hash(fold), ())
    most = trials if space else 1
    with _quiet_optuna() as optuna, trials_apart(name, fold, measured, n_threads) as measure:
        sampler = optuna.create_study(directions=["maximize"] * len(measured))
        for number in range(most):
            left = None if seconds is None else seconds - study.seconds
            if left is not None and left <= 0:
                break
            sampler.sampler = optuna.samplers.TPESampler(
                seed=_seed_of(seed, number), multivariate=False
            )
            before = kept[number] if number < len(kept) else None
            if before is not None:
                sampler.enqueue_trial(dict(before.drawn))
            again = None if before is None or _another_go(before, left) else before
            asked = sampler.ask()
            params = draw(space, asked, fold.train) if number else {}
            found = again or replace(measure(params, left), drawn=dict(asked.params))
            if found.worked:
                sampler.tell(asked, [found.metrics[metric] for metric in measured])
            else:
                sampler.tell(asked, state=optuna.trial.TrialState.FAIL)
            study = replace(study, trials=(*study.trials, found))
            if again is None and path is not None:
                whole = replace(study, trials=(*study.trials, *kept[number + 1 :]))
                write_text(path, json.dumps(whole.to_dict(), indent=1) + "\n")
            if progress is not None:
                progress(number + 1, most, _told(study))
    study.best()  # or an error, if nothing has worked
    return study


def study_path(
    folder: str | Path, name: str, fold: Fold, metrics: tuple[str, ...], seed: int
) -> Path:
    """Where a study is kept; the name says of what, and a hash of all that it depends on."""
    with needs("tune", "Tuning"):
        import optuna

    key = {
        "format": _FORMAT,
        "boolrank": __version__,
        "optuna": optuna.__version__,
        "model": name,
        "space": repr(space_of(name)),
        "fold": fold_hash(fold),
        "metrics": list(metrics),
        "seed": seed,
    } | library_of(name)
    return Path(folder) / f"{name}-{digest(canonical(key))[:16]}.json"


def fold_hash(fold: Fold) -> str:
    """SHA-256 of what a fold trains on and asks for, by the numbers of users and items."""
    parts = (fold.train, fold.known, fold.relevant)
    out = hashlib.sha256(f"{fold.train.shape} {fold.folded_in}".encode())
    for part in parts:
        for array in (part.indptr, part.indices):
            out.update(np.ascontiguousarray(array, "<i8").data)
    return out.hexdigest()


def check_budget(trials: Any, seconds: Any, seed: Any, least: int = 1) -> None:
    """Raise unless there are so many trials at least, some time and a seed."""
    whole("", "trials", trials, least)
    whole("", "seed", seed, 0)
    if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
        raise ParameterError(f"seconds must be a number above 0 or None, not {seconds!r}")


def _another_go(trial: Trial, left: float | None) -> bool:
    """Whether a trial that was ended, perhaps by no fault of its own, would have more time now."""
    ended = trial.ended_after
    return ended is not None and (left is None or left > ended)


def _seed_of(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _read(path: Path | None) -> tuple[Trial, ...]:
    """The trials that a file has; none where there is none, or a damaged one."""
    try:
        return () if path is None else Study.from_dict(json.loads(path.read_text("utf-8"))).trials
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _told(study: Study) -> str:
    if study.failed == len(study.trials):
        return f"{study.model}: none has worked yet"
    best = (f"{name} {study.best(name).metrics[name]:.4f}" for name in study.metrics)
    return f"{study.model}: {', '.join(best)}"


@contextmanager
def _quiet_optuna() -> Iterator[Any]:
    """Optuna without its messages, whose level is set back afterwards."""
    with needs("tune", "Tuning"):
        import optuna
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


class Measuring(Protocol):
    """Fits and measures a model with given parameters, within so many seconds."""

    def __call__(self, params: Mapping[str, Any], seconds: float | None = None) -> Trial: ...


@contextmanager
def trials_apart(
    name: str, fold: Fold, metrics: tuple[str, ...], n_threads: int | None
) -> Iterator[Measuring]:
    """Trials of a model on a fold, in another process, which ends with the context."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "fold")
        about = {"fold": str(place), "model": name, "metrics": metrics, "n_threads": n_threads}
        with Worker(answering, about) as worker:

            def measured(params: Mapping[str, Any], seconds: float | None = None) -> Trial:
                if not place.exists():  # a study whose trials are all kept asks for none
                    write_fold(fold, place)
                start = time.perf_counter()
                try:
                    return Trial(**worker.ask(dict(params), seconds))
                except WorkerEndedError as error:
                    took = time.perf_counter() - start
                    had = seconds if isinstance(error, OutOfTimeError) else took
                    return Trial(params, {}, took, str(error), ended_after=had)

            yield measured


class Trials:
    """Fits and measures a model with given parameters; overlaps are counted once for all of them.

    Counting is part of the trial that comes first, so that its time counts as any other.
    """

    def __init__(
        self, name: str, fold: Fold, metrics: tuple[str, ...], n_threads: int | None
    ) -> None:
        self.kind, self.fold, self.metrics = MODELS[name].load(), fold, metrics
        self.n_threads = n_threads
        self.options: dict[str, Any] | None = None

    def __call__(self, params: Mapping[str, Any], seconds: float | None = None) -> Trial:  # noqa: ARG002 - whoever asks looks at the clock
        """What came of it, be it an error."""
        start = time.perf_counter()
        try:
            values = self._values(params)
            error = "" if values else "a metric is not a number"
        except Exception as wrong:  # noqa: BLE001 - whatever it is, other parameters may do
            values, error = {}, f"{type(wrong).__name__}: {wrong}"
        return Trial(params, values, time.perf_counter() - start, error)

    def _values(self, params: Mapping[str, Any]) -> dict[str, float]:
        if self.options is None:
            shared = "overlaps" in signature(self.kind.fit).parameters
            counted = Overlaps.of(self.fold.train, self.n_threads) if shared else None
            self.options = {"overlaps": counted} if shared else {}
        own = (
            {"n_threads": self.n_threads} if "n_threads" in signature(self.kind).parameters else {}
        )
        found = evaluate_fold(
            self.kind(**params, **own), self.fold, self.metrics, self.n_threads, **self.options
        )
        values = {metric: float(found.means[metric]) for metric in self.metrics}
        return values if all(map(math.isfinite, values.values())) else {}


def answering(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In that process: parameters are answered with a trial."""
    metrics = tuple(about["metrics"])
    measured = Trials(about["model"], read_fold(about["fold"]), metrics, about["n_threads"])
    return lambda params: asdict(measured(params))
