"""A classifier of binary vectors on a sum of kernels whose weights are learned by margins.

After EasyMKL (Aiolli and Donini, EasyMKL: a scalable multiple kernel learning algorithm,
Neurocomputing 169, 2015). With γ the weights of examples that separate the classes best on the sum
of all kernels, each kernel weighs as much as it separates these: d_r = γᵀ·Y·K_r·Y·γ, the square of
the distance between the two means. This module imports scikit-learn, which boolrank does not
install.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .base import Kernel
from .parser import parse_kernel

ARITIES = tuple(f"conjunctive({arity})" for arity in (1, 2, 3, 4))


class LearnedKernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """A support vector machine on a learned sum of boolean kernels.

    ``kernels`` are the terms, and C is the cost of errors, as in `sklearn.svm.SVC`. A fit sets
    ``kernel_``, the sum of the normalised terms, and ``weights_``, which sum to 1.

    >>> X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]])
    >>> LearnedKernelClassifier(["linear", "conjunctive(2)"]).fit(X, [1, 0, 0, 1]).predict(X)
    array([1, 0, 0, 1])
    """

    def __init__(self, kernels: Sequence[Kernel | str] = ARITIES, C: float = 10.0) -> None:
        self.kernels = kernels
        self.C = C

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the weights of kernels, then those of examples."""
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, of = np.unique(y, return_inverse=True)
        terms = [parse_kernel(each).normalized() for each in self.kernels]
        grams = np.stack([term(X) for term in terms])
        distances = np.zeros(len(terms))
        for one in range(len(self.classes_)):
            distances += _distances(grams, np.where(of == one, 1, -1), self.C)
        if not distances.any():  # no kernel tells the classes apart
            distances += 1.0
        self.weights_: NDArray[np.float64] = distances / distances.sum()
        pairs = zip(self.weights_, terms, strict=True)
        self.kernel_: Any = sum(float(weight) * term for weight, term in pairs if weight > 0)
        mixed = np.tensordot(self.weights_, grams, 1)
        self.machine_ = SVC(kernel="precomputed", C=self.C).fit(mixed, y)
        self.examples_ = X
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how far vectors are on the side of each class."""
        return np.asarray(self._asked(X, "decision_function"))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each vector."""
        return np.asarray(self._asked(X, "predict"))

    def _asked(self, X: ArrayLike, method: str) -> Any:
        check_is_fitted(self)
        gram = self.kernel_(validate_data(self, X, reset=False), self.examples_)
        return getattr(self.machine_, method)(gram)


def _distances(
    grams: NDArray[np.float64], signs: NDArray[np.int64], C: float
) -> NDArray[np.float64]:
    """Return the square distance of two weighted means in each kernel.

    Weights of examples are those of a support vector machine on the mean of the kernels.
    """
    machine = SVC(kernel="precomputed", C=C).fit(grams.mean(axis=0), signs)
    gamma = np.zeros(len(signs))
    gamma[machine.support_] = machine.dual_coef_[0]
    for side in (gamma > 0, gamma < 0):
        gamma[side] /= abs(gamma[side]).sum()
    return np.asarray(np.maximum(np.einsum("i,rij,j->r", gamma, grams, gamma), 0.0))
