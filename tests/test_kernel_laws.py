"""Every kernel and expression obeys the laws; the checker finds one that does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from boolrank import (
    Conjunctive,
    Disjunctive,
    Kernel,
    Linear,
    MonotoneDNF,
    ParameterError,
    Tanimoto,
    Threshold,
)
from boolrank.errors import ParameterTypeError
from boolrank.kernels import (
    DNF,
    KERNELS,
    AllSubset,
    ComposedCNF,
    ComposedDNF,
    Counts,
    Formula,
    LiteralConjunctive,
    LiteralDisjunctive,
    Polynomial,
    Wide,
)
from boolrank.testing import LAWS, LawError, check_kernel
from effort import tries
from strategies import expressions

ALL = [
    Linear(),
    Polynomial(1),
    Polynomial(3),
    Polynomial(2, scale=0.3, offset=1.5),
    AllSubset(),
    Tanimoto(),
    Conjunctive(1),
    Conjunctive(2),
    Conjunctive(12),
    Conjunctive(24),
    Conjunctive(3, up_to=True),
    DNF(),
    DNF(0.1),
    DNF(max_arity=4),
    DNF(2, max_arity=24),
    MonotoneDNF(),
    MonotoneDNF(1e-9),
    MonotoneDNF(0.5, max_arity=3),
    Disjunctive(1),
    Disjunctive(2),
    Disjunctive(8),
    Disjunctive(23),
    Disjunctive(24),
    Threshold(1, 4),
    Threshold(2, 5),
    Threshold(4, 4),
    Threshold(3, 24),
    LiteralConjunctive(1),
    LiteralConjunctive(5),
    LiteralDisjunctive(1),
    LiteralDisjunctive(5),
    ComposedDNF(2, 3),
    ComposedDNF(5, 2, monotone=False),
    ComposedCNF(2, 3),
    ComposedCNF(5, 2, monotone=False),
    Threshold(2, 3) @ Conjunctive(2),
    Disjunctive(3) @ (Conjunctive(2) @ Disjunctive(2)),
    ~Disjunctive(8),
    ~Conjunctive(3) | Linear(),
    Linear() ^ Disjunctive(20),
    Disjunctive(2) @ (~Linear() | Linear()),
    Formula("(a and b) or not c"),
    Formula("a ^ b") @ Disjunctive(5),
    0.5 * (Linear() | Linear()) + 2 * ~Conjunctive(2),
    Linear() + Conjunctive(2),
    0.5 * Linear() + 2 * Disjunctive(8),
    Linear() * Tanimoto(),
    (Linear() + Disjunctive(2)) ** 3,
    Conjunctive(2).normalized(),
    Disjunctive(2).normalized(),
    Conjunctive(3).normalized() + 0.3 * Disjunctive(4).normalized(),
    Conjunctive(3).normalized() * Tanimoto(),
    (Conjunctive(3) + Linear()).normalized(),
    (Conjunctive(3).normalized() ** 2).normalized(),
]


def test_the_list_contains_every_kernel() -> None:
    ours = {each for each in KERNELS.values() if each.__module__.startswith("boolrank.")}
    assert {type(kernel) for kernel in ALL} >= ours


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_kernels_obey_the_laws(kernel: Kernel) -> None:
    check_kernel(kernel)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_values_do_not_depend_on_which_vector_comes_first(kernel: Kernel) -> None:
    X = np.random.default_rng(7).integers(0, 2, (40, 24))
    gram = kernel(X)
    assert (gram == gram.T).all()


@given(expressions(5))
@settings(max_examples=tries(20))
def test_random_expressions_obey_the_laws(kernel: Kernel) -> None:
    check_kernel(kernel, n=6)


def test_large_arities_obey_the_laws_on_wide_data() -> None:
    check_kernel(Disjunctive(116), n=300)
    check_kernel(Conjunctive(60).normalized(), n=150)


@dataclass(frozen=True, repr=False)
class Multisets(Kernel):
    """A custom kernel: pairs of variables, repetition allowed."""

    name: ClassVar[str] = "multisets"
    formula: ClassVar[str] = "c(c + 1)/2"

    def value(self, k: Counts) -> Wide:
        return k.common * (k.common + 1.0) * 0.5


def test_a_kernel_of_your_own_can_be_checked() -> None:
    check_kernel(Multisets())
    check_kernel(0.5 * Multisets() + Linear())


@dataclass(frozen=True, repr=False)
class Lopsided(Kernel):
    def value(self, k: Counts) -> Wide:
        return k.common * k.x


@dataclass(frozen=True, repr=False)
class Indefinite(Kernel):
    """High for vectors with nothing in common, unlike any inner product."""

    def value(self, k: Counts) -> Wide:
        return k.union


@dataclass(frozen=True, repr=False)
class Negative(Kernel):
    def value(self, k: Counts) -> Wide:
        return -k.common


@dataclass(frozen=True, repr=False)
class Doubled(Linear):
    def own_value(self, k: Counts) -> Wide:
        return k.x * 2.0


@dataclass(frozen=True, repr=False)
class NearlyItself(Linear):
    def own_value(self, k: Counts) -> Wide:
        return k.x * (1 + 1e-6)


@dataclass(frozen=True, repr=False)
class WrongCosine(Linear):
    def cosine(self, k: Counts) -> Wide:
        return k.common / k.union


@dataclass(frozen=True, repr=False)
class Mistyped(Linear):
    @property
    def form(self) -> Any:
        return "comon"


@dataclass(frozen=True, repr=False)
class TooFewFeatures(Linear):
    def features(self, n: Wide) -> Wide:
        return n / 3.0


@dataclass(frozen=True, repr=False)
class FeaturesThatDoNotAddUp(Linear):
    def cells(self, k: Any) -> Counts:
        return replace(k, neither=k.n - k.x)


def _later(X: Any, Z: Any) -> Any:
    return np.triu(np.ones((X.shape[0],) * 2)) if Z is None else 0


@dataclass(frozen=True, repr=False)
class LopsidedByRounding(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        return super().__call__(X, Z) * (1 + 1e-15 * _later(X, Z))


@dataclass(frozen=True, repr=False)
class WrongDiagonal(Linear):
    def diag(self, X: Any) -> np.ndarray:
        return super().diag(X) + 1e-9


@dataclass(frozen=True, repr=False)
class WrongGram(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        gram = super().__call__(X, Z)
        return gram + gram.max() if Z is None else gram


@dataclass(frozen=True, repr=False)
class WrongWhenSparse(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        return super().__call__(X, Z) * (1 + 1e-15 if sparse.issparse(X) else 1)


@dataclass(frozen=True, repr=False)
class FirstVariableOnly(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        first = np.asarray(X.todense() if sparse.issparse(X) else X)[:, :1]
        return super().__call__(first, None if Z is None else np.asarray(Z)[:, :1])

    def diag(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0].astype(float)


@dataclass(frozen=True, repr=False)
class RowDependent(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        gram = super().__call__(X, Z)
        if Z is None:
            gram[1:, 1:] *= 1 + 1e-9
        return gram

    def diag(self, X: Any) -> np.ndarray:
        return np.diagonal(self(X))


@dataclass(frozen=True, repr=False)
class BlockDependent(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        return super().__call__(X, Z) * (1 if Z is None else 2)


@dataclass(frozen=True, repr=False, eq=False)
class NeverEqual(Linear):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True, repr=False)
class NotANumber(Linear):
    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        return np.full_like(super().__call__(X, Z), np.nan)


@dataclass(frozen=True, repr=False)
class NotNormal(Linear):
    def normalized(self) -> Any:
        return self


@dataclass(frozen=True, repr=False)
class Unpicklable(Linear):
    def __reduce__(self) -> Any:
        raise TypeError("no")


@dataclass(frozen=True, repr=False)
class Mute(Linear):
    def __repr__(self) -> str:
        return "linear()()"


@dataclass(frozen=True, repr=False)
class LopsidedOnMasses(Linear):
    def mass_value(self, k: Any) -> Any:
        return k.common * k.x


@dataclass(frozen=True, repr=False)
class IndefiniteOnMasses(Linear):
    def mass_value(self, k: Any) -> Any:
        return k.common - 0.5 * k.union


BROKEN = {
    LopsidedOnMasses(): "masses: on masses, k(x, z)",
    IndefiniteOnMasses(): "masses: the Gram matrix on masses",
    Lopsided(): "symmetry",
    LopsidedByRounding(): "symmetry",
    Indefinite(): "positive semi-definiteness",
    Negative(): "positive semi-definiteness",
    Doubled(): "own values",
    NearlyItself(): "own values",
    WrongCosine(): "cosines",
    Mistyped(): "equality by value: its form is",
    TooFewFeatures(): "features",
    FeaturesThatDoNotAddUp(): "features",
    WrongDiagonal(): "one Gram matrix: k.diag(X) is",
    WrongGram(): "one Gram matrix: k.on_counts(...) is",
    WrongWhenSparse(): "one Gram matrix: csr k(X) is",
    FirstVariableOnly(): "one Gram matrix: variables shuffled",
    RowDependent(): "one Gram matrix: rows shuffled",
    BlockDependent(): "one Gram matrix: a block of k(X)",
    NeverEqual(): "equality by value: deep-copied",
    NotANumber(): "finite values",
    NotNormal(): "normalisation",
    Unpicklable(): "equality by value: it cannot be pickled",
    Mute(): "equality by value: it cannot be parsed",
}


@pytest.mark.parametrize(("kernel", "law"), BROKEN.items(), ids=lambda v: type(v).__name__)
def test_the_checker_finds_a_broken_law(kernel: Kernel, law: str) -> None:
    rng = np.random.default_rng(0)
    broken = [
        f"{name}: {complaint}"
        for name, each in LAWS.items()
        for complaint in each(kernel, sample_of(rng))
    ]
    assert any(complaint.startswith(law) for complaint in broken), broken
    with pytest.raises(AssertionError, match="breaks the law of"):
        check_kernel(kernel)


def sample_of(rng: np.random.Generator) -> Any:
    from boolrank.testing.laws import Sample

    return Sample(rng, 24)


def test_each_law_has_a_kernel_that_breaks_it() -> None:
    assert {law.partition(":")[0] for law in BROKEN.values()} == set(LAWS)


def test_a_broken_law_is_reported_with_its_data_and_values() -> None:
    said = r"the law of symmetry: value\(x, z\) is \d+, but value\(z, x\) \d+, for row \d+ with"
    with pytest.raises(LawError, match=said):
        check_kernel(Lopsided())


@dataclass(repr=False)
class Changeable(Kernel):
    def value(self, k: Counts) -> Wide:
        return k.common


class Undecorated(Kernel):
    def value(self, k: Counts) -> Wide:
        return k.common


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("linear", r"is not a kernel; use parse_kernel\('linear'\)"),
        (Linear, r"is not a kernel; use Linear\(\)"),
        (3, "is not a kernel"),
        (Changeable(), r"Changeable is not a frozen"),
        (Undecorated(), r"@dataclass\(frozen=True, repr=False\)"),
    ],
)
def test_checking_something_else_than_a_kernel_raises_with_a_hint(given: Any, said: str) -> None:
    with pytest.raises(ParameterTypeError, match=said):
        check_kernel(given)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_the_number_of_variables_must_be_positive(n: Any) -> None:
    with pytest.raises(ParameterError, match="n must be"):
        check_kernel(Linear(), n=n)


@pytest.mark.parametrize("constant", [1.0, 1, Wide.of(1.0), np.ones(())])
def test_a_formula_can_return_any_numbers_that_broadcast(constant: Any) -> None:
    @dataclass(frozen=True, repr=False)
    class Constant(Kernel):
        def value(self, _: Counts) -> Any:
            return constant

    for rows in (3, 100):
        X = np.eye(rows, dtype=int)
        assert (Constant()(X) == 1).all()
        assert np.allclose((Constant().normalized() + Constant() ** 2)(X), 2)
    assert repr(Constant()) == "Constant", "for want of a name"


def test_a_formula_can_return_doubles() -> None:
    @dataclass(frozen=True, repr=False)
    class Doubles(Kernel):
        name = "doubles"

        def value(self, k: Counts) -> Any:
            return k.common.floats()

    X = np.random.default_rng(0).integers(0, 2, (20, 9))
    assert (Doubles()(X) == Linear()(X)).all()
    assert (Doubles().normalized()(X) == Linear().normalized()(X)).all()


@pytest.mark.parametrize("nonsense", [None, "c", [1, 2, 3], object()])
def test_a_formula_that_does_not_return_numbers_raises(nonsense: Any) -> None:
    @dataclass(frozen=True, repr=False)
    class Nonsense(Kernel):
        name = "nonsense"

        def value(self, _: Counts) -> Any:
            return nonsense

    with pytest.raises(ParameterTypeError, match="value of nonsense must give a number for each"):
        Nonsense()([[1, 0], [0, 1]])


def test_the_data_of_the_checker_depends_on_the_seed_only() -> None:
    first, second = (sample_of(np.random.default_rng(seed)).X for seed in (0, 1))
    assert (first == sample_of(np.random.default_rng(0)).X).all()
    assert (first != second).any()
    check_kernel(Tanimoto(), rng=3)
    check_kernel(Tanimoto(), rng=np.random.default_rng(4))


@dataclass(frozen=True, repr=False)
class Concave(Kernel):
    """c^1.5 has a negative third difference, so it is not a kernel."""

    name = "concave_power"
    formula = "c^1.5"

    def value(self, k):
        return k.common**1.5


def test_a_formula_that_is_barely_not_positive_semi_definite_is_caught():
    with pytest.raises(LawError, match="positive semi-definiteness"):
        check_kernel(Concave())
