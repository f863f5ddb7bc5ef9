"""Search for the clauses with the largest weights, by branch and bound.

A machine f(x) = Σ β_i·κ(x_i, x) gives a clause φ the weight Σ β_i·φ(x_i). A conjunction of the
literals S is true of the examples that contain S, and a longer one of fewer of them. So no longer
one weighs more than Σ max(β_i, 0) over these. A disjunction is false where the conjunction of the
negated literals is true: the same search on complements. Clauses with the largest bound are
extended first; when no bound exceeds the n-th largest weight, the first n are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from itertools import count
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .clauses import Clauses

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
Literals = tuple[int, ...]

# Weights below this share of Σ |β_i| are rounding.
_ROUNDING = 1e-12
# Clauses of each size that are extended before the search proper, for large weights to start with.
# If long clauses exhaust the nodes, these are the result.
_BEAM = 16
# Inner clauses of each sign that normal forms are composed of.
_POOL = 60


class Aim(NamedTuple):
    """What is searched for: clauses with large sums of weights."""

    weights: Floats  # of the examples
    nodes: int  # clauses to extend
    last: bool  # whether clauses must be true of the last example


class Examples:
    """(m, n) Binary vectors. Literal k is variable k, and literal n + k its negation.

    Variables may be clauses themselves, see `lifted`; their names are then formulas.
    """

    def __init__(self, X: Any, names: Sequence[str]) -> None:
        self.matrix = X.astype(np.float64)
        self.columns = csc_array(X)
        self.n: int = X.shape[1]
        self.names = names

    def having(self, literals: Literals, value: bool = True) -> NDArray[np.bool_]:
        """(m,) Whether all literals have the value."""
        met = np.ones(self.matrix.shape[0], bool)
        for each in literals:
            start, stop = self.columns.indptr[each % self.n :][:2]
            found = np.full(len(met), (each < self.n) != value)
            found[self.columns.indices[start:stop]] ^= True
            met &= found
        return met

    def clause(self, clauses: Clauses, literals: Literals) -> tuple[str, NDArray[np.bool_]]:
        """Return a clause as text, and (m,) of which examples it is true."""
        names, n = self.names, self.n
        words = [names[k] if k < n else f"not {names[k - n]}" for k in literals]
        true = self.having(literals, clauses.conjunctive) == clauses.conjunctive
        return (" and " if clauses.conjunctive else " or ").join(words) or "true", true

    def best(self, clauses: Clauses, aim: Aim, n: int) -> tuple[dict[Literals, float], bool]:
        """Return the n clauses of each sign with the largest weights, and whether this is exact."""
        found, exact = dict[Literals, float](), True
        for sign in (1, -1):
            best, sure = Search(self, clauses, aim._replace(weights=sign * aim.weights), n).run()
            found |= {literals: sign * weight for weight, literals in best}
            exact &= sure
        return found, exact

    def lifted(self, clauses: Clauses, aim: Aim) -> Examples:
        """Return the best inner clauses in place of variables, if the clauses have inner ones."""
        inner = clauses.inner
        if inner is None:
            return self
        parts, pool = self.lifted(inner, aim), dict[Literals, float]()
        # All clauses of a conjunction are true of the last example, and one of a disjunction is.
        for last in sorted({aim.last, aim.last and clauses.conjunctive}):
            pool |= parts.best(inner, aim._replace(last=last), _POOL)[0]
        made = [parts.clause(inner, literals) for literals in pool]
        true = np.array([each for _, each in made], bool).reshape(len(made), len(aim.weights))
        return Examples(true.T.copy(), [f"({text})" for text, _ in made])


class Search:
    """A search for the n clauses of largest positive weight."""

    def __init__(self, examples: Examples, clauses: Clauses, aim: Aim, n: int) -> None:
        self.examples, self.clauses, self.n, self.left = examples, clauses, n, aim.nodes
        beta = aim.weights
        # A disjunction weighs Σ β_i less the weight of the conjunction of its negated literals.
        self.offset = 0.0 if clauses.conjunctive else float(beta.sum())
        self.beta = beta if clauses.conjunctive else -beta
        self.values = np.stack((self.beta, np.maximum(self.beta, 0.0)))
        self.sums = np.asarray(self.values @ examples.matrix)
        self.floor = _ROUNDING * float(abs(beta).sum())
        width = examples.n * (1 + clauses.negated)
        longest = examples.n
        if clauses.conjunctive and not clauses.negated:
            longest = examples.matrix.sum(axis=1).max()
        self.high = int(min(clauses.high, longest))
        every = np.arange(width)
        met = every[[bool(examples.having((int(k),))[-1]) for k in every]] if aim.last else every
        self.first = met
        self.others = every[:0] if clauses.conjunctive else np.setdiff1d(every, met)
        self.best: list[tuple[float, Literals]] = []
        self.heap: list[tuple[float, int, Literals, Numbers, Floats, int]] = []
        self.order = count()
        self.known: set[Literals] = set()

    @property
    def least(self) -> float:
        """The weight that a clause must exceed."""
        return self.best[0][0] if len(self.best) == self.n else 0.0

    def run(self) -> tuple[list[tuple[float, Literals]], bool]:
        """Return weights and clauses, the largest first, and whether no other weighs more."""
        low = self.clauses.low
        if low == 0:
            self._record((), np.array([-1]), np.array([self.offset + self.beta.sum()]))
        if low <= self.high:
            self._dive()
            self._branch((), self.first, self.others)
        while self.heap and -self.heap[0][0] > self.least and self.left > 0:
            _, _, members, following, bounds, place = heappop(self.heap)
            self._push(members, following, bounds, place - 1)
            literal, later = int(following[place]), following[place + 1 :]
            if self.clauses.negated:
                later = later[later % self.examples.n != literal % self.examples.n]
            self._branch((*members, literal), later, later[:0])
        exact = not self.heap or -self.heap[0][0] <= self.least
        return sorted(self.best, key=lambda each: (-each[0], len(each[1]), each[1])), exact

    def _branch(self, members: Literals, next_ones: Numbers, others: Numbers) -> None:
        """Extend a clause by each of the next literals; the others may follow later."""
        bounds = self._extend(members, next_ones)[1]
        size = len(members) + 1
        if size < self.high:
            # Ascending bounds: the literals that may follow one have larger bounds than it.
            alive = [part[bounds[part] > self.least] for part in (next_ones, others)]
            ordered = [part[np.argsort(bounds[part], kind="stable")] for part in alive]
            following = np.concatenate(ordered).astype(np.int32)
            needed = max(self.clauses.low - size, 1)
            place = min(len(ordered[0]), len(following) - needed) - 1
            self._push(members, following, bounds[ordered[0]], place)

    def _push(self, members: Literals, following: Numbers, bounds: Floats, place: int) -> None:
        """Keep the children of a clause up to a place, by the largest bound of them."""
        if place >= 0 and bounds[place] > self.least:
            entry = -float(bounds[place]), next(self.order), members, following, bounds, place
            heappush(self.heap, entry)

    def _dive(self) -> None:
        """Extend the best few clauses of each size, for weights to start with."""
        beam: list[Literals] = [()]
        for size in range(1, self.high + 1):
            before, children = self.least, dict[Literals, float]()
            for members in beam if self.left > 0 else ():
                allowed = self.first if not members else np.concatenate((self.first, self.others))
                taken = [each % self.examples.n for each in members]
                allowed = allowed[~np.isin(allowed % self.examples.n, taken)]
                weights, bounds = self._extend(members, allowed)
                for k in allowed[np.argsort(-weights[allowed], kind="stable")[:_BEAM]].tolist():
                    if bounds[k] > 0:
                        children[tuple(sorted((*members, k)))] = float(weights[k])
            beam = sorted(children, key=lambda each: (-children[each], each))[:_BEAM]
            if size > self.clauses.low and self.least == before:
                return

    def _extend(self, members: Literals, allowed: Numbers) -> tuple[Floats, Floats]:
        """Return the weight of a clause with each literal added, and a bound for longer ones.

        Clauses with an allowed literal are recorded.
        """
        self.left -= 1
        conjunctive, size = self.clauses.conjunctive, len(members) + 1
        covered = self.examples.having(members, conjunctive)
        few = covered.sum() * 2 <= len(covered)
        rows = np.flatnonzero(covered if few else ~covered)
        plain = np.asarray(self.values[:, rows] @ self.examples.matrix[rows])
        plain = plain if few else self.sums - plain
        other = self.values[:, covered].sum(axis=1, keepdims=True) - plain
        sums = self.offset + (plain if conjunctive else other)
        if self.clauses.negated:
            sums = np.hstack((sums, self.offset + (other if conjunctive else plain)))
        sums[sums <= self.floor] = 0.0
        weights: Floats = sums[0] * self.clauses.weight**size
        if self.clauses.low <= size <= self.high:
            self._record(members, allowed, weights)
        return weights, sums[1] * self._most(size)

    def _most(self, size: int) -> float:
        """Return the largest factor of clauses of at least this size."""
        weight = self.clauses.weight
        return exp(
            min(log(weight) * (max(size, self.clauses.low) if weight <= 1 else self.high), 700)
        )

    def _record(self, members: Literals, literals: Numbers, weights: Floats) -> None:
        some = literals[weights[literals] > self.least]
        for k in some[np.argsort(-weights[some], kind="stable")[: self.n]].tolist():
            entry = float(weights[k]), tuple(sorted((*members, k))) if k >= 0 else ()
            if entry[0] <= self.least or entry[1] in self.known:
                continue
            self.known.add(entry[1])
            (heapreplace if len(self.best) == self.n else heappush)(self.best, entry)
