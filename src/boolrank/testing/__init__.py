"""Helpers for testing kernels and models, ours and yours: laws, a contract, and exact oracles.

`check_kernel` takes any kernel, also one that you wrote, and raises `LawError` with the law, the
data and the values where it finds one broken. `enumerate_features` writes a kernel's feature space
out, `exact_value` is its value in whole-number arithmetic, `magnitude` its size, `relative_error`
compares a double with it, and `draw_counts` gives random counts from where formulas break.

`check_recommender` takes any model with fit, recommend and score, and raises `LawError` with the
clause of the contract that it breaks.
"""

from boolrank.testing.cases import draw_counts
from boolrank.testing.clauses import CLAUSES
from boolrank.testing.enumeration import FeatureSpace, enumerate_features
from boolrank.testing.laws import LAWS, LawError, check_kernel
from boolrank.testing.oracles import exact_value, magnitude, relative_error
from boolrank.testing.recommender import Recommender, check_recommender

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
