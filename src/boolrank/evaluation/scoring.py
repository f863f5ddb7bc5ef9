"""Cross-validation with scikit-learn: folds as masks over the interactions, metrics as scorers::

    GridSearchCV(KernelRanker(), grid, scoring=scorer("auc"), cv=masks(split)).fit(split.data)

The scores equal those of `evaluate`. This module does not import scikit-learn.
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
from .metrics import AnyMetric, Metric, mean, measure, parse_metric

Mask = NDArray[np.bool_]


def masks(split: Split) -> list[tuple[Mask, Mask]]:
    """Return the training and test masks of each fold, over the interactions of the split's data.

    >>> from boolrank import leave_one_out
    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> masks(leave_one_out(data))
    [(array([ True, False, False,  True]), array([False,  True,  True, False]))]
    """
    if (split.roles == KNOWN).any():
        raise ParameterError(
            f"the test users of {split.name} are not in training, and scikit-learn has no role for "
            "their known items",
            hint="use evaluate, or a split such as paper_protocol",
        )
    return [(role == TRAIN, role == TEST) for role in split.roles]


@dataclass(frozen=True)
class Scorer:
    """A metric as a function of a fitted model and test interactions; see `scorer`."""

    metric: Metric

    def __call__(self, model: Any, test: Interactions, y: None = None) -> float:  # noqa: ARG002
        """Return the mean over users, negated if lower is better; y is what scikit-learn passes."""
        fold = published_folds((model.interactions, test))[0]
        rankings = rank_fold(model, fold, self.metric.k or 0)
        value = mean(np.asarray(measure(rankings, [self.metric])[str(self.metric)]))
        return value if self.metric.higher_is_better else -value


def scorer(metric: AnyMetric = "auc") -> Scorer:
    """Return a metric as ``scoring`` for scikit-learn's searches, which maximise it.

    The model needs ``score``, and ``interactions`` that it was fitted on.

    >>> from boolrank import KernelRanker
    >>> train = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "b", "c", "c"])
    >>> test = Interactions.from_pairs([1, 3], ["c", "b"])
    >>> scorer("auc")(KernelRanker("linear").fit(train), test)
    1.0
    """
    return Scorer(parse_metric(metric))
