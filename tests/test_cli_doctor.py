"""doctor: what it finds, what it calls broken, and that nothing is left to compile after it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import numba
import numpy as np
import pytest
from numba.core.caching import UserProvidedCacheLocator

import boolrank
from boolrank import health
from boolrank._compiled import vectors
from boolrank.data import DATASETS
from boolrank.health import Finding


@pytest.fixture
def found(run):
    """What doctor finds without compiling, by part and name; and its exit code."""

    def found():
        code, out, _ = run("doctor", "--no-compile", "--json")
        return code, {(each["part"], each["name"]): each for each in json.loads(out)}

    return found


def test_it_shows_versions_threads_blas_memory_and_folders(found, monkeypatch, tmp_path):
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path))
    code, by_name = found()
    assert code == 0
    values = {name: each["value"] for name, each in by_name.items()}
    assert values["versions", "boolrank"] == boolrank.__version__
    assert values["versions", "numpy"] == np.__version__
    assert values["threads", "number"] == str(numba.config.NUMBA_NUM_THREADS)
    assert values["machine", "cores"] == str(os.cpu_count())
    blas = np.show_config("dicts")["Build Dependencies"]["blas"]
    assert values["BLAS", "library"].startswith(blas["name"])
    assert values["BLAS", "threads"]
    assert re.fullmatch(r"[\d,.]+ [GM]B|unknown", values["machine", "free memory"])
    assert "_compiled" in values["folders", "compiled code"]
    assert values["folders", "data"] == f"{tmp_path}: no data sets"
    assert "fetch" in by_name["folders", "data"]["hint"]
    assert {each["state"] for each in by_name.values()} <= {"fine", "missing"}


def test_it_knows_what_the_package_needs_from_its_metadata(found):
    _, by_name = found()
    parts = {name: part for part, name in by_name}
    for name in ("numpy", "scipy", "numba", "narwhals"):
        assert parts[name] == "versions"
    for name in ("polars", "typer", "rich"):
        assert parts[name] == "extra cli"
    for name in ("matplotlib", "jinja2"):
        assert parts[name] == "extra report"
    assert "pytest" not in parts


def test_data_sets_that_are_here_are_named(found, data_dir):
    _, by_name = found()
    here = by_name["folders", "data"]["value"].partition(": ")[2].split(", ")
    assert here == [name for name, each in DATASETS.items() if each.is_here(data_dir)]


@pytest.mark.parametrize(
    ("missing", "code", "expected"),
    [
        ("matplotlib", 0, ("not installed", "missing", "pip install 'boolrank[report]'")),
        ("numba", 1, ("not installed", "broken", "pip install 'numba'")),
    ],
)
def test_missing_packages_have_a_hint(found, monkeypatch, missing, code, expected):
    def version(name, real=metadata.version):
        if name == missing:
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    found_code, by_name = found()
    each = next(each for (_, name), each in by_name.items() if name == missing)
    assert found_code == code
    assert (each["value"], each["state"], each["hint"]) == expected


def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch, run, tmp_path):
    monkeypatch.setattr(health, "_cache", lambda: tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, out, _ = run("doctor", "--no-compile")
    assert code == 0
    assert f"warning: {tmp_path}" in out
    assert "NUMBA_CACHE_DIR" in out


def test_compiled_code_in_a_read_only_folder_is_fine(monkeypatch, found, tmp_path):
    (tmp_path / "loop.nbc").touch()
    monkeypatch.setattr(health, "_cache", lambda: tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    folder = found()[1]["folders", "compiled code"]
    assert (folder["state"], folder["value"]) == ("fine", f"{tmp_path}, 1 loops, 0.0 MB, read-only")


def test_a_failed_compilation_is_broken_and_the_rest_is_shown(monkeypatch, run):
    def fail(*_):
        raise TypeError("no such\ninstruction")

    monkeypatch.setattr(health, "compile_ahead", fail)
    code, out, err = run("doctor", "--csv")
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == "part,name,value,state,hint"
    assert "compiled,loops,TypeError: no such,broken," in out.splitlines()[-1]
    assert f"versions,boolrank,{boolrank.__version__},fine," in out


def test_the_table_names_parts_once_and_keeps_brackets(monkeypatch, run):
    findings = [Finding("part", "a", "[red]"), Finding("part", "b", "2", "broken", "do it")]
    monkeypatch.setattr(health, "examine", lambda **_: findings)
    code, out, err = run("doctor")
    assert (code, err) == (1, "")
    assert [line.split() for line in out.splitlines() if line.strip()] == [
        ["part", "a", "[red]"],
        ["b", "broken:", "2"],
        ["do", "it"],
    ]


PROGRAM = """
import importlib, inspect, json, pkgutil, re
from pathlib import Path
from numba.core.dispatcher import Dispatcher
import boolrank, boolrank._compiled as compiled
from boolrank.studies.warm_up import compile_ahead

def compiled_loop(function):
    hidden = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    for name in ("compiled", "run"):
        if name in hidden:
            return compiled_loop(hidden[name])
    return function

imports = re.compile(r"_compiled\\.\\w+ import ([\\w, ]+)")
ranges = re.compile(r"for_ranges\\(\\s*(\\w+)")
called = set()
for path in Path(boolrank.__file__).parent.rglob("*.py"):
    text = path.read_text(encoding="utf-8")
    called.update(ranges.findall(text))
    if path.parent.name != "_compiled" and path.name != "warm_up.py":
        called.update(name.strip() for names in imports.findall(text) for name in names.split(","))
found = []
for everything in (False, True):
    told, uses = [], {}
    compile_ahead(told.append, everything)
    for each in pkgutil.iter_modules(compiled.__path__):
        module = importlib.import_module(f"boolrank._compiled.{each.name}")
        for name, function in vars(module).items():
            loop = compiled_loop(function)
            if isinstance(loop, Dispatcher) and (loop is not function or name in called):
                uses[f"{each.name}.{name}"] = len(loop.signatures)
    found.append((told, uses))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Run Python with compiled code of its own: of two that compile at once, numba keeps one's.

    It starts with a copy of what there is: what doctor uses is counted whether it compiles or not.
    """
    folder = tmp_path_factory.mktemp("compiled")
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    below = UserProvidedCacheLocator.get_suitable_cache_subpath(vectors.__file__)
    shutil.copytree(health._cache(), folder / below)

    def alone(*words):
        call = [sys.executable, *words]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env=env)
        return json.loads(done.stdout)

    return alone


@pytest.fixture(scope="module")
def uses(alone):
    """Compile ahead in a process of its own, then everything.

    Gives the messages of each, and how many versions of each loop were used until its end.
    """
    return alone("-c", PROGRAM)


def test_the_loops_of_fit_and_recommend_are_compiled_ahead(uses):
    told, versions = uses[0]
    assert "compiling SpectralRanker" in told
    needed = {"profiles._rank", "profiles._weights", "rows.transposed", "tables.union"}
    assert needed <= {name for name, number in versions.items() if number}


def test_with_all_everything_else_is_compiled_too(uses):
    before = {name for name, number in uses[0][1].items() if number}
    told, versions = uses[1]
    assert set(uses[0][0]) < set(told), "and all of the above again"
    assert {"compiling MeanRanker", "compiling expressiveness"} <= set(told)
    assert before < {name for name, number in versions.items() if number}


@pytest.mark.usefixtures("uses")
def test_nothing_is_compiled_the_second_time(alone):
    last = alone("-m", "boolrank", "doctor", "--json")[-1]
    assert last["part"] == "compiled"
    assert last["value"].startswith("all were there already, ")
