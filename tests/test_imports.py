"""Imports follow the arrow of the architecture, and importing the library loads nothing slow."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import boolrank

PACKAGE = Path(boolrank.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# The order in which ARCHITECTURE.md has them; those of one line know nothing of each other.
ORDER = [
    {"_startup", "_version", "errors"},
    {"_compiled", "checks"},
    {"_extras", "_memory", "engines", "storage", "table"},
    {"data"},
    {"counts"},
    {"kernels"},
    {"matrix"},
    {"models"},
    {"evaluation"},
    {"studies"},
    {"boolrank"},
    {"health", "testing"},
    {"report"},
    {"demo", "paper", "service", "spark"},
    {"cli"},
    {"__main__"},
]
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}


def _part(path: Path) -> str:
    """The part of the package that a file belongs to: a module or a folder of the first level."""
    inside = path.relative_to(PACKAGE)
    return "boolrank" if inside == Path("__init__.py") else inside.parts[0].removesuffix(".py")


def _is_part(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def _imported_parts(source: str, path: Path) -> set[str]:
    """The parts that a file imports, wherever in the file, be it for types only."""
    package = ["boolrank", *path.relative_to(PACKAGE).parts[:-1]]
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "boolrank":  # `from boolrank import part`, or a public name of the top
                names |= {f"boolrank.{alias.name}" for alias in node.names}
            else:
                names.add(module)
    ours = [name.split(".") for name in names if name.split(".")[0] == "boolrank"]
    return {name[1] if len(name) > 1 and _is_part(name[1]) else "boolrank" for name in ours}


def _steps_back(source: str, path: Path) -> set[str]:
    part = _part(path)
    imported = _imported_parts(source, path) - {part}
    return {other for other in imported if RANK[other] >= RANK[part]}


def _modules_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_stands_before_it(path):
    assert _part(path) in RANK, "a new part of the package needs its place in ORDER"
    assert not _steps_back(path.read_text(encoding="utf-8"), path)


@pytest.mark.parametrize(
    ("source", "back"),
    [
        ("from ..cli import main", {"cli"}),
        ("from .. import demo", {"demo"}),
        ("import boolrank.report.page", {"report"}),
        ("from boolrank import Linear", {"boolrank"}),
        ("def f():\n    from boolrank.testing import laws", {"testing"}),
        ("from ..errors import InputError\nfrom .base import Kernel", set()),
    ],
)
def test_a_step_back_is_found_in_whatever_form_it_is_written(source, back):
    assert _steps_back(source, PACKAGE / "kernels" / "some.py") == back


def test_the_architecture_page_has_the_same_order():
    page = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rule = page.split("## Import rule")[1].split("where `boolrank`")[0]
    drawn = rule[rule.index("    _version") :].split("◄")
    assert [set(parts.split()) for parts in drawn] == ORDER


def test_importing_the_library_loads_nothing_slow():
    slow = {"numba", "polars", "matplotlib", "sklearn", "typer", "rich", "jinja2", "optuna"}
    slow |= {"pyspark", "pyarrow", "boolrank.spark"}
    assert not _modules_after("import boolrank") & slow


def test_printing_the_version_loads_no_table_figure_or_compiler():
    call = "from boolrank.cli import main\ntry:\n    main(['--version'])\nexcept SystemExit: pass"
    slow = {"numba", "polars", "matplotlib", "sklearn", "jinja2", "rich.table", "boolrank.demo"}
    assert not _modules_after(call) & slow


@pytest.mark.parametrize("name", ["boolrank", "boolrank.kernels", "boolrank.errors"])
def test_all_is_sorted_and_equals_the_public_names(name):
    module = importlib.import_module(name)
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not _is_module(value) and key not in _MACHINERY
    }
    assert list(module.__all__) == sorted(module.__all__, key=_sort_key)
    assert public == set(module.__all__) - {"__version__"}


_MACHINERY = {"annotations", "TYPE_CHECKING"}


def _sort_key(name: str) -> tuple[int, str]:
    """Constants, classes, functions: ruff's order of __all__."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _is_module(value: object) -> bool:
    return type(value).__name__ == "module"
