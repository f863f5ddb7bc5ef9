"""Scores by a kernel matrix and one convex problem per profile: CF-KOMD and ECF-OMD.

For a profile with items I, over the simplex on I:

    α = argmin αᵀK_Iα + reg·‖α‖² - 2·αᵀq_I,     score = K[:, I]·α - negative_weight·q,

with q the mean row of K, over all items but without the diagonal (CF-KOMD), or over those outside
the profile (ECF-OMD). The weights depend on the matrix and the profile alone, so new users are
served like known ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, require_memory
from ..engines.threads import threads
from ..errors import ConvergenceWarning
from ..matrix import CompressedMatrix, ItemMatrix
from ..storage.state import array
from ..table import counted
from .profiles import Profiles
from .scorer import Floats, Ranked, Scorer

# Duality gap at which a problem counts as solved, relative to the largest diagonal entry, usually
# 1 + reg. Weights are then right to about 1e-12, so that both storages give the same scores; a gap
# of 1e-9 would save a quarter of the time.
TOLERANCE = 1e-13
# Nearly singular problems may stop short of that. A gap above this is worth a warning.
_LOOSE = 1e-9
# Scores that are worth a batch: it saves 2 ns of each, and has to be compiled once, for 15 s.
MANY = 1 << 27
# A batch bounds the last score of a list by the highest of these parts of all items.
_STRIDES = 64
# A batch takes up to 8 bytes per pair, here 1 GB, beside a matrix that may be mapped from a file.
_MOST_PAIRS = 1 << 27
# Profiles up to this length need little memory.
_LONG = 4096


def simplex_weights(
    matrix: ItemMatrix, reg: float, profiles: Profiles, *, against_others: bool = False
) -> Floats:
    """Return the weight of each item of each profile, in the order of ``profiles.indices``.

    They are against the mean of all items, or against that of items outside the profile. The
    weights of the profiles multiply them, and the sum is 1 again.
    """
    from .._compiled.profiles import weights

    check_profiles(profiles)
    alpha, gaps = weights(matrix.arrays, *profiles, reg, against_others, TOLERANCE)
    warn_of_gaps(gaps)
    return np.asarray(alpha)


def warn_of_gaps(gaps: Floats, loose: Floats | float = _LOOSE) -> None:
    """Warn if problems were solved less accurately than promised."""
    count = int(np.count_nonzero(gaps > loose))
    if count:
        warnings.warn(
            f"the weights of {counted(count, 'profile')} are right to a duality gap of "
            f"{gaps.max():.1e} only; a larger reg makes them well-defined",
            ConvergenceWarning,
            stacklevel=6,
        )


def check_profiles(profiles: Profiles) -> None:
    """Raise if the problem of a very long profile would not fit into memory."""
    longest = int(profiles.lengths.max(initial=0))
    if longest <= _LONG:
        return
    with threads(None) as count:
        require_memory(
            20 * longest**2 * count,
            f"on {count} threads, the weights of a profile of {longest:,} items take",
            hint="use fewer threads, or leave out the longest profiles: they are seldom people",
        )


@dataclass(frozen=True, eq=False)
class SimplexScorer(Scorer):
    """CF-KOMD on an item matrix: weights against the mean of all items.

    Attributes
    ----------
    sizes : (m,) users of each item, to rank profiles with the same long rows one after the other
    """

    kind: ClassVar[str] = "simplex"

    matrix: ItemMatrix
    reg: float
    negative_weight: float
    sizes: NDArray[np.int64] = array("int64", "items", low=0)

    @property
    def items(self) -> int:
        return len(self.sizes)

    @cached_property
    def _base(self) -> Floats:
        """(m,) Scores for an empty profile."""
        from .._compiled.scores import base_scores

        return np.asarray(base_scores(self.matrix.arrays, self.negative_weight))

    @cached_property
    def _layout(self) -> Any:
        """Items by class and base, where lists need not look at all items; None elsewhere."""
        from .._compiled.reach import Layout

        matrix = self.matrix
        if not isinstance(matrix, CompressedMatrix) or matrix.scale or matrix.left is not None:
            return None
        if matrix.sets is not None:
            return None  # as many classes as pairs of a size and tags
        return Layout.of(self._base, matrix.classes, len(matrix.background))

    @cached_property
    def _sketch(self) -> Any:
        """The matrix as bytes, to rank many profiles; None where that is not possible."""
        from .._compiled.sketch import Sketch

        matrix, most = self.matrix, min(_MOST_PAIRS, free_memory() // 16)
        if not isinstance(matrix, CompressedMatrix) or len(matrix.values) > most:
            return None
        return None if self._layout is None else Sketch.of(matrix.arrays, self._layout)

    def weights(self, profiles: Profiles) -> Floats:
        """Return the weight of each item of each profile; those of a profile sum to 1."""
        return simplex_weights(self.matrix, self.reg, profiles)

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.profiles import score

        out = np.empty((profiles.n_rows, self.items))
        alpha = self.weights(profiles)
        score(out, self.matrix.arrays, self._base, self.negative_weight, *profiles.rows, alpha)
        return out

    def top(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        check_profiles(profiles)
        layout = None if self._layout is None else self._layout.without(hidden)
        model = self.matrix.arrays, self._base, layout
        scoring = self.negative_weight, self.reg, TOLERANCE
        request = profiles, hidden, exclude_own, n, profiles.by_longest_row(self.sizes)
        few = profiles.n_rows * self.items < MANY or n > self.items // _STRIDES
        if few or self._sketch is None:
            from .._compiled.profiles import rank

            chosen, scores, gaps = rank(*model, scoring, *request)
        else:
            from .._compiled.batches import rank_batches

            chosen, scores, gaps = rank_batches(*model, self._sketch, scoring, *request)
        warn_of_gaps(gaps)
        return chosen, scores

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        # Weights sum to 1, so the score is Σ α_i·(K_ij - negative_weight·q_j).
        matrix, alpha, out = self.matrix, self.weights(profile), list[Floats]()
        plain = matrix.scale is None and matrix.distance is None
        scores = np.empty(0) if plain else self.scores(profile)[0]
        for item in items:
            values, mean = matrix.terms(item, profile.indices)
            parts: Floats = alpha * (values - self.negative_weight * mean)
            if matrix.scale is not None and parts.any():
                parts *= scores[item] / parts.sum()
            if matrix.distance is not None:  # scores omit what all items of a profile share
                parts += alpha * (scores[item] - parts.sum())
            out.append(parts)
        return out

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return self.matrix.nearness(item)


@dataclass(frozen=True, eq=False)
class OthersScorer(Scorer):
    """ECF-OMD on an item matrix: weights against the mean of the items outside a profile."""

    kind: ClassVar[str] = "others"

    matrix: ItemMatrix
    reg: float

    @property
    def items(self) -> int:
        return len(self.matrix.pull)

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.negatives import mean_scores

        alpha = simplex_weights(self.matrix, self.reg, profiles, against_others=True)
        out = np.empty((profiles.n_rows, self.items))
        mean_scores(out, self.matrix.arrays, *profiles.rows, alpha)
        return out

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        # score_j = Σ (α_i + s)·K_ij - s·(m·q_j + 1), s = 1/(items outside the profile).
        out, others = list[Floats](), self.items - len(profile.indices)
        share = 1 / others if others > 0 else 0.0
        alpha = simplex_weights(self.matrix, self.reg, profile, against_others=True) + share
        scores = self.scores(profile)[0]
        for item in items:
            parts: Floats = alpha * self.matrix.row(item)[profile.indices]
            out.append(parts + alpha / alpha.sum() * (scores[item] - parts.sum()))
        return out

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return self.matrix.nearness(item)
