"""Helpers for testing kernels, ours and yours: laws that every kernel obeys, and exact oracles.

`check_kernel` takes any kernel, also one that you wrote, and raises `LawError` with the law, the
data and the values where it finds one broken. `enumerate_features` writes a kernel's feature space
out, `exact_value` is its value in whole-number arithmetic, `magnitude` its size, `relative_error`
compares a double with it, and `draw_counts` gives random counts from where formulas break.
"""

from boolrank.testing.cases import draw_counts
from boolrank.testing.enumeration import FeatureSpace, enumerate_features
from boolrank.testing.laws import LAWS, LawError, check_kernel
from boolrank.testing.oracles import exact_value, magnitude, relative_error

__all__ = [
    "LAWS",
    "FeatureSpace",
    "LawError",
    "check_kernel",
    "draw_counts",
    "enumerate_features",
    "exact_value",
    "magnitude",
    "relative_error",
]
