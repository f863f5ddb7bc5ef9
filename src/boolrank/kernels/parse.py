"""Kernels from text: the inverse of their ``repr``.

The grammar is Python's own for ``+ * ** @``, numbers and calls, read as a tree and never run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ..errors import BoolrankError, KernelSyntaxError
from .algebra import Normalized
from .base import Kernel
from .clauses import Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive
from .normal_forms import DNF, ComposedCNF, ComposedDNF, MonotoneDNF
from .simple import AllSubset, Linear, Polynomial, Tanimoto
from .threshold import Threshold

KERNELS: Mapping[str, type[Kernel]] = {
    kernel.name: kernel
    for kernel in (
        Linear,
        Polynomial,
        AllSubset,
        Tanimoto,
        Conjunctive,
        Disjunctive,
        Threshold,
        LiteralConjunctive,
        LiteralDisjunctive,
        MonotoneDNF,
        DNF,
        ComposedDNF,
        ComposedCNF,
    )
}

_LONGEST = 10_000


def parse_kernel(text: str, kernels: Mapping[str, type[Kernel]] = KERNELS) -> Kernel:
    """The kernel that an expression names.

    Parameters
    ----------
    text : such as ``"disjunctive(8)"`` or ``"0.5*linear + normalized(conjunctive(2))"``
    kernels : the kernels that may be named, by their names

    >>> parse_kernel("0.5*linear + disjunctive(8)")
    0.5*linear + disjunctive(8)
    >>> parse_kernel("disjuntive(8)")
    Traceback (most recent call last):
        ...
    boolrank.errors.KernelSyntaxError: there is no kernel 'disjuntive' ... 'disjunctive'?
    """
    if isinstance(text, Kernel):
        return text
    if not isinstance(text, str):
        raise KernelSyntaxError(f"a kernel expression is text, not {type(text).__name__}")
    if len(text) > _LONGEST:
        raise KernelSyntaxError(f"a kernel expression has at most {_LONGEST} characters")
    try:
        return _Reader(text, kernels).kernel(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, BoolrankError):
            raise
        raise KernelSyntaxError(
            f"{text!r} is not a kernel expression; one looks like 'disjunctive(8)' or "
            "'0.5*linear + tanimoto'"
        ) from None


class _Reader:
    """Walks the syntax tree of one expression."""

    def __init__(self, text: str, kernels: Mapping[str, type[Kernel]]) -> None:
        self.text, self.kernels = text, kernels

    def kernel(self, node: ast.expr) -> Kernel:
        value = self.term(node)
        if not isinstance(value, Kernel):
            raise self.error(node, "a kernel was expected here")
        return value

    def term(self, node: ast.expr) -> Any:  # noqa: PLR0911 - one return for each rule of the grammar
        """A kernel, or a number that may weigh one or be a power of one."""
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.kernel(left) + self.kernel(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                a, b = self.term(left), self.term(right)
                if isinstance(a, Kernel) or isinstance(b, Kernel):
                    return a * b
                raise self.error(node, "a weight belongs to a kernel, as in 0.5*linear")
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.kernel(left) ** self.number(right)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.kernel(left) @ self.kernel(right)
            case ast.Name(id=name):
                return self.named(node, name, [], {})
            case ast.Call(func=ast.Name(id="normalized"), args=[inner], keywords=[]):
                return Normalized(self.kernel(inner))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                options = {str(k.arg): self.argument(k.value) for k in keywords}
                return self.named(node, name, [self.argument(a) for a in args], options)
            case _:
                return self.number(node)

    def number(self, node: ast.expr) -> int | float:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return value
        raise self.error(node, "a number was expected here")

    def argument(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=True | False | None as value):
                return value
        return self.number(node)

    def named(self, node: ast.expr, name: str, args: list[Any], options: dict[str, Any]) -> Kernel:
        if name not in self.kernels:
            close = get_close_matches(name.lower(), self.kernels, n=1, cutoff=0.0)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise KernelSyntaxError(f"there is no kernel {name!r} in {self.text!r}{hint}")
        try:
            return self.kernels[name](*args, **options)
        except TypeError as error:
            if isinstance(error, BoolrankError):
                raise
            known = ", ".join(f.name for f in fields(self.kernels[name]))  # type: ignore[arg-type]
            raise self.error(node, f"{name} takes ({known})") from None

    def error(self, node: ast.expr, why: str) -> KernelSyntaxError:
        part = ast.get_source_segment(self.text.strip(), node) or self.text
        return KernelSyntaxError(f"cannot read {part!r} in the kernel {self.text!r}: {why}")
