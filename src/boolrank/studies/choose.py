"""Choose a model: a race on held-out interactions.

Each family of models starts with a few settings. Families that are significantly worse than the
leader drop out. The others take turns: each tries settings that differ from its best in one
parameter by one step, and moves if that is clearly better. What is tried depends on the results
alone, so the same number of trials gives the same choice on any machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..checks import real, whole
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import hold_out
from ..data.splits import Fold
from ..errors import InputError
from ..evaluation.metrics import parse_metrics
from ..evaluation.result import FoldResult
from ..kernels import Tanimoto, parse_kernel
from ..models.spec import ModelSpec, parse_model
from ..table import Column, Table
from .cache import Task
from .executor import Executor
from .tune import Progress

# Users whose interactions are held out, at most: differences of 1 % are significant with these.
_USERS = 4_000
# Share of their interactions.
_SHARE = 0.2
# A family is out if it is worse than the leader by this many standard errors.
_OUT = 3.0
# A setting replaces an earlier one of its model if it is better by this many: the best of many
# similar ones is best by luck.
_BETTER = 1.5
# Fitted without a race if there is nothing to hold out.
_FALLBACK = "item-knn"


@dataclass(frozen=True)
class Family:
    """A model in the race.

    Attributes
    ----------
    starts : the first settings
    steps : values of parameters, neighbours side by side, the most important parameter first
    most_dense : larger catalogues get sparse weights
    timed : whether profiles can be weighted by recency; a start with weights follows the others
    """

    starts: tuple[str, ...]
    steps: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    most_dense: float = math.inf
    timed: bool = True

    @property
    def name(self) -> str:
        """The name of the model."""
        return parse_model(self.starts[0]).name

    def first_settings(self, with_times: bool, items: int = 0) -> Iterator[ModelSpec]:
        """Yield the starts; if there are times, the first one also with weights by recency."""
        storage = {"storage": "sparse"} if items > self.most_dense else {}
        starts = [{**parse_model(text).params, **storage} for text in self.starts]
        if with_times and self.timed:
            starts.append({**starts[0], "recency": 8.0})
        for params in starts:
            yield ModelSpec(self.name, params)


# Off, then half-lives from weak to strong.
_RECENCY = (0.0, 32.0, 16.0, 8.0, 4.0, 2.0)
_USER_EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Of the usual protocol on MovieLens-1M, 0.003 is the best of twelve (benchmarks/cold_items.py).
TAG_WEIGHTS = (0.001, 0.003, 0.01, 0.03, 0.1)
# The cheapest first, so that a short budget still compares some.
FAMILIES = (
    Family(("popularity",), timed=False),
    Family(
        ("item-knn", "item-knn(user_exponent=0.75, alpha=0.4)"),
        {
            "recency": _RECENCY,
            "user_exponent": _USER_EXPONENTS,
            "alpha": (0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
            "locality": (0.5, 1.0, 1.5, 2.0),
        },
    ),
    Family(
        ("spectral-ranker", "spectral-ranker(sharpening=1.5)"),
        {
            "recency": _RECENCY,
            "sharpening": (0.0, 0.5, 1.0, 1.5, 2.0),
            "low_pass": (0.0, 0.1, 0.2, 0.4, 0.8),
            "input_exponent": (0.2, 0.3, 0.4, 0.5, 0.6),
            "output_exponent": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
            "user_exponent": _USER_EXPONENTS,
        },
    ),
    Family(
        ("ease",),
        {
            "recency": _RECENCY,
            "reg": (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0),
            "user_exponent": _USER_EXPONENTS,
            "output_exponent": (-0.2, 0.0, 0.2, 0.4),
        },
        most_dense=10_000,
    ),
    Family(
        ("kernel-ease",),
        {
            "recency": _RECENCY,
            "reg": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
            "input_exponent": (0.0, 0.15, 0.3, 0.45),
            "output_exponent": (-0.45, -0.3, -0.15, 0.0, 0.15),
        },
        most_dense=10_000,
    ),
    Family(
        ("kernel-ranker",),
        {"user_exponent": _USER_EXPONENTS, "recency": _RECENCY, "reg": (0.01, 0.1, 1.0, 10.0)},
    ),
)


def with_tags(kernel: str, columns: Sequence[str], weight: float = TAG_WEIGHTS[1]) -> str:
    """Return a kernel with a term over each column that it has none for.

    >>> with_tags("disjunctive(8)", ["genres"])
    'disjunctive(8) + 0.003*tanimoto[genres]'
    """
    made = parse_kernel(kernel)
    new = [column for column in columns if column not in made.variables]
    return str(sum((weight * Tanimoto()[column] for column in new), made))


def _families(attributes: Sequence[str]) -> tuple[Family, ...]:
    """Return the families; with attributes, the kernel ranker starts with terms over tags."""
    if not attributes:
        return FAMILIES
    ranker = FAMILIES[-1]
    plain = str(parse_model(ranker.starts[0]).params["kernel"])
    kernels = [plain, *(with_tags(plain, attributes, weight) for weight in TAG_WEIGHTS)]
    first = str(ModelSpec(ranker.name, {"kernel": kernels[2]}))
    steps = {"kernel": tuple(kernels), **ranker.steps}
    return (*FAMILIES[:-1], replace(ranker, starts=(first, *ranker.starts), steps=steps))


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

    Attributes
    ----------
    spec : the model; ``spec.make().fit(interactions)`` fits it
    metric : the metric that decided
    entrants : all settings, in the order tried
    reason : why this one, in a sentence
    lower : whether lower is better
    """

    spec: ModelSpec
    metric: str
    entrants: tuple[Entrant, ...]
    reason: str
    lower: bool = False

    def table(self) -> Table:
        """Return the best setting of each model, the chosen one first."""
        names = dict.fromkeys(each.spec.name for each in self.entrants)
        mine = {name: [e for e in self.entrants if e.spec.name == name] for name in names}
        best = {name: min(tried, key=self._place) for name, tried in mine.items()}
        order = sorted(names, key=lambda name: self._place(best[name]))
        columns = [
            Column("model", style="name", wrap="fold"),
            Column(self.metric, ".4f"),
            Column("seconds", ".1f"),
            Column("settings", "d"),
        ]
        rows = [
            (
                str(best[name].spec),
                best[name].error or best[name].value,
                sum(each.seconds for each in mine[name]),
                len(mine[name]),
            )
            for name in order
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
    attributes: Sequence[str] = (),
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
    attributes : columns of ``interactions.table`` whose tags the kernel ranker uses, too

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
    order = order or ("time" if _is_timed(interactions) else "random")
    try:
        fold = hold_out(interactions, _SHARE, order, seed, most=_USERS)[0]
    except InputError as error:
        spec = parse_model(_FALLBACK)
        return Choice(spec, str(parsed), (), f"{spec.name} without a comparison: {error.message}")
    families = _families(attributes)
    race = _Race(str(parsed), parsed.higher_is_better, order == "time", families)
    started = time.perf_counter()
    with Executor(n_threads=n_threads, apart=True) as executor:
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

    def __init__(
        self,
        metric: str,
        higher: bool,
        timed: bool = False,
        families: tuple[Family, ...] = FAMILIES,
    ) -> None:
        self.metric, self._timed, self._families = metric, timed, families
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
        """Return the best of some settings: later ones of a model must be clearly better.

        Of equal models the first is best, and popularity last.
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
        for family in self._families:
            yield from family.first_settings(self._timed, len(fold.train.items))
        while True:
            turns = sorted(self._families, key=lambda each: len(self._of_family(each)))
            found = (spec for each in turns for spec in self._next(each))
            spec = next(found, None)
            if spec is None:
                return
            yield spec

    def _of_family(self, family: Family) -> list[Entrant]:
        return [each for each in self.entrants if each.spec.name == family.name]

    def _next(self, family: Family) -> Iterator[ModelSpec]:
        """Yield the first untried neighbour of a family's best setting, if it is in the race."""
        mine, leader = self._of_family(family), self.leader
        best = self.best(mine)
        if best is None or leader is None or self.ahead(leader, best) > _OUT:
            return
        tried = {each.spec for each in mine}
        for spec in _neighbours(best.spec, family, self._timed):
            if spec not in tried:
                yield spec
                return

    def choice(self) -> Choice:
        leader = self.leader
        if leader is None:
            first = self.entrants[0]
            raise InputError(
                f"none of {len(self.entrants)} settings worked; {first.spec}: {first.error}",
                hint="give more time, or name a model with --model",
            )
        others = [each for each in self.entrants if each.spec.name != leader.spec.name]
        second = self.best(others)
        reason = f"best {self.metric} of {len(self.entrants)} settings on held-out interactions"
        if second is not None:
            margin, errors = abs(leader.value - second.value), self.ahead(leader, second)
            ahead = f"{margin:.4f} ahead of {second.spec.name} (standard errors: {errors:.1f})"
            reason += f", {ahead}" if margin else f", as good as {second.spec.name}"
        return Choice(leader.spec, self.metric, tuple(self.entrants), reason, self._sign < 0)


def _is_timed(data: Interactions) -> bool:
    """Return whether all interactions have a time."""
    if data.time is None:
        return False
    return not (data.time.dtype.kind in "fM" and bool(np.isnan(data.time).any()))


def _neighbours(spec: ModelSpec, family: Family, timed: bool) -> Iterator[ModelSpec]:
    """Yield the settings one step away: up and down, parameter by parameter."""
    for name, values in family.steps.items():
        known = name in spec.params and (name != "recency" or timed)
        if not known:
            continue
        at = min(range(len(values)), key=lambda k: _distance(values[k], spec.params[name]))
        for step in (1, -1):
            if 0 <= at + step < len(values):
                yield ModelSpec(spec.name, {**spec.params, name: values[at + step]})


def _distance(one: Any, other: Any) -> float:
    """Return how far two values of a parameter are apart; texts are equal or not."""
    return one != str(other) if isinstance(one, str) else abs(one - other)
