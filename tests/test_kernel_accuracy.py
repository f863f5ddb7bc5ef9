"""Kernel values against exact rational arithmetic, from singletons to full vectors of 10^9.

The bounds are the library's promise: 1e-12 for kernels of one formula, 1e-10 for threshold and
composed kernels; raw values are whole numbers below 2^53, and there they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given

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
)
from boolrank.kernels.combinatorics import choose, hits
from boolrank.kernels.wide import Wide
from effort import tries
from oracles import draw_counts, magnitude, relative_error
from strategies import counts

SMALL_ARITIES = (1, 2, 3, 4, 5, 7, 8, 11, 16, 23)
LARGE_ARITIES = (64, 257, 1000)

# Builders of kernels with one arity, and the arities to try.
BY_ARITY: dict[str, tuple[Callable[[int], Kernel], tuple[int, ...]]] = {
    "conjunctive": (Conjunctive, SMALL_ARITIES + LARGE_ARITIES),
    "conjunctive up to": (lambda d: Conjunctive(d, up_to=True), SMALL_ARITIES + LARGE_ARITIES),
    "disjunctive": (Disjunctive, SMALL_ARITIES + LARGE_ARITIES),
    "literal conjunctive": (LiteralConjunctive, SMALL_ARITIES + LARGE_ARITIES),
    "literal disjunctive": (LiteralDisjunctive, SMALL_ARITIES + LARGE_ARITIES),
    "limited DNF": (lambda d: DNF(max_arity=d), SMALL_ARITIES + LARGE_ARITIES),
    "light limited DNF": (lambda d: DNF(0.1, max_arity=d), SMALL_ARITIES),
    "limited monotone DNF": (lambda d: MonotoneDNF(max_arity=d), SMALL_ARITIES + LARGE_ARITIES),
    "heavy limited monotone DNF": (lambda d: MonotoneDNF(7.3, max_arity=d), SMALL_ARITIES),
    "polynomial": (Polynomial, SMALL_ARITIES + LARGE_ARITIES),
    "inhomogeneous polynomial": (lambda d: Polynomial(d, 0.3, 1.1), SMALL_ARITIES + LARGE_ARITIES),
}

# Kernels without an arity.
SINGLE: dict[str, tuple[Kernel, ...]] = {
    "linear": (Linear(),),
    "all-subset": (AllSubset(),),
    "Tanimoto": (Tanimoto(),),
    "DNF": (DNF(), DNF(2), DNF(0.5), DNF(0.1), DNF(1e-6), DNF(1e-12), DNF(1e6)),
    "monotone DNF": (MonotoneDNF(), MonotoneDNF(0.5), MonotoneDNF(0.1), MonotoneDNF(1e-9)),
}
LOOSE: dict[str, tuple[Kernel, ...]] = {
    "threshold": tuple(
        Threshold(t, d)
        for d in (1, 2, 3, 5, 8, 13)
        for t in {1, 2, d // 2, d - 1, d}
        if 1 <= t <= d
    ),
    "composed DNF": tuple(
        ComposedDNF(a, b, m)
        for a, b in ((1, 2), (2, 1), (2, 2), (3, 2), (2, 5), (6, 3))
        for m in (True, False)
    ),
    "composed CNF": tuple(
        ComposedCNF(a, b, m)
        for a, b in ((1, 2), (2, 1), (2, 2), (3, 2), (2, 5), (6, 3))
        for m in (True, False)
    ),
    "composition": (
        Threshold(2, 3) @ Disjunctive(2),
        Conjunctive(2) @ Threshold(2, 3),
        Disjunctive(3) @ Disjunctive(2),
        Disjunctive(4) @ LiteralDisjunctive(2),
    ),
}


def whole(kernel: Kernel) -> bool:
    """Tell whether raw values are whole numbers."""
    numbers = (getattr(kernel, name, 1) for name in ("weight", "scale", "offset"))
    return not isinstance(kernel, Tanimoto) and all(number == int(number) for number in numbers)


def check(kernel: Kernel, cases: np.ndarray, bound: float) -> None:
    """Compare the kernel with exact arithmetic, normalised and raw, on the columns of `cases`."""
    normalised = kernel.normalized().on_counts(*cases)
    bits = []
    for (n, x, z, c), value in zip(cases.T.tolist(), normalised, strict=True):
        error = relative_error(value, kernel, n, x, z, c)
        assert error <= bound, (
            f"normalised {kernel} is off by {error:.2g} at {n=}, {x=}, {z=}, {c=}"
        )
        bits.append(magnitude(kernel, n, x, z, c).log2)
    fitting = np.array(bits) <= 1024
    raw = np.full(len(bits), np.inf)
    raw[fitting] = kernel.on_counts(*cases[:, fitting])
    for i in np.flatnonzero(fitting):
        n, x, z, c = cases[:, i].tolist()
        error = relative_error(raw[i], kernel, n, x, z, c, normalized=False)
        allowed = 0.0 if bits[i] <= 53 and whole(kernel) else bound
        at = f"{n=}, {x=}, {z=}, {c=}"
        assert error <= allowed, f"{kernel} is {raw[i]!r}, off by {error:.2g}, at {at}"
    for i in np.flatnonzero(~fitting)[:5]:
        with pytest.raises(KernelOverflowError, match=r"\.normalized\(\)"):
            kernel.on_counts(*cases[:, i])


@pytest.mark.parametrize("name", BY_ARITY)
def test_kernels_with_an_arity_are_exact_to_1e_12(name: str) -> None:
    rng = np.random.default_rng(1)
    build, arities = BY_ARITY[name]
    for arity in arities:
        check(build(arity), draw_counts(rng, tries(250 if arity < 64 else 30), arity=arity), 1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_kernels_without_arity_are_exact_to_1e_12(name: str) -> None:
    rng = np.random.default_rng(2)
    for kernel in SINGLE[name]:
        check(kernel, draw_counts(rng, tries(1000), largest_n=10**5), 1e-12)
        normalised = kernel.normalized()
        cases = draw_counts(rng, tries(1000))
        for column, value in zip(cases.T.tolist(), normalised.on_counts(*cases), strict=True):
            error = relative_error(value, kernel, *column)
            assert error <= 1e-12, f"{normalised} is off by {error:.2g} at n, x, z, c = {column}"


@pytest.mark.parametrize("name", LOOSE)
def test_threshold_and_composed_kernels_are_exact_to_1e_10(name: str) -> None:
    rng = np.random.default_rng(3)
    for kernel in LOOSE[name]:
        check(kernel, draw_counts(rng, tries(150), arity=13), 1e-10)
        check(kernel, draw_counts(rng, tries(100), arity=13, largest_n=40), 1e-10)


@pytest.mark.parametrize(
    ("kernel", "pair"),
    [
        (Threshold(1, 2) @ Threshold(3, 4), (213_178_879, 3, 213_178_878, 2)),
        (Threshold(2, 2) @ Disjunctive(4), (395_591_092, 1, 395_591_088, 0)),
        (Threshold(7, 9) @ Disjunctive(9), (182_148, 4, 182_144, 3)),
        (LiteralConjunctive(2) @ Threshold(3, 4), (213_178_879, 3, 213_178_878, 2)),
        (LiteralConjunctive(9) @ Threshold(5, 8), (202_789, 1, 202_788, 0)),
        (DNF(max_arity=2) @ Disjunctive(4), (395_591_092, 0, 395_591_089, 0)),
    ],
    ids=repr,
)
def test_lifted_counts_of_more_than_32_digits_stay_exact(
    kernel: Kernel, pair: tuple[int, int, int, int]
) -> None:
    """Few of more than 2^106 features may distinguish two vectors."""
    check(kernel, np.array([pair]).T, 1e-10)


@pytest.mark.parametrize(
    "build", [Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive]
)
@pytest.mark.parametrize("arity", [5000, 10_000])
def test_arities_of_thousands_stay_exact(build: Callable[[int], Kernel], arity: int) -> None:
    check(build(arity), draw_counts(np.random.default_rng(4), 12, arity=arity), 1e-12)


@given(counts())
@example((10**9, 1, 1, 0))
@example((10**9, 10**9 - 1, 10**9 - 1, 10**9 - 2))
def test_arity_one_is_linear_for_every_connective(pair: tuple[int, int, int, int]) -> None:
    linear = Linear().on_counts(*pair)
    for kernel in (Conjunctive(1), Disjunctive(1), Threshold(1, 1), ComposedDNF(1, 1)):
        assert kernel.on_counts(*pair) == linear


def test_two_disjoint_singletons_among_a_billion_share_one_pair() -> None:
    # By inclusion and exclusion: four numbers of 5e17 whose sum is 1.
    assert Disjunctive(2).on_counts(10**9, 1, 1, 0) == 1
    cosine = Disjunctive(2).normalized().on_counts(10**9, 1, 1, 0)
    assert cosine == pytest.approx(1 / (10**9 - 1), rel=1e-13, abs=0)


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("arity", [1, 2, 3, 9])
def test_vectors_that_cover_all_variables_lose_no_digits(n: int, arity: int) -> None:
    sizes = (n // 2, n // 3, 1, n - 1)
    cases = np.array(
        [(n, x, n - x + extra, extra) for x in sizes for extra in (0, 1) if extra <= x]
    ).T
    for build in (Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive):
        check(build(arity), cases, 1e-12)


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("arity", [1, 2, 5, 10])
def test_nearly_full_vectors_lose_no_digits(n: int, arity: int) -> None:
    cases = np.array(
        [
            (n, n - a, n - b, n - a - b + common)
            for a in range(4)
            for b in range(4)
            for common in range(min(a, b) + 1)
        ]
    ).T
    for build in (Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive):
        check(build(arity), cases, 1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 64, 200])
def test_there_is_one_subset_of_all_variables(n: int) -> None:
    sizes = np.arange(n + 1)
    x, z = np.meshgrid(sizes, sizes)
    c = np.maximum(x + z - n, 0)
    assert (Disjunctive(n).on_counts(n, x, z, c) == (x > 0) * (z > 0)).all()
    assert (Conjunctive(n).on_counts(n, x, z, c) == (c == n)).all()


def test_conjunctions_of_5000_among_a_million_variables_keep_twelve_digits() -> None:
    kernel = Conjunctive(5000)
    cases = np.array([(10**6, 10**5, 99_000, c) for c in (5000, 50_000, 98_000, 98_999, 99_000)]).T
    check(kernel, cases, 1e-12)
    # C(98,999, 5000)/√(C(10^5, 5000)·C(99,000, 5000)) is about 0.95^(1000.5): small, not zero.
    assert 0 < kernel.normalized().on_counts(10**6, 10**5, 99_000, 98_000) < 1e-20


def test_monotone_dnf_of_thousands_of_common_variables_does_not_overflow() -> None:
    kernel = MonotoneDNF()
    with pytest.raises(OverflowError, match=r"\.normalized\(\)"):
        kernel.on_counts(20_000, 6000, 6000, 6000)
    assert kernel.normalized().on_counts(20_000, 6000, 6000, 5999) == 0.5
    assert kernel.normalized().on_counts(20_000, 6000, 6000, 5000) == 2.0**-1000
    # 2^-1050 is a subnormal double; 2^-6000 underflows.
    assert kernel.normalized().on_counts(20_000, 6000, 6000, 4950) == 2.0**-1050
    assert kernel.normalized().on_counts(20_000, 6000, 6000, 0) == 0


@pytest.mark.parametrize(
    "build",
    [
        Conjunctive,
        lambda d: Conjunctive(d, up_to=True),
        Disjunctive,
        LiteralConjunctive,
        LiteralDisjunctive,
        lambda d: DNF(max_arity=d),
        lambda d: MonotoneDNF(max_arity=d),
        Polynomial,
    ],
)
@pytest.mark.parametrize("n", [7, 100, 3000])
def test_no_arity_up_to_n_gives_nan_or_overflow(build: Callable[[int], Kernel], n: int) -> None:
    rng = np.random.default_rng(5)
    arities = {1, 2, n // 10, n // 2, n - 2, n - 1, n} - {0}
    for arity in sorted(arities):
        kernel = build(arity)
        cases = draw_counts(rng, tries(60), arity=arity, largest_n=n)
        cases[0] = n
        check(kernel, cases, 1e-12)
        values = kernel.normalized().on_counts(*cases)
        assert (values >= 0).all()
        assert (values <= 1 + 1e-12).all()


@pytest.mark.parametrize(
    "kernel", [Conjunctive(4), Disjunctive(4), DNF(), MonotoneDNF(), Tanimoto()]
)
def test_tables_and_single_pairs_give_the_same_values(kernel: Kernel) -> None:
    """Large batches take another code path than single pairs."""
    rng = np.random.default_rng(6)
    cases = draw_counts(rng, 20_000, arity=4, largest_n=400)
    cases = cases[:, cases[0] >= 4]
    cases[0] = 400
    batch = kernel.normalized().on_counts(400, *cases[1:])
    for place in range(0, cases.shape[1], 997):
        single = kernel.normalized().on_counts(400, *cases[1:, place])
        assert batch[place] == pytest.approx(float(single), rel=1e-13, abs=0)
        column = cases[:, place].tolist()
        assert relative_error(batch[place], kernel, *column) <= 1e-12


def test_raw_values_up_to_the_largest_double_are_returned_and_larger_ones_raise() -> None:
    largest = math.nextafter(math.inf, 0)
    assert AllSubset().on_counts(2000, 1023, 1023, 1023) == 2.0**1023 < largest
    with pytest.raises(KernelOverflowError):
        AllSubset().on_counts(2000, 1024, 1024, 1024)


@pytest.mark.parametrize("kernel", [Linear() ** 10**6, (Linear() * Tanimoto()) ** 10**6], ids=repr)
@pytest.mark.parametrize("pairs", [1, 9000])
def test_powers_of_a_million_keep_twelve_digits(kernel: Kernel, pairs: int) -> None:
    """A power multiplies the relative error of doubles by a million: 5e-11 and more."""
    x = np.full(pairs, 10**6)
    shared = x - 1
    values = kernel.normalized().on_counts(10**7, x, x, shared)
    share = Fraction(int(shared[0]), int(x[0]))
    if not isinstance(kernel.kernel, Linear):
        share *= Fraction(int(shared[0]), int(2 * x[0] - shared[0]))
    context = Context(prec=60, Emin=-(10**6))
    base = context.divide(Decimal(share.numerator), Decimal(share.denominator))
    exact = context.power(base, 10**6)
    for value in {float(values[0]), float(values[-1])}:
        assert abs(Decimal(value) - exact) <= exact * Decimal("1e-12")


@pytest.mark.parametrize("outer", [DNF(), DNF(0.3), MonotoneDNF(), MonotoneDNF(2), AllSubset()])
def test_all_subsets_of_composed_features_normalise_without_overflow(outer: Kernel) -> None:
    """C(50,000, 4) is 2.6e17 features, too many for the exponent of a raw value."""
    kernel = (outer @ Conjunctive(4)).normalized()
    sizes, others = np.array([0, 3, 4, 5, 6, 49_000]), np.array([4, 4, 4, 5, 7, 49_001])
    values = kernel.on_counts(50_000, sizes, others, sizes)
    assert ((values >= 0) & (values <= 1)).all()
    assert (kernel.on_counts(50_000, sizes[2:], sizes[2:], sizes[2:]) == 1).all()
    # Small enough for exact arithmetic.
    small = outer @ Conjunctive(2)
    cases = draw_counts(np.random.default_rng(8), 300, arity=2, largest_n=40)
    for column, value in zip(cases.T.tolist(), small.normalized().on_counts(*cases), strict=True):
        assert relative_error(value, small, *column) <= 1e-10


@pytest.mark.parametrize("outer", [DNF(), MonotoneDNF(), AllSubset()])
def test_products_and_powers_of_compositions_normalise_without_overflow(
    outer: Kernel,
) -> None:
    composed = outer @ Conjunctive(4)
    pairs = (50_000, [5, 9, 49_000], [5, 9, 49_000], [4, 9, 49_000])
    for kernel in (composed * Linear(), composed**3, 2 * composed, (3 * outer) @ Conjunctive(4)):
        values = kernel.normalized().on_counts(*pairs)
        assert np.isfinite(values).all()
        assert values[1:].tolist() == [1, 1]
    with pytest.raises(KernelOverflowError, match="overflows the exponent"):
        (composed + Linear()).normalized().on_counts(*pairs)


def test_small_weights_with_max_arity_do_not_overflow() -> None:
    """The cut is past the peak, and the sum over all subsets overflows the exponent."""
    kernel = DNF(weight=1e-17, max_arity=6) @ Conjunctive(4)
    cases = np.array([(50_000, 49_000, 49_001, 48_990), (50_000, 9, 9, 4), (50_000, 0, 9, 0)]).T
    check(kernel.outer, np.array([(2**53 - 1, 2**52, 2**52, 2**51)]).T, 1e-12)
    for column, value in zip(cases.T.tolist(), kernel.normalized().on_counts(*cases), strict=True):
        sizes = [math.comb(size, 4) for size in column]
        assert relative_error(value, kernel.outer, *sizes) <= 1e-10


def test_a_composition_has_the_diagonal_of_its_outer_kernel() -> None:
    """A row with fewer than two variables is null."""
    kernel = Linear().normalized() @ Conjunctive(2)
    X = [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert kernel.diag(X).tolist() == [1, 1, 1]
    assert kernel(X).tolist() == np.eye(3).tolist()


def fraction(value: Wide) -> Fraction:
    """Return a wide number as a Fraction."""
    digits = Fraction(float(value.hi)) + Fraction(float(value.lo))
    return digits * Fraction(2) ** int(value.exp)


@pytest.mark.parametrize("number", [2, 3, 10**15 + 7, 2**53 + 1, 3**60])
def test_wide_square_roots_have_32_digits(number: int) -> None:
    root = fraction(Wide.of(number).sqrt())
    assert abs(root**2 / fraction(Wide.of(number)) - 1) < Fraction(1, 2**100)


def test_64_bit_integers_convert_exactly() -> None:
    numbers = [2**53 + 1, 2**62 + 12345, 2**63 - 1, -(2**62) - 1, 7]
    wide = Wide.of(np.array(numbers))
    assert [fraction(wide[i]) for i in range(len(numbers))] == numbers


@pytest.mark.parametrize(
    ("n", "t", "d"), [(10**15, 100, 100), (10**14, 70, 5000), (10**14, 1000, 66)]
)
def test_small_shares_of_hits_keep_their_digits(n: int, t: int, d: int) -> None:
    """One minus the share of misses would cancel for two large sets in a larger universe."""
    exact = Fraction(math.comb(n, d) - math.comb(n - t, d))
    assert exact / math.comb(n, d) < Fraction(1, 2)
    value = hits(Wide.of(np.array([n])), Wide.of(np.array([t])), d)[0]
    assert abs(fraction(value) / exact - 1) < Fraction(1, 10**24)


@pytest.mark.parametrize("d", [0, 1, 2, 9, 70, 3000])
def test_binomials_from_the_table_equal_single_ones(d: int) -> None:
    sizes = np.random.default_rng(9).integers(0, 3001, 2000)
    many = choose(Wide.of(sizes), d)
    for i in range(0, 2000, 97):
        one = choose(Wide.of(sizes[i : i + 1]), d)[0]
        assert (many.hi[i], many.lo[i], many.exp[i]) == (one.hi, one.lo, one.exp)
        exact = math.comb(int(sizes[i]), d)
        assert abs(fraction(one) - exact) <= exact * Fraction(1, 10**28) if exact else one.hi == 0
