"""Metrics, evaluation of models on splits, and significance tests."""

from .folds import evaluate, evaluate_fold, masks, rank_fold, scorer
from .metrics import METRICS, Metric, measure, parse_metric
from .rankings import Rankings
from .result import Evaluation, FoldResult
from .significance import Comparison, compare

__all__ = [
    "METRICS",
    "Comparison",
    "Evaluation",
    "FoldResult",
    "Metric",
    "Rankings",
    "compare",
    "evaluate",
    "evaluate_fold",
    "masks",
    "measure",
    "parse_metric",
    "rank_fold",
    "scorer",
]
