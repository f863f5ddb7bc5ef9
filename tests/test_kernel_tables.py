"""Many pairs, computed by tables or distinct counts, have the same values as few pairs."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from boolrank import Disjunctive, Kernel, Linear, parse_kernel
from boolrank.errors import CountsError, ParameterTypeError
from boolrank.kernels import expressiveness
from boolrank.kernels.counts import Pairs
from boolrank.kernels.expressiveness import spectral_ratio
from boolrank.kernels.values import FEW_PAIRS, table_values
from boolrank.testing import LAWS, LawError, check_kernel
from boolrank.testing.laws import ROWS, Sample

KERNELS = (
    "linear",
    "polynomial(3, scale=0.5, offset=1)",
    "all_subset",
    "tanimoto",
    "conjunctive(2)",
    "conjunctive(40)",
    "disjunctive(1)",
    "disjunctive(2)",
    "disjunctive(30)",
    "literal_conjunctive(2)",
    "literal_disjunctive(3)",
    "monotone_dnf",
    "dnf",
    "disjunctive(2) + disjunctive(5)",
    "linear*conjunctive(2)",
    "linear + tanimoto",
    "threshold(2, 3)",
    "composed_dnf(2, 2)",
    "composed_cnf(2, 2)",
    "threshold(2, 3) @ literal_conjunctive(2)",
    "linear ^ ~disjunctive(30)",
    "formula('(a and b) or not c')",
)
Counts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def common(
    rng: np.random.Generator, n: int, x: NDArray[np.int64], z: NDArray[np.int64]
) -> NDArray[np.int64]:
    low, high = np.maximum(x + z - n, 0), np.minimum(x, z)
    return rng.integers(low, high + 1)


def sizes(rng: np.random.Generator, n: int, number: int) -> NDArray[np.int64]:
    """Draw tiny, medium and nearly full sizes, small enough for a table."""
    most = min(n, 3000)
    drawn = np.exp(rng.random(number) * np.log(most)).astype(np.int64)
    return np.where(rng.random(number) < 0.1, most - rng.integers(0, 3, number), drawn)


def few_at_a_time(kernel, n: int, x, z, c) -> NDArray[np.float64]:  # type: ignore[no-untyped-def]
    parts = range(0, len(c), 1000)
    return np.concatenate(
        [kernel.on_counts(n, x[p : p + 1000], z[p : p + 1000], c[p : p + 1000]) for p in parts]
    )


@pytest.mark.parametrize("n", [60, 3000, 2_000_000])
@pytest.mark.parametrize("text", KERNELS)
def test_a_long_list_has_the_same_values_as_short_ones(text: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x, z = sizes(rng, n, 9000), sizes(rng, n, 9000)
    x[:500] = z[:500] = 1 + np.arange(500) % 5
    c = common(rng, n, x, z)
    c[:500] = np.maximum(x[:500] + z[:500] - n, 0)  # sparse and disjoint: where all digits cancel
    kernel = parse_kernel(text).normalized()
    many, few = kernel.on_counts(n, x, z, c), few_at_a_time(kernel, n, x, z, c)
    assert np.allclose(many, few, rtol=1e-13, atol=0)


@pytest.mark.parametrize("text", KERNELS)
def test_a_grid_of_any_type_has_the_same_values_as_its_pairs(text: str) -> None:
    rng = np.random.default_rng(1)
    n = 4000
    x, z = sizes(rng, n, 90), sizes(rng, n, 110)
    c = common(rng, n, x[:, None], z[None, :])
    kernel = parse_kernel(text).normalized()
    flat = few_at_a_time(kernel, n, np.repeat(x, 110), np.tile(z, 90), c.ravel())
    turned = kernel.on_counts(n, x[:, None], z[None, :], np.asfortranarray(c))
    assert np.allclose(turned.ravel(), flat, rtol=1e-13, atol=0)
    for dtype in (np.int64, np.int32, np.uint16, np.float32, np.float64):
        counts = (each.astype(dtype) for each in (x[:, None], z[None, :], c))
        assert np.array_equal(kernel.on_counts(n, *counts), turned), dtype


@pytest.mark.parametrize("text", ["linear", "disjunctive(3)", "literal_disjunctive(2)", "tanimoto"])
def test_raw_values_of_many_pairs_are_exact(text: str) -> None:
    rng = np.random.default_rng(2)
    x, z = sizes(rng, 500, 9000), sizes(rng, 500, 9000)
    c = common(rng, 500, x, z)
    kernel = parse_kernel(text)
    assert np.array_equal(kernel.on_counts(500, x, z, c), few_at_a_time(kernel, 500, x, z, c))


@pytest.mark.parametrize(
    "text",
    [
        *("linear", "disjunctive(3)", "dnf", "tanimoto", "linear + tanimoto"),
        "normalized(threshold(2, 3))",
    ],
)
@pytest.mark.parametrize("where", [(0, 0), (57, 91), (99, 99)])
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (41.0, "more than x or z"),
        (5.5, "whole"),
        (-1.0, "negative"),
        (np.nan, "whole"),
        (3.0, "more than n"),
    ],
)
def test_one_impossible_pair_among_many_is_found(
    text: str, where: tuple[int, int], wrong: float, why: str
) -> None:
    kernel = parse_kernel(text).normalized()
    c = np.full((100, 100), 20.0)
    c[where] = wrong
    for x, z in ((np.full(100, 40), np.full(100, 60)), (np.full(100, 60), np.full(100, 40))):
        with pytest.raises(CountsError, match=why):
            kernel.on_counts(96, x[:, None], z[None, :], c)
        with pytest.raises(CountsError, match=why):
            kernel.on_counts(96, np.repeat(x, 100), np.tile(z, 100), c.ravel())


def test_many_distinct_counts_are_computed_in_blocks() -> None:
    rng = np.random.default_rng(3)
    n = 10**6
    x, z = rng.integers(1, 2000, 70_000), rng.integers(1, 2000, 70_000)
    c = common(rng, n, x, z)
    kernel = parse_kernel("tanimoto*linear + linear").normalized()
    agreement = parse_kernel("linear @ conjunctive(1)").normalized()
    assert np.allclose(agreement.on_counts(n, x, z, c), c / np.sqrt(x * z), rtol=1e-13)
    many, few = kernel.on_counts(n, x, z, c), few_at_a_time(kernel, n, x, z, c)
    assert np.allclose(many, few, rtol=1e-13)
    raw = parse_kernel("linear @ conjunctive(1)")
    assert np.array_equal(raw.on_counts(n, x, z, c), c), "in every block of them"


def test_values_far_below_one_keep_their_digits_in_tables() -> None:
    """Exponents of hundreds are folded into doubles or added."""
    n, x = 5000, np.arange(1000, 1100)
    c = np.minimum(x[:, None], x[None, :]) - 400
    kernel = parse_kernel("monotone_dnf").normalized()
    expected = np.exp2(c - (x[:, None] + x[None, :]) / 2.0)
    assert np.allclose(kernel.on_counts(n, x[:, None], x[None, :], c), expected, rtol=1e-12)


def test_a_spectrum_does_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(4).random((70, 30)) < 0.2
    kernels = [Linear().normalized(), Disjunctive(3).normalized()]
    whole = [spectral_ratio(kernel, X) for kernel in kernels]
    monkeypatch.setattr(expressiveness, "_BLOCK", 70 * 8)
    assert [spectral_ratio(kernel, X) for kernel in kernels] == pytest.approx(whole, rel=1e-14)


def test_counts_of_narrow_types_do_not_wrap() -> None:
    for dtype in (np.uint8, np.int16, np.int32, np.float32):
        counts = (np.array(v, dtype) for v in (120, 120, 50))
        assert parse_kernel("tanimoto").on_counts(1000, *counts) == 50 / 190


@pytest.mark.parametrize("bad", [float("nan"), -1, 2**53, 1e300])
@pytest.mark.parametrize("text", ["linear + dnf", "monotone_dnf + tanimoto", "linear", "tanimoto"])
def test_impossible_numbers_of_variables_raise(text: str, bad: float) -> None:
    with pytest.raises(CountsError):
        parse_kernel(text).normalized().on_counts(bad, bad, 0, 0)


def test_a_heavy_weight_does_not_lose_the_last_subset() -> None:
    assert parse_kernel("monotone_dnf(weight=1e16, max_arity=2)").on_counts(9, 1, 1, 1) == 1e16


def test_a_product_of_disjunctions_is_not_a_table_of_the_union() -> None:
    rng = np.random.default_rng(5)
    x, z = sizes(rng, 300, 9000), sizes(rng, 300, 9000)
    c = common(rng, 300, x, z)
    for text in ("disjunctive(2)*disjunctive(2)", "disjunctive(2)**2"):
        kernel, factor = parse_kernel(text), parse_kernel("disjunctive(2)")
        assert np.allclose(
            kernel.on_counts(300, x, z, c), factor.on_counts(300, x, z, c) ** 2, rtol=1e-13
        )


def test_exponents_past_32_bits_underflow_to_zero() -> None:
    kernel = ((Linear() ** (1 << 20)) ** (1 << 20)).normalized()
    x, c = np.full(9000, 1024), np.ones(9000, np.int64)
    assert (kernel.on_counts(5000, x, x, c) == 0).all()
    assert (kernel.on_counts(5000, x, x, x) == 1).all()


def test_counts_past_single_precision_are_exact() -> None:
    wide = np.ones((1, (1 << 24) + 1), np.int8)
    assert Linear()(wide, wide.copy())[0, 0] == (1 << 24) + 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool])
def test_a_sparse_product_of_bytes_does_not_wrap(dtype: type) -> None:
    rows = sparse.csr_array(
        (np.ones(600, dtype), (np.arange(600) % 2, np.arange(600) // 2)), shape=(2, 100_000)
    )
    other = np.zeros((1, 100_000), dtype)
    other[0, :300] = 1
    assert Linear()(rows).tolist() == [[300, 300], [300, 300]]
    assert Linear()(rows, other).tolist() == [[300], [300]]


def test_a_sparse_product_takes_no_memory_for_empty_columns() -> None:
    cells = np.ones(4), ([0, 0, 1, 1], [1, 10**9 - 1, 1, 5])
    rows = sparse.csr_array(cells, shape=(2, 10**9))
    tracemalloc.start()
    try:
        assert Linear()(rows).tolist() == [[2, 1], [1, 2]]
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@dataclass(frozen=True, repr=False)
class Squared(Kernel):
    def value(self, k: Any) -> Any:
        return k.common * k.common


@dataclass(frozen=True, repr=False)
class Overlap(Kernel):
    def value(self, k: Any) -> Any:
        return k.common * 2.0 / (k.x + k.z)


def test_a_formula_alone_makes_a_kernel_on_few_pairs_and_many() -> None:
    x, c = np.full(9000, 7), np.arange(9000) % 8
    for pairs in (slice(0, 9000), slice(0, 50)):
        counts = 20, x[pairs], x[pairs], c[pairs]
        assert np.array_equal(Squared().on_counts(*counts), c[pairs] ** 2)
        assert np.allclose(Squared().normalized().on_counts(*counts), c[pairs] ** 2 / 49)
        assert np.allclose(Overlap().on_counts(*counts), c[pairs] / 7)
    with pytest.raises(ParameterTypeError, match="features are not 0 or 1"):
        (Linear() @ Squared()).on_counts(5, 2, 2, 1)


@dataclass(frozen=True, repr=False)
class Misread(Kernel):
    """Its form is wrong: it is not a table of common variables."""

    @property
    def form(self) -> Any:
        return "common"

    def value(self, k: Any) -> Any:
        return k.common / k.union

    def own_value(self, k: Any) -> Any:
        return k.common / k.union


def test_a_wrong_table_breaks_a_law() -> None:
    with pytest.raises(LawError):
        check_kernel(Misread())
    complaints = LAWS["one Gram matrix"](Misread(), Sample(np.random.default_rng(0), 24))
    assert any(each.startswith("a block of k(X)") for each in complaints)
    assert ROWS**2 > FEW_PAIRS > 9 * ROWS


@pytest.mark.parametrize("text", ["linear", "dnf", "disjunctive(2)", "tanimoto", "linear + dnf"])
def test_too_many_variables_raise_in_short_and_long_lists(text: str) -> None:
    for pairs in (1, 9000):
        one = np.ones(pairs, np.int64)
        for kernel in (parse_kernel(text), parse_kernel(text).normalized()):
            with pytest.raises(CountsError, match="2\\^53"):
                kernel.on_counts(2**60, one, one, one)


def test_raw_disjunctions_below_2_to_the_53_are_exact_in_large_tables() -> None:
    n, pairs = 2**26, 300_000
    x, one = np.ones(pairs, np.int64), np.ones(pairs, np.int64)
    x[0] = 2**19
    values = Disjunctive(4).on_counts(n, x, one, np.zeros(pairs, np.int64))
    assert int(values[5000]) == comb(n - 2, 2)
    assert (values[1:] == values[1]).all()


def test_large_raw_disjunctions_come_from_tables() -> None:
    rng = np.random.default_rng(6)
    x, z = sizes(rng, 6040, 9000), sizes(rng, 6040, 9000)
    counts = 6040, x, z, common(rng, 6040, x, z)
    kernel = Disjunctive(40)
    pairs = Pairs.of(*counts)
    assert table_values(kernel, pairs, False) is not None
    assert np.allclose(kernel.on_counts(*counts), few_at_a_time(kernel, *counts), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, ">i4", ">f8", ">u2", np.uint64])
@pytest.mark.parametrize("text", ["linear", "disjunctive(2)", "dnf", "threshold(2, 3)"])
def test_long_lists_can_have_types_that_compiled_loops_do_not_know(text: str, dtype: Any) -> None:
    kernel = parse_kernel(text).normalized()
    x, c = np.full(9000, 3), np.arange(9000) % 4
    plain = kernel.on_counts(10, x, x, c)
    assert np.array_equal(kernel.on_counts(10, *(a.astype(dtype) for a in (x, x, c))), plain)
    grid = kernel.on_counts(10, x[:100, None], x[None, :90], c.reshape(100, 90).astype(dtype))
    assert np.array_equal(grid.ravel(), plain)


@pytest.mark.parametrize("text", KERNELS)
def test_gram_matrices_are_symmetric_to_the_last_bit(text: str) -> None:
    X = np.random.default_rng(8).random((120, 60)) < np.linspace(0.02, 0.9, 120)[:, None]
    for kernel in (parse_kernel(text), parse_kernel(text).normalized()):
        gram = kernel(X)
        assert np.array_equal(gram, gram.T)
        assert np.array_equal(kernel(X[:30], X[30:]), kernel(X[30:], X[:30]).T)


@pytest.mark.parametrize("text", ["threshold(2, 5)", "~disjunctive(3)", "conjunctive(2)"])
def test_tables_grow_with_the_rows_of_later_blocks(text: str) -> None:
    X = np.tri(2000, 600, -1500, dtype=np.uint8)
    X[:1500, :3] = 1
    few = X[:600]
    kernel = parse_kernel(text).normalized()
    values = kernel(X, few)[-3:]
    assert np.allclose(values, kernel(X[-3:], few), rtol=1e-13, atol=0)
    assert values.max() > 0


def test_a_spectrum_takes_little_memory() -> None:
    X = np.random.default_rng(9).random((3000, 40)) < 0.4
    spectral_ratio(Linear(), X[:200])
    tracemalloc.start()
    spectral_ratio(Linear(), X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100e6, "nine million pairs, and 64 MB a block"


@pytest.mark.parametrize(
    "text",
    ["disjunctive(3)", "linear", "normalized(linear + tanimoto)", "normalized(linear*tanimoto)",
     "normalized(conjunctive(2) + disjunctive(3))", "normalized(disjunctive(2)**3)",
     "normalized(threshold(2, 5))"],
)  # fmt: skip
def test_a_gram_matrix_takes_12_bytes_per_value_and_one_block(text: str) -> None:
    X = np.random.default_rng(9).random((1500, 60)) < 0.3
    kernel = parse_kernel(text)
    kernel(X[:100])
    tracemalloc.start()
    kernel(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 12 * 1500**2 + 84 * 2**20
