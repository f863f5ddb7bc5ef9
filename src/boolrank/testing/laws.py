"""The laws of kernels: symmetry, positive semi-definiteness, and so on, for any kernel.

Each law is a function of a kernel and a sample of data. It yields a sentence for every way in which
the kernel breaks it.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isqrt
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import checks
from ..errors import BoolrankError, InputError, ParameterTypeError
from ..kernels import Composed, Counts, Kernel, Normalized, Wide, parse_kernel
from ..kernels.base import Form
from ..kernels.values import FEW_PAIRS

Values: TypeAlias = NDArray[np.float64]

# The least exact kernels, threshold and composed ones, are good to 1e-10. Broken laws show at 1e-7.
RTOL = 1e-10
# Enough rows that all their pairs take the way of many (tables, distinct counts), and the pairs of
# a few rows the way of few.
ROWS = isqrt(FEW_PAIRS) + 6


class LawError(AssertionError):
    """A kernel or a model breaks a law."""


class Sample:
    """Binary rows of all densities, with a null row, a full one, singletons and repeated rows.

    All subsets of five variables are among them: nearly equal rows tell formulas apart that are
    not positive semi-definite.
    """

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        density = np.where(np.arange(ROWS) % 2, rng.random(ROWS), rng.random(ROWS) ** 4)
        X = (rng.random((ROWS, n)) < density[:, None]).astype(np.uint8)
        X[:4] = 0
        X[1] = 1
        X[2, 0] = X[3, n - 1] = 1
        X[4] = X[5]
        few = min(n, 5)
        X[6 : 6 + 2**few] = 0
        X[6 : 6 + 2**few, :few] = np.arange(2**few)[:, None] >> np.arange(few) & 1
        self.X, self.rng, self.n = X[rng.permutation(ROWS)], rng, n
        self.sums = x = self.X.sum(axis=1, dtype=np.int64)
        self.common = self.X.astype(np.int64) @ self.X.T.astype(np.int64)
        self.counts = Counts.of(*np.broadcast_arrays(n, x[:, None], x[None, :], self.common))

    def row(self, i: int) -> str:
        return f"row {i} with active variables {np.flatnonzero(self.X[i]).tolist()} of {self.n}"


Law: TypeAlias = Callable[[Kernel, Sample], Iterator[str]]


def _difference(
    sample: Sample, names: tuple[str, str], left: Values, right: Values, rtol: float = 0.0
) -> Iterator[str]:
    """Yield a sentence about the first rows for which two arrays of values differ."""
    if left.shape != right.shape:
        yield f"{names[0]} has shape {left.shape} and {names[1]} {right.shape}"
        return
    # Below the smallest normal double there are fewer digits.
    differ = ~np.isclose(left, right, rtol=rtol, atol=rtol * np.finfo(float).tiny)
    for at in map(tuple, np.argwhere(differ)[:1]):
        where = " and ".join(sample.row(i) for i in at)
        yield f"{names[0]} is {left[at]:.17g}, but {names[1]} {right[at]:.17g}, for {where}"


def _formula(formula: Callable[[Counts], Wide], sample: Sample) -> Values:
    """Compute a formula on the counts of all pairs of rows."""
    with np.errstate(all="ignore"):
        return formula(sample.counts).floats()


def _finite(kernel: Kernel, sample: Sample) -> Iterator[str]:
    gram = kernel(sample.X)
    if gram.dtype != np.float64:
        yield f"k(X) is of type {gram.dtype}, not float64"
    for i, j in np.argwhere(~np.isfinite(gram))[:1]:
        yield f"k(X) is {gram[i, j]} for {sample.row(i)} and {sample.row(j)}"


def _symmetry(kernel: Kernel, sample: Sample) -> Iterator[str]:
    gram = kernel(sample.X)
    yield from _difference(sample, ("k(x, z)", "k(z, x)"), gram, gram.T)
    cosines = kernel.normalized()(sample.X)
    yield from _difference(sample, ("normalised, k(x, z)", "k(z, x)"), cosines, cosines.T)
    # Matrices put the smaller vector first, so ask the formula too.
    values = _formula(kernel.value, sample)
    yield from _difference(sample, ("value(x, z)", "value(z, x)"), values, values.T, RTOL)


def _positive_semidefinite(kernel: Kernel, sample: Sample) -> Iterator[str]:
    raw = kernel(sample.X)
    if not np.isfinite(raw).all():
        return  # another law
    for i in np.flatnonzero(np.diagonal(raw) < 0)[:1]:
        yield f"k(x, x) is {raw[i, i]:.17g}, below 0, for {sample.row(i)}"
    yield from _least_eigenvalue("Gram matrix", raw)
    yield from _least_eigenvalue("normalised Gram matrix", kernel.normalized()(sample.X))


def _least_eigenvalue(name: str, gram: Values) -> Iterator[str]:
    least = float(np.linalg.eigvalsh(gram / (np.abs(gram).max() or 1.0))[0])
    # Errors of RTOL in m·m entries below 1 move an eigenvalue by at most m·RTOL (Weyl).
    allowed = -len(gram) * RTOL
    if least < allowed:
        yield (
            f"the {name}, its largest value scaled to 1, has the eigenvalue {least:.3g}, below "
            f"{allowed:.1g}"
        )


def _masses(kernel: Kernel, sample: Sample) -> Iterator[str]:
    """Variables with weights give a symmetric, positive semi-definite matrix too."""
    weights = sample.rng.integers(1, 1000, sample.n)
    X = sample.X.astype(np.int64)
    x, common = X @ weights, (X * weights) @ X.T
    try:
        gram = kernel.on_masses(int(weights.sum()), x[:, None], x[None, :], common, sample.n)
    except InputError:  # no meaning on masses
        return
    yield from _difference(sample, ("on masses, k(x, z)", "k(z, x)"), gram, gram.T)
    yield from _least_eigenvalue("Gram matrix on masses", gram)


def _own_values(kernel: Kernel, sample: Sample) -> Iterator[str]:
    x = sample.sums
    own, value = kernel.diag(sample.X), kernel.on_counts(sample.n, x, x, x)
    # Under a normalised kernel a null vector has 1 with itself, which its counts do not show.
    for part in _under_normalisation(kernel):
        own = np.where(part.diag(sample.X) == 0, value, own)
    yield from _difference(sample, ("own_value(x)", "value(x, x)"), own, value, RTOL)


def _under_normalisation(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the kernels that a kernel contains in normalised form, on the outermost variables."""
    if isinstance(kernel, Composed):
        yield from (part @ kernel.inner for part in _under_normalisation(kernel.outer))
        return
    if isinstance(kernel, Normalized):
        yield kernel.kernel
    for part in kernel.operands:
        yield from _under_normalisation(part)


def _cosines(kernel: Kernel, sample: Sample) -> Iterator[str]:
    name = "value(x, z)/sqrt(own_value(x)·own_value(z))"
    expected = _formula(lambda k: Kernel.cosine(kernel, k), sample)
    cosines = _formula(kernel.cosine, sample)
    yield from _difference(sample, ("cosine(x, z)", name), cosines, expected, RTOL)
    gram = kernel.normalized()(sample.X)
    np.fill_diagonal(gram, np.diagonal(expected))  # counts do not know that of null vectors
    yield from _difference(sample, ("k.normalized()(X)", name), gram, expected, RTOL)


def _features(kernel: Kernel, sample: Sample) -> Iterator[str]:
    """Features of 0 and 1 are true of one vector or both, or of neither."""
    k = sample.counts
    try:
        there = kernel.features(k.n)
    except ParameterTypeError:  # features are not 0 or 1
        return
    either = kernel.own_value(k.of_x()) + kernel.own_value(k.of_z()) - kernel.value(k)
    share = ((either + kernel.cells(k).neither) / there).floats()
    names = ("the share of features true of either or neither", "should be")
    yield from _difference(sample, names, share, np.ones(share.shape), RTOL)


def _normalization(kernel: Kernel, sample: Sample) -> Iterator[str]:
    x = sample.sums
    gram = kernel.normalized()(sample.X)
    names = ("the normalised value of a row with itself", "should be")
    yield from _difference(sample, names, np.diagonal(gram).copy(), np.ones(len(x)))
    null = kernel.on_counts(sample.n, x, x, x) == 0
    others = gram.copy()
    np.fill_diagonal(others, 0.0)
    names = ("the normalised value of a null vector with another", "should be")
    yield from _difference(sample, names, others * null[:, None], np.zeros_like(gram))
    for i, j in np.argwhere(np.abs(gram) > 1 + RTOL)[:1]:
        where = f"{sample.row(i)} and {sample.row(j)}"
        yield f"the normalised value is {gram[i, j]:.17g}, more than 1, for {where}"


def _one_gram(kernel: Kernel, sample: Sample) -> Iterator[str]:
    X, x, gram = sample.X, sample.sums, kernel(sample.X)
    diagonal = np.diagonal(gram)
    yield from _difference(sample, ("k.diag(X)", "the diagonal of k(X)"), kernel.diag(X), diagonal)
    counted = kernel.on_counts(sample.n, x[:, None], x[None, :], sample.common)
    np.fill_diagonal(counted, diagonal)  # counts do not know that of null vectors
    order = sample.rng.permutation(len(X))
    rows = np.empty_like(gram)
    rows[np.ix_(order, order)] = kernel(X[order])
    for name, values in {
        "csr k(X)": kernel(sparse.csr_array(X)),
        "csc k(X)": kernel(sparse.csc_array(X)),
        "variables shuffled, k(X)": kernel(X[:, sample.rng.permutation(sample.n)]),
        "rows shuffled, k(X)": rows,
        "k.on_counts(...)": counted,
    }.items():
        yield from _difference(sample, (name, "k(X)"), values, gram)
    block, back = gram.copy(), gram.copy()
    block[:9, 9:], back[:9, 9:] = kernel(X[:9], X[9:]), kernel(X[9:], X[:9]).T
    yield from _difference(sample, ("a block of k(X) on its own", "k(X)"), block, gram, RTOL)
    yield from _difference(sample, ("k(X, Z)", "k(Z, X) transposed"), block, back)


def _value(kernel: Kernel, _: Sample) -> Iterator[str]:
    """A kernel is a value: equal to its copies, and to what its text says."""
    if kernel.form not in get_args(Form):
        yield f"its form is {kernel.form!r}, not one of {', '.join(get_args(Form))}"
    twin: Kernel = replace(kernel)  # type: ignore[type-var]  # every kernel is a dataclass
    if hash(kernel) != hash(twin):
        yield "a copy with the same parameters has another hash"
    if kernel == kernel + kernel:
        yield "it is equal to its double"
    if str(kernel) != repr(kernel):
        yield f"str gives {str(kernel)!r} and repr {kernel!r}"
    again: dict[str, Callable[[], Any]] = {
        "copied with the same parameters": lambda: twin,
        "deep-copied": lambda: copy.deepcopy(kernel),
        "pickled and loaded": lambda: pickle.loads(pickle.dumps(kernel)),  # noqa: S301 - our bytes
        "parsed from its text": lambda: parse_kernel(repr(kernel)),
    }
    for how, make in again.items():
        try:
            found = make()
        except (pickle.PicklingError, AttributeError, TypeError, BoolrankError) as error:
            where = "at the top of a module, with @dataclass(frozen=True, repr=False)"
            yield f"it cannot be {how}: {error}; define its class {where}"
            continue
        if found != kernel:
            yield f"{how}, it is {found!r}, which is not equal"


LAWS: dict[str, Law] = {
    "finite values": _finite,
    "symmetry": _symmetry,
    "positive semi-definiteness": _positive_semidefinite,
    "masses": _masses,
    "own values": _own_values,
    "cosines": _cosines,
    "features": _features,
    "normalisation": _normalization,
    "one Gram matrix": _one_gram,
    "equality by value": _value,
}


def check_kernel(
    kernel: Kernel, rng: np.random.Generator | int | None = None, *, n: int = 24
) -> None:
    """Raise `LawError` if a kernel breaks a law, with the law, the data and the values.

    The data have n variables, which must be at least the kernel's arity.

    >>> from boolrank import Disjunctive
    >>> check_kernel(Disjunctive(3))
    """
    _check_is_value(kernel)
    n = checks.whole("", "n", n, low=1)
    sample = Sample(np.random.default_rng(0 if rng is None else rng), n)
    for name, law in LAWS.items():
        for complaint in law(kernel, sample):
            raise LawError(f"{kernel!r} breaks the law of {name}: {complaint}")


def _check_is_value(kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        hint = f"use parse_kernel({kernel!r})" if isinstance(kernel, str) else ""
        hint = f"use {kernel.__name__}()" if isinstance(kernel, type) else hint
        raise ParameterTypeError(
            f"{kernel!r} of type {type(kernel).__name__} is not a kernel", hint=hint
        )
    if not getattr(getattr(kernel, "__dataclass_params__", None), "frozen", False):
        raise ParameterTypeError(
            f"{type(kernel).__name__} is not a frozen dataclass",
            hint="write @dataclass(frozen=True, repr=False) above its class",
        )
