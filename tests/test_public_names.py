"""Every public name has a docstring, types, and an example that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

import boolrank
from boolrank import data, evaluation, kernels, models, studies

PUBLIC = {
    name: getattr(package, name)
    for package in (boolrank, data, evaluation, kernels, models, studies)
    for name in package.__all__
}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
# Names that most users meet; the documentation has examples of the others.
SHOWN = {
    name: value
    for name, value in (CLASSES | FUNCTIONS).items()
    if name in {*boolrank.__all__, *evaluation.__all__, *kernels.__all__}
    and not (inspect.isclass(value) and issubclass(value, Exception))
}


def _methods(of: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class itself defines, as functions."""
    for name, member in vars(of).items():
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__  # noqa: PLW2901
        if isinstance(member, property):
            member = member.fget  # noqa: PLW2901
        if isinstance(member, cached_property):
            member = member.func  # noqa: PLW2901
        if inspect.isfunction(member) and not name.startswith("_"):
            yield name, member


@pytest.mark.parametrize("name", CLASSES | FUNCTIONS)
def test_every_public_class_function_and_method_has_a_docstring(name: str) -> None:
    value = PUBLIC[name]
    said = value.__doc__ or ""
    assert said, f"{name} has no docstring"
    assert not said.startswith(f"{name}("), f"{name} has only the docstring of dataclass"
    for method, _ in _methods(value) if inspect.isclass(value) else ():
        # getdoc: a method that overrides another may inherit its docstring.
        assert inspect.getdoc(getattr(value, method)), f"{name}.{method} has no docstring"


@pytest.mark.parametrize("name", SHOWN)
def test_every_public_class_and_function_has_an_example_that_runs(name: str) -> None:
    """Pytest runs the examples (--doctest-modules); this test checks that there is one."""
    value = SHOWN[name]
    texts = [value.__doc__ or ""]
    if inspect.isclass(value):
        texts += [method.__doc__ or "" for _, method in _methods(value)]
    assert any(">>> " in text for text in texts), f"{name} has no example"
    assert not any("doctest: +SKIP" in text for text in texts), f"an example of {name} does not run"


@pytest.mark.parametrize("name", FUNCTIONS | CLASSES)
def test_every_public_signature_has_types(name: str) -> None:
    value = PUBLIC[name]
    for label, function in _methods(value) if inspect.isclass(value) else [(name, value)]:
        signature = inspect.signature(function)
        assert signature.return_annotation is not signature.empty, f"{name}.{label}"
        untyped = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is parameter.empty and parameter.name not in {"self", "cls"}
        ]
        assert not untyped, f"{name}.{label} has no types for {untyped}"
