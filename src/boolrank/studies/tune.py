"""Tune a model: optuna's TPE sampler on a validation fold, and studies of the trials.

Trial k is drawn by a sampler that is seeded with (seed, k) and knows only the trials before it.
So a study that was killed and resumed has the trials of an undisturbed one, a longer one starts
with those of a shorter one, and the cache of results is all that needs to be kept. Trials run in a
worker process, whose death does not end the study.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import needs
from ..checks import real, whole
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import paper_protocol
from ..data.splits import Fold
from ..errors import InputError, ParameterError, ParameterTypeError
from ..evaluation.metrics import Metric, Metrics, parse_metrics
from ..models.registry import find_model
from ..models.spec import ModelSpec
from ..storage.output import check_output
from ..table import counted
from .cache import Task, digest, read_json, write_json
from .executor import Executor

# Called with the number of trials done and planned, and the best so far.
Progress = Callable[[int, int, str], None]

# Default metrics; the first one decides.
DECIDING = ("ndcg@10", "auc")
_VARIETY = ("coverage@10", "top10_share@10")
# The first of these folds of users is for tuning, the others are left for tests.
FOLDS = 6
# Users with fewer interactions are in no fold, as in the paper.
_LEAST = 5


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and their metrics; or the error, and no metrics.

    Beside the metrics of the study there is the variety of the lists.
    ``ended_after`` has the seconds after which the process was ended or died, if it was.
    """

    params: Mapping[str, Any]
    metrics: Mapping[str, float]
    seconds: float
    error: str = ""
    ended_after: float | None = None

    @property
    def worked(self) -> bool:
        """True if it was measured."""
        return not self.error


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The trials of one model on the fold with this hash; the first has the default parameters.

    ``lower`` has the metrics for which lower is better.
    """

    model: str
    metrics: tuple[str, ...]
    seed: int
    fold: str
    trials: tuple[Trial, ...]
    lower: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """Number of trials that failed."""
        return sum(not trial.worked for trial in self.trials)

    def ranked(self, metric: str | None = None) -> list[Trial]:
        """Return the trials that worked, best first by a metric, the first one by default."""
        metric = _one_of(self.metrics, metric)
        sign = 1 if metric in self.lower else -1
        worked = [trial for trial in self.trials if trial.worked]
        return sorted(worked, key=lambda trial: sign * trial.metrics[metric])

    def best(self, metric: str | None = None) -> Trial:
        """Return the best trial by a metric, the first one by default."""
        ranked = self.ranked(metric)
        if not ranked:
            last = self.trials[-1]
            more = "" if last.ended_after is None else "give it more time or memory, or "
            trials = counted(len(self.trials), "trial")
            raise InputError(
                f"none of {trials} of {self.model} worked: {last.error}",
                hint=f"{more}tune on other or less data, or another model",
            )
        return ranked[0]

    def spec(self, metric: str | None = None) -> ModelSpec:
        """Return the model with the best parameters by a metric; ``make()`` gives the model."""
        return ModelSpec(self.model, self.best(metric).params)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON types."""
        return asdict(self) | {"metrics": list(self.metrics), "lower": list(self.lower)}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Study:
        """Return the study that `to_dict` wrote."""
        tuples = {name: tuple(content[name]) for name in ("metrics", "lower")}
        trials = tuple(Trial(**trial) for trial in content["trials"])
        return Study(**dict(content) | tuples | {"trials": trials})

    def __repr__(self) -> str:
        trials = counted(len(self.trials), "trial")
        lines = [f"Study of {self.model}: {trials}, {self.failed} failed"]
        for metric in self.metrics:
            for best in self.ranked(metric)[:1]:
                given = ", ".join(f"{k}={v!r}" for k, v in best.params.items()) or "the defaults"
                lines.append(f"  {metric} {best.metrics[metric]:.4f} with {given}")
        return "\n".join(lines)


def tune_model(
    name: str,
    fold: Fold,
    metrics: Metrics = DECIDING,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Progress = lambda _done, _total, _what: None,
) -> Study:
    """Try parameters of a model on validation data, the defaults first.

    With several metrics the search is for all of them at once, and `Study.best` gives the best
    trial by each. A trial that fails is recorded with its reason, and the study continues.

    Parameters
    ----------
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
    parsed = tuple(parse_metrics(metrics, of_users=True))
    check_budget(trials, seconds, seed, least=1)
    check_output(folder)
    measured = with_variety(parsed)
    lower = tuple(str(each) for each in parsed if not each.higher_is_better)
    study = Study(name, tuple(map(str, parsed)), seed, fold.hash, (), lower)
    file = f"{name}-{digest([study.fold, study.metrics, seed])[:16]}.json"
    path = None if folder is None else Path(folder) / "studies" / file
    most = trials if entry.space else 1
    with _quiet_optuna() as optuna, Executor(folder, n_threads, apart=True) as executor:
        sides = ["minimize" if each in lower else "maximize" for each in study.metrics]
        search = optuna.create_study(directions=sides)
        for number in range(most):
            spent = sum(trial.seconds for trial in study.trials)
            left = None if seconds is None else seconds - spent
            if left is not None and left <= 0:
                break
            draws = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            search.sampler = optuna.samplers.TPESampler(seed=draws, multivariate=False)
            asked = search.ask()
            space = entry.space if number else {}
            params = {key: each.draw(asked, key, fold.train) for key, each in space.items()}
            found = executor.attempt(Task(fold, ModelSpec(name, params), measured), left)
            means = {} if found.result is None else found.result.means
            undefined = [each for each in study.metrics if not math.isfinite(means.get(each, 0))]
            error = f"no user has a value of {undefined[0]}" if undefined else found.error
            means = {} if error else means
            trial = Trial(params, means, found.seconds, error, found.ended_after)
            if trial.worked:
                search.tell(asked, [trial.metrics[metric] for metric in study.metrics])
            else:
                search.tell(asked, state=optuna.trial.TrialState.FAIL)
            study = replace(study, trials=(*study.trials, trial))
            if path is not None and executor.computed:
                write_json(path, study.to_dict(), indent=1)
            best = [f"{m} {t.metrics[m]:.4f}" for m in study.metrics for t in study.ranked(m)[:1]]
            text = ", ".join(best) or "no trial has worked yet"
            progress(number + 1, most, f"{name}: {text}")
    study.best()  # raises if no trial worked
    if path is not None:
        write_json(path, study.to_dict(), indent=1)
    return study


def with_variety(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return metrics and those of the variety of lists."""
    return tuple(dict.fromkeys((*metrics, *parse_metrics(_VARIETY))))


def validation_fold(data: Interactions, order: str = "time", seed: int = 0) -> Fold:
    """Return the fold to tune on: the first of six by the paper's protocol.

    The users of the other five are for tests; no user is in two folds.
    """
    check_interactions(data, "parameters are chosen on")
    able = int((np.diff(data.indptr) >= _LEAST).sum())
    if able < FOLDS:
        raise InputError(
            f"{counted(able, 'user', 'have')} {_LEAST} interactions or more, and {FOLDS} folds "
            "need one each",
            hint="give data with more users, or more of each",
        )
    return next(iter(paper_protocol(data, folds=FOLDS, order=order, seed=seed, least=_LEAST)))


def check_budget(trials: Any, seconds: Any, seed: Any, *, least: int) -> None:
    """Raise if a number of trials, a time limit or a seed is out of range."""
    whole("", "trials", trials, low=least)
    whole("", "seed", seed, low=0)
    if seconds is not None and seconds != math.inf:
        real("", "seconds", seconds, above=0)


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


def best_spec(folder: str | Path, metric: str | None = None) -> ModelSpec:
    """Return the best model by a metric in a folder of `tune_model`, or of `record`.

    Several studies in a folder must be of the same fold and metrics; the best of all is returned.
    The file of one study can be given as well.
    """
    folder = Path(folder)
    results = folder / "results.json" if folder.is_dir() else folder
    if results.name == "results.json" and results.is_file():
        return _winner(results, metric)
    paths = [folder] if folder.is_file() else sorted((folder / "studies").glob("*.json"))
    if not paths:
        raise InputError(
            f"{folder} has no study and no comparison", hint="run boolrank tune or compare first"
        )
    first, *others = studies = [Study.from_dict(read_json(path)) for path in paths]
    if any((each.fold, each.metrics) != (first.fold, first.metrics) for each in others):
        raise InputError(
            f"{folder} has studies of different data or metrics",
            hint=f"name one file of {folder / 'studies'}",
        )
    chosen = _one_of(first.metrics, metric)
    sign = -1 if chosen in first.lower else 1
    worked = [each for each in studies if each.failed < len(each.trials)]
    best = max(worked or studies, key=lambda each: sign * each.best(chosen).metrics[chosen])
    return best.spec(chosen)


def _winner(path: Path, metric: str | None) -> ModelSpec:
    """Return the best model of a comparison."""
    content = read_json(path)
    if "sets" not in content:
        raise InputError(f"{path} is not of a comparison", hint="name a folder of tune or compare")
    first, *more = content["sets"]
    if more:
        raise InputError(
            f"{path} compares models on {len(more) + 1} data sets",
            hint="compare on the data that you want to fit on, with another --out",
        )
    metric = _one_of(first["metrics"], metric)
    if metric not in first["winners"]:
        raise InputError(f"no model in {path} worked", hint="look at the errors in it")
    return ModelSpec.from_dict(first["winners"][metric])


def _one_of(metrics: Sequence[str], metric: str | None) -> str:
    if metric is not None and metric not in metrics:
        raise ParameterError(f"{metric!r} was not measured", hint=f"there are {', '.join(metrics)}")
    return metric or metrics[0]
