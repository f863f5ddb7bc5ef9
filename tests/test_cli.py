"""The command line: data to stdout, messages to stderr, errors in one line."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import pytest

import boolrank
from boolrank import cli
from boolrank.cli._app import EXAMPLES, VERBS
from boolrank.cli.kernels import describe
from boolrank.errors import ParameterError
from boolrank.kernels import KERNELS


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in this process; gives exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(list(args))
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return run


def test_version_goes_to_stdout(run):
    assert run("--version") == (0, f"boolrank {boolrank.__version__}\n", "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("verb", [None, *VERBS])
def test_every_help_ends_with_an_example(run, verb, flag):
    code, out, _ = run(*([verb] if verb else []), flag)
    assert code == 0
    assert out.strip().splitlines()[-1].strip() == f"Example:  {EXAMPLES[verb]}"


def test_help_lists_every_verb(run):
    _, out, _ = run("-h")
    for verb in VERBS:
        assert f" {verb} " in out


def test_an_unknown_verb_is_a_usage_error(run):
    code, out, err = run("kernel")
    assert (code, out) == (2, "")
    assert "kernel" in err


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_table_fits_and_names_every_kernel_from_80_columns_on(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run("kernels")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width
    for name in KERNELS:
        assert name in out
    for record in map(describe, KERNELS.values()):
        for word in f"{record['signature']} {record['formula']}".split():
            assert word in out, "no word is cut in two"
    legend = out[out.index("Of n variables") :]
    for letter in "nxzcusdtw":
        assert re.search(rf"\b{letter}\b", legend), f"{letter} is explained"


def test_json_has_name_signature_formula_and_parameters_of_every_kernel(run):
    _, out, _ = run("kernels", "--json")
    found = {kernel["name"]: kernel for kernel in json.loads(out)}
    assert list(found) == list(KERNELS)
    assert found["linear"]["signature"] == "linear"
    assert found["conjunctive"]["signature"] == "conjunctive(arity, up_to=False)"
    assert found["polynomial"]["parameters"][1]["name"] == "scale"
    assert found["polynomial"]["parameters"][1]["default"] == 1
    for name, kernel in found.items():
        assert kernel["class"] == KERNELS[name].__name__
        assert kernel["formula"]
        assert all(parameter["range"] for parameter in kernel["parameters"])


def test_csv_has_the_same_records_as_json(run):
    _, as_json, _ = run("kernels", "--json")
    _, as_csv, _ = run("kernels", "--csv")
    rows = list(csv.DictReader(io.StringIO(as_csv)))
    for row in rows:
        row["parameters"] = json.loads(row["parameters"])
    assert rows == json.loads(as_json)


def test_json_and_csv_exclude_each_other(run):
    code, out, err = run("kernels", "--json", "--csv")
    assert (code, out) == (2, "")
    assert "exclude each other" in err


def test_a_required_parameter_has_no_default():
    arity = describe(KERNELS["disjunctive"])["parameters"][0]
    assert (arity["name"], arity["required"], arity["default"]) == ("arity", True, None)


@pytest.fixture
def broken(monkeypatch):
    """The kernels verb fails with an error of the library that carries a note."""

    def fail(_):
        error = ParameterError("arity of disjunctive must be a whole number from 1 on, not 0")
        error.add_note("arity 1 is the linear kernel")
        raise error

    monkeypatch.setattr("boolrank.cli.kernels.describe", fail)


@pytest.mark.usefixtures("broken")
def test_an_error_of_the_library_is_one_line_with_hints_and_exit_code_2(run):
    code, out, err = run("kernels")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "error: arity of disjunctive must be a whole number from 1 on, not 0",
        "hint: arity 1 is the linear kernel",
    ]


@pytest.mark.usefixtures("broken")
def test_debug_shows_the_traceback():
    with pytest.raises(ParameterError):
        cli.main(["--debug", "kernels"])


def test_the_package_can_be_run_as_a_module():
    call = [sys.executable, "-m", "boolrank", "--version"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout == f"boolrank {boolrank.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_dependency_gives_the_command_that_installs_it(run, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)  # the import system's word for "not there"
    code, out, err = run("--version")
    assert (code, out) == (2, "")
    assert err == (
        f"error: The command line needs {missing}, which is not installed: "
        "pip install 'boolrank[cli]'\n"
    )


def test_the_demo_says_what_it_needs_before_it_starts(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("demo", "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.endswith("pip install 'boolrank[report]'\n")
    assert not list(tmp_path.iterdir())


def test_no_color_takes_the_colours_out_of_a_terminal(monkeypatch):
    program = "import sys; from boolrank.cli import main; main(['kernels'])"

    def output(**env: str) -> str:
        for key, value in env.items():
            monkeypatch.setenv(key, value)
        call = [sys.executable, "-c", program]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    assert "\x1b[36m" in output(FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b[36m" not in output(NO_COLOR="1")
