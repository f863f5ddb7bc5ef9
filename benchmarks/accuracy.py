"""Compare kernel values with exact integer arithmetic, on 100,000 random pairs per kernel.

    python benchmarks/accuracy.py [--cases 100000] [--seed 0]

Pairs have up to 10^9 variables (log-uniform) and are sparse, nearly full, disjoint, nested, equal,
cover all variables, or none of these; see `draw_counts` in tests/oracles.py. Kernels with an arity
have arities up to 30 in 96.5 % of the cases, up to 1,000 in 3 % and up to 10,000 in 0.5 %, where
one exact binomial takes 25 ms. Thresholds have arities up to 12, and up to 40 in 1 %, since their
exact sum has arity^3/6 terms. Composed kernels have up to 50 clauses of up to 12 literals, other
compositions an outer arity up to 8 and an inner one up to 12.

These are short lists of pairs, each with its own n. Rows named "tables" take the code path of Gram
matrices and models: one n for more than 8,192 pairs, and values from look-up tables, or from cells
in doubles. n is up to 10^9 there too; vectors have up to 10,000 active variables, since only long
lists get long tables.

Normalised values, and raw ones that a double can hold, are compared with exact ones; raw values
that are whole numbers below 2^53 must be exact. The exit code is 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from boolrank import Conjunctive, Disjunctive, Kernel, Linear, MonotoneDNF, Tanimoto, Threshold
from boolrank.errors import KernelOverflowError
from boolrank.kernels import (
    DNF,
    AllSubset,
    ComposedCNF,
    ComposedDNF,
    LiteralConjunctive,
    LiteralDisjunctive,
    Polynomial,
    kernel_of,
)
from boolrank.kernels.counts import Pairs
from boolrank.kernels.values import FEW_PAIRS, table_values, values_of_cells

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from oracles import Magnitude, draw_counts, magnitude

WEIGHTS = (1, 1, 2, 0.5, 0.1, 1e-3, 1e-9, 7.3, 1e6)
MOST_CLAUSES = 50
Build = Callable[[np.random.Generator, int], Kernel]


@dataclass(frozen=True)
class Subject:
    """One row of the table: how to draw a kernel of some arity, and the allowed error."""

    name: str
    build: Build
    # Share of the cases, lowest and highest arity, and number of cases per kernel.
    plan: tuple[tuple[float, int, int, int], ...]
    allowed: float = 1e-12
    tables: bool = False


@dataclass
class Findings:
    """The worst errors of one row."""

    cases: int = 0
    huge: int = 0
    inexact: int = 0
    normalised: float = 0.0
    raw: float = 0.0
    worst: str = "all exact"

    def note(self, kernel: Kernel, column: list[int], normalised: float, raw: float) -> None:
        """Record a case if it is the worst so far."""
        if max(normalised, raw) > max(self.normalised, self.raw):
            n, x, z, c = column
            self.worst = f"{kernel} {n=} {x=} {z=} {c=}"
        self.normalised = max(self.normalised, normalised)
        self.raw = max(self.raw, raw)


def _weight(rng: np.random.Generator) -> float:
    return WEIGHTS[rng.integers(len(WEIGHTS))]


def _threshold(rng: np.random.Generator, arity: int) -> Kernel:
    return Threshold(int(rng.integers(1, arity + 1)), arity)


def _clauses(rng: np.random.Generator) -> int:
    return round(MOST_CLAUSES ** rng.random())


def _form(form: type[ComposedDNF | ComposedCNF]) -> Build:
    return lambda rng, arity: form(_clauses(rng), arity, bool(rng.integers(2)))


def _composition(rng: np.random.Generator, arity: int) -> Kernel:
    few = int(rng.integers(1, 9))
    outer = (Conjunctive(few), Disjunctive(few), _threshold(rng, few), LiteralConjunctive(few))
    inner = (
        Conjunctive(arity),
        Disjunctive(arity),
        _threshold(rng, arity),
        LiteralConjunctive(arity),
        LiteralDisjunctive(arity),
    )
    return outer[rng.integers(len(outer))] @ inner[rng.integers(len(inner))]


def _plain(rng: np.random.Generator, arity: int) -> Kernel:
    kernels = (Linear(), Conjunctive(arity), Disjunctive(arity), LiteralConjunctive(arity))
    return kernels[rng.integers(len(kernels))]


def _negation(rng: np.random.Generator, arity: int) -> Kernel:
    return ~_plain(rng, arity)


def _connective(rng: np.random.Generator, arity: int) -> Kernel:
    a, b = _plain(rng, arity), ~_plain(rng, max(arity // 2, 1))
    return (a & b, a | b, a ^ b, Disjunctive(3) @ (a | b))[rng.integers(4)]


def _formula(rng: np.random.Generator, _: int) -> Kernel:
    texts = ("a and not b", "(a and b) or not c", "a ^ b ^ c", "a & b | ~a & c")
    return kernel_of(texts[rng.integers(len(texts))])


FIXED = ((1.0, 1, 1, 2500),)
ARITIES = ((0.965, 1, 30, 500), (0.03, 31, 1000, 100), (0.005, 1001, 10_000, 20))
THRESHOLDS = ((0.99, 1, 12, 500), (0.01, 13, 40, 50))
CLAUSES = ((1.0, 1, 12, 250),)

SHORT_LISTS = (
    Subject("linear", lambda _, __: Linear(), FIXED),
    Subject("polynomial", lambda _, d: Polynomial(d), ARITIES),
    Subject("polynomial, weights", lambda r, d: Polynomial(d, _weight(r), _weight(r)), ARITIES),
    Subject("all-subset", lambda _, __: AllSubset(), FIXED),
    Subject("conjunctive", lambda _, d: Conjunctive(d), ARITIES),
    Subject("conjunctive, up to", lambda _, d: Conjunctive(d, up_to=True), ARITIES),
    Subject("Tanimoto", lambda _, __: Tanimoto(), FIXED),
    Subject("DNF", lambda r, _: DNF(_weight(r)), FIXED),
    Subject("monotone DNF", lambda r, _: MonotoneDNF(_weight(r)), FIXED),
    Subject("d-DNF", lambda r, d: DNF(_weight(r), max_arity=d), ARITIES),
    Subject("monotone d-DNF", lambda r, d: MonotoneDNF(_weight(r), max_arity=d), ARITIES),
    Subject("disjunctive", lambda _, d: Disjunctive(d), ARITIES),
    Subject("literal conjunctive", lambda _, d: LiteralConjunctive(d), ARITIES),
    Subject("literal disjunctive", lambda _, d: LiteralDisjunctive(d), ARITIES),
    Subject("threshold", _threshold, THRESHOLDS, 1e-10),
    Subject("composed DNF", _form(ComposedDNF), CLAUSES, 1e-10),
    Subject("composed CNF", _form(ComposedCNF), CLAUSES, 1e-10),
    Subject("outer @ inner", _composition, CLAUSES, 1e-10),
    Subject("negation", _negation, CLAUSES),
    Subject("connective", _connective, CLAUSES),
    Subject("formula", _formula, FIXED),
)
MOST_ACTIVE = 10_000
# Tanimoto is a plain quotient.
NO_TABLES = ("Tanimoto",)
SUBJECTS = SHORT_LISTS + tuple(
    replace(subject, name=f"{subject.name}, tables", tables=True)
    for subject in SHORT_LISTS
    if subject.name not in NO_TABLES
)


def _batches(
    subject: Subject, cases: int, rng: np.random.Generator
) -> Iterator[tuple[Kernel, np.ndarray, bool]]:
    """Yield kernels, their counts, and whether the arity is above 1,000."""
    for share, low, high, batch in subject.plan:
        left = round(cases * share)
        while left > 0:
            arity = round(np.exp(rng.uniform(np.log(low), np.log(high)))) if high > low else low
            size = min(batch, left)
            least = arity + MOST_CLAUSES if subject.plan is CLAUSES else arity
            if subject.tables:
                counts = _counts_of_one_n(rng, size, least)
            else:
                counts = draw_counts(rng, size, arity=least)
            yield subject.build(rng, arity), counts, arity > 1000
            left -= size


def _counts_of_one_n(rng: np.random.Generator, size: int, arity: int) -> np.ndarray:
    """Draw counts over one number of variables, small enough for tables."""
    inside = draw_counts(rng, size, arity=arity, largest_n=MOST_ACTIVE)
    small = rng.random() < 0.5
    n = MOST_ACTIVE if small else round(MOST_ACTIVE * (10**9 / MOST_ACTIVE) ** rng.random())
    # Additional variables are active in neither vector, or, in half of the pairs of a small n, in
    # both: nearly full vectors, and vectors that cover all variables.
    full = (rng.random(size) < 0.5) & small
    more = np.where(full, n - inside[0], 0)
    return np.stack((np.full(size, n), *(row + more for row in inside[1:])))


def _values(kernel: Kernel, cases: np.ndarray, tables: bool, normalize: bool) -> np.ndarray:
    """Compute values as a caller does; for tables, of a long list, and verify their use."""
    wanted = kernel.normalized() if normalize else kernel
    size = cases.shape[1]
    if not tables or size == 0:
        return wanted.on_counts(*cases)
    n, many = int(cases[0, 0]), cases[1:, np.resize(np.arange(size), FEW_PAIRS + 1)]
    values = wanted.on_counts(n, *many)
    pairs = Pairs.of(n, *many)
    if kernel.form != "any":
        looked_up = table_values(kernel, pairs, normalize)
    else:  # wide numbers, if cells do not fit into doubles, and for raw values
        cells = values_of_cells(kernel, pairs) if normalize else None
        looked_up = values if cells is None else cells
    if looked_up is None or not np.array_equal(values, looked_up):
        raise AssertionError(f"{kernel} at n={n} did not come from tables")
    return values[:size]


def _whole(kernel: Kernel) -> bool:
    """Tell whether raw values are whole numbers."""
    numbers = (getattr(kernel, name, 1) for name in ("weight", "scale", "offset"))
    return not isinstance(kernel, Tanimoto) and all(number == int(number) for number in numbers)


def _is_double(value: Magnitude) -> bool:
    """Tell whether the nearest double is finite: below 2^1024 less half a step."""
    top = value.mantissa >> max(value.mantissa.bit_length() - 54, 0)
    return value.log2 < 1024 or (value.log2 == 1024 and top < 2**54 - 1)


def _examine(kernel: Kernel, cases: np.ndarray, found: Findings, tables: bool) -> None:
    normalised = _values(kernel, cases, tables, normalize=True)
    columns = cases.T.tolist()
    exact = [magnitude(kernel, *column) for column in columns]
    fitting = np.array([_is_double(value) for value in exact])
    raw = np.full(len(exact), np.nan)
    raw[fitting] = _values(kernel, cases[:, fitting], tables, normalize=False)
    own: dict[tuple[int, int], Magnitude] = {}
    for i, (n, x, z, _) in enumerate(columns):
        for size in (x, z):
            if (n, size) not in own:
                own[n, size] = magnitude(kernel, n, size, size, size)
        cosine = Magnitude.cosine(exact[i], own[n, x], own[n, z])
        raw_error = exact[i].error_of(raw[i]) if fitting[i] else 0.0
        found.inexact += raw_error > 0 and exact[i].log2 <= 53 and _whole(kernel)
        found.note(kernel, columns[i], cosine.error_of(normalised[i]), raw_error)
    if not fitting.all():
        try:
            kernel.on_counts(*cases[:, ~fitting])
        except KernelOverflowError:
            return
        found.raw, found.worst = np.inf, f"{kernel}: no overflow where values are past 2^1024"


def main() -> int:
    """Print the table; return 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=100_000, help="pairs for each kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    arguments = parser.parse_args()
    print(
        f"{'kernel':<28} {'cases':>7} {'arity>1000':>10} {'normalised':>10} {'raw':>9} "
        f"{'inexact':>7} {'allowed':>7} {'ok':>3} {'s':>4}  worst case"
    )
    good = True
    for number, subject in enumerate(SUBJECTS):
        if arguments.only not in subject.name:
            continue
        start = time.perf_counter()
        found = Findings()
        rng = np.random.default_rng([arguments.seed, number])
        for kernel, cases, huge in _batches(subject, arguments.cases, rng):
            _examine(kernel, cases, found, subject.tables)
            found.cases += cases.shape[1]
            found.huge += cases.shape[1] if huge else 0
        ok = max(found.normalised, found.raw) <= subject.allowed and found.inexact == 0
        good &= ok
        print(
            f"{subject.name:<28} {found.cases:>7} {found.huge:>10} {found.normalised:>10.2g} "
            f"{found.raw:>9.2g} {found.inexact:>7} {subject.allowed:>7.0g} "
            f"{'yes' if ok else 'NO':>3} {time.perf_counter() - start:>4.0f}  {found.worst}",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
