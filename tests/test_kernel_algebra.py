"""Kernels combine with + * ** @, print as text, and parse back; other text raises."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolrank import (
    Conjunctive,
    Disjunctive,
    Kernel,
    Linear,
    MonotoneDNF,
    ParameterError,
    Tanimoto,
    Threshold,
    parse_kernel,
)
from boolrank.errors import KernelSyntaxError, ParameterTypeError
from boolrank.kernels import (
    DNF,
    KERNELS,
    AllSubset,
    Composed,
    ComposedCNF,
    ComposedDNF,
    Formula,
    LiteralConjunctive,
    LiteralDisjunctive,
    Normalized,
    Polynomial,
    Power,
    Product,
    Scaled,
    Sum,
)
from strategies import expressions, leaves

A, B, C = Linear(), Tanimoto(), Disjunctive(3)
REFUSALS = (KernelSyntaxError, ParameterError, ParameterTypeError)
REFUSED = [
    "__import__('os')", "__import__('os').system('true')", "linear.__class__",
    "linear.normalized()", "(lambda: linear)()", "[linear][0]", "[k for k in (linear,)][0]",
    "linear if 1 else tanimoto", "linear; tanimoto", "import os", "open('x')",
    "eval('linear')", "disjunctive(__import__('os'))", "disjunctive(arity=open)",
    "disjunctive(*[3])", "disjunctive(**{'arity': 3})", "disjunctive(10**10**10)", "2**linear",
    "linear**tanimoto", "linear - tanimoto", "linear/2", "-linear", "linear(",
    "linear tanimoto", "linear\x00", "f'{linear}'", "(x := linear)", "3", "2*3", "", "   ",
    "disjunctive(3, 4)", "disjunctive(size=3)", "disjunctive()", "disjunctive(3, arity=3)",
    "disjunctive", "normalized()", "normalized(linear, tanimoto)", "normalized(3)",
    "1 + linear", "linear + 1", "True*linear", "1j*linear", "disjunctive('3')",
    "disjunctive(b'3')", "disjunctive(arity=2, arity=3)", "linear # tanimoto",
    "linear # x\n + tanimoto", "normalized", "linear.normalized", "1e999*linear",
    "1e200*1e200*linear",
    f"{'9' * 400}*0.5*linear", f"{'9' * 4000}*linear", f"{'9' * 5000}*linear",
    f"disjunctive({'9' * 400})", f"linear**{'9' * 30}", "disjunctive(2*3)",
]  # fmt: skip


def test_sums_and_products_flatten_into_one_node() -> None:
    assert (A + B) + C == A + (B + C) == Sum((A, B, C))
    assert (A * B) * C == A * (B * C) == Product((A, B, C))


def test_weights_multiply_and_move_to_the_front() -> None:
    assert 2 * (3 * A) == Scaled(6, A) == A * 6
    assert isinstance(0.5 * (A * B), Scaled)
    assert (0.5 * A) * B == 0.5 * (A * B)


def test_kernels_can_be_added_up() -> None:
    assert sum([A, B, C]) == A + B + C
    assert sum([A]) == A


def test_nodes_built_by_hand_equal_those_of_the_operators() -> None:
    assert Scaled(2, Scaled(3, A)) == 6 * A
    assert Sum((A, Sum((B, C)))) == Sum([A, B, C]) == A + B + C
    assert Product((A, Product((B, C)))) == A * B * C
    for kernel in (Scaled(2, Scaled(0.5, A + B)), Sum((A, Sum((B, 2 * C)))), Product((A, A @ B))):
        assert parse_kernel(repr(kernel)) == kernel


def test_parts_must_be_kernels() -> None:
    for build in (
        Normalized,
        lambda part: Sum((A, part)),
        lambda part: Product((part, A)),
        lambda part: Power(part, 2),
        lambda part: Scaled(2, part),
        lambda part: Composed(A, part),
        lambda part: Composed(part, A),
    ):
        for part in (3, "linear", None, Linear):
            with pytest.raises(ParameterTypeError, match="kernel"):
                build(part)
    for node in (Sum, Product):
        for parts in ((), (A,), 5, A):
            with pytest.raises(ParameterTypeError, match="two kernels or more"):
                node(parts)


def test_a_sum_of_hundreds_of_terms_parses() -> None:
    kernel = sum(Disjunctive(d) for d in range(1, 601))
    assert parse_kernel(repr(kernel)) == kernel
    product = parse_kernel("*".join(["linear"] * 1000))
    assert product == Product((A,) * 1000)


def test_numpy_numbers_can_be_weights_and_powers() -> None:
    assert np.float64(0.5) * A == 0.5 * A == A * np.float32(0.5)
    assert A ** np.int64(2) == A**2 == Power(A, 2)


def test_normalising_twice_is_normalising_once() -> None:
    assert A.normalized().normalized() == A.normalized() == Normalized(A)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Linear(), "linear"),
        (Polynomial(3), "polynomial(3)"),
        (Polynomial(3, offset=1), "polynomial(3, offset=1)"),
        (AllSubset(), "all_subset"),
        (Conjunctive(2), "conjunctive(2)"),
        (Conjunctive(2, up_to=True), "conjunctive(2, up_to=True)"),
        (Tanimoto(), "tanimoto"),
        (DNF(), "dnf"),
        (DNF(weight=0.5), "dnf(weight=0.5)"),
        (DNF(max_arity=3), "dnf(max_arity=3)"),
        (MonotoneDNF(), "monotone_dnf"),
        (Disjunctive(8), "disjunctive(8)"),
        (Threshold(2, 5), "threshold(2, 5)"),
        (LiteralConjunctive(2), "literal_conjunctive(2)"),
        (LiteralDisjunctive(2), "literal_disjunctive(2)"),
        (ComposedDNF(2, 3), "composed_dnf(2, 3)"),
        (ComposedDNF(2, 3, monotone=False), "composed_dnf(2, 3, monotone=False)"),
        (ComposedCNF(2, 3), "composed_cnf(2, 3)"),
        (0.5 * A + C, "0.5*linear + disjunctive(3)"),
        ((A + B) * C, "(linear + tanimoto)*disjunctive(3)"),
        (A.normalized(), "normalized(linear)"),
        (C @ Conjunctive(2), "disjunctive(3) @ conjunctive(2)"),
        (C @ (A @ A), "disjunctive(3) @ (linear @ linear)"),
        ((C @ A) @ A, "disjunctive(3) @ linear @ linear"),
        (2 * (A @ A), "2*(linear @ linear)"),
        ((A @ A) ** 2, "(linear @ linear)**2"),
        ((A + B) @ A, "(linear + tanimoto) @ linear"),
    ],
)
def test_a_kernel_prints_as_its_expression(kernel: Kernel, text: str) -> None:
    assert repr(kernel) == str(kernel) == text
    assert parse_kernel(text) == kernel


@given(expressions())
@settings(max_examples=300)
def test_parsing_the_text_gives_the_kernel_back(kernel: Kernel) -> None:
    again = parse_kernel(repr(kernel))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert repr(again) == repr(kernel)


@given(expressions())
def test_copies_are_equal(kernel: Kernel) -> None:
    assert copy.deepcopy(kernel) == pickle.loads(pickle.dumps(kernel)) == kernel  # noqa: S301


@given(
    leaves(), leaves(), st.sampled_from([(1, 0, 0, 0), (4, 2, 3, 1), (6, 6, 4, 4), (9, 5, 5, 2)])
)
def test_operators_combine_values(a: Kernel, b: Kernel, pair: tuple[int, int, int, int]) -> None:
    if pair[0] < 4:
        pair = (4, *pair[1:])
    x, y = a.on_counts(*pair), b.on_counts(*pair)
    assert (a + b).on_counts(*pair) == pytest.approx(x + y, rel=1e-12)
    assert (a * b).on_counts(*pair) == pytest.approx(x * y, rel=1e-12)
    assert (0.3 * a).on_counts(*pair) == pytest.approx(0.3 * x, rel=1e-12)
    assert (a**3).on_counts(*pair) == pytest.approx(x**3, rel=1e-12)


def test_normal_forms_are_compositions_of_clauses() -> None:
    pairs = (9, [0, 1, 3, 5, 9], [4, 4, 4, 6, 9], [0, 1, 2, 3, 9])
    twins = [
        (ComposedDNF(2, 3), Disjunctive(2) @ Conjunctive(3)),
        (ComposedCNF(2, 3), Conjunctive(2) @ Disjunctive(3)),
        (ComposedDNF(3, 2, monotone=False), Disjunctive(3) @ LiteralConjunctive(2)),
        (ComposedCNF(3, 2, monotone=False), Conjunctive(3) @ LiteralDisjunctive(2)),
    ]
    for form, composed in twins:
        assert (form.on_counts(*pairs) == composed.on_counts(*pairs)).all()


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("linear + tanimoto*disjunctive(3)", A + (B * C)),
        ("(linear + tanimoto)*disjunctive(3)", (A + B) * C),
        ("linear*tanimoto**2", A * B**2),
        ("(linear*tanimoto)**2", (A * B) ** 2),
        ("2*linear**2", 2 * A**2),
        ("(2*linear)**2", (2 * A) ** 2),
        ("0.5*linear + 2*tanimoto", Sum((Scaled(0.5, A), Scaled(2, B)))),
        ("linear*0.5", 0.5 * A),
        ("2*3*linear", 6 * A),
        ("linear*2*3", 6 * A),
        ("2*(3*linear)*tanimoto", 6 * (A * B)),
        ("linear\n    + tanimoto\n", A + B),
        ("linear @ conjunctive(2) + tanimoto", Composed(A, Conjunctive(2)) + B),
        ("disjunctive(3) @ (linear @ linear)", C @ (A @ A)),
        ("disjunctive(3) @ linear @ linear", (C @ A) @ A),
        ("normalized(linear + tanimoto)", (A + B).normalized()),
        ("  linear\t+   tanimoto ", A + B),
        ("disjunctive(arity=3)", C),
        ("1e-3*linear", 0.001 * A),
        ("linear()", A),
        ("~linear", ~A),
        ("not linear and disjunctive(3) or linear", ~A * C | A),
        ("linear | disjunctive(3) ^ linear & linear", A | (C ^ (A * A))),
        ("(linear | linear) ^ linear", (A | A) ^ A),
        ("~linear**2", ~(A**2)),
        ("(~linear)**2", (~A) ** 2),
        ("2*~linear + (linear | linear)", 2 * ~A + (A | A)),
        ("~linear @ conjunctive(2)", ~A @ Conjunctive(2)),
        ("implies(linear, disjunctive(3))", ~A | C),
        ("equivalent(linear, disjunctive(3))", ~(A ^ C)),
        ("xor(linear, disjunctive(3))", A ^ C),
        ("formula('a and  not b')", Formula("a and not b")),
    ],
)
def test_text_binds_as_python_does(text: str, kernel: Kernel) -> None:
    assert parse_kernel(text) == kernel


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("normalised(linear)", "normalized"), ("Normalized(linear)", "normalized"),
     ("disjuntive(8)", "disjunctive"), ("conjuctive(2)", "conjunctive"), ("linar", "linear"),
     ("Tanimoto", "tanimoto"), ("monotone_dfn", "monotone_dnf"), ("2*treshold(1, 2)", "threshold")],
)  # fmt: skip
def test_a_mistyped_name_gets_the_nearest_one_suggested(typo: str, meant: str) -> None:
    with pytest.raises(KernelSyntaxError, match=f"did you mean '{meant}'"):
        parse_kernel(typo)


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_is_not_a_kernel_expression_raises(text: str) -> None:
    with pytest.raises(REFUSALS) as caught:
        parse_kernel(text)
    assert isinstance(caught.value, (ValueError, TypeError))
    assert 20 < len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("disjunctive(arity=2, arity=3)", "given twice"),
        ("normalized(linear, tanimoto)", r"write normalized\(linear\)"),
        ("linear - tanimoto", r"by \+ \* \*\* @ & \| \^ ~ only"),
        ("xor(linear)", r"write xor\(linear, linear\)"),
    ],
)
def test_a_syntax_error_says_what_to_write(text: str, said: str) -> None:
    with pytest.raises(KernelSyntaxError, match=said):
        parse_kernel(text)


def test_a_wrong_call_lists_the_parameters() -> None:
    with pytest.raises(KernelSyntaxError, match=r"disjunctive takes \(arity\)"):
        parse_kernel("disjunctive()")
    with pytest.raises(KernelSyntaxError, match=r"threshold takes \(satisfied, arity\)"):
        parse_kernel("threshold(3)")


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_any_text_gives_a_kernel_or_our_own_error(text: str) -> None:
    with contextlib.suppress(*REFUSALS):
        assert isinstance(parse_kernel(text), Kernel)


@given(st.lists(st.sampled_from([*KERNELS, "(", ")", "+", "*", "**", "@", ",", "2", "0.5", "="])))
@settings(max_examples=300)
def test_shuffled_tokens_give_a_kernel_or_our_own_error(words: list[str]) -> None:
    with contextlib.suppress(*REFUSALS):
        assert isinstance(parse_kernel(" ".join(words)), Kernel)


@pytest.mark.parametrize("bad", [None, 3, b"linear", ["linear"]])
def test_only_text_is_parsed(bad: object) -> None:
    with pytest.raises(ParameterTypeError, match="kernel must be a Kernel, or text such as"):
        parse_kernel(bad)


def test_an_unknown_name_lists_the_kernels() -> None:
    with pytest.raises(KernelSyntaxError, match="there are linear, polynomial") as caught:
        parse_kernel("xyzzy")
    assert "mean" not in str(caught.value)


def test_a_text_that_is_too_long_raises() -> None:
    kernel = sum(Linear() for _ in range(1000))
    assert parse_kernel(repr(kernel)) == kernel
    with pytest.raises(KernelSyntaxError, match="at most 20,000 characters"):
        parse_kernel(" + ".join(["linear"] * 3000))


@pytest.mark.parametrize(
    "number", [np.timedelta64(3), np.timedelta64(3, "s"), np.clongdouble(3), np.complex64(3)]
)
def test_numpy_scalars_that_are_not_real_raise(number: object) -> None:
    for build in (Disjunctive, DNF, lambda weight: weight * A, lambda weight: A * weight):
        with pytest.raises(ParameterTypeError, match="number"):
            build(number)


def test_normalised_powers_do_not_overflow() -> None:
    kernel = AllSubset() ** (1 << 20)
    for pairs in (1, 9000):
        x = np.full(pairs, 10**11)
        assert (kernel.normalized().on_counts(2 * 10**11, x, x, x) == 1).all()
        assert ((2 * kernel).normalized().on_counts(2 * 10**11, x, x, x - 1) == 0).all()
    root = (AllSubset() ** (1 << 20)).normalized().on_counts(10**12, 10**11, 10**11 - 1, 10**11 - 1)
    assert root == 0


@pytest.mark.parametrize("depth", [10, 48])
def test_nested_expressions_parse(depth: int) -> None:
    kernel: Kernel = Linear()
    for level in range(depth):
        kernel = kernel * 2 + Tanimoto() if level % 2 else (kernel + Tanimoto()) ** 2
    assert parse_kernel(repr(kernel)) == kernel


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "linear" + ")" * 5000,
        "normalized(" * 900 + "linear",
        " @ ".join(["linear"] * 102),
        "linear*" * 60_000 + "linear",
    ],
)
def test_nesting_too_deep_raises(text: str) -> None:
    with pytest.raises(KernelSyntaxError):
        parse_kernel(text)


@pytest.mark.parametrize("weight", [0, -1, -0.5, float("nan"), float("inf"), 0.0])
def test_a_weight_must_be_positive_and_finite(weight: float) -> None:
    with pytest.raises(ParameterError, match="weight"):
        weight * A


@pytest.mark.parametrize("weight", [True, "2", 1j])
def test_a_weight_must_be_a_number(weight: object) -> None:
    with pytest.raises(TypeError):
        A * weight


@pytest.mark.parametrize("power", [0, -1, 2.5, float("nan")])
def test_a_power_must_be_a_positive_whole_number(power: float) -> None:
    with pytest.raises(ParameterError, match="exponent"):
        A**power


@pytest.mark.parametrize("other", ["linear", None, [1], object()])
def test_kernels_combine_with_kernels_only(other: object) -> None:
    for combine in ("__add__", "__matmul__"):
        assert getattr(A, combine)(other) is NotImplemented
    with pytest.raises(TypeError):
        A + other
    with pytest.raises(TypeError):
        A @ other
    with pytest.raises(TypeError):
        2 + A


@pytest.mark.parametrize(
    "inner", [Tanimoto(), MonotoneDNF(0.5), DNF(2), 0.5 * Linear(), Linear().normalized()], ids=repr
)
def test_features_that_are_not_0_or_1_cannot_be_variables(inner: Kernel) -> None:
    with pytest.raises(ParameterTypeError, match="features are not 0 or 1"):
        (Disjunctive(2) @ inner).on_counts(5, 2, 2, 1)


def test_kernels_are_values() -> None:
    assert Disjunctive(3) == Disjunctive(3.0) == Disjunctive(np.int32(3))
    assert len({Disjunctive(3), Disjunctive(3), Disjunctive(4), Conjunctive(3)}) == 3
    assert Disjunctive(3) != Conjunctive(3)
    with pytest.raises(AttributeError):
        Disjunctive(3).arity = 4  # type: ignore[misc]


def test_the_registry_names_fourteen_kernels_with_their_formulas() -> None:
    ours = {n: k for n, k in KERNELS.items() if k.__module__.startswith("boolrank.kernels.")}
    assert len(ours) == 14
    for name, kernel in ours.items():
        assert kernel.name == name
        assert kernel.formula
        for field in dataclasses.fields(kernel):
            assert field.metadata.get("range"), f"{name}.{field.name} does not say its range"
