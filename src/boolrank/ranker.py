"""KernelRanker: CF-KOMD, the convex per-user ranker on a kernel matrix of items.

For a user with items I, over the simplex on I:

    α = argmin αᵀK_Iα + reg·‖α‖² - 2·αᵀq_I,     score = K[:, I]·α - negative_weight·q,

with q the mean row of K. A user's weights need nothing but the matrix and the user's own items, so
there is nothing to train for each user, and people who were not there at training are served alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._memory import free_memory, size
from ._threads import threads
from .errors import (
    ConvergenceWarning,
    InputError,
    MatrixTooLargeError,
    NotFittedError,
    ParameterError,
    ParameterTypeError,
)
from .interactions import Interactions
from .kernels import Kernel, parse_kernel
from .matrix import STORAGES, KernelMatrix, compiled_arrays, kernel_matrix
from .overlaps import Overlaps
from .recommendations import Recommendations

# Duality gap, relative to 1 + reg, at which a user's problem is solved. Weights are then right to
# about 1e-12, so that both storages give the same scores; a gap of 1e-9 would save a quarter.
TOLERANCE = 1e-13
# Nearly singular problems may stop short of that. A gap above this is worth a warning.
_LOOSE = 1e-9
# Profiles up to this length need less memory than is worth asking for.
_LONG = 4096
# By then a profile's items weigh the same to about 1e-12: more changes nothing.
_MOST_REG = 1e12

_REAL = (int, float, np.integer, np.floating)

Floats = NDArray[np.float64]
Profiles = tuple[NDArray[np.int64], NDArray[np.int32]]


class Fitted(NamedTuple):
    """The parameters that a model was fitted with: what it answers by until the next fit."""

    kernel: Kernel
    reg: float
    negative_weight: float
    storage: str


class KernelRanker:
    """CF-KOMD with any boolean kernel. The defaults are the paper's.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"disjunctive(8)"``; it is used in its normalised form
    reg : how evenly a user's items share the weight; 0 or more
    negative_weight : how much an item's nearness to all others counts against it
    storage : ``"auto"``, ``"dense"`` or ``"compressed"``
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> KernelRanker("disjunctive(2)").fit(data).recommend([3], n=2).lists()
    [['a', 'c']]
    """

    def __init__(
        self,
        kernel: Kernel | str = "disjunctive(8)",
        reg: float = 0.1,
        negative_weight: float = 1.0,
        storage: str = "auto",
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.reg = reg
        self.negative_weight = negative_weight
        self.storage = storage
        self.n_threads = n_threads

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> KernelRanker:
        """Count the overlaps of items and compute their kernel matrix.

        Several kernels on the same interactions can share their ``overlaps``.
        """
        fitted = self._checked()
        if not isinstance(interactions, Interactions):
            raise ParameterTypeError(
                f"KernelRanker fits Interactions, not {type(interactions).__name__}; make them "
                "with Interactions.from_frame, from_matrix, from_pairs or from_files"
            )
        if overlaps is None:
            overlaps = Overlaps.of(interactions, self.n_threads)
        elif (overlaps.n, overlaps.items) != interactions.shape:
            raise InputError(
                f"these overlaps are of {overlaps.n:,} users and {overlaps.items:,} items, the "
                f"interactions of {interactions.shape[0]:,} and {interactions.shape[1]:,}; count "
                "them with Overlaps.of(interactions)"
            )
        elif not np.array_equal(overlaps.sizes, interactions.popularity()):
            raise InputError(
                "these overlaps are of other interactions: the numbers of users of the items "
                "differ; count them with Overlaps.of(interactions)"
            )
        self._set(fitted, interactions, overlaps)
        return self

    def _checked(self) -> Fitted:
        """The parameters as they stand, if they make sense."""
        for name in ("reg", "negative_weight"):
            value = getattr(self, name)
            if not isinstance(value, _REAL) or not 0 <= value <= _MOST_REG:
                raise ParameterError(
                    f"{name} of KernelRanker must be 0 or more, at most {_MOST_REG:g}, not "
                    f"{value!r}"
                )
        if self.storage not in STORAGES:
            raise ParameterError(f"storage is one of {', '.join(STORAGES)}, not {self.storage!r}")
        kernel = self.kernel if isinstance(self.kernel, Kernel) else parse_kernel(self.kernel)
        return Fitted(kernel, float(self.reg), float(self.negative_weight), self.storage)

    def _set(self, fitted: Fitted, interactions: Interactions, overlaps: Overlaps) -> None:
        with threads(self.n_threads):
            try:
                matrix = kernel_matrix(fitted.kernel, overlaps, fitted.storage)
            except ParameterError as error:  # an arity too high: an item's variables are its users
                raise ParameterError(str(error).replace("variable", "user")) from None
        self._take(fitted, interactions, overlaps, matrix)

    def restore(self, interactions: Interactions, overlaps: Overlaps, matrix: KernelMatrix) -> None:
        """Take over what an equal ranker has learned: the three arrays' worth that a model is."""
        self._take(self._checked(), interactions, overlaps, matrix)

    def _take(
        self,
        fitted: Fitted,
        interactions: Interactions,
        overlaps: Overlaps,
        matrix: KernelMatrix,
    ) -> None:
        self._fitted, self._arrays = fitted, compiled_arrays(matrix)
        self._interactions, self._overlaps, self._matrix = interactions, overlaps, matrix

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """The constructor's parameters, by name."""
        names = ("kernel", "reg", "negative_weight", "storage", "n_threads")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> KernelRanker:
        """Set some of the constructor's parameters; they count from the next fit on.

        The number of threads, which changes no result, counts at once.
        """
        for name, value in params.items():
            if name not in self.get_params():
                raise ParameterError(f"KernelRanker has no parameter {name!r}")
            setattr(self, name, value)
        return self

    @property
    def fitted(self) -> Fitted:
        """The parameters that the model was fitted with, whatever has been set since."""
        self._check_fitted()
        return self._fitted

    @property
    def matrix(self) -> KernelMatrix:
        """The kernel matrix that the model ranks by."""
        self._check_fitted()
        return self._matrix

    @property
    def overlaps(self) -> Overlaps:
        """The counts that the kernel matrix follows from."""
        self._check_fitted()
        return self._overlaps

    @property
    def interactions(self) -> Interactions:
        """What the model was fitted on."""
        self._check_fitted()
        return self._interactions

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        state = f" on {self._interactions!r}" if hasattr(self, "_matrix") else ", not fitted"
        return f"KernelRanker({given}){state}"

    def recommend(
        self,
        users: Sequence[Hashable] | NDArray[Any] | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items of each user.

        Parameters
        ----------
        users : ids; everybody where not given
        n : how many items, at most; never more than there are
        exclude_seen : leave out what the user has touched
        candidates : ids of the only items to recommend
        exclude : ids of items not to recommend
        """
        self._check_fitted()
        rows, known = self._rows(users), self._interactions.users
        ids = list(known) if users is None else [known[int(row)] for row in rows]
        return self._rank(ids, self._histories(rows), n, exclude_seen, candidates, exclude)

    def recommend_profile(
        self,
        items: Iterable[Hashable],
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items for somebody with these items, known or not.

        The other parameters are those of ``recommend``.
        """
        return self.recommend_profiles([items], n, exclude_seen, candidates, exclude)

    def recommend_profiles(
        self,
        profiles: Iterable[Iterable[Hashable]],
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items for each of several people, each a list of items."""
        self._check_fitted()
        lists = self._profiles(list(profiles))
        return self._rank(None, lists, n, exclude_seen, candidates, exclude)

    def score(
        self, users: Sequence[Hashable] | None = None, items: Sequence[Hashable] | None = None
    ) -> Floats:
        """Scores of items for users, as a (users, items) matrix; NaN for users with no history."""
        self._check_fitted()
        return self._scores(self._histories(self._rows(users)), items)

    def score_profiles(
        self, profiles: Sequence[Iterable[Hashable]], items: Sequence[Hashable] | None = None
    ) -> Floats:
        """The same for people with these items, whether they were there at training or not."""
        self._check_fitted()
        return self._scores(self._profiles(list(profiles)), items)

    def similar_items(self, items: Sequence[Hashable], n: int = 10) -> Recommendations:
        """The n items nearest to each item, by the kernel.

        Where no double holds the values, logarithms stand for them, as in scores.
        """
        self._check_fitted()
        n = _whole(n, len(self._interactions.items))
        vocabulary = self._interactions.items
        rows = vocabulary.numbers(items)
        chosen, values = np.full((len(rows), n), -1), np.full((len(rows), n), np.nan)
        for k, item in enumerate(rows):
            near = self._matrix.nearness(int(item))
            near[item] = -np.inf
            order = np.argsort(-near, kind="stable")[: min(n, len(near) - 1)]
            chosen[k, : len(order)], values[k, : len(order)] = order, near[order]
        names = [vocabulary[int(r)] for r in rows]
        return Recommendations(names, vocabulary.names(chosen), values, np.zeros(len(rows), bool))

    def explain(self, user: Hashable, item: Hashable) -> list[tuple[Any, float]]:
        """The user's items and how much each adds to the score of an item, the largest first.

        With Σα = 1 the score is Σ α_i·(K_ij - negative_weight·q_j): the parts add up to it. Where
        no double holds them, the score is a logarithm, and the parts are shares of it.
        """
        self._check_fitted()
        items = self._interactions.items
        target = items.number(item)
        history = self._histories(np.array([self._interactions.users.number(user)]))
        own = history[1]
        values, mean = self._matrix.terms(target, own)
        parts = self._weights(*history) * (values - self._fitted.negative_weight * mean)
        if self._matrix.scale and parts.any():
            parts *= self._scores(history, None)[0, target] / parts.sum()
        order = np.argsort(-parts, kind="stable")
        return [(items[int(own[k])], float(parts[k])) for k in order]

    def weights(self, users: Sequence[Hashable]) -> list[Floats]:
        """The weights of each user's items, in the order of the items' ids."""
        self._check_fitted()
        start, own = self._histories(self._interactions.users.numbers(users))
        return np.split(self._weights(start, own), start[1:-1])

    def update(
        self, added: Interactions | None = None, removed: Interactions | None = None
    ) -> KernelRanker:
        """Take in new interactions, and give up old ones: exactly as if fitted on the result.

        Counts change only where users changed; kernel values follow from the counts.
        """
        self._check_fitted()
        after = self._interactions.updated(added, removed)
        self._set(self._fitted, after, self._overlaps.updated(self._interactions, after))
        return self

    def save(self, path: str | Path) -> None:
        """Write the model into a folder, whole or not at all."""
        from .persistence import save_ranker

        self._check_fitted()
        save_ranker(self, path)

    @classmethod
    def load(
        cls, path: str | Path, verify: bool = True, n_threads: int | None = None
    ) -> KernelRanker:
        """Open a saved model; its arrays are memory-mapped, so processes share them.

        ``verify=False`` trusts the folder: it skips the checksums and the checks that the arrays
        fit together, and then opening takes milliseconds. A folder that was altered can then give
        wrong answers or end the process; use it for one that you have just checked.
        """
        from .persistence import load_ranker

        return load_ranker(cls, path, verify, n_threads)

    def _rows(self, users: Sequence[Hashable] | NDArray[Any] | None) -> NDArray[np.int64]:
        known = self._interactions.users
        return np.arange(len(known)) if users is None else known.numbers(users)

    def _histories(self, rows: NDArray[np.int64]) -> Profiles:
        """Items of users, one after the other."""
        indptr, indices = self._interactions.indptr, self._interactions.indices
        lengths = indptr[rows + 1] - indptr[rows]
        start = np.concatenate(([0], np.cumsum(lengths)))
        if len(rows) == len(indptr) - 1 and np.array_equal(rows, np.arange(len(rows))):
            return indptr, indices
        parts = [indices[indptr[row] : indptr[row + 1]] for row in rows]
        return start, np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _profiles(self, lists: Sequence[Iterable[Hashable]]) -> Profiles:
        numbers = [np.unique(self._interactions.items.numbers(items)) for items in lists]
        start = np.cumsum([0, *(len(part) for part in numbers)])
        return start, np.concatenate([*numbers, np.empty(0, int)]).astype(np.int32)

    def _weights(self, start: NDArray[np.int64], own: NDArray[np.int32]) -> Floats:
        from ._compiled.profiles import weights

        longest = int(np.diff(start).max(initial=0))
        with threads(self.n_threads) as count:
            _check_room(longest, count)
            alpha, gaps = weights(
                self._arrays,
                start,
                own,
                self._fitted.reg,
                TOLERANCE * (1 + self._fitted.reg),
                _parts(len(start) - 1, count),
            )
        loose = int((gaps > _LOOSE * (1 + self._fitted.reg)).sum())
        if loose:
            warnings.warn(
                f"the weights of {loose} profiles are right "
                f"to a duality gap of {gaps.max():.1e} only; a larger reg makes them well-defined",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.asarray(alpha)

    def _scores(self, profiles: Profiles, items: Sequence[Hashable] | None) -> Floats:
        from ._compiled.profiles import score

        start, own = profiles
        out = np.empty((len(start) - 1, len(self._interactions.items)))
        alpha = self._weights(start, own)
        with threads(self.n_threads):
            score(out, self._arrays, self._fitted.negative_weight, start, own, alpha)
        out[np.diff(start) == 0] = np.nan
        return out if items is None else out[:, self._interactions.items.numbers(items)]

    def _rank(
        self,
        users: list[Any] | None,
        profiles: Profiles,
        n: int,
        exclude_seen: bool,
        candidates: Iterable[Hashable] | None,
        exclude: Iterable[Hashable] | None,
    ) -> Recommendations:
        items = self._interactions.items
        n = _whole(n, len(items))
        allowed = np.ones(len(items), bool)
        if candidates is not None:
            allowed[:] = False
            allowed[items.numbers(candidates)] = True
        if exclude is not None:
            allowed[items.numbers(exclude)] = False
        start, own = profiles
        alpha = self._weights(start, own)
        from ._compiled.profiles import rank

        with threads(self.n_threads) as count:
            chosen, scores = rank(
                self._arrays,
                self._fitted.negative_weight,
                start,
                own,
                alpha,
                allowed,
                exclude_seen,
                n,
                _by_longest_row(start, own, self._overlaps.sizes),
                _parts(len(start) - 1, count),
            )
        empty = np.diff(start) == 0
        if empty.any():
            sizes = self._overlaps.sizes.astype(float)
            order = np.flatnonzero(allowed)[np.argsort(-sizes[allowed], kind="stable")][:n]
            chosen[np.ix_(empty, np.arange(len(order)))] = order
            scores[np.ix_(empty, np.arange(len(order)))] = sizes[order]
        return Recommendations(users, items.names(chosen), scores, empty)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_matrix"):
            raise NotFittedError(
                "this KernelRanker has seen no data yet; call fit(interactions) first"
            )


def _whole(n: Any, most: int) -> int:
    """A number of items, which is never more than there are."""
    if not isinstance(n, _REAL) or not 0 <= n < np.inf or n != int(n):
        raise ParameterError(f"n must be a whole number from 0 on, not {n!r}")
    return min(int(n), most)


def _check_room(longest: int, count: int) -> None:
    """Raise where the problem of a very long profile would not fit into memory."""
    needed = 16 * longest**2 * count
    if longest > _LONG and needed > free_memory():
        raise MatrixTooLargeError(
            f"the weights of a profile of {longest:,} items would take {size(needed)} on {count} "
            f"threads, and there are {size(free_memory())}; use fewer threads, or leave out or "
            "shorten the longest profiles: who has touched that much is seldom a person"
        )


def _by_longest_row(
    start: NDArray[np.int64], own: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Profiles in the order of their most popular item, whose row of the matrix is the longest.

    So the next profile finds it in the cache.
    """
    some = np.flatnonzero(np.diff(start) > 0)
    key = sizes[own] * len(sizes) + own
    longest = np.zeros(len(start) - 1, np.int64)
    if len(some):
        longest[some] = np.maximum.reduceat(key, start[some])
    return np.argsort(longest, kind="stable")


def _parts(profiles: int, count: int) -> int:
    """Into how many parts to deal profiles out: one for each thread, with scratch of its own."""
    return max(1, min(profiles, count))
