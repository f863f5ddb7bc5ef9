"""Study: what was tried of a model and what came of it, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import InputError, ParameterError
from ..models import make_model
from ..models.recommender import Recommender
from ..table import Table

__all__ = ["Study", "Trial"]


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried.

    Attributes
    ----------
    params : for the constructor; none for the first trial, which has its defaults
    metrics : what was measured, by name; none if the trial failed
    seconds : how long it took, to fit, rank and measure
    error : what went wrong, or nothing
    drawn : what the sampler drew, by which a study is resumed
    ended_after : the seconds after which its process was ended, if it was

    >>> Trial({"reg": 0.5}, {"auc": 0.75}, 1.2).worked
    True
    """

    params: Mapping[str, Any]
    metrics: Mapping[str, float]
    seconds: float
    error: str = ""
    drawn: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ended_after: float | None = None

    @property
    def worked(self) -> bool:
        """Whether it was measured."""
        return not self.error


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The trials of one model, in order.

    Attributes
    ----------
    model : its name, see `make_model`
    metrics : what every trial was measured by; the highest is the best
    seed : of the sampler
    fold : a hash of the fold that was measured on
    trials : in order; the first has the constructor's defaults

    >>> trials = Trial({}, {"auc": 0.5}, 1.0), Trial({"reg": 9.0}, {"auc": 0.75}, 1.0)
    >>> study = Study("ease", ("auc",), 0, "", trials)
    >>> study
    Study of ease: 2 trials, 0 failed
      auc 0.7500 with reg=9.0
    """

    model: str
    metrics: tuple[str, ...]
    seed: int
    fold: str
    trials: tuple[Trial, ...]

    @property
    def seconds(self) -> float:
        """How long all trials took together."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def failed(self) -> int:
        """How many trials could not be measured."""
        return sum(not trial.worked for trial in self.trials)

    def ranked(self, metric: str | None = None) -> list[Trial]:
        """The trials that worked, the best first; of equal ones the earlier."""
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise ParameterError(
                f"{metric!r} was not measured; there are {', '.join(self.metrics)}"
            )
        worked = [trial for trial in self.trials if trial.worked]
        return sorted(worked, key=lambda trial: -trial.metrics[metric])

    def best(self, metric: str | None = None) -> Trial:
        """The best trial by a metric, or by the first one."""
        ranked = self.ranked(metric)
        if not ranked:
            last = self.trials[-1] if self.trials else Trial({}, {}, 0.0, "there is none")
            more = "" if last.ended_after is None else "give it more time or memory, "
            raise InputError(
                f"none of {len(self.trials)} trials of {self.model} has worked: {last.error}; "
                f"{more}tune on other or fewer data, or another model"
            )
        return ranked[0]

    def make(self, metric: str | None = None, **params: Any) -> Recommender:
        """The model with the best parameters by a metric, not fitted; others can be added."""
        return make_model(self.model, **self.best(metric).params, **params)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; `from_dict` gives it back."""
        about = {name: getattr(self, name) for name in ("model", "seed", "fold")}
        trials = [asdict(trial) for trial in self.trials]
        return about | {"metrics": list(self.metrics), "trials": trials}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Study:
        """What `to_dict` has given."""
        trials = tuple(Trial(**trial) for trial in content["trials"])
        metrics = tuple(content["metrics"])
        return Study(content["model"], metrics, content["seed"], content["fold"], trials)

    def __repr__(self) -> str:
        lines = [f"Study of {self.model}: {len(self.trials)} trials, {self.failed} failed"]
        if self.failed < len(self.trials):
            for metric in self.metrics:
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
