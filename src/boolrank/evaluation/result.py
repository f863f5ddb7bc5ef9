"""Results of an evaluation, by fold and user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..table import Table
from .metrics import mean

_NONE = np.array(None)  # JSON has no NaN


@dataclass(frozen=True, eq=False, repr=False)
class FoldResult:
    """Results on one fold.

    Attributes
    ----------
    users : ids of the u test users
    values : by metric, u values, NaN if undefined; a 0-d array for a metric of the whole model
    fit_seconds : time to count overlaps, if the model uses them, and to fit
    rank_seconds : time to score and rank for all test users
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

    def empty(self, metric: str) -> int:
        """Return the number of users without a value."""
        return int(np.isnan(self.values[metric]).sum())

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
        return f"FoldResult: {len(self.users):,} users, {means}"

    def _repr_html_(self) -> str:
        return Evaluation("a fold", f"{len(self.users):,} users", "", (self,))._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Results of a model on a split.

    Attributes
    ----------
    model : the model with its parameters, as text
    split : the split with its parameters, as text
    split_hash : hash of the split's content, or "" for a single fold
    folds : the results on each fold

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
        """Names of the metrics that users have values of."""
        return [name for name, values in self.folds[0].values.items() if values.ndim]

    @cached_property
    def means(self) -> dict[str, float]:
        """By metric, the mean of the folds' means."""
        return {name: mean(self._fold_means(name)) for name in self.metrics}

    @cached_property
    def deviations(self) -> dict[str, float]:
        """By metric, the standard deviation of the folds' means (n - 1); NaN for a single fold."""
        means = {name: self._fold_means(name) for name in self.metrics}
        return {
            name: float(found.std(ddof=1)) if len(found) > 1 else math.nan
            for name, found in means.items()
        }

    @property
    def fit_seconds(self) -> float:
        """Time to fit, on all folds together."""
        return math.fsum(fold.fit_seconds for fold in self.folds)

    @property
    def rank_seconds(self) -> float:
        """Time to score and rank, on all folds together."""
        return math.fsum(fold.rank_seconds for fold in self.folds)

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

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each fold and metric, for a frame."""
        return [
            {
                "model": self.model,
                "split_hash": self.split_hash,
                "fold": k,
                "metric": name,
                "value": fold.means[name],
                "users": len(fold.users),
                "empty": fold.empty(name),
                "fit_seconds": fold.fit_seconds,
                "rank_seconds": fold.rank_seconds,
            }
            for k, fold in enumerate(self.folds)
            for name in self.metrics
        ]

    def user_rows(self) -> list[dict[str, Any]]:
        """Return a row for each fold and user, with a column for each metric of users."""
        return [
            {"fold": k, "user": user}
            | {name: float(fold.values[name][u]) for name in self.user_metrics}
            for k, fold in enumerate(self.folds)
            for u, user in enumerate(fold.users)
        ]

    def figures(self) -> dict[str, Any]:
        """Return means and deviations as JSON types, NaN as None, without times, which vary."""
        return {
            "means": nulls(self.means),
            "deviations": nulls(self.deviations),
            "folds": [
                {
                    "users": len(fold.users),
                    "unseen_items": fold.unseen_items,
                    "cold_users": fold.cold_users,
                    "means": nulls(fold.means),
                }
                for fold in self.folds
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON types, NaN as None."""
        about = {"model": self.model, "split": self.split, "split_hash": self.split_hash}
        return about | self.figures() | {"folds": [fold.to_dict() for fold in self.folds]}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Evaluation:
        """Return the results that `to_dict` wrote."""
        folds = tuple(FoldResult.from_dict(fold) for fold in content["folds"])
        return Evaluation(content["model"], content["split"], content["split_hash"], folds)

    def __repr__(self) -> str:
        lines = [f"Evaluation of {self.model}", f"on {self.split}", ""]
        width = max(len(name) for name in self.metrics)
        for name, average, deviation, empty in self._figures():
            line = f"  {name:<{width}}  {average:.4f}"
            line += f" ± {deviation:.4f}" if len(self.folds) > 1 else ""
            lines.append(line + (f"  ({empty:,} without a value)" if empty else ""))
        return "\n".join([*lines, "", *self._remarks()])

    def _repr_html_(self) -> str:
        note = "; ".join([f"on {self.split}", *self._remarks()])
        heads = ["metric", "mean", "±", "without a value"]
        caption = f"Evaluation of {self.model}"
        return Table.of(caption, heads, self._figures(), note=note).to_html()

    def _figures(self) -> list[tuple[str, float, float, int]]:
        return [
            (name, self.means[name], self.deviations[name], sum(f.empty(name) for f in self.folds))
            for name in self.metrics
        ]

    def _remarks(self) -> list[str]:
        users = sum(len(fold.users) for fold in self.folds)
        left_out = {
            "test interactions of unseen items": sum(fold.unseen_items for fold in self.folds),
            "users without history": sum(fold.cold_users for fold in self.folds),
        }
        text = f"{users:,} test users in {len(self.folds)} folds"
        text += "".join(f", {n:,} {what} left out" for what, n in left_out.items() if n)
        return [text, f"fitted in {self.fit_seconds:.2f} s, ranked in {self.rank_seconds:.2f} s"]

    def _fold_means(self, name: str) -> NDArray[np.float64]:
        """Return the means of the folds that have one."""
        means = [fold.means[name] for fold in self.folds]
        return np.array([value for value in means if not math.isnan(value)])


def nulls(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return values for JSON, which has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}
