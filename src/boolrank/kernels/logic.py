"""Propositional kernels: NOT, AND, OR and XOR of kernels, and formulas of letters.

After Polato and Aiolli, Propositional kernels, Entropy 23, 2021. A kernel with features of 0 and 1
counts propositions that are true of both vectors. A connective of two kernels has the n_A·n_B pairs
of their propositions as features; NOT has their negations. Values are computed from `cells`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import accumulate, chain
from operator import and_, mul, or_, xor
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..checks import wrong_type
from ..errors import BoolrankError, KernelSyntaxError, ParameterError, ParameterTypeError
from .algebra import KERNEL, Joined, Product
from .base import Kernel
from .counts import Counts, NoCells
from .masses import Masses
from .similarities import Linear  # noqa: F401 - for the examples
from .wide import Wide

T = TypeVar("T")

# With this many letters there are a million pairs of truth values.
_MOST_LETTERS = 10
# Characters of an expression in text.
_MOST_CHARACTERS = 20_000


class _Propositional(Kernel, shared=True):
    """A kernel whose features are propositions about those of its parts; it has `cells`."""

    def value(self, k: Any) -> Any:
        """Count the propositions that are true of both, in the numbers of ``k``."""
        return self.cells(k).common

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        return np.asarray(self.cells(k).common)

    def mass_value(self, k: Masses) -> Any:
        """Compute the share of sequences of draws; parts are linear ones and formulas."""
        try:
            return self.cells(k).common
        except NoCells:
            return super().mass_value(k)  # raises

    def features(self, n: Wide) -> Wide:
        return reduce(mul, (part.features(n) for part in self.operands))


@dataclass(frozen=True, repr=False)
class Not(_Propositional, in_text=False):
    """``~a``: the negated features.

    >>> (~Linear()).on_counts(n=9, x=4, z=3, c=2)  # variables active in neither vector
    array(4.)
    """

    name = "not"
    binding = 3
    kernel: Kernel = field(metadata=KERNEL)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_propositions("~", (self.kernel,))

    def cells(self, k: Any) -> Counts:
        return self.kernel.cells(k).negation()

    def __repr__(self) -> str:
        return f"~{self.kernel.in_brackets(3)}"


class _Connective(Joined, _Propositional):
    """A connective of two kernels or more."""

    combine: ClassVar[Callable[[Counts, Counts], Counts]]

    def __post_init__(self) -> None:
        given = self.parts
        super().__post_init__()
        check_propositions(self.sign.strip(), given)

    def cells(self, k: Any) -> Counts:
        return reduce(type(self).combine, (part.cells(k) for part in self.parts))


@dataclass(frozen=True, repr=False)
class Or(_Connective, in_text=False):
    """``a | b``: pairs of features, one of each kernel, at least one of them true.

    >>> (Linear() | Linear()).on_counts(n=3, x=1, z=1, c=0)
    array(2.)
    """

    name, sign, binding = "or", " | ", -2
    combine = Counts.disjunction


@dataclass(frozen=True, repr=False)
class Xor(_Connective, in_text=False):
    """``a ^ b``: pairs of features, one of each kernel, exactly one of them true.

    >>> (Linear() ^ Linear()).on_counts(n=3, x=1, z=1, c=[0, 1])
    array([2., 4.])
    """

    name, sign, binding = "xor", " ^ ", -1
    combine = Counts.exclusive


def implies(a: Any, b: Any) -> Any:
    """Return ``~a | b``: pairs of features where the first implies the second.

    >>> implies(Linear(), Linear() * Linear())
    ~linear | linear*linear
    """
    return ~a | b


def equivalent(a: Any, b: Any) -> Any:
    """Return ``~(a ^ b)``: pairs of features that are both true or both false.

    >>> equivalent(Linear(), Linear())
    ~(linear ^ linear)
    """
    return ~(a ^ b)


def check_propositions(operator: str, kernels: Iterable[Kernel]) -> None:
    """Raise unless the features of kernels are 0 or 1, over users."""
    # A propositional kernel has been checked, which keeps long chains of operators linear.
    one, new = Wide.of(1.0), (each for each in kernels if not isinstance(each, _Propositional))
    for kernel in chain(*(each.parts if isinstance(each, Product) else (each,) for each in new)):
        if kernel.variables != ("",):
            raise ParameterError(
                f"{kernel} is bound to tags, and {operator} takes kernels that are not",
                hint="bind the whole: (~linear)[genres]",
                parameter="kernel",
            )
        try:
            kernel.features(one)
        except ParameterTypeError:
            raise ParameterTypeError(
                f"{operator} cannot take {kernel}: its features are not 0 or 1",
                hint="use kernels such as linear, conjunctive, disjunctive and threshold, without "
                "weights; normalise the result: (~k).normalized()",
                parameter="kernel",
            ) from None


# Connectives in text, of kernels and of truth values.
WORDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "xor": xor,
    "implies": implies,
    "equivalent": equivalent,
}
SIGNS: Mapping[type, Callable[[Any, Any], Any]] = {
    **dict.fromkeys((ast.BitAnd, ast.And), and_),
    **dict.fromkeys((ast.BitOr, ast.Or), or_),
    ast.BitXor: xor,
}


def connect(node: ast.expr, read: Callable[[ast.expr], Any]) -> Any:
    """Combine what ``read`` returns for the operands of a connective; None for other nodes."""
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return ~read(operand)
        case ast.BoolOp(op=op, values=values):
            return reduce(SIGNS[type(op)], map(read, values))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
            return SIGNS[type(op)](read(left), read(right))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in WORDS:
            return WORDS[name](read(left), read(right))
    return None


def read_expression(text: str, read: Callable[[ast.expr], T], what: str, example: str) -> T:
    """Parse text by Python's grammar, and return what ``read`` makes of the tree."""
    try:
        # Python would drop a comment, and end at a line break.
        line = " ".join(text.split()) if len(text) <= _MOST_CHARACTERS else ""
        return read(ast.parse(line.replace("#", "?"), mode="eval").body)
    except (MemoryError, RecursionError, SyntaxError, ValueError, OverflowError) as error:
        if isinstance(error, BoolrankError):
            raise
        hint = f"write one such as {example!r}, of at most {_MOST_CHARACTERS:,} characters"
        raise KernelSyntaxError(f"{text[:200]!r} is not {what}", hint=hint) from None


def _check_formula(owner: str, name: str, value: Any) -> str:
    """Return a formula in a standard notation."""
    if not isinstance(value, str):
        raise wrong_type(owner, name, value, "text such as 'a and not b'")
    text = read_expression(value, ast.unparse, "a formula", "a and (b or not c)")
    read_expression(text, lambda _: _truth(text), "a formula", "a and (b or not c)")
    return text


@lru_cache(maxsize=64)
def _truth(formula: str) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Return the letters of a formula, and its truth for each set of true letters."""
    tree = ast.parse(formula, mode="eval").body
    nodes = list(ast.walk(tree))
    called = {each.func for each in nodes if isinstance(each, ast.Call)}
    names = {each.id for each in nodes if isinstance(each, ast.Name) and each not in called}
    letters = tuple(sorted(names))
    if len(letters) > _MOST_LETTERS:
        raise KernelSyntaxError(
            f"a formula has at most {_MOST_LETTERS} letters, not {len(letters)}",
            hint="combine kernels by ~ & | ^ if no letter is repeated",
        )
    worlds = np.arange(1 << len(letters))
    tables = {letter: worlds >> i & 1 == 1 for i, letter in enumerate(letters)}

    def read(node: ast.expr) -> NDArray[np.bool_]:
        found = tables[node.id] if isinstance(node, ast.Name) else connect(node, read)
        if found is None:
            raise KernelSyntaxError(
                f"cannot read {ast.unparse(node)[:200]!r} in a formula",
                hint="use letters, and, or, not, xor(a, b), implies(a, b), equivalent(a, b)",
            )
        return np.asarray(found)

    return letters, read(tree)


@lru_cache(maxsize=256)
def _coefficients(formula: str, of_x: bool, of_z: bool) -> NDArray[np.float64]:
    """Count pairs of worlds, of x and of z, in which the formula has these truth values.

    They are counted by the numbers of letters that are true in both, in x alone and in z alone.
    """
    letters, truth = _truth(formula)
    x, z = (np.flatnonzero(truth == side) for side in (of_x, of_z))
    both, either = np.bitwise_count(x[:, None] & z), np.bitwise_count(x[:, None] | z)
    size = len(letters) + 1
    only_x = np.bitwise_count(x)[:, None] - both
    at = np.ravel_multi_index((both, only_x, either - both - only_x), (size,) * 3)
    return np.bincount(at.ravel(), minlength=size**3).reshape((size,) * 3).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Formula(_Propositional):
    """Choices of a variable for each letter that make the formula true: n^letters features.

    Letters choose independently, and may choose the same variable. A letter that occurs again is
    the same variable again.

    >>> Formula("a and not b").on_counts(n=5, x=2, z=2, c=1)
    array(2.)
    """

    name = "formula"
    formula = "#{a, b, … ∈ variables : formula(x) and formula(z)}"
    text: str = field(metadata={"range": "such as 'a and not b'", "check": _check_formula})

    def value(self, k: Any) -> Any:
        """Compute the formula on counts in any numbers, or on masses."""
        return self._count(k.variables, True, True)

    cell_value = mass_value = value

    def features(self, n: Wide) -> Wide:
        return reduce(mul, [n] * len(_truth(self.text)[0]))

    def cells(self, k: Any) -> Counts:
        of = k.variables
        n = of.n ** len(_truth(self.text)[0])
        sides = (True, True), (True, False), (False, True), (False, False)
        return Counts(n, *(self._count(of, *side) for side in sides), lifted=True)

    def _count(self, of: Counts, of_x: bool, of_z: bool) -> Any:
        """Sum over the numbers of letters in each cell: a polynomial with positive terms."""
        table = _coefficients(self.text, of_x, of_z)
        most = len(table) - 1
        both, only_x, only_z, neither = (  # 1, base, base², ...
            [1.0, *accumulate([base] * most, mul)]
            for base in (of.common, of.only_x, of.only_z, of.neither)
        )
        total = of.common * 0.0
        there = table + table.transpose(0, 2, 1)
        for a, b, c in np.argwhere(there * np.tri(most + 1).T).tolist():
            # Both orders of the vectors add the same numbers.
            term = only_x[b] * only_z[c] * float(table[a, b, c])
            if b != c:
                term = term + only_x[c] * only_z[b] * float(table[a, c, b])
            total = total + term * (both[a] * neither[most - a - b - c])
        return total


def kernel_of(formula: str) -> Formula:
    """Return the kernel whose features are a propositional formula, over all choices of variables.

    Letters are combined by ``and or not``, or by ``& | ~ ^``, ``xor(a, b)``, ``implies(a, b)`` and
    ``equivalent(a, b)``. A letter stands for a variable, or, in ``kernel_of(formula) @ inner``, for
    a feature of the inner kernel.

    >>> kernel_of("(a and b) or not c").on_counts(n=9, x=4, z=4, c=3)
    array(383.)
    >>> (kernel_of("a and not b") @ Linear()).on_counts(n=5, x=2, z=2, c=1)
    array(2.)
    """
    return Formula(formula)
