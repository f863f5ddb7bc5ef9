"""The wheel has the package and nothing else, and workflows fit it."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest

import boolrank

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Larger files are data or pictures, which do not belong in the project.
KILOBYTES_MOST = 300


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built("wheel", tmp_path_factory.mktemp("wheel"))


def _built(target: str, folder: Path) -> Path:
    """As ``python -m build`` does it, in this process and without network."""
    if not (ROOT / "src").is_dir():
        pytest.skip("there is no source to build: the package is tested as installed")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = {"wheel": WheelBuilder, "sdist": SdistBuilder}[target](str(ROOT))
    return Path(next(builder.build(directory=str(folder), versions=["standard"])))


def test_the_wheel_is_named_by_the_version(wheel: Path) -> None:
    assert wheel.name == f"boolrank-{boolrank.__version__}-py3-none-any.whl"


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    files = set(zipfile.ZipFile(wheel).namelist())
    package = {file for file in files if file.startswith("boolrank/")}
    rest = {file.split("/")[0] for file in files - package}
    assert rest == {f"boolrank-{boolrank.__version__}.dist-info"}
    assert any(file.startswith("boolrank/report/templates/") for file in package)
    assert not any("/tests/" in file or "__pycache__" in file for file in package)
    others = {"boolrank/py.typed", "boolrank/demo/titles.txt"}  # the second has words of titles
    assert others <= package
    endings = {Path(file).suffix for file in package - others}
    assert endings <= {".py", ".html", ".css", ".js", ".svg", ".j2"}, "is there data in the wheel?"
    source = {
        f"boolrank/{path.relative_to(ROOT / 'src/boolrank').as_posix()}"
        for path in (ROOT / "src/boolrank").rglob("*.py")
    }
    assert source <= package


def test_the_wheel_has_the_source_as_it_is(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    for path in (ROOT / "src/boolrank").rglob("*.py"):
        name = f"boolrank/{path.relative_to(ROOT / 'src/boolrank').as_posix()}"
        assert archive.read(name) == path.read_bytes(), name


def test_the_wheel_says_who_it_is(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    about = f"boolrank-{boolrank.__version__}.dist-info"
    said = message_from_bytes(archive.read(f"{about}/METADATA"))
    assert said["Version"] == boolrank.__version__
    assert said["Requires-Python"] == ">=3.11"
    assert set(said.get_all("Provides-Extra")) >= {"cli", "report", "all", "dev", "docs"}
    base = {
        re.split(r"[<>=!~; ]", line)[0]
        for line in said.get_all("Requires-Dist")
        if "extra ==" not in line
    }
    assert base == {"numpy", "scipy", "numba", "narwhals", "threadpoolctl"}
    scripts = archive.read(f"{about}/entry_points.txt").decode()
    assert scripts.split() == ["[console_scripts]", "boolrank", "=", "boolrank.cli:main"]
    assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())


def test_the_sdist_has_what_its_tests_need_and_no_data(tmp_path: Path) -> None:
    with tarfile.open(_built("sdist", tmp_path)) as archive:
        sizes = {member.name.partition("/")[2]: member.size for member in archive.getmembers()}
    for name in ("pyproject.toml", "README.md", "LICENSE", "Makefile", "tests/conftest.py"):
        assert name in sizes
    for path in (*WORKFLOWS, *(ROOT / "examples").glob("*.ipynb"), *(ROOT / "docs").glob("*.md")):
        assert path.relative_to(ROOT).as_posix() in sizes
    assert not any(name.startswith((".venv", "demo/", "site/", "bench/")) for name in sizes)
    assert max(sizes.values()) < KILOBYTES_MOST * 1000


def test_the_version_stands_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    assert metadata.version("boolrank") == boolrank.__version__


def test_the_types_are_shipped() -> None:
    assert (Path(boolrank.__file__).parent / "py.typed").is_file()


def test_workflows_test_every_python_that_the_package_claims() -> None:
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ +python: \[(.*)\]$", text, re.MULTILINE)
    assert matrix is not None
    assert re.findall(r'"([\d.]+)"', matrix[1]) == claimed
    assert PROJECT["requires-python"] == f">={claimed[0]}"
    systems = re.search(r"^ +os: \[(.*)\]$", text, re.MULTILINE)
    assert systems is not None
    assert [name.split("-")[0] for name in systems[1].split(", ")] == ["ubuntu", "macos", "windows"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_actions_by_commit_pinned_packages_and_make_targets_that_exist(
    path: Path,
) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    for action in used:
        assert action.startswith("./.github/workflows/") or re.search(r"@[0-9a-f]{40}$", action)
    assert "PIP_CONSTRAINT: ${{ github.workspace }}/constraints.txt" in text
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "export PIP_CONSTRAINT ?= $(CURDIR)/constraints.txt" in makefile
    for target in re.findall(r"run: make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    yaml = pytest.importorskip("yaml", reason="comes with the docs extra")
    jobs = yaml.safe_load(text)["jobs"]
    assert all("runs-on" in job or "uses" in job for job in jobs.values())


def test_constraints_pin_what_tests_and_releases_install() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = PROJECT["optional-dependencies"]
    wanted = chain(PROJECT["dependencies"], *(extras[name] for name in extras if name != "cloud"))
    names = {re.split(r"[\[<>=]", each)[0] for each in wanted} - {"boolrank"}
    assert names <= pins.keys(), names - pins.keys()
    assert {"pip", "build", "hatchling"} <= pins.keys(), "what a release is built with"


def test_a_release_is_published_without_a_password_and_after_the_tests() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    publish = text[text.index("  publish:") :]
    assert "needs: [tests, build]" in publish
    assert "id-token: write" in publish
    assert "environment: release" in publish
    assert "id-token" not in text[: text.index("  publish:")]
    assert not re.search(r"password|secrets\.", publish)
    assert 'tags: ["v[0-9]*"]' in text


# As after ``pip install boolrank`` alone.
_BARE = (
    "import sys\n"
    "for name in ('typer', 'rich', 'polars', 'matplotlib', 'jinja2', 'optuna'):\n"
    "    sys.modules[name] = None\n"
)


def _bare(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _BARE + program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [["demo"], ["-h"], ["recommend", "model"]], ids=" ".join)
def test_without_extras_one_line_says_what_installs_all_of_them(words: list[str]) -> None:
    done = _bare(f"from boolrank.cli import main\nmain({words!r})\n")
    assert done.returncode == 1
    assert done.stdout == ""
    error, hint = done.stderr.splitlines()
    assert re.fullmatch(r"error: The command line needs \w+, which is not installed", error)
    assert hint == "hint: pip install 'boolrank[all]'"
