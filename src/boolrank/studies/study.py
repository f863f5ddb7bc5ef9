"""Studies: the trials of a model, and the best model of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError
from ..models.recommender import Recommender
from ..models.spec import ModelSpec
from ..table import Table
from .cache import read_json

__all__ = ["Study", "Trial", "best_spec"]


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and their metrics; or the error, and no metrics.

    ``ended_after`` has the seconds after which the process was ended or died, if it was.

    >>> Trial({"reg": 0.5}, {"auc": 0.75}, 1.2).worked
    True
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
    """The trials of one model, of which the first has the default parameters.

    Attributes
    ----------
    model, metrics, seed : as given to `tune_model`
    fold : hash of the validation fold
    trials : in order
    lower : the metrics for which lower is better

    >>> trials = Trial({}, {"auc": 0.5}, 1.0), Trial({"reg": 9.0}, {"auc": 0.75}, 1.0)
    >>> Study("ease", ("auc",), 0, "", trials)
    Study of ease: 2 trials, 0 failed
      auc 0.7500 with reg=9.0
    """

    model: str
    metrics: tuple[str, ...]
    seed: int
    fold: str
    trials: tuple[Trial, ...]
    lower: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Time for all trials together."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def failed(self) -> int:
        """Number of trials that failed."""
        return sum(not trial.worked for trial in self.trials)

    def ranked(self, metric: str | None = None) -> list[Trial]:
        """Return the trials that worked, best first; equal ones in their order."""
        metric = _one_of(self.metrics, metric)
        sign = 1 if metric in self.lower else -1
        worked = [trial for trial in self.trials if trial.worked]
        return sorted(worked, key=lambda trial: sign * trial.metrics[metric])

    def best(self, metric: str | None = None) -> Trial:
        """Return the best trial by a metric, the first one by default."""
        ranked = self.ranked(metric)
        if not ranked:
            last = self.trials[-1] if self.trials else Trial({}, {}, 0.0, "there was no time")
            more = "" if last.ended_after is None else "give it more time or memory, or "
            raise InputError(
                f"none of {len(self.trials)} trials of {self.model} worked: {last.error}",
                hint=f"{more}tune on other or less data, or another model",
            )
        return ranked[0]

    def spec(self, metric: str | None = None) -> ModelSpec:
        """Return the model with the best parameters by a metric, as a value."""
        return ModelSpec(self.model, self.best(metric).params)

    def make(self, metric: str | None = None) -> Recommender:
        """Return the unfitted model with the best parameters by a metric."""
        return self.spec(metric).make()

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
        lines = [f"Study of {self.model}: {len(self.trials)} trials, {self.failed} failed"]
        for metric in self.metrics if self.failed < len(self.trials) else ():
            best = self.best(metric)
            given = ", ".join(f"{k}={v!r}" for k, v in best.params.items()) or "the defaults"
            lines.append(f"  {metric} {best.metrics[metric]:.4f} with {given}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [repr(dict(trial.params)), *(trial.metrics[name] for name in self.metrics)]
            for trial in self.ranked()[:10]
        ]
        note = f"{len(self.trials)} trials, {self.failed} failed, {self.seconds:.1f} s"
        columns = ["parameters", *self.metrics]
        return Table.of(f"Study of {self.model}", columns, rows, note=note).to_html()


def best_spec(folder: str | Path, metric: str | None = None) -> ModelSpec:
    """Return the best model by a metric in a folder of `tune_model`, or of `record`.

    Several studies in a folder must be of the same fold and metrics; the best of all is returned.
    The file of one study can be given as well.
    """
    folder = Path(folder)
    if (folder / "results.json").is_file():
        return _winner(folder / "results.json", metric)
    paths = [folder] if folder.is_file() else sorted((folder / "studies").glob("*.json"))
    if not paths:
        raise InputError(
            f"{folder} has no study and no comparison", hint="run boolrank tune or compare first"
        )
    studies = [Study.from_dict(_read(path)) for path in paths]
    first = studies[0]
    if any((each.fold, each.metrics) != (first.fold, first.metrics) for each in studies):
        raise InputError(
            f"{folder} has studies of different data or metrics",
            hint=f"name one file of {folder / 'studies'}",
        )
    metric = _one_of(first.metrics, metric)
    sign = -1 if metric in first.lower else 1
    worked = [each for each in studies if each.failed < len(each.trials)]
    best = max(worked or studies, key=lambda each: sign * each.best(metric).metrics[metric])
    return best.spec(metric)


def _winner(path: Path, metric: str | None) -> ModelSpec:
    sets: list[dict[str, Any]] = _read(path)["sets"]
    if len(sets) != 1:
        raise InputError(
            f"{path} compares models on {len(sets)} data sets",
            hint="compare on the data that you want to fit on, with another --out",
        )
    metric = _one_of(sets[0]["metrics"], metric)
    if metric not in sets[0]["winners"]:
        raise InputError(f"no model in {path} worked", hint="look at the errors in it")
    return ModelSpec.from_dict(sets[0]["winners"][metric])


def _one_of(metrics: tuple[str, ...], metric: str | None) -> str:
    if metric is not None and metric not in metrics:
        raise ParameterError(f"{metric!r} was not measured", hint=f"there are {', '.join(metrics)}")
    return metric or metrics[0]


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", hint="run the same command again to write it anew"
        ) from None
