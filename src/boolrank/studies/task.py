"""Tasks and outcomes: one model on one fold."""

from __future__ import annotations

from dataclasses import dataclass

from ..data.splits import Fold
from ..evaluation.metrics import METRICS, Measure
from ..evaluation.result import FoldResult
from ..models.spec import ModelSpec

__all__ = ["Outcome", "Task"]


@dataclass(frozen=True)
class Task:
    """Fit a model on a fold, rank for its test users, and measure.

    Attributes
    ----------
    fold, model, measures : the data, the model and the metrics
    alone : True to run the task in a process that fits no other model and shares no overlaps, so
        that its peak memory is that of the model
    """

    fold: Fold
    model: ModelSpec
    measures: tuple[Measure, ...]
    alone: bool = False

    @property
    def functions(self) -> list[Measure]:
        """The metrics that are functions."""
        return [each for each in self.measures if each.metric.name not in METRICS]


@dataclass(frozen=True)
class Outcome:
    """The result of a task, or the reason why there is none.

    Attributes
    ----------
    result : the result, or None
    seconds : time for the whole task
    error : the reason, or ""
    ended_after : seconds after which the process was ended, or died; None if it did neither
    """

    result: FoldResult | None
    seconds: float
    error: str = ""
    ended_after: float | None = None

    def is_final(self, seconds: float | None) -> bool:
        """Return False if the process was ended and would have more time now."""
        ended = self.ended_after
        return ended is None or (seconds is not None and seconds <= ended)
