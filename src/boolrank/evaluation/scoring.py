"""Cross-validation by scikit-learn: the folds of a split, and metrics, as its searches take them.

In scikit-learn a fold is two choices of samples. Here a sample is an interaction, so a fold is two
masks over all of them, and ``Interactions`` are what they choose from::

    GridSearchCV(KernelRanker(), grid, scoring=scorer("auc"), cv=masks(split)).fit(split.data)

Its scores are those that `evaluate` gives. scikit-learn itself is not needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.protocols import published_folds
from ..data.splits import KNOWN, TEST, TRAIN, Split
from ..errors import ParameterError
from .folds import rank_fold
from .metrics import Measure, mean, measure, parse_metric

__all__ = ["Scorer", "masks", "scorer"]

Mask = NDArray[np.bool_]


def masks(split: Split) -> list[tuple[Mask, Mask]]:
    """What trains and what tests in each fold, as masks over the interactions of the split's data.

    Test users must be in training: scikit-learn has no third role, for what an unseen user is
    known by.

    >>> from boolrank import leave_one_out
    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> masks(leave_one_out(data))
    [(array([ True, False, False,  True]), array([False,  True,  True, False]))]
    """
    if (split.roles == KNOWN).any():
        raise ParameterError(
            f"the test users of {split.name} are not in training, which scikit-learn's folds "
            "cannot say; use evaluate, or a split such as paper_protocol"
        )
    return [(role == TRAIN, role == TEST) for role in split.roles]


@dataclass(frozen=True)
class Scorer:
    """A metric as a function of a fitted model and test interactions; see `scorer`."""

    measure: Measure

    def __call__(self, model: Any, test: Interactions, y: None = None) -> float:  # noqa: ARG002
        """The mean over the users who have a value; there is no y, but scikit-learn gives it."""
        fold = published_folds((model.interactions, test))[0]
        rankings = rank_fold(model, fold, self.measure.k or 0)
        return mean(np.atleast_1d(measure(rankings, [self.measure])[str(self.measure)]))


def scorer(metric: str | Measure = "auc") -> Scorer:
    """A metric, such as ``"auc"`` or ``"ndcg@10"``, as ``scoring`` of scikit-learn's searches.

    The model needs ``interactions``, which it was fitted on, and ``score``.

    >>> from boolrank import KernelRanker
    >>> train = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "b", "c", "c"])
    >>> test = Interactions.from_pairs([1, 3], ["c", "b"])
    >>> scorer("auc")(KernelRanker("linear").fit(train), test)
    1.0
    """
    return Scorer(parse_metric(metric) if isinstance(metric, str) else metric)
