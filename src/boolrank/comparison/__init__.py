"""Models side by side: tuned alike on users who are not tested, measured on the same folds."""

from .compare import FOLDS, METRICS, compare_models
from .found import OURS, ModelResult, SetComparison, record

__all__ = ["FOLDS", "METRICS", "OURS", "ModelResult", "SetComparison", "compare_models", "record"]
