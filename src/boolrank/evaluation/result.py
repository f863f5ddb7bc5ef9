"""Evaluation: what was measured, fold by fold and user by user, as a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..table import Table
from .metrics import mean, parse_metric

__all__ = ["Evaluation", "FoldResult"]


@dataclass(frozen=True, eq=False, repr=False)
class FoldResult:
    """What was measured on one fold.

    Attributes
    ----------
    users : ids of the u test users
    values : by metric, u values, NaN for users without one; for metrics of the whole model, one
    fit_seconds, rank_seconds : how long it took to fit, and to score and rank for all test users
    unseen_items, cold_users : what the fold left out
    peak_memory : bytes that the process held at most, where it did nothing else

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

    @cached_property
    def means(self) -> dict[str, float]:
        """By metric, the mean over the users who have a value."""
        return {name: mean(values) for name, values in self.values.items()}

    def empty(self, metric: str) -> int:
        """How many users have no value."""
        return int(np.isnan(self.values[metric]).sum())

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, NaN as None; `from_dict` gives it back."""
        return {
            "users": [u if isinstance(u, int | str) else str(u) for u in self.users],
            "values": {name: _nulls(values) for name, values in self.values.items()},
            "fit_seconds": self.fit_seconds,
            "rank_seconds": self.rank_seconds,
            "unseen_items": self.unseen_items,
            "cold_users": self.cold_users,
            "peak_memory": self.peak_memory,
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> FoldResult:
        """What `to_dict` has given."""
        values = {name: np.array(row, np.float64) for name, row in content["values"].items()}
        return FoldResult(**(dict(content) | {"values": values}))

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {value:.4f}" for name, value in self.means.items())
        return f"FoldResult: {len(self.users):,} users, {found}"

    def _repr_html_(self) -> str:
        rows = [[name, value, self.empty(name)] for name, value in self.means.items()]
        note = f"fitted in {self.fit_seconds:.2f} s, ranked in {self.rank_seconds:.2f} s"
        caption = f"FoldResult: {len(self.users):,} users"
        columns = ["metric", "mean", "without a value"]
        return Table.of(caption, columns, rows, note=note).to_html()


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What a model was found to be worth on a split.

    Attributes
    ----------
    model : the model with its parameters, as text
    split : the split with its parameters, as text
    split_hash : its content's hash, or "" for a fold without a split
    folds : what was measured on each fold

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
        """Names of what was measured."""
        return list(self.folds[0].values)

    @cached_property
    def means(self) -> dict[str, float]:
        """By metric, the mean of the folds' means."""
        return {name: mean(self._of_folds(name)) for name in self.metrics}

    @cached_property
    def deviations(self) -> dict[str, float]:
        """By metric, the standard deviation of the folds' means (n - 1); NaN for a single fold."""
        out = {}
        for name in self.metrics:
            found = self._of_folds(name)
            found = found[~np.isnan(found)]
            out[name] = float(found.std(ddof=1)) if len(found) > 1 else math.nan
        return out

    @property
    def fit_seconds(self) -> float:
        """How long it took to fit, on all folds together."""
        return math.fsum(fold.fit_seconds for fold in self.folds)

    @property
    def rank_seconds(self) -> float:
        """How long it took to score and rank, on all folds together."""
        return math.fsum(fold.rank_seconds for fold in self.folds)

    def per_user(self, metric: str) -> NDArray[np.float64]:
        """Values of all users of all folds, one fold after the other."""
        if metric not in self.metrics:
            raise ParameterError(
                f"{metric!r} was not measured; there are {', '.join(self.metrics)}"
            )
        if not _of_users(metric):
            raise ParameterError(f"{metric} is of the whole model; users have no values of it")
        return np.concatenate([fold.values[metric] for fold in self.folds])

    def rows(self) -> list[dict[str, Any]]:
        """A row for each fold and metric, for a frame."""
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
        """A row for each fold and user, with a column for each metric that users have."""
        return [
            {"fold": k, "user": user}
            | {name: float(values[u]) for name, values in fold.values.items() if _of_users(name)}
            for k, fold in enumerate(self.folds)
            for u, user in enumerate(fold.users)
        ]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, NaN as None, with means and deviations; `from_dict` gives it back.

        Ids that are neither whole numbers nor text are written as text.
        """
        return {
            "model": self.model,
            "split": self.split,
            "split_hash": self.split_hash,
            "means": {name: _null(value) for name, value in self.means.items()},
            "deviations": {name: _null(value) for name, value in self.deviations.items()},
            "folds": [fold.to_dict() for fold in self.folds],
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Evaluation:
        """What `to_dict` has given."""
        folds = tuple(FoldResult.from_dict(fold) for fold in content["folds"])
        return Evaluation(content["model"], content["split"], content["split_hash"], folds)

    def __repr__(self) -> str:
        lines = [f"Evaluation of {self.model}", f"on {self.split}", ""]
        width = max(len(name) for name in self.metrics)
        for name in self.metrics:
            line = f"  {name:<{width}}  {self.means[name]:.4f}"
            if len(self.folds) > 1:
                line += f" ± {self.deviations[name]:.4f}"
            empty = sum(fold.empty(name) for fold in self.folds)
            lines.append(line + (f"  ({empty:,} without a value)" if empty else ""))
        return "\n".join([*lines, "", *self._remarks()])

    def _repr_html_(self) -> str:
        several = len(self.folds) > 1
        heads = ["metric", "mean", *(["±"] if several else []), "without a value"]
        rows = []
        for name in self.metrics:
            empty = sum(fold.empty(name) for fold in self.folds)
            spread = [self.deviations[name]] if several else []
            rows.append([name, self.means[name], *spread, empty])
        note = "; ".join([f"on {self.split}", *self._remarks()])
        return Table.of(f"Evaluation of {self.model}", heads, rows, note=note).to_html()

    def _remarks(self) -> list[str]:
        """How many users, what was left out, and how long it took."""
        users = sum(len(fold.users) for fold in self.folds)
        text = f"{users:,} test users in {len(self.folds)} folds"
        for count, what in (
            (sum(fold.unseen_items for fold in self.folds), "test interactions of unseen items"),
            (sum(fold.cold_users for fold in self.folds), "users without history"),
        ):
            if count:
                text += f", {count:,} {what} left out"
        return [text, f"fitted in {self.fit_seconds:.2f} s, ranked in {self.rank_seconds:.2f} s"]

    def _of_folds(self, name: str) -> NDArray[np.float64]:
        return np.array([fold.means[name] for fold in self.folds])


def _of_users(metric: str) -> bool:
    return parse_metric(metric).metric.per_user


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _nulls(values: NDArray[np.float64]) -> list[float | None]:
    return [_null(value) for value in values.tolist()]
