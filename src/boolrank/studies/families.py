"""Families of models that `choose` compares: first settings, and steps from one to the next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..counts.estimate import Estimate
from ..data.interactions import Interactions
from ..kernels import Tanimoto, parse_kernel
from ..models.spec import ModelSpec, parse_model

# With more pairs of items than this, the most active users are left out: caps on the items of a
# user, and the largest share of users to leave out. On all of BookCrossing, with a cap of 500 for
# 0.3 % of its users, item-knn takes a third of the time and ranks better.
_PAIRS, _CAPS, _LEFT_OUT = 1 << 27, (5000, 2000, 1000, 500, 200), 0.01


@dataclass(frozen=True)
class Family:
    """A model in the race: its first settings, and values of parameters in order."""

    starts: tuple[str, ...]
    steps: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # the most important first
    most_dense: float = math.inf  # number of items above which weights are sparse

    @property
    def name(self) -> str:
        """The name of the model."""
        return parse_model(self.starts[0]).name

    def first_settings(
        self, with_times: bool, items: int = 0, cap: int | None = None
    ) -> Iterator[ModelSpec]:
        """Yield the starts; if there are times, the first one also with weights by recency."""
        fixed: dict[str, Any] = {"storage": "sparse"} if items > self.most_dense else {}
        if cap is not None and "activity_cap" in parse_model(self.starts[0]).params:
            fixed["activity_cap"] = cap
        starts = [{**parse_model(text).params, **fixed} for text in self.starts]
        if with_times and "recency" in self.steps:
            starts.append({**starts[0], "recency": 8.0})
        for params in starts:
            yield ModelSpec(self.name, params)

    def neighbours(self, spec: ModelSpec, with_times: bool) -> Iterator[ModelSpec]:
        """Yield the settings one step away: up and down, parameter by parameter."""
        for name, values in self.steps.items():
            if name not in spec.params or (name == "recency" and not with_times):
                continue
            at = min(range(len(values)), key=lambda k: _distance(values[k], spec.params[name]))
            for place in (at + 1, at - 1):
                if 0 <= place < len(values):
                    yield ModelSpec(spec.name, {**spec.params, name: values[place]})


def activity_cap(data: Interactions) -> int | None:
    """Return the largest cap that leaves few enough pairs; None if none is needed or none does."""
    items, lengths = len(data.items), data.rows.lengths
    if Estimate.of(data.rows, items).pairs <= _PAIRS:
        return None
    for cap in _CAPS:
        if (lengths > cap).mean() > _LEFT_OUT:
            break
        if Estimate.of(data.rows.capped(cap), items).pairs <= _PAIRS:
            return cap
    return None


def _distance(one: Any, other: Any) -> float:
    """Return the distance of two values of a parameter; 0 or 1 for texts."""
    return one != str(other) if isinstance(one, str) else abs(one - other)


# Off, then half-lives from weak to strong.
_RECENCY = (0.0, 32.0, 16.0, 8.0, 4.0, 2.0)
_USER_EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# The best of twelve on MovieLens-1M (benchmarks/cold_items.py).
_TAG_WEIGHT = 0.003
# The cheapest first, so that a short budget still compares some.
FAMILIES = (
    Family(("popularity",)),
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
            "locality": (0.5, 0.7, 1.0, 1.4, 2.0),
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


def with_tags(kernel: str, columns: Sequence[str]) -> str:
    """Return a kernel with a term over each column, unless it has one.

    >>> with_tags("disjunctive(8)", ["genres"])
    'disjunctive(8) + 0.003*tanimoto[genres]'
    """
    made = parse_kernel(kernel)
    new = [column for column in columns if column not in made.variables]
    return str(sum((_TAG_WEIGHT * Tanimoto()[column] for column in new), made))
