"""The documentation: its examples run, and it covers every command, kernel, model and metric."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import typer

import boolrank
from boolrank import data, errors, evaluation, kernels, models, studies, testing
from boolrank.cli._app import BELOW, EXAMPLES, VERBS, app
from boolrank.data import DATASETS
from boolrank.data.protocols import SPLITS
from boolrank.evaluation import METRICS
from boolrank.kernels import KERNELS
from boolrank.models import MODELS
from documents import BLOCK, NOT_RUN, arguments, blocks, commands, run_command, run_page

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
README = ROOT / "README.md"
# The description of the package on PyPI.
PACKAGE = ROOT / "PACKAGE.md"


def _text(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def _hook(name: str) -> ModuleType:
    """Return a module that the documentation is built with."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "theme" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _check_parses(command: str) -> None:
    """Raise unless the arguments and options of a command exist."""
    parser, words = typer.main.get_command(app), arguments(command)
    while words:
        context = parser.make_context("boolrank", words)
        words = [*context._protected_args, *context.args]
        if words:
            _, parser, words = parser.resolve_command(context, words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into an empty folder, without real data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


@pytest.mark.parametrize("path", [README, PACKAGE, *DOCS], ids=lambda path: path.name)
@pytest.mark.usefixtures("folder", "worker_here")
def test_the_examples_of_a_page_print_what_it_shows(path):
    surprises = [str(each) for each in run_page(path)]
    assert not surprises, "\n".join(surprises)


def test_few_blocks_are_not_run_and_each_has_a_reason():
    reasons = [
        f"{path.name}: {block.title.removeprefix(NOT_RUN)}"
        for path in DOCS
        for block in blocks(path)
        if block.title.startswith(NOT_RUN)
    ]
    assert reasons == [
        "datasets.md: it needs the network",
        "deployment.md: it builds an image",
        "deployment.md: it needs a container runtime",
        "quickstart.md: it installs",
        "reproduce.md: it needs the data sets",
        "reproduce.md: it needs the data",
        "results.md: it needs the data sets",
        "scale.md: it needs a cluster",
        "serving.md: it needs PostgreSQL",
    ]


def test_commands_that_are_not_run_have_options_that_exist():
    shown = re.findall(r"^ {4}(boolrank .*)$", _text(README, PACKAGE), re.MULTILINE)
    shown += re.findall(r"`(boolrank [a-z]+ [^`…]*)`", _text(README, *DOCS))
    for path in DOCS:
        for block in blocks(path):
            if block.language == "console" and block.title.startswith(NOT_RUN):
                shown += [c for _, c, _ in commands(block) if c.startswith("boolrank")]
    assert len(shown) > 15
    for command in shown:
        if not command.startswith("boolrank -"):
            _check_parses(command)


def test_all_code_of_the_pages_is_in_fenced_blocks():
    for path in DOCS:
        outside = BLOCK.sub("", path.read_text(encoding="utf-8"))
        assert "```" not in outside, path.name
        assert not re.search(r"^( {4}|\t)(\$|>>>|boolrank|pip|make) ", outside, re.MULTILINE)


@pytest.mark.parametrize(
    "name", [name for name, each in KERNELS.items() if each.__module__.startswith("boolrank.")]
)
def test_every_kernel_is_in_the_tables(name):
    assert re.search(rf"^\|.* `{name}[(`]", _text(README), re.MULTILINE)
    row = rf"^\| `{name}[(`].*`{KERNELS[name].__name__}[(`]"
    assert re.search(row, _text(ROOT / "docs" / "kernels.md"), re.MULTILINE)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented_as_in_the_code(name):
    metric = METRICS[name]
    names = {"none": f"`{name}`", "needed": f"`{name}@k`", "optional": f"`{name}`, `{name}@k`"}
    row = [names[metric.cut], metric.formula, "user" if metric.per_user else "model", metric.empty]
    assert f"| {' | '.join(row)} |\n" in _text(ROOT / "docs" / "evaluation.md")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_documented_as_in_the_code(name):
    entry = MODELS[name]
    module, _, symbol = entry.source.partition(":")
    part = f"models{module}." if entry.extra else ""
    row = [
        f"`{name}`",
        f"[`{symbol}`][boolrank.{part}{symbol}]",
        entry.about,
        ", ".join(entry.abilities),
    ]
    assert f"| {' | '.join(row)} | " in _text(ROOT / "docs" / "models.md")


@pytest.mark.parametrize("name", SPLITS)
def test_every_split_is_documented_with_its_function(name):
    function = SPLITS[name].__name__
    place = "boolrank" if function in boolrank.__all__ else "boolrank.data.protocols"
    row = f"| `{name}` | [`{function}`][{place}.{function}] |"
    assert row in _text(ROOT / "docs" / "evaluation.md")


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_is_documented_as_in_the_code(name):
    page, dataset = _text(ROOT / "docs" / "datasets.md"), DATASETS[name]
    size, printed = dataset.size, dataset.printed
    share = 100 * size.density
    row = [f"[`{name}`]({dataset.page})", f"{size.users:,}", f"{size.items:,}"]
    row += [f"{size.interactions:,}", f"{share:.2g} %" if share < 1 else f"{share:.2f} %"]
    assert f"| {' | '.join([*row, ', '.join(printed)])} |" in page
    unwrapped = " ".join(page.split())
    for text in filter(None, (dataset.licence, dataset.citation)):
        assert text in unwrapped
    assert dataset.differs in unwrapped


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_is_in_the_readme_and_in_a_guide(verb):
    assert f"boolrank {verb}" in _text(README)
    assert f"boolrank {verb}" in _text(*(path for path in DOCS if path.name != "cli.md"))


def test_every_command_has_an_example_in_its_help():
    below = {f"{verb} {name}" for verb, names in BELOW.items() for name in names}
    assert set(EXAMPLES) == {None, *VERBS, *below}


def test_the_page_of_commands_has_every_command_and_every_option():
    hook = _hook("commands")
    page = hook.on_page_markdown(_text(ROOT / "docs" / "cli.md"))
    sections = dict(
        re.findall(r"^#+ boolrank ?([a-z ]*)\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    )
    below = [f"{verb} {name}" for verb, names in BELOW.items() for name in names]
    assert set(sections) == {"", *VERBS, *below}
    root = typer.main.get_command(app)
    for path, command in [((), root), *hook.walk(root)]:
        section = sections[" ".join(path)]
        assert f"$ {EXAMPLES[' '.join(path) or None]}\n" in section
        for parameter in command.params:
            for name in (*parameter.opts, *parameter.secondary_opts):
                shown = name if name.startswith("-") else (parameter.metavar or name.upper())
                assert re.search(rf"`{re.escape(shown)}[ `]", section) or name in (
                    "-h",
                    "--help",
                ), name
            assert parameter.name == "help" or parameter.help.split(";")[0][:40] in section


@pytest.mark.usefixtures("worker_here")
def test_the_examples_of_the_page_of_commands_run(folder):
    # Slow, endless, or in need of data or a network.
    not_run = {"reproduce", "demo", "doctor", "datasets fetch", "serve"}
    rng = np.random.default_rng(0)
    touched = {user: ["tea", *rng.choice(30, 6, replace=False)] for user in ("ann", *range(20))}
    touched["bob"] = touched[0][1:]
    rows = ["user,item,rating,time"]
    for user, items in touched.items():
        rows += [f"{user},{item},{4 + k % 2},{k}" for k, item in enumerate(items)]
    (folder / "ratings.csv").write_text("\n".join(rows))
    (folder / "new.csv").write_text("user,item\ncid,tea\n")
    (folder / "old.csv").write_text("user,item\nann,tea\n")
    for words, example in EXAMPLES.items():
        if words in not_run:
            _check_parses(example)
        else:
            # The data have 22 users, which bounds the arity.
            code, printed = run_command(example.replace("1:150", "1:15"))
            assert code == 0, f"{example}\n{printed}"


def test_every_public_name_is_in_the_reference():
    reference = _text(ROOT / "docs" / "reference.md")
    documented = re.findall(r"^::: boolrank\.([\w.]+)$", reference, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert "errors" in documented  # the whole module
    top = set(boolrank.__all__) - set(errors.__all__) - {"__version__"}
    assert top <= set(documented)
    last = {name.rpartition(".")[2] for name in documented}
    for package in (data, evaluation, kernels, models, studies, testing):
        names = {name for name in package.__all__ if callable(getattr(package, name))}
        assert names <= last, package.__name__


def test_the_pictures_are_those_that_the_script_draws():
    script = _hook("pictures")
    drawn = {path.stem: path for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    assert set(drawn) == set(script.DRAWN)
    linked = set(re.findall(r"\(pictures/([a-z-]+)\.svg\)", _text(*DOCS)))
    assert linked == set(drawn)
    for name, path in drawn.items():
        assert path.read_text(encoding="utf-8") == script.DRAWN[name](), (
            f"{name}.svg is not what docs/theme/pictures.py draws; run it"
        )


def test_the_links_of_the_readme_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", _text(README)):
        assert (ROOT / target).exists(), target


def test_the_description_of_the_package_has_no_links_into_the_repository():
    text = _text(PACKAGE)
    assert "](http" in text
    assert not re.search(r"\]\((?!https?:)", text)


def test_the_make_targets_in_the_documents_exist():
    makefile = _text(ROOT / "Makefile")
    named = re.findall(
        r"(?:`|^ {4}|^\$ )make ([a-z]+)",
        _text(README, *DOCS, ROOT / "CONTRIBUTING.md"),
        re.MULTILINE,
    )
    assert named
    for target in set(named):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {boolrank.__version__}\n" in _text(ROOT / "CITATION.cff")


def test_the_pages_build_strictly_and_fetch_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    reference = _text(tmp_path / "reference.html")
    for name in set(boolrank.__all__) - {"__version__"}:
        assert re.search(rf'id="boolrank(\.errors)?\.{name}"', reference), name
    for name in testing.__all__:
        assert f'id="boolrank.testing.{name}"' in reference, name
    for page in tmp_path.glob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(https?:)?//', _text(page))
        assert not loaded, page.name
