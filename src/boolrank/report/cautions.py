"""Cautions about models that are best by one metric and bad by another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..models import Recommender
from .tables import metric_title

_VARIETY = ("top10_share@10", "coverage@10")
# If ten items fill a larger share of all lists, many users get the same list.
_LARGE_SHARE = 0.25
# An alternative has at most this fraction of the share and this multiple of the coverage.
_LESS, _MORE = 2 / 3, 1.25
# The share of ten items in the lists is suspicious if it exceeds this multiple of the share of the
# ten most popular items in the data.
_MULTIPLE = 2
_USERS = 200  # sampled after a fit: their share is within 0.02 of that of all users


def cautions(ranked: Mapping[str, Mapping[str, float]], metric: str) -> list[str]:
    """Return a sentence for each reason to doubt the best model by a metric.

    ``ranked`` has the means of models by name, best first.

    >>> cautions({"a": {"ndcg@10": 0.4, "auc": 0.37}}, "ndcg@10")
    ['`a` has the best nDCG@10, and an AUC of 0.3700, below chance: only its first items are good.']
    """
    name, best = next(iter(ranked.items()))
    said = []
    if best.get("auc", 1.0) < 0.5 and metric != "auc":
        said.append(
            f"`{name}` has the best {metric_title(metric)}, and an AUC of {best['auc']:.4f}, below "
            "chance: only its first items are good."
        )
    share, coverage = (best.get(each, 0.0) for each in _VARIETY)
    if share > _LARGE_SHARE:
        for other, means in list(ranked.items())[1:]:
            its_share, its_coverage = (means[each] for each in _VARIETY)
            if its_share <= _LESS * share and its_coverage >= _MORE * coverage:
                said.append(
                    f"Ten items fill {share:.0%} of the places in the lists of `{name}`, and "
                    f"they contain {coverage:.0%} of all items. More varied: `{other}`, "
                    f"{its_share:.0%} and {its_coverage:.0%}, with {metric_title(metric)} "
                    f"{means[metric]:.4f} instead of {best[metric]:.4f}."
                )
                break
    return said


def concentration(model: Recommender) -> str | None:
    """Return a sentence if the lists of a model are far more concentrated than the data.

    >>> from boolrank import Popularity, synthetic
    >>> concentration(Popularity().fit(synthetic(300, 200, 3000)))[:32]
    'Ten items fill 80% of the places'
    """
    data = model.interactions
    usual = _top_ten(data.popularity())
    if usual * _MULTIPLE >= 1:
        return None
    some = np.linspace(0, len(data.users) - 1, min(_USERS, len(data.users))).astype(int)
    lists = model.recommend(data.users.names(some).tolist(), n=10).lists()
    counts = np.array(list(Counter(chain.from_iterable(lists)).values()))
    share = _top_ten(counts)
    if share <= max(_LARGE_SHARE, _MULTIPLE * usual):
        return None
    return (
        f"Ten items fill {share:.0%} of the places in the lists of this model, while the ten most "
        f"popular items have {usual:.0%} of the events."
    )


def _top_ten(counts: NDArray[np.int64]) -> float:
    """Return the share of the ten largest counts."""
    return float(np.sort(counts)[-10:].sum() / max(1, counts.sum()))
