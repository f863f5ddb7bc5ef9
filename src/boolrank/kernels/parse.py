"""Kernels from text: the inverse of their ``repr``.

The grammar is Python's own for ``+ * ** @``, numbers and calls, read as a tree and never run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ..errors import BoolrankError, KernelSyntaxError, ParameterTypeError
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

_NORMALIZED = "normalized"
# Characters of a text that are read, and that an error shows.
_LONGEST, _SHOWN = 50_000, 200


def parse_kernel(text: str | Kernel, kernels: Mapping[str, type[Kernel]] = KERNELS) -> Kernel:
    """The kernel that an expression names.

    Parameters
    ----------
    text : such as ``"disjunctive(8)"`` or ``"0.5*linear + normalized(conjunctive(2))"``; a kernel
        is given back as it is
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
        raise ParameterTypeError(
            "a kernel, or text such as 'disjunctive(8)', was expected, not "
            f"{text!r} of type {type(text).__name__}"
        )
    if len(text) > _LONGEST:
        raise KernelSyntaxError(f"a kernel expression has at most {_LONGEST} characters")
    if "#" in text:
        raise KernelSyntaxError("a kernel expression has no comments; leave out '#' and the rest")
    line = " ".join(text.split())  # where a line ends, Python's grammar would
    try:
        return _Reader(line, kernels).kernel(ast.parse(line, mode="eval").body)
    except (MemoryError, RecursionError):
        raise KernelSyntaxError(
            f"{_short(text)!r} has too many terms or brackets to be read as text, of which a "
            "thousand terms or ninety levels of brackets are no trouble; build such a kernel in "
            "Python, with sum([...])"
        ) from None
    except (SyntaxError, ValueError, OverflowError) as error:
        if isinstance(error, BoolrankError):
            raise
        raise KernelSyntaxError(
            f"{_short(text)!r} is not a kernel expression; one looks like 'disjunctive(8)' or "
            "'0.5*linear + tanimoto'"
        ) from None


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class _Reader:
    """Walks the syntax tree of one expression."""

    def __init__(self, text: str, kernels: Mapping[str, type[Kernel]]) -> None:
        self.text, self.kernels = text, kernels

    def kernel(self, node: ast.expr) -> Kernel:
        return self.as_kernel(node, self.term(node))

    def as_kernel(self, node: ast.expr, value: Any) -> Kernel:
        if not isinstance(value, Kernel):
            raise self.error(node, "a kernel was expected here")
        return value

    def term(self, node: ast.expr) -> Any:
        """A kernel, or a number that may weigh one or be a power of one.

        A sum of hundreds of terms is a tree as deep as it is long, so its left side is gone down
        in a loop.
        """
        chain: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            chain.append(node)
            node = node.left
        value = self.leaf(node)
        for step in reversed(chain):
            value = self.combined(step, value)
        return value

    def combined(self, node: ast.BinOp, left: Any) -> Any:
        match node.op:
            case ast.Add():
                return self.as_kernel(node.left, left) + self.kernel(node.right)
            case ast.Mult():
                return left * self.term(node.right)
            case ast.Pow():
                return self.as_kernel(node.left, left) ** self.number(node.right)
            case ast.MatMult():
                return self.as_kernel(node.left, left) @ self.kernel(node.right)
        raise self.error(node, "kernels are combined by + * ** @ only")

    def leaf(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self.named(node, name, [], [])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self.named(node, name, args, keywords)
            case ast.Call(func=ast.Attribute(attr="normalized")):
                raise self.error(node, "in text, write normalized(linear) for linear.normalized()")
        return self.number(node, "a kernel or a number")

    def number(self, node: ast.expr, wanted: str = "a number") -> int | float:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return value
        raise self.error(node, f"{wanted} was expected here")

    def argument(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=True | False | None as value):
                return value
        return self.number(node)

    def named(
        self, node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Kernel:
        if name == _NORMALIZED:
            if len(args) != 1 or keywords:
                raise self.error(node, "normalized takes a kernel, as in normalized(linear)")
            return Normalized(self.kernel(args[0]))
        if name not in self.kernels:
            known = (*self.kernels, _NORMALIZED)
            short = [full for full in known if len(name) > 1 and full.startswith(name.lower())]
            close = short or get_close_matches(name.lower(), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise KernelSyntaxError(
                f"there is no kernel {_short(name)!r} in {_short(self.text)!r}; {hint}"
            )
        known = tuple(f.name for f in fields(self.kernels[name]))  # type: ignore[arg-type]
        options = {str(k.arg): self.argument(k.value) for k in keywords}
        if len(options) < len(keywords):
            raise self.error(node, "a parameter is given twice")
        values = [self.argument(a) for a in args]
        try:
            return self.kernels[name](*values, **options)
        except TypeError as error:
            if isinstance(error, BoolrankError):
                raise
            raise self.error(node, f"{name} takes ({', '.join(known)})") from None

    def error(self, node: ast.expr, why: str) -> KernelSyntaxError:
        part = ast.get_source_segment(self.text, node) or self.text
        return KernelSyntaxError(
            f"cannot read {_short(part)!r} in the kernel {_short(self.text)!r}: {why}"
        )
