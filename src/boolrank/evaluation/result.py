"""Results of an evaluation, by fold and user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..table import Table, counted
from .metrics import mean

_NONE = np.array(None)  # JSON has no NaN


@dataclass(frozen=True, eq=False, repr=False)
class FoldResult:
    """Results on one fold.

    Attributes
    ----------
    users : ids of the u test users
    values : by metric, u values, NaN if undefined; a 0-d array for a metric of the whole model
    fit_seconds, rank_seconds : including the time to count overlaps, if the model uses them
    unseen_items, cold_users : test interactions and users that the fold left out
    peak_memory : largest memory of the process in bytes, if it did nothing else
    lower : names of the metrics for which lower is better

    >>> FoldResult(["ann", "bob"], {"auc": np.array([0.5, np.nan])}, 0.1, 0.2)
    FoldResult: 2 users, auc 0.5000
    """

    users: list[Any]
    values: Mapping[str, NDArray[np.float64]]
    fit_seconds: float
    rank_seconds: float
    unseen_items: int = 0
    cold_users: int = 0
    peak_memory: int | None = None
    lower: tuple[str, ...] = ()

    @cached_property
    def means(self) -> dict[str, float]:
        """By metric, the mean over the users who have a value."""
        return {name: mean(values) for name, values in self.values.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON types, NaN as None; ids other than int and str become text."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "users": [u if isinstance(u, int | str) else str(u) for u in self.users],
            "values": {k: np.where(np.isnan(v), _NONE, v).tolist() for k, v in self.values.items()},
            "lower": list(self.lower),
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> FoldResult:
        """Return the result that `to_dict` wrote."""
        values = {name: np.array(row, np.float64) for name, row in content["values"].items()}
        return FoldResult(**dict(content) | {"values": values, "lower": tuple(content["lower"])})

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value:.4f}" for name, value in self.means.items())
        return f"FoldResult: {counted(len(self.users), 'user')}, {means}"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Results of a model on a split, both as text; the hash is "" for a single fold.

    >>> folds = [FoldResult([1], {"auc": np.array([value])}, 0.1, 0.2) for value in (0.5, 0.75)]
    >>> found = Evaluation("linear", "two halves", "", tuple(folds))
    >>> found.means, found.per_user("auc")
    ({'auc': 0.625}, array([0.5 , 0.75]))
    """

    model: str
    split: str
    split_hash: str
    folds: tuple[FoldResult, ...]

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(self.folds[0].values)

    @property
    def user_metrics(self) -> list[str]:
        """Names of the metrics with a value per user."""
        return [name for name, values in self.folds[0].values.items() if values.ndim]

    @cached_property
    def means(self) -> dict[str, float]:
        """By metric, the mean of the folds' means."""
        return {name: mean(self._fold_means(name)) for name in self.metrics}

    @cached_property
    def deviations(self) -> dict[str, float]:
        """By metric, the standard deviation of the folds' means (n - 1); NaN for a single fold."""
        means = {name: self._fold_means(name) for name in self.metrics}
        return {k: float(v.std(ddof=1)) if len(v) > 1 else math.nan for k, v in means.items()}

    @property
    def seconds(self) -> tuple[float, float]:
        """Time to fit and to rank, medians over folds: the first also loads compiled loops."""
        folds = self.folds
        return median(f.fit_seconds for f in folds), median(f.rank_seconds for f in folds)

    @property
    def peak_memory(self) -> int | None:
        """Largest memory of a process in bytes; None if it was not measured."""
        found = [fold.peak_memory for fold in self.folds if fold.peak_memory is not None]
        return max(found, default=None)

    @property
    def size_text(self) -> str:
        """Numbers of test users and folds."""
        users = sum(len(fold.users) for fold in self.folds)
        return f"{counted(users, 'test user')} in {counted(len(self.folds), 'fold')}"

    def per_user(self, metric: str) -> NDArray[np.float64]:
        """Return the values of all users, one fold after the other."""
        if metric not in self.metrics:
            raise ParameterError(
                f"{metric!r} was not measured", hint=f"there are {', '.join(self.metrics)}"
            )
        if metric not in self.user_metrics:
            raise ParameterError(f"{metric} is of the whole model; users have no values of it")
        return np.concatenate([fold.values[metric] for fold in self.folds])

    def gain(self, metric: str, value: float) -> float:
        """Return a value so that higher is better: negated if lower is, -inf for NaN."""
        if math.isnan(value):
            return -math.inf
        return -value if metric in self.folds[0].lower else value

    def figures(self) -> dict[str, Any]:
        """Return means and deviations as JSON types, NaN as None, without times, which vary."""
        return {
            "means": nulls(self.means),
            "deviations": nulls(self.deviations),
            "folds": [
                {"users": len(fold.users), "means": nulls(fold.means)}
                | {name: getattr(fold, name) for name in ("unseen_items", "cold_users")}
                for fold in self.folds
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON types, NaN as None."""
        about = {"model": self.model, "split": self.split, "split_hash": self.split_hash}
        return about | self.figures() | {"folds": [fold.to_dict() for fold in self.folds]}

    def __repr__(self) -> str:
        width = max(map(len, self.metrics))
        lines = []
        for name, average, deviation, empty in self._rows():
            spread = f" ± {deviation:.4f}" if len(self.folds) > 1 else ""
            note = f"  ({empty:,} without a value)" if empty else ""
            lines.append(f"  {name:<{width}}  {average:.4f}{spread}{note}")
        head = [f"Evaluation of {self.model}", f"on {self.split}"]
        return "\n".join([*head, *lines, *self._remarks()])

    def table(self) -> Table:
        """Return a row per metric: mean, deviation and number of users without a value."""
        note = "; ".join([f"on {self.split}", *self._remarks()])
        heads = ["metric", "mean", "±", "without a value"]
        return Table.of(f"Evaluation of {self.model}", heads, self._rows(), note=note)

    def to_latex(self) -> str:
        """Return the table in LaTeX."""
        return self.table().to_latex()

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def _rows(self) -> list[tuple[str, float, float, int]]:
        """Return mean, deviation and number of users without a value, by metric."""
        empty = {k: sum(int(np.isnan(f.values[k]).sum()) for f in self.folds) for k in self.metrics}
        return [(k, self.means[k], self.deviations[k], empty[k]) for k in self.metrics]

    def _remarks(self) -> list[str]:
        unseen = sum(fold.unseen_items for fold in self.folds)
        cold = sum(fold.cold_users for fold in self.folds)
        text = self.size_text
        if unseen:
            text += f", {counted(unseen, 'test interaction')} of unseen items left out"
        if cold:
            text += f", {counted(cold, 'user')} without history left out"
        fit, rank = self.seconds
        return [text, f"fitted in {fit:.2f} s, ranked in {rank:.2f} s per fold"]

    def _fold_means(self, name: str) -> NDArray[np.float64]:
        """Return the means of the folds that have one."""
        means = (fold.means[name] for fold in self.folds)
        return np.array([value for value in means if not math.isnan(value)])


def nulls(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return values for JSON, which has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}
