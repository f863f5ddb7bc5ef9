"""The notebook runs from top to bottom, and is stored without outputs."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first_steps.ipynb"


def _cells(kind: str) -> list[dict[str, Any]]:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def _run(source: str, page: dict[str, Any], name: str) -> Any:
    """Run a cell as Jupyter does; return the value of its last expression."""
    tree = ast.parse(source)
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), page)  # noqa: S102 - our own notebook
    if not isinstance(shown, ast.Expr):
        return None
    return eval(compile(ast.Expression(shown.value), name, "eval"), page)  # noqa: S307 - as above


def test_the_notebook_is_stored_without_outputs() -> None:
    code = _cells("code")
    assert len(code) >= 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_every_cell_runs_and_shows_what_the_text_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="the notebook draws a curve")
    plt.switch_backend("agg")
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    shown = [_run("".join(cell["source"]), vars(page), cell["id"]) for cell in _cells("code")]
    tables = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(tables) == 6
    assert shown[-1] is True  # the saved model recommends the same

    here = vars(page)
    assert here["data"].shape == (300, 40)
    kind_of = dict(zip(here["dishes"].tolist(), here["kind"].tolist(), strict=True))
    assert {kind_of[dish] for dish in here["newcomer"].lists()[0]} == {0}  # more breakfasts
    printed = capsys.readouterr().out
    score = here["best"].scores[0, 0]
    assert f"{score:+.4f}  together" in printed
    assert all(0.5 < value < 1 for value in here["auc"])
    best = here["arities"][here["auc"].index(max(here["auc"]))]
    assert 1 < best < here["arities"][-1]  # neither the linear kernel nor the coarsest
    assert list(here["curve"].ratios) == sorted(here["curve"].ratios, reverse=True)
    assert len(here["figure"].axes) == 2
    plt.close(here["figure"])
