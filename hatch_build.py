"""What is left out of the wheel: comments, and the docstrings of what is not public.

They are for whoever reads the source, which the sdist has whole. In the wheel they would be a sixth
of its size. The code stays the same line by line, so that tracebacks name the lines of the source.
"""

from __future__ import annotations

import ast
import io
import tempfile
import tokenize
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = Path("src", "boolrank")
# What a package exports is public, but for those that are there to be run; docstrings of commands
# are what their help says.
_PUBLIC = "__init__.py"
_RUN = ("cli/", "demo/")
_COMMANDS = "cli/[!_]*.py"

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class LeaveOut(BuildHookInterface[Any]):
    """Puts lean copies of the modules into the wheel, in place of the modules."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is built; an editable one is the source itself."""
        if version == "editable":
            return
        package = Path(self.root) / _PACKAGE
        self.copies = tempfile.TemporaryDirectory()
        sources = {
            path.relative_to(package).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(package.rglob("*.py"))
        }
        public = public_names(sources)
        for name, source in sources.items():
            copy = Path(self.copies.name, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            names = set() if name.startswith(_RUN) else public
            if fnmatch(name, _COMMANDS):
                names = exported(source)
            copy.write_text(lean(source, names, kept=is_public(name)), encoding="utf-8")
            build_data["force_include"][str(copy)] = f"boolrank/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """After it was built."""
        if version != "editable":
            self.copies.cleanup()


def public_names(sources: Mapping[str, str]) -> set[str]:
    """What is public, by name, and the classes that it inherits from."""
    public = {
        name for file, source in sources.items() if is_public(file) for name in exported(source)
    }
    bases = {
        node.name: {getattr(base, "id", "") for base in node.bases}
        for source in sources.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }
    size = 0
    while size < len(public):
        size = len(public)
        public |= {base for name in public for base in bases.get(name, ())}
    return public


def is_public(file: str) -> bool:
    """Whether a file says what others may import.

    >>> is_public("models/__init__.py"), is_public("demo/__init__.py")
    (True, False)
    """
    return file.endswith(_PUBLIC) and not file.startswith(_RUN)


def exported(source: str) -> set[str]:
    """What ``__all__`` of a module names.

    >>> exported("__all__ = ['f']")
    {'f'}
    """
    return {
        name
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        for name in ast.literal_eval(node.value)
    }


def lean(source: str, public: set[str], *, kept: bool = False) -> str:
    r"""The module without comments, and without docstrings but those of ``public`` names.

    The module's own, and those of all in it that is not private, stay if it is ``kept``.

    >>> print(lean("def f():  # why\n    'Why.'\n    return 1\n", set()), end="")
    def f():
    <BLANKLINE>
        return 1
    """
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    for docstring, alone in _docstrings(ast.parse(source), public, kept):
        first, last = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
        lines[first:last] = ["\n"] * (last - first)
        if alone:
            lines[first] = " " * docstring.col_offset + "...\n"
    return "".join(lines)


def _docstrings(node: Documented, public: set[str], kept: bool) -> Iterator[tuple[ast.Expr, bool]]:
    """Those to leave out, and whether they are all there is; public methods of classes stay.

    So do those that a public class has from a private one.
    """
    first = node.body[0] if node.body else None
    if not kept and isinstance(first, ast.Expr) and ast.get_docstring(node) is not None:
        yield first, len(node.body) == 1 and not isinstance(node, ast.Module)
    for child in node.body:
        if isinstance(child, Documented):
            inherited = kept and not child.name.startswith("_")
            yield from _docstrings(child, public, inherited or child.name in public)
