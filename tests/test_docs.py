"""Documents are tested: their examples run, and every kernel and command appears in them."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import boolrank
from boolrank.cli._app import BELOW, EXAMPLES, VERBS
from boolrank.data import DATASETS
from boolrank.kernels import KERNELS

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
README = ROOT / "README.md"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _examples(path: Path) -> doctest.DocTest:
    """All fenced Python of a page as one doctest, each line where it stands in the page."""
    text = path.read_text(encoding="utf-8")
    kept = [""] * text.count("\n")
    for match in FENCED.finditer(text):
        first = text.count("\n", 0, match.start(1))
        block = match.group(1).splitlines()
        kept[first : first + len(block)] = block
    return doctest.DocTestParser().get_doctest("\n".join(kept), {}, path.name, str(path), 0)


def _text(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("path", [README, *DOCS], ids=lambda path: path.name)
def test_examples_of_a_page_print_what_it_says(path, monkeypatch):
    printed: list[str] = []
    page = ModuleType("page")  # as at a prompt: classes that the page defines can be pickled
    monkeypatch.setitem(sys.modules, "page", page)
    test = _examples(path)
    test.globs = vars(page)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    outcome = runner.run(test, out=printed.append)
    assert outcome.failed == 0, "".join(printed)


def test_the_readme_and_the_start_page_have_examples():
    for path in (README, ROOT / "docs" / "index.md", ROOT / "docs" / "kernels.md"):
        assert _examples(path).examples, path.name


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_stands_in_the_tables_by_text_name_and_by_class(name):
    row = re.compile(rf"^\| `{name}[(`].*`{KERNELS[name].__name__}[(`]", re.MULTILINE)
    for page in (README, ROOT / "docs" / "kernels.md"):
        assert row.search(_text(page)), f"{page.name} has no row for {name}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_stands_in_the_readme_and_the_documentation(verb):
    assert f"boolrank {verb}" in _text(README)
    assert f"## boolrank {verb}\n" in _text(ROOT / "docs" / "cli.md")


def test_every_command_has_an_example_in_its_help():
    below = {f"{verb} {name}" for verb, names in BELOW.items() for name in names}
    assert set(EXAMPLES) == {None, *VERBS, *below}


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_stands_in_the_documentation_as_it_is_in_the_code(name):
    page, dataset = _text(ROOT / "docs" / "datasets.md"), DATASETS[name]
    size, printed = dataset.size, dataset.printed
    share = 100 * size.density
    row = [f"[`{name}`]({dataset.page})", f"{size.users:,}", f"{size.items:,}"]
    row += [f"{size.interactions:,}", f"{share:.2g} %" if share < 1 else f"{share:.2f} %"]
    words = [] if printed is None else [printed.users, printed.items, printed.interactions]
    row += [", ".join([*words, printed.density]) if printed else "", dataset.time]
    assert f"| {' | '.join(row)} |" in page
    for text in filter(None, (dataset.licence, dataset.citation, dataset.remark)):
        assert text in page
    assert not printed or printed.differs in page


def test_every_public_function_and_kernel_stands_in_the_reference():
    reference = _text(ROOT / "docs" / "reference.md")
    documented = set(re.findall(r"^::: boolrank\.(\w+)$", reference, re.MULTILINE))
    errors = {name for name in boolrank.__all__ if name.endswith("Error")}
    assert set(boolrank.__all__) - errors - {"__version__"} <= documented


def test_make_targets_that_the_documents_name_exist():
    makefile = _text(ROOT / "Makefile")
    named = re.findall(
        r"(?:`|^ {4})make ([a-z]+)", _text(README, *DOCS, ROOT / "CONTRIBUTING.md"), re.MULTILINE
    )
    assert named
    for target in set(named):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {boolrank.__version__}\n" in _text(ROOT / "CITATION.cff")
