"""The command line: data to stdout, messages to stderr, errors in one line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command

import boolrank
from boolrank import Linear, cli
from boolrank.cli import EXIT_CODES
from boolrank.cli._app import EXAMPLES, VERBS, app
from boolrank.cli._options import OPTIONS
from boolrank.cli.listings import describe
from boolrank.errors import BoolrankError, ConvergenceWarning, InputError, ParameterError
from boolrank.kernels import KERNELS
from effort import THOROUGH
from random_signals import send_signals


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


def test_no_arguments_print_the_help(run):
    assert run() == run("-h")


def test_help_has_every_exit_code(run):
    _, out, _ = run("-h")
    words = " ".join(out.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code}: {meaning}" in words


def test_an_option_has_one_help_and_range_unless_a_verb_has_its_own():
    own = {name.split()[1] for name in OPTIONS if " " in name}
    found = defaultdict(set)
    commands = get_command(app).commands
    for verb in VERBS:
        for option in commands[verb].params:
            found[option.name].add((option.help, option.min, option.max))
    assert {"user", "as_json", "threads", "inputs", "folder", "n"} <= set(found)
    assert {name for name, kinds in found.items() if len(kinds) > 1} <= own


def test_every_row_of_the_table_of_options_is_used():
    root = get_command(app)
    used = {option.name for option in root.params}
    for verb, command in root.commands.items():
        parts = {verb: command, **getattr(command, "commands", {})}
        for path, each in parts.items():
            for option in each.params:
                own = f"{path} {option.name}"
                used.add(own if own in OPTIONS else option.name)
    assert set(OPTIONS) <= used


@pytest.mark.parametrize(
    ("args", "wrong", "help_of"),
    [
        (["kernel"], "No such command 'kernel'", "boolrank -h"),
        (["kernels", "--jsn"], "No such option: --jsn", "kernels -h"),
        (["similar"], "Missing argument 'MODEL'", "similar -h"),
        (["recommend", "m", "--n", "abc"], "Invalid value for '--n': ", "recommend -h"),
        (["recommend", "m", "--n", "0"], "Invalid value for '--n': ", "recommend -h"),
        (["datasets", "fetch"], "Missing argument 'NAME'", "datasets fetch -h"),
        (["fit", "x.csv", "--out"], "Option '--out' requires an argument", "fit -h"),
    ],
)
def test_a_usage_error_is_a_line_and_a_hint_with_an_example(run, args, wrong, help_of):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    error, hint = err.splitlines()
    assert error.startswith(f"error: {wrong}")
    assert hint.startswith("hint: see `boolrank ")
    assert f"{help_of}`" in hint
    verb = help_of.removeprefix("boolrank").removesuffix("-h").strip()
    assert not verb or hint.endswith(EXAMPLES[verb])


@pytest.mark.parametrize("imported", [["--import", "json"], ["--import=json"]])
def test_the_hint_names_the_help_of_the_verb_after_an_import(run, monkeypatch, imported):
    monkeypatch.setenv("BOOLRANK_IMPORT", "")
    _, _, err = run(*imported, "recommend", "m", "--n", "0")
    assert "hint: see `boolrank recommend -h`" in err


# Other tests add kernels to the table.
OURS = [name for name, each in KERNELS.items() if each.__module__.startswith("boolrank.kernels.")]


@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_the_table_names_every_kernel_and_fits_from_80_columns_on(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run("kernels")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= max(width, 80)
    for name in KERNELS:
        assert name in out
    for record in (describe(KERNELS[name]) for name in OURS):
        for word in f"{record['signature']} {record['formula']}".split():
            assert word in out, "no word is cut in two"
    legend = out[out.index("n variables") :]
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
    for name in OURS:
        kernel = found[name]
        assert kernel["class"] == KERNELS[name].__name__
        assert kernel["formula"]
        assert all(parameter["range"] for parameter in kernel["parameters"])


def test_the_signature_quotes_text_as_an_expression_does():
    @dataclass(frozen=True, repr=False)
    class Moody(Linear):
        name = "moody"
        mode: str = "plain"

    assert describe(Moody)["signature"] == "moody(mode='plain')"


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
def fails(monkeypatch):
    """Let the kernels verb fail with an error."""

    def fails(error):
        def fail(_):
            raise error

        monkeypatch.setattr("boolrank.cli.listings.describe", fail)

    return fails


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (
            ParameterError("arity is 0", hint="arity 1 is the linear kernel"),
            2,
            ["error: arity is 0", "hint: arity 1 is the linear kernel"],
        ),
        (
            InputError("no time; none", hint="use as_csv='x'; or not", parameter="as_csv"),
            1,
            ["error: --csv: no time; none", "hint: use as_csv='x'; or not"],
        ),
        (  # an option that this verb does not have is not named
            InputError("no time", hint="use another order", parameter="order"),
            1,
            ["error: no time", "hint: use another order"],
        ),
        (
            BoolrankError("that is all"),
            1,
            ["error: that is all", "hint: see `boolrank kernels -h`; for example: boolrank ker"],
        ),
        (
            InputError("bad \x1b[2J\u202e", hint="\x07 or \x9b1m"),
            1,
            [r"error: bad \x1b[2J\u202e", r"hint: \x07 or \x9b1m"],
        ),
        (PermissionError(13, "Permission denied", "a/b"), 1, ["error: a/b: Permission", "hint: "]),
        (OSError(28, "No space left"), 1, ["error: No space left", "hint: choose another place"]),
        (MemoryError("80 GB"), 1, ["error: not enough memory: 80 GB", "hint: `boolrank doctor`"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_that_the_user_can_fix_is_a_line_with_a_hint(run, fails, error, code, lines):
    fails(error)
    found, out, err = run("kernels")
    assert (found, out) == (code, "")
    said = err.splitlines()
    assert len(said) == len(lines)
    assert all(line.startswith(start) for line, start in zip(said, lines, strict=True))
    with pytest.raises(type(error)):
        cli.main(["kernels", "--debug"])


@pytest.mark.parametrize(
    "bug", [ZeroDivisionError("0/0"), RuntimeError("odd"), OSError("odd"), SystemError("odd")]
)
def test_a_bug_has_its_traceback(fails, bug):
    bug.__cause__ = ValueError("why")
    fails(bug)
    with pytest.raises(type(bug)) as found:
        cli.main(["kernels"])
    assert str(found.value.__cause__) == "why"


@pytest.mark.parametrize("verb", VERBS)
def test_debug_shows_the_traceback_before_and_after_every_verb(verb):
    for args in (["--debug", verb, "--surely-not"], [verb, "--surely-not", "--debug"]):
        with pytest.raises(Exception, match="No such option: --surely-not"):
            cli.main(args)


@pytest.mark.filterwarnings("always")
def test_a_warning_is_a_line_on_stderr(run, monkeypatch):
    def warn(kernel):
        if kernel is KERNELS["linear"]:
            warnings.warn("weights are loose", ConvergenceWarning, stacklevel=1)
        return describe(kernel)

    monkeypatch.setattr("boolrank.cli.listings.describe", warn)
    code, out, err = run("kernels", "--json")
    assert (code, err) == (0, "warning: weights are loose\n")
    assert len(json.loads(out)) == len(KERNELS)


@pytest.mark.skipif(os.name == "nt", reason="pipes are another matter there")
@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_a_reader_who_has_gone_is_no_reason_for_a_traceback(form):
    call = [sys.executable, "-m", "boolrank", "kernels", *form]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        err = child.stderr.read()
    assert (child.returncode, err) == (141, b"")


# The kernels verb, with a name of one's choice for each of them.
NAMED = """
import sys
import boolrank.cli.listings as verb
from boolrank.cli import main
def describe(kernel):
    texts = {key: NAME for key in ("name", "signature", "formula")}
    return texts | {"parameters": [{"name": "odd", "range": "any"}]}
verb.describe = describe
"""


def _command(name: str, before: str = "") -> list[str]:
    program = f"NAME = {name}\n{NAMED}\n{before}\nmain(['kernels', *sys.argv[1:]])"
    return [sys.executable, "-c", program]


@pytest.mark.skipif(os.name == "nt", reason="pipes are another matter there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_goes_in_the_middle_is_told_from_one_who_reads_all(unbuffered):
    """A pipe takes a part of it at once; without a buffer the rest would be dropped in silence."""
    call, pipe = [*_command("'x' * 100_000"), "--json"], subprocess.PIPE
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(call, stdout=pipe, stderr=pipe, env=env) as child:
        assert len(child.stdout.read(50)) == 50
        child.stdout.close()
        err = child.stderr.read()
    assert (child.returncode, err) == (141, b"")


@pytest.mark.skipif(os.name == "nt", reason="there is no such limit")
@pytest.mark.parametrize(
    ("form", "unbuffered"), [([], ""), (["--csv"], ""), (["--json"], ""), (["--json"], "1")]
)
def test_a_file_that_takes_only_a_part_is_an_error(tmp_path, form, unbuffered):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (999, 999))"
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "out").open("wb") as out:
        call = [*_command("'x' * 100", limit), *form]
        done = subprocess.run(call, stdout=out, stderr=subprocess.PIPE, env=env, check=False)
    error, hint = done.stderr.decode().splitlines()
    assert (done.returncode, error) == (1, "error: File too large")
    assert hint.startswith("hint: choose another place")


@pytest.mark.parametrize(
    ("form", "encoding"),
    [
        ([], "cp1252"),
        (["--csv"], "cp1252"),
        (["--json"], "cp1252"),
        (["--csv"], "ascii"),
        ([], "utf-8"),
        (["--json"], "utf-8"),
    ],
)
def test_what_stdout_has_no_characters_for_is_escaped(form, encoding):
    name = "日本茶 é \U0001f375"
    env = os.environ | {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    call = [*_command(ascii(name)), *form]
    out = subprocess.run(call, capture_output=True, check=True, env=env).stdout.decode(encoding)
    if form == ["--json"]:
        assert json.loads(out)[0]["name"] == name
    else:
        for letter in name:  # a table may break between them
            assert letter.encode(encoding, "backslashreplace").decode(encoding) in out


@pytest.mark.skipif(os.name == "nt", reason="a closed stdout is another matter there")
@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_a_stdout_that_is_closed_is_no_reason_for_a_traceback(form):
    call = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "boolrank", "kernels", *form]
    done = subprocess.run(call, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


_SIGNALLED = """
import signal, sys, time
import boolrank.cli._signals as guard
import boolrank.cli.listings as verb
from boolrank.cli import main
guard._GRACE = 0.5

class Dropped:
    def __del__(self):
        signal.raise_signal(int(sys.argv[1]))

def fail(*args):
    if sys.argv[2] == "dropped":  # Python ignores what is raised there
        Dropped()
        time.sleep(60)
    try:
        signal.raise_signal(int(sys.argv[1]))
    except BaseException as error:
        if sys.argv[2] == "wrapped":
            raise SystemError("returned a result with an exception set") from error
        if sys.argv[2] == "caught":
            time.sleep(60)
        signal.raise_signal(int(sys.argv[1]))  # a second one disturbs nothing

verb.describe = fail
main(["kernels"])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("way", ["twice", "wrapped", "caught", "dropped"])
def test_a_signal_ends_the_command_even_if_its_exception_is_lost(number, code, way):
    call = [sys.executable, "-c", _SIGNALLED, str(int(number)), way]
    done = subprocess.run(call, capture_output=True, text=True, timeout=50, check=False)
    unwound = number == signal.SIGINT and way in ("twice", "wrapped")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == ("interrupted\n" if unwound else "")


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_ctrl_c_is_silent_while_the_command_is_imported_and_only_there():
    """Whoever imports the library elsewhere keeps their own handling."""
    program = "import sys, signal\nimport boolrank\nprint(signal.getsignal(signal.SIGINT))"
    for name, kept in (("/bin/boolrank", False), ("/bin/other", True)):
        start = f"import sys\nsys.argv = [{name!r}]\n{program}"
        done = subprocess.run([sys.executable, "-c", start], capture_output=True, check=True)
        assert (b"default_int_handler" in done.stdout) == kept


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_a_command_in_the_background_ignores_ctrl_c_as_shells_want():
    program = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import boolrank.cli.listings as verb\n"
        "verb.describe = lambda *_: (signal.raise_signal(signal.SIGINT), exit(7))\n"
        "from boolrank.cli import main\nmain(['kernels'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 7


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes there")
def test_signals_at_random_moments_leave_no_traceback(tmp_path):
    count = 6 if THOROUGH else 4  # four are both signals to both commands
    ends = send_signals(tmp_path, ["fit", "recommend"], count, seed=3)
    assert sum(ends.values()) == count
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("words", "offered"),
    [("fi", ["fit"]), ("fit ", []), ("recommend model --inc", ["--include-seen"])],
)
def test_shells_are_offered_names(run, monkeypatch, words, offered):
    given = f"boolrank {words}"
    monkeypatch.setenv("_BOOLRANK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", given)
    monkeypatch.setenv("COMP_CWORD", str(given.count(" ")))
    code, out, _ = run()
    assert (code, out.split()) == (0, offered)


KERNEL = """
from dataclasses import dataclass
from boolrank.kernels import Kernel

@dataclass(frozen=True, repr=False)
class Shared(Kernel):
    name = "shared_NAME"
    formula = "c, times scale"
    scale: float = 1.0
    def value(self, k):
        return k.common * self.scale
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of one's own, in the current folder, with a kernel of its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOLRANK_IMPORT", "")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def module(name):
        (tmp_path / f"{name}.py").write_text(KERNEL.replace("NAME", name))
        return name

    return module


@pytest.mark.parametrize("place", ["before", "after", "path"])
def test_an_imported_module_makes_its_kernels_known(run, module, place):
    name = module(f"my_kernels_{place}")
    words = ["--import", name] if place != "path" else [f"--import={name}.py"]
    verb = ["evaluate", "synthetic:60x30x600", "--kernel", f"shared_{name}", "--json"]
    code, out, err = run(*words, *verb) if place == "before" else run(*verb, *words)
    assert code == 0, err
    linear = run("evaluate", "synthetic:60x30x600", "--kernel", "linear", "--json")[1]
    assert json.loads(out)[0]["mean"] == json.loads(linear)[0]["mean"]
    assert f"shared_{name}" in run("kernels")[1]


def test_an_imported_module_is_known_to_worker_processes(run, module):
    name = module("my_kernels_of_workers")
    model = f"kernel-ranker(kernel=shared_{name})"
    args = ["--models", model, "--trials", 0, "--metrics", "auc", "--import", f"{name}.py"]
    code, _, err = run("compare", "synthetic:120x60x1500:3", *args)
    assert code == 0, err
    assert f"--model '{model}' --out model --import {name}.py\n" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--import", "not_there"], "not_there cannot be imported: ModuleNotFoundError"),
        (["--import", "no.inner"], "no.inner cannot be imported: ModuleNotFoundError"),
        (["--import", "nowhere.py"], "nowhere.py cannot be imported: FileNotFoundError"),
        (["--import", "broken.py"], "broken.py cannot be imported: ZeroDivisionError"),
        (["--import", "opens.py"], "opens.py cannot be imported: FileNotFoundError"),
        (["--import"], "--import needs a module"),
    ],
)
def test_a_module_that_cannot_be_imported_is_reported(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "opens.py").write_text("open('surely not there')")
    code, out, err = run("kernels", *words)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith(f"error: {said}")
    assert "\nhint: name a module" in err


@pytest.mark.parametrize("option", ["--model", "--kernel"])
def test_an_unknown_model_or_kernel_may_be_one_of_your_own(run, tmp_path, option):
    events = tmp_path / "events.csv"
    events.write_text("user,item\nann,tea\nbob,tea\n")
    code, _, err = run("fit", events, option, "surely_mine", "--out", tmp_path / "model")
    assert code == 2
    assert "for one of your own, import its module first (--import MODULE" in err


def test_help_says_how_to_install_completion(run):
    assert "--install-completion" in run("-h")[1]


def test_the_package_can_be_run_as_a_module():
    call = [sys.executable, "-m", "boolrank", "--version"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout == f"boolrank {boolrank.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_dependency_gives_the_command_that_installs_it(run, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)  # the import system's word for "not there"
    code, out, err = run("--version")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"error: The command line needs {missing}, which is not installed",
        "hint: pip install 'boolrank[all]'",
    ]


def test_the_demo_says_what_it_needs_before_it_starts(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("demo", "--out", str(tmp_path))
    assert (code, out) == (1, "")
    assert err.endswith("hint: pip install 'boolrank[report]'\n")
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
