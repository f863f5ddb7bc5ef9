"""Checks for kernels and models, the library's and your own.

`check_kernel` runs the laws that every kernel obeys, `check_recommender` the contract that every
model keeps. Both raise `LawError`, which says what is broken, on what data, with what values.
"""

from .contract import CLAUSES, check_recommender
from .laws import LAWS, LawError, check_kernel

__all__ = ["CLAUSES", "LAWS", "LawError", "check_kernel", "check_recommender"]
