"""Helpers for testing kernels and models, ours and yours: laws, a contract, and exact oracles.

`check_kernel` takes any kernel, also one that you wrote, and raises `LawError` with the law, the
data and the values where it finds one broken. `enumerate_features` writes a kernel's feature space
out, `exact_value` is its value in whole-number arithmetic, `magnitude` its size, `relative_error`
compares a double with it, and `draw_counts` gives random counts from where formulas break.

`check_recommender` takes any model with fit, recommend and score, and raises `LawError` with the
clause of the contract that it breaks.
"""

from .cases import draw_counts
from .clauses import CLAUSES, Recommender, check_recommender
from .enumeration import FeatureSpace, enumerate_features
from .laws import LAWS, LawError, check_kernel
from .oracles import exact_value, magnitude, relative_error

__all__ = [
    "CLAUSES",
    "LAWS",
    "FeatureSpace",
    "LawError",
    "Recommender",
    "check_kernel",
    "check_recommender",
    "draw_counts",
    "enumerate_features",
    "exact_value",
    "magnitude",
    "relative_error",
]
