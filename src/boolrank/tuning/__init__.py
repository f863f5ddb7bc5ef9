"""Tuning: parameters of any model on a validation fold, and the arity of a kernel by itself."""

from .arity import ArityChoice, arity_from_spectrum, best_arity, validation_fold
from .result import Study, Trial
from .spaces import SPACES, Arity, Kernels, Range, Real, Whole, space_of
from .study import tune_model

__all__ = [
    "SPACES",
    "Arity",
    "ArityChoice",
    "Kernels",
    "Range",
    "Real",
    "Study",
    "Trial",
    "Whole",
    "arity_from_spectrum",
    "best_arity",
    "space_of",
    "tune_model",
    "validation_fold",
]
