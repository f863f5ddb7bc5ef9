"""Choose a model: a race on held-out interactions.

Families of models start with a few settings. Those significantly worse than the leader drop out.
The others take turns to try settings one step from their best. The settings tried depend on results
only, so the same number of trials gives the same choice on any machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import real, whole
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import hold_out
from ..data.splits import Fold
from ..errors import InputError
from ..evaluation.metrics import parse_metrics
from ..evaluation.result import FoldResult
from ..models.spec import ModelSpec, parse_model
from ..table import Column, Table, counted
from .cache import Task
from .executor import Executor
from .families import FAMILIES, activity_cap
from .tune import Progress
from .warm_up import compiled_beside

# Users whose interactions are held out, at most: differences of 1 % are significant with these.
_USERS = 4_000
# Share of their interactions.
_SHARE = 0.2
# A family is out if it is worse than the leader by this many standard errors.
_OUT = 3.0
# A setting replaces an earlier one of its model if it is better by this many: the best of many
# similar ones is best by luck.
_BETTER = 1.5
# The model if nothing can be held out.
_FALLBACK = "item-knn"


@dataclass(frozen=True)
class Entrant:
    """A setting that was tried: its mean metric, or NaN and the error, and the seconds it took."""

    spec: ModelSpec
    value: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Choice:
    """The chosen model, and the race that chose it.

    ``spec.make().fit(interactions)`` fits the model. ``entrants`` are all settings in the order
    tried, ``reason`` says why this one, and ``lower`` whether a lower metric is better.
    """

    spec: ModelSpec
    metric: str
    entrants: tuple[Entrant, ...]
    reason: str
    lower: bool = False

    def table(self) -> Table:
        """Return the best setting of each model, the chosen one first."""
        models: dict[str, list[Entrant]] = {}
        for each in sorted(self.entrants, key=self._place):
            models.setdefault(each.spec.name, []).append(each)
        columns = [
            Column("model", style="name", wrap="fold"),
            Column(self.metric, ".4f"),
            Column("seconds", ".1f"),
            Column("settings", "d"),
        ]
        rows = [
            (str(best.spec), best.error or best.value, sum(e.seconds for e in tried), len(tried))
            for tried in models.values()
            for best in tried[:1]
        ]
        return Table("", columns, rows, strong=frozenset({0}), note=self.reason)

    def _place(self, entrant: Entrant) -> tuple[bool, bool, float]:
        """Return a sort key: the chosen setting, then by the metric, then those that failed."""
        value = 0.0 if entrant.error else entrant.value
        return entrant.spec != self.spec, bool(entrant.error), value if self.lower else -value

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON types."""
        settings = [
            {"model": str(e.spec), "value": None if e.error else e.value, "error": e.error}
            | {"seconds": round(e.seconds, 2)}
            for e in self.entrants
        ]
        return {"metric": self.metric, "reason": self.reason, "settings": settings}


def choose(
    interactions: Interactions,
    metric: str = "ndcg@10",
    trials: int = 24,
    budget: float | None = None,
    order: str | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = lambda _done, _total, _what: None,
) -> Choice:
    """Choose a model and its parameters on held-out interactions.

    Parameters
    ----------
    interactions : a fifth of each user's are held out
    metric : what decides
    trials : settings to try
    budget : seconds for all trials; a trial that exceeds it is ended and does not count
    order : the last fifth by ``"time"``, or a ``"random"`` one; by time if all have one
    seed : for what is held out
    progress : called with the number of trials done and planned, and the leader

    >>> from boolrank import synthetic
    >>> choice = choose(synthetic(60, 30, 700), trials=2)
    >>> choice.spec.make().fit(synthetic(60, 30, 700)).recommend([0], n=2).items.shape
    (1, 2)
    """
    check_interactions(interactions, "a model is chosen on")
    (parsed,) = parse_metrics([metric], of_users=True)
    whole("choose", "trials", trials, low=1)
    if budget is not None:
        real("choose", "budget", budget, above=0)
    if order is None:
        timed = interactions.time is not None and not np.isnan(interactions.time).any()
        order = "time" if timed else "random"
    try:
        fold = hold_out(interactions, _SHARE, order, seed, most=_USERS)[0]
    except InputError as error:
        spec = parse_model(_FALLBACK)
        return Choice(spec, str(parsed), (), f"{spec.name} without a comparison: {error.message}")
    race = _Race(str(parsed), parsed.higher_is_better, order == "time")
    started = time.perf_counter()
    with Executor(n_threads=n_threads, apart=True) as executor, compiled_beside():
        for spec in race.settings(fold):
            left = None
            if budget is not None and race.leader is not None:  # the first one takes its time
                left = budget - (time.perf_counter() - started)
            if len(race.entrants) == trials or (left is not None and left <= 0):
                break
            outcome = executor.attempt(Task(fold, spec, (parsed,)), left)
            race.add(spec, outcome.result, outcome.seconds, outcome.error)
            leader = race.leader
            best = "" if leader is None else f"{leader.spec} {leader.value:.4f}"
            progress(len(race.entrants), trials, best)
    return race.choice()


class _Race:
    """The settings tried so far, with the metric of each user."""

    def __init__(self, metric: str, higher: bool, timed: bool = False) -> None:
        self.metric, self._timed = metric, timed
        self.entrants: list[Entrant] = []
        self._sign = 1.0 if higher else -1.0
        self._of_users: dict[ModelSpec, np.ndarray[Any, Any]] = {}

    def add(
        self, spec: ModelSpec, result: FoldResult | None, seconds: float, error: str = ""
    ) -> None:
        """Record an outcome; a metric that is undefined for all users is an error."""
        value = math.nan
        if result is not None:
            self._of_users[spec] = np.nan_to_num(self._sign * result.values[self.metric])
            value = result.means[self.metric]
            error = "" if math.isfinite(value) else f"no user has a value of {self.metric}"
        self.entrants.append(Entrant(spec, value, seconds, error))

    @property
    def leader(self) -> Entrant | None:
        """The best setting."""
        return self.best(self.entrants)

    def best(self, entrants: list[Entrant]) -> Entrant | None:
        """Return the best of some settings; later ones of a model must be clearly better.

        Among equal models the first wins, and popularity loses.
        """
        champions: dict[str, Entrant] = {}
        for each in entrants:
            kept = champions.get(each.spec.name)
            if not each.error and (kept is None or self.ahead(each, kept) > _BETTER):
                champions[each.spec.name] = each
        order = sorted(champions.values(), key=lambda each: each.spec.name == FAMILIES[0].name)
        return max(order, key=lambda each: self._sign * each.value, default=None)

    def ahead(self, one: Entrant, other: Entrant) -> float:
        """Return by how many standard errors one setting is better than another."""
        gaps = self._of_users[one.spec] - self._of_users[other.spec]
        mean, error = float(gaps.mean()), float(gaps.std()) / math.sqrt(len(gaps))
        return mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0

    def settings(self, fold: Fold) -> Iterator[ModelSpec]:
        """Yield settings to try; the caller adds the outcome of each before asking for the next."""
        items, cap = len(fold.train.items), activity_cap(fold.train)
        for family in FAMILIES:
            yield from family.first_settings(self._timed, items, cap)
        while (spec := next(self._steps(), None)) is not None:
            yield spec

    def _steps(self) -> Iterator[ModelSpec]:
        """Yield untried neighbours of the best settings; families with few trials come first."""
        leader, tried = self.leader, {each.spec for each in self.entrants}
        mine = {f.name: [e for e in self.entrants if e.spec.name == f.name] for f in FAMILIES}
        for family in sorted(FAMILIES, key=lambda each: len(mine[each.name])):
            best = self.best(mine[family.name])
            if best is None or leader is None or self.ahead(leader, best) > _OUT:
                continue
            steps = family.neighbours(best.spec, self._timed)
            yield from (spec for spec in steps if spec not in tried)

    def choice(self) -> Choice:
        leader = self.leader
        if leader is None:
            first, tried = self.entrants[0], counted(len(self.entrants), "setting")
            raise InputError(
                f"none of {tried} worked; {first.spec}: {first.error}",
                hint="give more time, or name a model with --model",
            )
        others = [each for each in self.entrants if each.spec.name != leader.spec.name]
        second = self.best(others)
        of = f"{counted(len(self.entrants), 'setting')} on held-out interactions"
        # Chance favours the best of many, so a higher metric alone does not decide.
        higher = [e for e in self.entrants if self._sign * (e.value - leader.value) > 0]
        reason = f"chosen by {self.metric} among {of}" if higher else f"best {self.metric} of {of}"
        if second is not None:
            margin, errors = abs(leader.value - second.value), self.ahead(leader, second)
            ahead = f"{margin:.4f} ahead of {second.spec.name} (standard errors: {errors:.1f})"
            reason += f", {ahead}" if margin else f", as good as {second.spec.name}"
        if higher:
            top = max(higher, key=lambda each: self._sign * each.value)
            reason += f"; {top.spec} is not clearly better than an earlier {top.spec.name}"
        return Choice(leader.spec, self.metric, tuple(self.entrants), reason, self._sign < 0)
