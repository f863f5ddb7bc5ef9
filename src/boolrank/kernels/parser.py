"""Kernels from text: the inverse of their ``repr``.

The grammar is Python's for ``+ * ** @ [] ~ & | ^ not and or``, numbers and calls. Text is
parsed, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import add, matmul, mul
from typing import Any

from ..checks import near_name, wrong_type
from ..errors import BoolrankError, KernelSyntaxError, ParameterError
from .algebra import Normalized
from .base import KERNELS, Kernel
from .logic import SIGNS, WORDS, connect

_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: add,
    ast.Mult: mul,
    ast.Pow: pow,
    ast.MatMult: matmul,
    **SIGNS,
}
_FUNCTIONS = (Normalized.name, *WORDS)
# Bounds of a text, and of the kernel that it describes.
_MOST_CHARACTERS, _MOST_KERNELS, _MOST_LEVELS = 50_000, 1_000, 100
# Characters of a text that an error shows.
_SHOWN = 200


def parse_kernel(text: str | Kernel) -> Kernel:
    """Return the kernel that an expression describes.

    Parameters
    ----------
    text : such as ``"disjunctive(8)"`` or ``"0.5*linear + normalized(conjunctive(2))"``; a kernel
        is returned unchanged

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
        raise wrong_type("", "kernel", text, "a Kernel, or text such as 'disjunctive(8)'")
    if len(text) > _MOST_CHARACTERS:
        raise KernelSyntaxError(f"a kernel expression has at most {_MOST_CHARACTERS:,} characters")
    if "#" in text:
        raise KernelSyntaxError(
            "a kernel expression has no comments", hint="leave out '#' and the rest"
        )
    line = " ".join(text.split())  # Python's grammar would end at a line break
    try:
        kernel = _Reader(line).kernel(ast.parse(line, mode="eval").body)
    except (MemoryError, RecursionError):
        raise _too_large(text) from None
    except (SyntaxError, ValueError, OverflowError) as error:
        if isinstance(error, BoolrankError):
            raise
        raise KernelSyntaxError(
            f"{_short(text)!r} is not a kernel expression",
            hint="write one such as 'disjunctive(8)' or '0.5*linear + tanimoto'",
        ) from None
    if _levels(kernel) > _MOST_LEVELS:
        raise _too_large(text)
    return kernel


def _levels(kernel: Kernel) -> int:
    """Return the depth of the expression tree."""
    level, depth = [kernel], 0
    while level:
        level, depth = [inner for each in level for inner in each.operands], depth + 1
    return depth


def _too_large(text: str) -> KernelSyntaxError:
    return KernelSyntaxError(
        f"{_short(text)!r} has too many terms or levels",
        hint=f"use at most {_MOST_KERNELS:,} kernels and {_MOST_LEVELS} levels, or build the "
        "kernel in Python, with sum([...])",
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


class _Reader:
    """Walks the syntax tree of one expression."""

    def __init__(self, text: str) -> None:
        self.text, self.count = text, 0

    def kernel(self, node: ast.expr) -> Kernel:
        value = self.term(node)
        if not isinstance(value, Kernel):
            raise self.error(node, "a kernel was expected here")
        return value

    def term(self, node: ast.expr) -> Any:
        """Read a kernel, or a number that may be its weight or power.

        The tree of a sum is as deep as the sum is long, so its left side is walked in a loop.
        """
        chain: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            chain.append(node)
            node = node.left
        if len(chain) >= _MOST_KERNELS:
            raise _too_large(self.text)
        value = self.leaf(node)
        for step in reversed(chain):
            operator = _OPERATORS.get(type(step.op))
            if operator is None:
                raise self.error(step, "kernels are combined by + * ** @ & | ^ ~ only")
            if operator is not mul and not isinstance(value, Kernel):
                raise self.error(step.left, "a kernel was expected here")
            other = self.term if operator in (mul, pow) else self.kernel
            value = operator(value, other(step.right))
        return value

    def leaf(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self.named(node, name, [], [])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self.named(node, name, args, keywords)
            case ast.Call(func=ast.Attribute(attr="normalized")):
                raise self.error(node, "in text, write normalized(linear) for linear.normalized()")
            case ast.Subscript(
                value=inner,
                slice=ast.Name(id=str() as column) | ast.Constant(value=str() as column),
            ):
                return self.kernel(inner)[column]
            case ast.Subscript():
                raise self.error(node, "a column of items was expected in [], as in linear[genres]")
            case ast.Constant(value=True | False | None):
                raise self.error(node, "a kernel or a number was expected here")
        connected = connect(node, self.kernel)
        return self.argument(node) if connected is None else connected

    def argument(self, node: ast.expr) -> int | float | str | None:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Constant(value=int() | float() | str() | None as value):
                return value
        raise self.error(node, "a number was expected here")

    def named(
        self, node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Kernel:
        self.count += 1
        if self.count > _MOST_KERNELS:
            raise _too_large(self.text)
        if name in _FUNCTIONS:
            given = ["linear"] * (2 if name in WORDS else 1)
            if len(args) != len(given) or keywords:
                some = "two kernels" if name in WORDS else "a kernel"
                raise self.error(node, f"{name} takes {some}, as in {name}({', '.join(given)})")
            return WORDS.get(name, Normalized)(*map(self.kernel, args))
        if name not in KERNELS:
            raise self.unknown(name)
        kernel = KERNELS[name]
        options = {str(k.arg): self.argument(k.value) for k in keywords}
        if len(options) < len(keywords):
            raise self.error(node, "a parameter is given twice")
        values = [self.argument(a) for a in args]
        try:
            return kernel(*values, **options)
        except TypeError as error:
            if isinstance(error, BoolrankError):
                raise
            names = ", ".join(f.name for f in fields(kernel))  # type: ignore[arg-type]
            raise self.error(node, f"{name} takes ({names})") from None
        except ValueError as error:  # of a kernel that checks its parameters
            if isinstance(error, BoolrankError):
                raise
            raise ParameterError(f"{name}: {error}", parameter="kernel") from error

    def unknown(self, name: str) -> KernelSyntaxError:
        known = (*KERNELS, *_FUNCTIONS)
        return KernelSyntaxError(
            f"there is no kernel {_short(name)!r} in {_short(self.text)!r}",
            hint=near_name(name.lower(), known, extensible=True),
        )

    def error(self, node: ast.expr, why: str) -> KernelSyntaxError:
        part = ast.get_source_segment(self.text, node) or self.text
        return KernelSyntaxError(
            f"cannot read {_short(part)!r} in the kernel {_short(self.text)!r}: {why}"
        )
