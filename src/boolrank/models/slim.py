"""SLIM and GLSLIM: each item as a sparse sum of others, by an elastic net.

SLIM has one model for all users, with weights W that minimise, for each item j,

    ½·‖x_j - X·w_j‖² + l2/2·‖w_j‖² + l1·‖w_j‖₁,   w_jj = 0.

GLSLIM adds a model for each of some subsets of users. A user u of subset p has the scores

    g_u·W + (1 - g_u)·W_p,

summed over the items of the profile. Weights are learned with subsets and shares g fixed; then each
user moves to the subset that predicts the profile best, with the best share. This repeats until few
users move. The same choice serves new profiles, so a fitted model knows no users.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions, check_interactions
from ..data.rows import Rows
from ..engines.threads import threads
from ..storage.state import array
from .elastic_net import ElasticNet, Operators, Subsets
from .fitted import Fitted
from .parameters import param, threads_param
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats, Scorer, column_of
from .search import NEIGHBOURS, Real, Whole
from .sparse_scorer import SparseScorer

# Subsets are settled when fewer users than this share move.
_MOVING = 0.01
# Tolerance of weights that only decide who moves; it saves half of the time.
_ROUGH = 1e-4
# Iterations of the first grouping of users.
_MEANS = 20


@dataclass(repr=False, eq=False)
class _Sparse(Recommender):
    """Parameters of sparse linear models."""

    reg: float = param(0.05, low=0, high=1e6, search=Real(1e-4, 10.0, log=True))
    l1_ratio: float = param(0.01, low=0, high=1, search=Real(1e-4, 1.0, log=True))
    sign: str = param("positive", choices=("positive", "any"))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    n_threads: int | None = threads_param()

    def _net(self, users: int, *regs: float) -> ElasticNet:
        """Return the costs of models with these costs per user."""
        l1 = tuple(users * reg * self.l1_ratio for reg in regs)
        l2 = tuple(users * reg * (1 - self.l1_ratio) for reg in regs)
        return ElasticNet(l1, l2, self.sign == "positive", self.neighbours)


@dataclass(repr=False, eq=False)
class Slim(_Sparse):
    """SLIM (Ning and Karypis, SLIM: sparse linear methods for top-N recommender systems, ICDM
    2011).

    Parameters
    ----------
    reg : cost of weights, per user
    l1_ratio : share of the cost on their sum, the rest on their squares
    sign : ``"positive"`` weights alone, or ``"any"``
    neighbours : weights kept per item; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> Slim().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (SparseScorer,)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:  # noqa: ARG002
        return self._from(data, Operators.empty(1, len(data.items)))

    def _from(self, data: Interactions, start: Operators) -> SparseScorer:
        users, items = data.shape
        net = self._net(users, self.reg)
        found = net.solve(data.rows, items, Subsets.none(users), start)
        return SparseScorer(found.indptr[0], found.columns, found.values, data.popularity())

    @classmethod
    def path(cls, data: Interactions, regs: Iterable[float], **params: Any) -> list[Self]:
        """Return a fitted model for each reg, the highest first; each starts from the one before.

        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> [model.reg for model in Slim.path(data, [0.01, 0.1])]
        [0.1, 0.01]
        """
        check_interactions(data, f"{cls.__name__} fits")
        start = Operators.empty(1, len(data.items))
        models = [cls(reg=reg, **params).checked() for reg in regs]
        models.sort(key=lambda model: -model.reg)
        for model in models:
            with threads(model.n_threads):
                scorer = cls._from(model, data, start)
            fitted = Fitted(model.get_params(), data, scorer, None, time.time(), table=data.table)
            model.restore(fitted)
            start = Operators(scorer.indptr[None], scorer.columns, scorer.values)
        return models


@dataclass(frozen=True, eq=False)
class SubsetScorer(Scorer):
    """Sparse operators of all users and of subsets; a profile chooses its subset and share.

    Row i of operator p is what item i adds to the scores of others; operator 0 is that of all.
    """

    kind: ClassVar[str] = "subsets"

    indptr: NDArray[np.int64] = array(
        "int64", "operators", "items+1", low=0, divides=("columns", "values")
    )
    columns: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    values: Floats = array("float64", "*")

    @property
    def items(self) -> int:
        return int(self.indptr.shape[1]) - 1

    def scores(self, profiles: Profiles) -> Floats:
        return self._mixed(profiles.rows, self.items)[1]

    def subsets(self, profiles: Rows) -> Subsets:
        """Return the subset of each profile, and the share of the operator of all."""
        return self._mixed(profiles, 0)[0]

    def _mixed(self, profiles: Rows, columns: int) -> tuple[Subsets, Floats]:
        from .._compiled.slim import mix

        count = profiles.n_rows
        out = np.zeros(count, np.int64), np.empty(count), np.empty((count, columns))
        mix(out, *profiles, self.indptr, self.columns, self.values)
        return Subsets(*out[:2]), out[2]

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        ((number,), (share,)), out = self.subsets(profile.rows), list[Floats]()
        for item in items:
            whole, *local = (
                column_of(item, profile.indices, starts, self.columns, self.values)
                for starts in self.indptr
            )
            out.append(whole if share == 1 else share * whole + (1 - share) * local[number])
        return out

    def similar(self, item: int) -> tuple[Floats, Floats]:
        """Take the mean of the operators' rows."""
        row = np.zeros(self.items)
        for starts in self.indptr:
            part = slice(starts[item], starts[item + 1])
            row[self.columns[part]] += self.values[part] / len(self.indptr)
        return row, row


@dataclass(repr=False, eq=False)
class Glslim(_Sparse):
    """GLSLIM (Christakopoulou and Karypis, Local item-item models for top-N recommendation, RecSys
    2016), with users that choose subsets (the variant GLSLIMr0 leaves these as they are).

    Parameters
    ----------
    subsets : number of subsets of users; 1 is SLIM
    reg : cost of weights of the model of all, per user
    local_reg : cost of weights of the models of subsets, per user of all
    l1_ratio, sign : as in `Slim`
    neighbours : weights kept per item and model; all by default
    rounds : of learning and moving users, at most
    seed : of the first subsets

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> Glslim(subsets=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (SubsetScorer,)

    subsets: int = param(5, low=1, high=1000, search=Whole(2, 10))
    local_reg: float = param(0.05, low=0, high=1e6, search=Real(1e-4, 10.0, log=True))
    rounds: int = param(10, low=1)
    seed: int = param(0, low=0)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SubsetScorer:  # noqa: ARG002
        users, items = data.shape
        local = self.subsets if self.subsets > 1 else 0
        net = self._net(users, self.reg, *[self.local_reg] * local)
        subsets, found = Subsets.none(users), Operators.empty(1 + local, items)
        if local:
            numbers = _grouped(data, local, np.random.default_rng(self.seed))
            subsets = Subsets(numbers, np.full(users, 0.5))
        for _ in range(self.rounds - 1 if local else 0):
            found = net.solve(data.rows, items, subsets, found, _ROUGH)
            before, subsets = subsets.numbers, SubsetScorer(*found).subsets(data.rows)
            # Subsets do not matter to users with the model of all alone, nine of ten who move.
            moved = (before != subsets.numbers) & (subsets.shares < 1)
            if np.count_nonzero(moved) <= _MOVING * users:
                break
        return SubsetScorer(*net.solve(data.rows, items, subsets, found))


def _grouped(data: Interactions, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a group for each user: means of directions, from users far from each other.

    Products of a sparse and a dense matrix run on one thread, so groups do not depend on threads.
    """
    matrix: Any = data.matrix().astype(np.float64)
    matrix = matrix.multiply(1 / np.sqrt(np.maximum(data.rows.lengths, 1.0))[:, None]).tocsr()
    centres = matrix[[rng.integers(matrix.shape[0])]].toarray()
    for _ in range(count - 1):
        far = 1 - (matrix @ centres.T).max(axis=1)
        far = np.maximum(far, 0.0) + 1e-12
        next_one = rng.choice(len(far), p=far / far.sum())
        centres = np.concatenate((centres, matrix[[next_one]].toarray()))
    numbers = np.zeros(matrix.shape[0], np.int64)
    for _ in range(_MEANS):
        before, numbers = numbers, np.argmax(matrix @ centres.T, axis=1)
        if np.array_equal(before, numbers):
            break
        members = csr_array(
            (np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), (count, len(numbers))
        )
        sums = (members @ matrix).toarray()
        lengths = np.sqrt((sums**2).sum(axis=1, keepdims=True))
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-300), centres)
    return numbers
