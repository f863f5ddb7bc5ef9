"""Readable rules: the formulas with the largest weights in a machine on a boolean kernel.

The features of a boolean kernel are formulas, so a machine is a sum over them:

    f(x) = Σ_i β_i·κ(x_i, x) = Σ_φ w_φ·φ(x),     w_φ = Σ_i β_i·φ(x_i),

up to the factors of normalisation. The search for clauses is exact unless it runs out of nodes. For
normal forms it is a heuristic: the best clauses of the best inner clauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import whole
from ..errors import InputError
from .algebra import Normalized, Scaled, Sum
from .base import Kernel
from .binary_matrix import as_binary
from .formula_search import Clauses, Examples, Floats, Search
from .parser import parse_kernel
from .terms import Bound

# Clauses extended in one search.
NODES = 1000
# Inner clauses of each sign that normal forms are composed of.
_POOL = 60
# Matrices with fewer elements are dense in a search: 32 MB.
_DENSE = 1 << 22


@dataclass(frozen=True)
class Rule:
    """A formula and its part in a machine.

    ``adds`` is its part of the score of the vector in question; without one, of the score of a
    vector of mean length for which it is true. ``support`` vectors satisfy it, ``positive`` of them
    are accepted by the machine, or in the profile of a ranker; ``satisfied`` are the rows of these
    vectors, or the ids of these items of the profile. ``parts`` are its parts of the scores of all
    vectors.
    """

    formula: str
    adds: float
    support: int
    positive: int
    satisfied: tuple[Any, ...] = ()
    parts: Floats = field(default_factory=lambda: np.zeros(1), repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules with the largest parts in a decision or a machine, by absolute value.

    ``score`` is f(x) without the intercept, the sum over all formulas; None without x. Rules are
    ``exact`` if no other formula adds more. ``fidelity`` is the AUC of their sum for the machine's
    decisions on the examples, with ties as half.
    """

    rules: tuple[Rule, ...]
    score: float | None
    exact: bool
    fidelity: float = float("nan")

    @property
    def share(self) -> float | None:
        """The share of the score that the rules add up to; others may add or subtract more."""
        return sum(each.adds for each in self.rules) / self.score if self.score else None

    def against(self, accepted: NDArray[np.bool_]) -> Rules:
        """Return the same rules with their fidelity to decisions on the examples."""
        sums = sum((each.parts for each in self.rules), np.zeros(len(accepted)))
        return replace(self, fidelity=_auc(sums, accepted))

    @staticmethod
    def joined(parts: Sequence[Rules], n: int) -> Rules:
        """Return the n largest rules of a machine with several terms."""
        every = sorted((each for part in parts for each in part.rules), key=lambda r: -abs(r.adds))
        score = None if parts[0].score is None else sum(part.score or 0.0 for part in parts)
        return Rules(tuple(every[:n]), score, all(part.exact for part in parts))


def find_rules(
    kernel: Kernel | str,
    X: Any,
    beta: ArrayLike,
    x: ArrayLike | None = None,
    n: int = 10,
    names: Sequence[str] | None = None,
    positive: ArrayLike | None = None,
    nodes: int = NODES,
) -> Rules:
    """Return the n formulas with the largest parts in f(x) = Σ β_i·κ(x_i, x), or in all of f.

    Parameters
    ----------
    X : (m, n) binary vectors x_i
    beta : (m,) their weights
    x : one binary vector; without it, the rules of the whole machine
    names : of the variables; ``x0``, ``x1``, ... by default
    positive : (m,) which vectors count as positive; those with positive weight by default
    nodes : clauses to extend before the search gives up

    >>> X = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]
    >>> find_rules("conjunctive(2)", X, [1, -1, -1, 1], names=["a", "b", "c"], n=1).rules
    (Rule(formula='a and b', adds=2.0, support=2, positive=2, satisfied=(0, 3)),)
    """
    from scipy.sparse import csr_array, vstack

    n, nodes = whole("", "n", n, low=1), whole("", "nodes", nodes, low=1)
    kernel, rows, weights = parse_kernel(kernel), as_binary(X, "X"), np.asarray(beta, np.float64)
    m, width = rows.shape
    names = [f"x{k}" for k in range(width)] if names is None else names
    counts = weights > 0 if positive is None else np.asarray(positive, bool)
    for name, given, size in (
        ("names", names, (width,)),
        ("beta", weights[np.isfinite(weights)], (m,)),
        ("positive", counts, (m,)),
    ):
        if np.shape(given) != size:
            problem = f"{name} must have {size[0]} values for this X, all of them finite"
            raise InputError(problem, parameter=name)
    score, every = None, csr_array(rows)
    if x is not None:
        target = as_binary(np.reshape(np.asarray(x), (1, -1)), "x", width=width)
        score = float(kernel(target, rows)[0] @ weights)
        every = vstack([every, csr_array(target)], format="csr")
    dense: Any = every.toarray() if every.shape[0] * width <= _DENSE else every
    extended = np.append(weights, np.zeros(every.shape[0] - m))
    found, exact = list[Rule](), True
    for scale, factors, clauses in _spaces(kernel, dense, 1.0, np.ones(len(extended))):
        used = factors[:m][factors[:m] > 0]
        shown = scale * (factors[-1] if x is not None else used.mean() if len(used) else 0.0)
        values = extended * factors
        examples, texts, space = _lifted(Examples(dense), list(names), values, clauses, nodes, x)
        for sign in (1, -1):
            best, sure = Search(examples, sign * values, space, n, nodes, x is not None).run()
            exact &= sure and clauses.inner is None
            for weight, members in best:
                true = (examples.having(members, space.conjunctive) == space.conjunctive)[:m]
                at = np.flatnonzero(true)
                support = len(at), int(counts[at].sum()), tuple(at.tolist())
                parts = sign * weight * scale * factors[:m] * true
                text, adds = _text(space, members, texts), float(sign * weight * shown)
                found.append(Rule(text, adds, *support, parts))
    found.sort(key=lambda each: (-abs(each.adds), each.formula))
    return Rules(tuple(found[:n]), score, exact)


def rules_of(
    machine: Any,
    X: Any,
    x: ArrayLike | None = None,
    n: int = 10,
    names: Sequence[str] | None = None,
    nodes: int = NODES,
) -> Rules:
    """Return the rules of a scikit-learn machine for one decision, or of the whole machine.

    The machine is an `SVC` on a boolean kernel, or a `LearnedKernelClassifier`, of two classes, and
    X are the vectors that it was fitted on. The other parameters are those of `find_rules`.

    >>> from boolrank import Conjunctive
    >>> from sklearn.svm import SVC
    >>> X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> rules_of(SVC(kernel=Conjunctive(2)).fit(X, [1, 0, 0, 1]), X).rules[0].formula
    'x0 and x1'
    """
    inner = getattr(machine, "machine_", machine)
    kernel = getattr(machine, "kernel_", getattr(machine, "kernel", None))
    dual = getattr(inner, "dual_coef_", None)
    decide = getattr(machine, "decision_function", None)
    if dual is None or len(dual) > 1 or decide is None or not isinstance(kernel, Kernel):
        raise InputError(
            f"{machine!r} is not a fitted classifier of two classes on a boolean kernel",
            hint="fit SVC(kernel=Conjunctive(2)), for example, on one class against the others",
            parameter="machine",
        )
    rows = as_binary(X, "X")
    if rows.shape[0] != inner.shape_fit_[0]:
        raise InputError(
            f"the machine was fitted on {inner.shape_fit_[0]} vectors, but X has {rows.shape[0]}",
            hint="give the vectors that it was fitted on",
            parameter="X",
        )
    beta = np.zeros(rows.shape[0])
    beta[inner.support_] = np.asarray(dual).ravel()
    accepted = decide(X) > 0
    return find_rules(kernel, rows, beta, x, n, names, accepted, nodes).against(accepted)


def has_rules(kernel: Kernel) -> bool:
    """Return whether the features of a kernel are formulas that can be searched."""
    match kernel:
        case Sum(parts):
            return all(map(has_rules, parts))
        case Scaled() | Normalized() | Bound():
            return has_rules(kernel.kernel)
    return kernel.feature_clauses is not None


def _spaces(
    kernel: Kernel, X: Any, scale: float, factors: Floats
) -> Iterator[tuple[float, Floats, Clauses]]:
    """Yield sets of formulas: κ(x, z) = Σ scale·factor(x)·factor(z)·Σ_φ φ(x)·φ(z)."""
    if isinstance(kernel, Scaled | Bound):
        weight = kernel.weight if isinstance(kernel, Scaled) else 1.0
        yield from _spaces(kernel.kernel, X, scale * weight, factors)
    elif isinstance(kernel, Sum):
        for part in kernel.parts:
            yield from _spaces(part, X, scale, factors)
    elif isinstance(kernel, Normalized):
        own = kernel.kernel.diag(X)
        roots = np.divide(1.0, np.sqrt(own), out=np.zeros(len(own)), where=own > 0)
        yield from _spaces(kernel.kernel, X, scale, factors * roots)
    else:
        clauses = kernel.feature_clauses
        if clauses is None:
            raise InputError(
                f"{kernel} has no rules: its features are not clauses",
                hint="use a conjunctive, disjunctive or normal-form kernel, or a sum of these",
                parameter="kernel",
            )
        yield scale, factors, clauses


def _lifted(
    examples: Examples,
    names: list[str],
    values: Floats,
    clauses: Clauses,
    nodes: int,
    x: ArrayLike | None,
) -> tuple[Examples, list[str], Clauses]:
    """Return examples by the best inner clauses in place of variables, if there are any."""
    if clauses.inner is None:
        return examples, names, clauses
    examples, names, inner = _lifted(examples, names, values, clauses.inner, nodes, x)
    pool: dict[tuple[int, ...], None] = {}
    # All clauses of a conjunction are true of x, and one of a disjunction is.
    for aim in {x is not None, x is not None and clauses.conjunctive}:
        for sign in (1, -1):
            found, _ = Search(examples, sign * values, inner, _POOL, nodes, aim).run()
            pool.update(dict.fromkeys(clause for _, clause in found))
    true = np.zeros((len(values), len(pool)), bool)
    for k, each in enumerate(pool):
        true[:, k] = examples.having(each, inner.conjunctive) == inner.conjunctive
    texts = [f"({_text(inner, each, names)})" for each in pool]
    return Examples(true), texts, replace(clauses, inner=None)


def _text(clauses: Clauses, members: tuple[int, ...], names: Sequence[str]) -> str:
    n = len(names)
    words = [names[k] if k < n else f"not {names[k - n]}" for k in members]
    return (" and " if clauses.conjunctive else " or ").join(words) or "true"


def _auc(scores: Floats, accepted: NDArray[np.bool_]) -> float:
    """Return the share of pairs with the accepted one before the rejected one."""
    yes, no = np.sort(scores[accepted]), scores[~accepted]
    if not len(yes) or not len(no):
        return float("nan")
    before = np.searchsorted(yes, no, "left") + np.searchsorted(yes, no, "right")
    return float(1 - before.sum() / (2 * len(yes) * len(no)))
