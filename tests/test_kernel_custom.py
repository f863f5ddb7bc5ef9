"""A kernel of your own: numpy's functions on counts, and its name in text."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from boolrank import Conjunctive, Disjunctive, Kernel, Linear, Tanimoto, parse_kernel
from boolrank.errors import InputError, KernelSyntaxError, ParameterError, ParameterTypeError
from boolrank.kernels import KERNELS, Counts, Wide
from boolrank.kernels.clauses import Clauses
from boolrank.kernels.expressiveness import spectral_ratio
from boolrank.kernels.rules import has_rules
from boolrank.testing import LawError, check_kernel

EXACT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
NUMBERS = [0, 1, 2, 3, 10, 12345, 10**9, 2**53 - 1, 0.5, 1e-9, 700.25]


def exact(numbers: Wide, at: int) -> Decimal:
    """Return a wide number without rounding."""
    part = numbers[at]
    value = Fraction(float(part.hi)) + Fraction(float(part.lo))
    value *= Fraction(2) ** int(part.exp) if part.hi != 0 else 0
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (np.sqrt, EXACT.sqrt),
        (np.exp, EXACT.exp),
        (np.square, lambda v: EXACT.multiply(v, v)),
        (np.log1p, lambda v: EXACT.ln(1 + v)),
        (np.negative, lambda v: -v),
        (lambda a: np.log(a + 1.5), lambda v: EXACT.ln(v + Decimal("1.5"))),
        (lambda a: np.log10(a + 2), lambda v: EXACT.log10(v + 2)),
        (lambda a: np.maximum(a, 2.5), lambda v: max(v, Decimal("2.5"))),
        (lambda a: np.minimum(2.5, a), lambda v: min(v, Decimal("2.5"))),
        (lambda a: np.abs(a - 11), lambda v: abs(v - 11)),
        (lambda a: a**0.5, EXACT.sqrt),
        (lambda a: a**1.25, lambda v: EXACT.power(v, Decimal("1.25"))),
        (lambda a: (a + 1) ** -2, lambda v: 1 / (v + 1) ** 2),
        (lambda a: np.power(a + 1, 0.75), lambda v: EXACT.power(v + 1, Decimal("0.75"))),
        (lambda a: 1.5 ** (a / 2**40), lambda v: EXACT.power(Decimal("1.5"), v / 2**40)),
        (lambda a: np.float64(3) * a - np.ones(11), lambda v: 3 * v - 1),
    ],
)
def test_numpy_functions_keep_22_digits(function: Any, reference: Any) -> None:
    numbers = Wide.of(np.array(NUMBERS))
    with np.errstate(all="ignore"):
        result = function(numbers)
    # The digits of an exponent before the point are lost, so exp gets small numbers only.
    most = 12345 if function is np.exp else 2**53
    with localcontext(EXACT):
        for at in np.flatnonzero(np.array(NUMBERS) <= most):
            wanted = reference(exact(numbers, at))
            assert abs(exact(result, at) - wanted) <= abs(wanted) * Decimal("1e-22"), NUMBERS[at]


def test_comparisons_are_arrays_of_bools() -> None:
    a = Wide.of([1.0, 2.0, 3.0])
    assert (a > 2).tolist() == [False, False, True]
    assert (a <= 2).tolist() == [True, True, False]
    assert (a == [1, 5, 3]).tolist() == [True, False, True]
    assert (a != Wide.of(2.0)).tolist() == [True, False, True]
    assert np.less(a, Wide.of(2**60) + 1).all()


def test_any_other_numpy_function_computes_in_doubles() -> None:
    a = Wide.of([1.0, 4.0])
    for result in (np.sin(a), np.where(a > 2, a, 0.0), np.clip(a, 2, 3), np.sum(a), a % 3):
        assert np.asarray(result).dtype == np.float64
    assert np.where(a > 2, a, 0.0).tolist() == [0, 4]
    assert np.sum(a) == 5


def test_updates_in_place_work() -> None:
    total = Wide.of([1.0, 2.0])
    total += 3
    total *= np.array([2, 2])
    assert isinstance(total, Wide)
    assert total.floats().tolist() == [8, 10]


def test_functions_of_math_raise_and_name_numpy() -> None:
    with pytest.raises(ParameterTypeError, match=r"use numpy's function, such as np.sqrt"):
        math.sqrt(Wide.of(4.0))


@dataclass(frozen=True, repr=False)
class Damped(Kernel):
    """Pairs count less if the vectors are large."""

    power: float = 0.5
    name = "damped_test"

    def value(self, k: Counts) -> Any:
        return k.common / np.sqrt(k.x * k.z) ** self.power


@dataclass(frozen=True, repr=False)
class Steps(Kernel):
    """Built of many numpy functions."""

    name = "steps_test"

    def value(self, k: Counts) -> Any:
        return np.expm1(np.log1p(k.common)) + np.maximum(k.common - 1, 0) * k.common


def test_kernels_with_numpy_functions_obey_the_laws() -> None:
    check_kernel(Damped())
    check_kernel(Damped(0.3))
    check_kernel(Steps())


def test_a_kernel_of_your_own_is_known_by_its_name() -> None:
    kernel = parse_kernel("2*damped_test(power=0.25) + normalized(steps_test)")
    assert kernel == 2 * Damped(0.25) + Steps().normalized()
    assert parse_kernel(repr(kernel)) == kernel
    X = np.eye(4, dtype=int)
    assert spectral_ratio("damped_test", X) == pytest.approx(1)
    assert KERNELS["damped_test"] is Damped
    assert list(KERNELS)[:3] == ["linear", "polynomial", "all_subset"]
    with pytest.raises(KernelSyntaxError, match=r"damped_test takes \(power\)"):
        parse_kernel("damped_test(strength=1)")
    with pytest.raises(KernelSyntaxError, match="did you mean 'damped_test'"):
        parse_kernel("damped_tst")


@dataclass(frozen=True, repr=False)
class Choosy(Kernel):
    """Checks its parameter."""

    power: float
    mode: str = "plain"
    name = "choosy_test"

    def __post_init__(self) -> None:
        if self.power < 0:
            raise ValueError(f"power must be 0 or more, not {self.power}")

    def value(self, k: Counts) -> Any:
        return k.common * 2.0**self.power


def test_a_kernel_can_check_its_parameters_and_take_text() -> None:
    assert parse_kernel("choosy_test(1, mode='odd')") == Choosy(1, "odd")
    with pytest.raises(ParameterError, match="choosy_test: power must be 0 or more, not -1"):
        parse_kernel("linear + choosy_test(-1)")


def test_weighted_users_need_a_formula_on_masses() -> None:
    with pytest.raises(InputError, match="a kernel of your own needs a method mass_value"):
        Choosy(1).on_masses(10, 3, 4, 2, users=5)


@dataclass(frozen=True, repr=False)
class PairsOfTwo(Conjunctive):
    """A preset, with the formula of the base class."""

    arity: int = 2
    name = "pairs_of_two_test"


def test_a_preset_inherits_the_formula_and_all_that_follows_from_it() -> None:
    assert has_rules(PairsOfTwo())
    assert PairsOfTwo().on_counts(9, 4, 4, 3) == 3


def test_another_formula_is_not_derived_from_a_kernel() -> None:
    with pytest.raises(ParameterError, match=r"formula than Linear; derive it from Kernel"):

        class Everything(Linear):
            def value(self, k: Counts) -> Any:
                return k.common * 0 + k.n


def test_other_clauses_are_not_derived_from_a_kernel() -> None:
    with pytest.raises(ParameterError, match="formula than Conjunctive; derive it from Kernel"):

        class Single(Conjunctive):
            feature_clauses = Clauses(1, 1)  # type: ignore[assignment]


@pytest.mark.parametrize(
    "given",
    [
        {"low": 2, "high": 4},
        {"low": 2},
        {"low": 1, "high": 3, "least": 1},
        {"low": 3, "high": 3, "least": 2, "negated": True},
    ],
)
def test_clauses_without_a_count_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="there is no count of Clauses"):
        Clauses(**given)


def test_another_formula_is_not_derived_from_a_kernel_without_a_name_in_text() -> None:
    """Its own_value would normalise the values of another formula: cosines above 1."""

    class Common(Kernel):
        def value(self, k: Counts) -> Any:
            return k.common

        def own_value(self, k: Counts) -> Any:
            return k.x

    with pytest.raises(ParameterError, match="formula than Common; derive it from Kernel"):

        class Squares(Common):
            def value(self, k: Counts) -> Any:
                return k.common * k.common


@dataclass(frozen=True)
class Loud(Kernel):
    """Its text is that of a dataclass."""

    name = "loud_test"

    def value(self, k: Counts) -> Any:
        return k.common


def test_the_law_of_texts_names_the_line_that_is_missing() -> None:
    with pytest.raises(LawError, match=r"parsed from its text.*@dataclass\(frozen=True, repr="):
        check_kernel(Loud())


@pytest.mark.parametrize("name", ["two words", "two-words", "2nd", "and", ""])
def test_a_name_that_no_text_can_have_raises(name: str) -> None:
    with pytest.raises(ParameterError, match="cannot name the kernel Made in text; use letters"):
        make(name, "Made")


def make(name: str, qualname: str) -> type[Kernel]:
    """Define a kernel as a module of that name would."""
    body = {"name": name, "value": lambda _, k: k.common, "__qualname__": qualname}
    return dataclass(frozen=True, repr=False)(type("Made", (Kernel,), body))


def test_two_kernels_of_one_name_raise() -> None:
    first = make("doubly_test", "First")
    with pytest.raises(ParameterError, match=r"names several kernels: .*First, .*Second"):
        make("doubly_test", "Second")
    with pytest.raises(ParameterError, match=r"several kernels: .*Tanimoto, .*Own; rename one"):
        make("tanimoto", "Own")
    assert type(parse_kernel("doubly_test")) is first
    assert parse_kernel("tanimoto") == Tanimoto()


def test_a_kernel_defined_again_replaces_the_first() -> None:
    first, again = make("again_test", "Again"), make("again_test", "Again")
    assert type(parse_kernel("again_test")) is again is not first


def test_a_kernel_inside_a_function_has_no_name_in_text() -> None:
    @dataclass(frozen=True, repr=False)
    class Inside(Kernel):
        name = "inside_test"

        def value(self, k: Counts) -> Any:
            return k.common

    assert Inside()([[1, 1]]) == 2
    with pytest.raises(KernelSyntaxError, match="there is no kernel 'inside_test'"):
        parse_kernel("inside_test")


def test_a_formula_that_gives_nan_is_an_error() -> None:
    @dataclass(frozen=True, repr=False)
    class Nan(Kernel):
        name = "nan"

        def value(self, k: Counts) -> Any:
            return np.sqrt(k.common - 5)

    for kernel in (Nan(), Nan().normalized()):
        with pytest.raises(ParameterTypeError, match="the formula of nan gives NaN"):
            kernel([[1, 0], [1, 1]], [[1, 0]])


CALLS = []


@dataclass(frozen=True, repr=False)
class Counting(Kernel):
    """Notes each use of its formula."""

    number: int
    name = "counting_test"

    def value(self, k: Counts) -> Any:
        CALLS.append(self.number)
        return k.common * float(self.number)


@pytest.mark.parametrize("terms", [5, 50])
def test_the_cost_of_a_normalised_sum_is_linear_in_its_terms(terms: int) -> None:
    kernel = sum(Counting(d) for d in range(1, terms + 1)).normalized()
    CALLS.clear()
    kernel([[1, 0, 1], [0, 1, 1]])
    assert len(CALLS) <= 4 * terms


def test_the_cost_of_a_nest_of_compositions_is_linear_in_its_levels() -> None:
    kernel: Kernel = Disjunctive(2)
    for _ in range(30):
        kernel = Linear() @ kernel
    X = np.random.default_rng(0).integers(0, 2, (9, 7))
    assert np.array_equal(kernel(X), Disjunctive(2)(X))


def test_numbers_of_features_with_huge_exponents_cost_nothing() -> None:
    """The outermost of 45 levels chooses among about 2^(2^45) features."""
    kernel: Kernel = Conjunctive(2)
    for _ in range(44):
        kernel = Conjunctive(2) @ kernel
    X = np.random.default_rng(0).integers(0, 2, (9, 12))
    kernel = kernel.normalized()
    tracemalloc.start()
    found, (_, peak) = kernel(X), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found, np.eye(9))
    assert peak < 1 << 20, "2^(2^24) alone takes 2 MB"
