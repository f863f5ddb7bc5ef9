"""Kernels of propositional formulas, whose letters stand for any variables."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import wrong_type
from ..errors import KernelSyntaxError
from .counts import Counts
from .logic import Propositional
from .parser import connect, read_expression
from .wide import Wide

# With this many letters there are a million pairs of truth values.
_MOST_LETTERS = 10


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
class Formula(Propositional):
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

    >>> from boolrank import Linear
    >>> kernel_of("(a and b) or not c").on_counts(n=9, x=4, z=4, c=3)
    array(383.)
    >>> (kernel_of("a and not b") @ Linear()).on_counts(n=5, x=2, z=2, c=1)
    array(2.)
    """
    return Formula(formula)
