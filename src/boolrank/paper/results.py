"""What a reproduction of the paper finds: our results beside its own.

Values only: `reproduce.py` finds them, and others print them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..studies.arities import Curve
from .published import PaperSet

__all__ = ["Missing", "OtherReading", "Reproduction", "Row", "SetResult", "Timing"]


@dataclass(frozen=True)
class Row:
    """A figure of the paper beside ours.

    Attributes
    ----------
    column, kernel : which kernel, as a column of the table and as text
    means, deviations : ours by metric; deviations are NaN for a single fold
    paper, paper_deviation : the paper's AUC
    far : whether the two differ by more than two of the paper's deviations
    reason : what is known of why they might
    """

    column: str
    kernel: str
    means: dict[str, float]
    deviations: dict[str, float]
    paper: float
    paper_deviation: float
    far: bool
    reason: str

    @property
    def difference(self) -> float:
        """Ours less the paper's."""
        return self.means["auc"] - self.paper


@dataclass(frozen=True)
class OtherReading:
    """AUCs by another reading of the protocol, in the order of the columns."""

    title: str
    users: int
    means: dict[str, float]
    deviations: dict[str, float]


@dataclass(frozen=True)
class Timing:
    """Seconds: for the disjunctive kernel matrix of all items, and for one fold of test users.

    Attributes
    ----------
    overlaps, matrix : counting what pairs of items share, and the kernel's values
    rank : weights and rankings of the test users of a fold
    """

    overlaps: float
    matrix: float
    rank: float


@dataclass(frozen=True)
class SetResult:
    """All that was found on one data set.

    Attributes
    ----------
    paper : the paper's row
    users, items, interactions : how large it is
    expected : how large it is known to be, as text, where that is different
    folds, test_users, unseen : how many; the test interactions with unseen items were left out
    split, split_hash : how it was split
    ratio : normalised spectral ratio of the mDNF kernel
    """

    paper: PaperSet
    users: int
    items: int
    interactions: int
    expected: str
    folds: int
    test_users: int
    unseen: int
    split: str
    split_hash: str
    rows: tuple[Row, ...]
    readings: tuple[OtherReading, ...]
    curves: tuple[Curve, ...]
    ratio: float
    timing: Timing

    @property
    def best(self) -> Row:
        """The row with the highest AUC."""
        return max(self.rows, key=lambda row: row.means["auc"])


@dataclass(frozen=True)
class Missing:
    """A data set of the paper that was not measured, and why."""

    paper: PaperSet
    why: str


@dataclass(frozen=True)
class Reproduction:
    """Everything: data sets measured and missing, seeds, and the machine."""

    sets: tuple[SetResult, ...]
    missing: tuple[Missing, ...]
    seed: int
    machine: dict[str, Any]
