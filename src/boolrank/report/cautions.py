"""Cautions: what the best value of one metric can hide."""

from __future__ import annotations

from collections.abc import Mapping

from .tables import metric_title

_VARIETY = ("top10_share@10", "coverage@10")
# Ten items with a larger share of all places are many people's whole list.
_LARGE_SHARE = 0.25
# An alternative has at most this part of the share, and at least this multiple of the coverage.
_LESS, _MORE = 2 / 3, 1.25


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
                    f"{coverage:.0%} of all items are in any. More varied: `{other}`, "
                    f"{its_share:.0%} and {its_coverage:.0%}, with {metric_title(metric)} "
                    f"{means[metric]:.4f} instead of {best[metric]:.4f}."
                )
                break
    return said
