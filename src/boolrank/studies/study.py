"""Study: the trials of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import InputError, ParameterError
from ..models import make_model
from ..models.recommender import Recommender
from ..models.spec import ModelSpec
from ..table import Table

__all__ = ["Study", "Trial"]


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried.

    Attributes
    ----------
    params : for the constructor; empty for the first trial, which has the defaults
    metrics : values by name; empty if the trial failed
    seconds : time to fit, rank and measure
    error : why it failed, or ""
    ended_after : seconds after which its process was ended or died, if it was

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
    """The trials of one model.

    Attributes
    ----------
    model : its name, see `make_model`
    metrics : the metrics of every trial
    seed : of the sampler
    fold : hash of the validation fold
    trials : in order; the first has the constructor's defaults
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
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise ParameterError(
                f"{metric!r} was not measured", hint=f"there are {', '.join(self.metrics)}"
            )
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

    def make(self, metric: str | None = None, **params: Any) -> Recommender:
        """Return the unfitted model with the best parameters by a metric, and others."""
        return make_model(self.model, **self.best(metric).params, **params)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as JSON types."""
        return asdict(self) | {"metrics": list(self.metrics), "lower": list(self.lower)}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Study:
        """Return the study that `to_dict` wrote."""
        given = {name: tuple(content[name]) for name in ("metrics", "lower")}
        trials = tuple(Trial(**trial) for trial in content["trials"])
        return Study(**dict(content) | given | {"trials": trials})

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
