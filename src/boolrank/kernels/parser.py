"""Kernels from text: the inverse of their ``repr``. Formulas have the same connectives.

The grammar is Python's for ``+ * ** @ [] ~ & | ^ not and or``, numbers and calls. Text is
parsed, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import reduce
from operator import add, and_, matmul, mul, or_, xor
from typing import Any, TypeVar

from ..checks import near_name, wrong_type
from ..errors import BoolrankError, KernelSyntaxError, ParameterError
from .base import KERNELS, Kernel
from .logic import equivalent, implies

T = TypeVar("T")

# Connectives in text, of kernels and of truth values.
_WORDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "xor": xor,
    "implies": implies,
    "equivalent": equivalent,
}
_SIGNS: Mapping[type, Callable[[Any, Any], Any]] = {
    **dict.fromkeys((ast.BitAnd, ast.And), and_),
    **dict.fromkeys((ast.BitOr, ast.Or), or_),
    ast.BitXor: xor,
}
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: add,
    ast.Mult: mul,
    ast.Pow: pow,
    ast.MatMult: matmul,
    **_SIGNS,
}
_FUNCTIONS: Mapping[str, Callable[..., Kernel]] = {"normalized": Kernel.normalized, **_WORDS}
# Characters of an expression in text.
_MOST_CHARACTERS = 20_000
# Levels of an expression tree: each takes a few frames of Python's stack.
_MOST_LEVELS = 100


def parse_kernel(text: str | Kernel) -> Kernel:
    """Return the kernel that an expression describes; a kernel is returned unchanged.

    >>> parse_kernel("0.5*linear + disjunctive(8)")
    0.5*linear + disjunctive(8)
    >>> parse_kernel("disjuntive(8)")
    Traceback (most recent call last):
        ...
    boolrank.errors.KernelSyntaxError: there is no kernel 'disjuntive'; ... 'disjunctive'?
    """
    if isinstance(text, Kernel):
        return text
    if not isinstance(text, str):
        raise wrong_type("", "kernel", text, "a Kernel, or text such as 'disjunctive(8)'")
    kernel = read_expression(text, _kernel, "a kernel expression", "0.5*linear + disjunctive(8)")
    level, depth = [kernel], 0
    while level:
        level, depth = [inner for each in level for inner in each.operands], depth + 1
    if depth > _MOST_LEVELS:
        raise KernelSyntaxError(f"a kernel expression has at most {_MOST_LEVELS} levels")
    return kernel


def connect(node: ast.expr, read: Callable[[ast.expr], Any]) -> Any:
    """Combine what ``read`` returns for the operands of a connective; None for other nodes."""
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return ~read(operand)
        case ast.BoolOp(op=op, values=values):
            return reduce(_SIGNS[type(op)], map(read, values))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return _SIGNS[type(op)](read(left), read(right))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _WORDS:
            return _WORDS[name](read(left), read(right))
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


def _kernel(node: ast.expr) -> Kernel:
    value = _term(node)
    if not isinstance(value, Kernel):
        raise _error(node, "a kernel was expected here")
    return value


def _term(node: ast.expr) -> Any:
    """Read a kernel, or a number that may be its weight or power.

    The tree of a sum is as deep as the sum is long, so its left side is walked in a loop.
    """
    chain: list[ast.BinOp] = []
    while isinstance(node, ast.BinOp):
        chain.append(node)
        node = node.left
    value = _leaf(node)
    for step in reversed(chain):
        operator = _OPERATORS.get(type(step.op))
        if operator is None:
            raise _error(step, "kernels are combined by + * ** @ & | ^ ~ only")
        if operator is not mul and not isinstance(value, Kernel):
            raise _error(step.left, "a kernel was expected here")
        other = _term if operator in (mul, pow) else _kernel
        value = operator(value, other(step.right))
    return value


def _leaf(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            return _named(node, name, [], [])
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _named(node, name, args, keywords)
        case ast.Subscript(value=inner, slice=ast.Name(id=column) | ast.Constant(value=column)):
            return _kernel(inner)[column]  # type: ignore[index]  # the kernel checks its column
    connected = connect(node, _kernel)
    return _argument(node) if connected is None else connected


def _argument(node: ast.expr) -> int | float | str | None:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Constant(value=int() | float() | str() | None as value):
            return value
    raise _error(node, "a kernel, a number or quoted text was expected here")


def _named(node: ast.expr, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Kernel:
    if name in _FUNCTIONS:
        given = ["linear"] * (2 if name in _WORDS else 1)
        if len(args) != len(given) or keywords:
            raise _error(node, f"write {name}({', '.join(given)}), for example")
        return _FUNCTIONS[name](*map(_kernel, args))
    if name not in KERNELS:
        hint = near_name(name.lower(), (*KERNELS, *_FUNCTIONS), extensible=True)
        raise KernelSyntaxError(f"there is no kernel {name[:200]!r}", hint=hint)
    kernel = KERNELS[name]
    values, options = map(_argument, args), {str(k.arg): _argument(k.value) for k in keywords}
    if len(options) < len(keywords):
        raise _error(node, "a parameter is given twice")
    try:
        return kernel(*values, **options)
    except (TypeError, ValueError) as error:
        if isinstance(error, BoolrankError):
            raise
        if isinstance(error, ValueError):  # of a kernel that checks its parameters
            raise ParameterError(f"{name}: {error}", parameter="kernel") from error
        names = ", ".join(f.name for f in fields(kernel))  # type: ignore[arg-type]
        raise _error(node, f"{name} takes ({names})") from None


def _error(node: ast.expr, why: str) -> KernelSyntaxError:
    return KernelSyntaxError(f"cannot read {ast.unparse(node)[:200]!r} in a kernel: {why}")
