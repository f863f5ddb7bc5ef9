"""Propositional kernels equal enumeration, and obey the laws of logic where these hold."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice, permutations, product
from operator import and_, or_, xor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolrank import Conjunctive, Disjunctive, Interactions, KernelRanker, Linear, Tanimoto
from boolrank.errors import InputError, KernelSyntaxError, ParameterError, ParameterTypeError
from boolrank.kernels import (
    DNF,
    Formula,
    Not,
    Or,
    Polynomial,
    Xor,
    equivalent,
    implies,
    kernel_of,
    parse_kernel,
)
from effort import THOROUGH, tries
from oracles import letters_of, relative_error
from strategies import counts, plain

UNARY: dict[str, Callable[[Any], Any]] = {"(not {})": lambda a: ~a}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "({} and {})": and_,
    "({} or {})": or_,
    "({} ^ {})": xor,
    "implies({}, {})": implies,
    "equivalent({}, {})": equivalent,
}
# All counts of pairs over up to six variables.
PAIRS = np.array(
    [
        (n, x, z, c)
        for n in range(1, 7)
        for x, z in product(range(n + 1), repeat=2)
        for c in range(max(x + z - n, 0), min(x, z) + 1)
    ]
).T


def trees(connectives: int) -> Iterator[tuple[str, Any]]:
    """Yield every formula with so many connectives: its text with a * per letter, and its kernel.

    >>> len(list(trees(3)))
    906
    """
    if connectives == 0:
        yield "*", Linear()
        return
    for text, kernel in trees(connectives - 1):
        for form, of in UNARY.items():
            yield form.format(text), of(kernel)
    for left in range(connectives):
        for first, second in product(trees(left), trees(connectives - 1 - left)):
            for form, join in BINARY.items():
                yield form.format(first[0], second[0]), join(first[1], second[1])


def some_trees(connectives: int) -> Iterator[tuple[str, Any]]:
    """Yield every formula, or every fourth of the longest unless there is time for all."""
    step = 1 if THOROUGH or connectives < 3 else 4  # all 906 take twelve seconds
    return islice(trees(connectives), 0, None, step)


def lettered(text: str, letters: str) -> str:
    for letter in letters:
        text = text.replace("*", letter, 1)
    return text


@lru_cache(maxsize=2048)
def truth_of(text: str) -> tuple[bool, ...]:
    """Try all truth values of the letters, in Python."""
    values = np.array(list(product((False, True), repeat=len(letters_of(text)))))
    worlds = dict(zip(letters_of(text), values.T, strict=True))
    text = text.replace("not ", "~").replace("and", "&").replace("or", "|")
    words = {"implies": lambda a, b: ~a | b, "equivalent": lambda a, b: a == b}
    return tuple(np.broadcast_to(eval(text, words, worlds), len(values)).tolist())  # noqa: S307


@lru_cache(maxsize=2048)
def enumerated(truth: tuple[bool, ...]) -> np.ndarray:
    """Count the choices of variables for which a formula is true of both vectors of each pair."""
    letters = len(truth).bit_length() - 1
    table, values = np.array(truth), []
    for n, x, z, c in PAIRS.T.tolist():
        vectors = np.zeros((2, n), np.int64)
        vectors[0, :x] = vectors[1, x - c : x - c + z] = 1
        world = np.zeros((2, 1), np.int64)
        for _ in range(letters):
            world = (2 * world[:, :, None] + vectors[:, None, :]).reshape(2, -1)
        values.append(np.logical_and(*table[world]).sum())
    return np.array(values, dtype=float)


@pytest.mark.parametrize("connectives", range(4))
def test_every_formula_equals_enumeration(connectives: int) -> None:
    for text, kernel in some_trees(connectives):
        formula = lettered(text, "abcd")
        wanted = enumerated(truth_of(formula))
        assert (kernel.on_counts(*PAIRS) == wanted).all(), kernel
        assert parse_kernel(repr(kernel)) == kernel
        assert parse_kernel(repr(kernel_of(formula))) == kernel_of(formula)


@pytest.mark.parametrize("connectives", range(4))
def test_letters_that_occur_again_are_the_same_variable(connectives: int) -> None:
    seen = set[tuple[bool, ...]]()
    for text, _ in some_trees(connectives):
        for letters in product("abcd", repeat=text.count("*")):
            if any(letter > "a" and chr(ord(letter) - 1) not in letters for letter in letters):
                continue  # the same formula with other letters
            formula = lettered(text, "".join(letters))
            truth = truth_of(formula)
            if truth not in seen:
                axes = range(len(truth).bit_length() - 1)
                cube = np.reshape(truth, (2,) * len(axes))
                seen |= {tuple(cube.transpose(way).ravel()) for way in permutations(axes)}
                assert (kernel_of(formula).on_counts(*PAIRS) == enumerated(truth)).all(), formula


A, B, C = Conjunctive(2), Disjunctive(3), ~Linear()
HOLD = {
    "double negation": (~~A, A),
    "de Morgan, and": (~(A & B), ~A | ~B),
    "de Morgan, or": (~(A | B), ~A & ~B),
    "commutative": (A ^ B, B ^ A),
    "associative": ((A | B) | C, A | (B | C)),
    "implication": (implies(A, B), ~(A & ~B)),
    "equivalence": (equivalent(A, B), ~A ^ B),
    "negated operands": (~A ^ ~B, A ^ B),
    "the letters of a formula": (kernel_of("(a and b) or not c"), Linear() ** 2 | ~Linear()),
    "composition": (~A @ B, ~(A @ B)),
}
# The operands of a connective choose their features independently, so A twice is not one feature.
DO_NOT_HOLD = {
    "xor by and, or, not": (A ^ B, (A | B) & ~(A & B), "a ^ b", "(a | b) & ~(a & b)"),
    "idempotence": (A & A, A, "a and a", "a"),
    "distributivity": (A & (B | C), (A & B) | (A & C), "a & (b | c)", "(a & b) | (a & c)"),
}


@pytest.mark.parametrize("law", HOLD)
def test_laws_hold_that_name_each_operand_once(law: str) -> None:
    left, right = HOLD[law]
    pairs = PAIRS[:, PAIRS[0] >= 4]
    assert (left.on_counts(*pairs) == right.on_counts(*pairs)).all()


@pytest.mark.parametrize("law", DO_NOT_HOLD)
def test_laws_that_name_an_operand_twice_hold_for_letters_only(law: str) -> None:
    *kernels, left, right = DO_NOT_HOLD[law]
    pairs = PAIRS[:, PAIRS[0] >= 3]
    first, second = (kernel.normalized().on_counts(*pairs) for kernel in kernels)
    assert not np.allclose(first, second)
    assert (kernel_of(left).on_counts(*pairs) == kernel_of(right).on_counts(*pairs)).all()


def test_operands_are_checked_once_however_long_the_chain(monkeypatch) -> None:
    """Else a chain of 1,000 takes half a minute."""
    calls, check = [], Linear.features
    monkeypatch.setattr(Linear, "features", lambda own, n: calls.append(n) or check(own, n))
    assert len(parse_kernel(" | ".join(["linear"] * 100)).parts) == 100
    assert len(calls) <= 200


def test_nodes_flatten_and_can_be_built_by_hand() -> None:
    assert Or((A, Or((B, C)))) == A | B | C
    assert Xor([A, B]) == A ^ B
    assert Not(A) == ~A
    assert A & B == A * B


@pytest.mark.parametrize(
    "kernel", [Tanimoto(), Polynomial(2), DNF(0.5), A.normalized(), 0.5 * A, A + B], ids=repr
)
def test_kernels_without_features_of_0_and_1_are_refused(kernel: Any) -> None:
    for build in (lambda: ~kernel, lambda: A & kernel, lambda: kernel | A, lambda: A ^ kernel):
        with pytest.raises(ParameterTypeError, match="its features are not 0 or 1; use kernels"):
            build()


def test_tags_are_bound_outside() -> None:
    with pytest.raises(ParameterError, match=r"bind the whole: \(~linear\)\[genres\]"):
        ~Linear()["genres"]
    assert parse_kernel("linear + (~linear)[genres]").variables == ("", "genres")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a + b",
        "1",
        "True",
        "f(a)",
        "xor(a)",
        "a.b",
        "a and",
        "a # b",
        "(" * 300,
        "~" * 9999,
    ],
)
def test_text_that_is_not_a_formula_raises(text: str) -> None:
    with pytest.raises(KernelSyntaxError, match="formula"):
        kernel_of(text)


def test_formulas_have_a_bounded_number_of_letters() -> None:
    assert kernel_of(" | ".join("abcdefghij")).on_counts(9, 9, 9, 9) == 9**10
    with pytest.raises(KernelSyntaxError, match="at most 10 letters"):
        kernel_of(" | ".join("abcdefghijk"))


@settings(max_examples=tries(20))
@given(a=plain(5), b=plain(5), pair=counts(min_n=5, max_n=10**6))
def test_values_and_cosines_lose_no_digits(a: Any, b: Any, pair: tuple[int, int, int, int]) -> None:
    for kernel in (~a, a | b, a ^ b, ~a & b, Disjunctive(2) @ (~a | b)):
        value = float(kernel.normalized().on_counts(*pair))
        assert relative_error(value, kernel, *pair) < 1e-14


def test_long_disjunctions_lose_no_digits() -> None:
    """Nearly all disjunctions hold, and XOR sees the others: differences would cancel."""
    pair = (10**4, 7000, 6900, 5000)
    for kernel in (~Disjunctive(500), Disjunctive(500) ^ Disjunctive(400), ~(B ^ Disjunctive(999))):
        value = float(kernel.normalized().on_counts(*pair))
        assert relative_error(value, kernel, *pair) < 1e-14


def test_formulas_have_a_meaning_on_masses() -> None:
    given = {"total": 100, "x": 30, "z": 40, "c": 10, "users": 7}
    assert kernel_of("a and not b").on_masses(**given) == pytest.approx(0.1 * 0.4, rel=1e-15)
    assert (~Linear() | Linear()).on_masses(**given) == kernel_of("not a or b").on_masses(**given)
    with pytest.raises(InputError, match="no meaning for weighted users"):
        (~A).on_masses(**given)


@pytest.mark.parametrize("text", ["linear ^ linear", "formula('a and not b') + 0.5*linear"])
def test_both_storages_rank_alike(text: str) -> None:
    rng = np.random.default_rng(0)
    rows, columns = (rng.integers(0, size, 900) for size in (60, 200))
    data = Interactions.from_pairs(rows, columns)
    dense, compressed = (
        KernelRanker(text, storage=storage).fit(data).recommend(n=5).lists()
        for storage in ("dense", "compressed")
    )
    assert dense == compressed


@given(st.text(alphabet="ab&|~^() ", max_size=12))
def test_any_text_gives_a_formula_or_our_own_error(text: str) -> None:
    with contextlib.suppress(KernelSyntaxError):
        assert isinstance(kernel_of(text), Formula)
