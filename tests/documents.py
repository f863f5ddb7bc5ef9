"""Run the examples of documentation pages, and compare their output with the page.

The blocks of a page run in order, in one folder. A Python block is a doctest. A console block has
commands after ``$ `` with their output below; ``boolrank serve`` runs until the end of the page. A
block with a file name as its title is that file. A block that cannot run says so in its title.

``python tests/documents.py docs/choosing.md ...`` writes the current output into pages; check the
difference before you commit it.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from boolrank import cli
from boolrank.data import DATASETS
from boolrank.evaluation import METRICS
from boolrank.models import MODELS

DOCS = Path(__file__).parent.parent / "docs"
# Several pages use the file ratings.csv of this page.
QUICK_START = DOCS / "quickstart.md"
NOT_RUN = "Not run in the tests: "

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Where the service is on pages. Here it listens on any free port.
SERVICE = "127.0.0.1:8000"
# Output that differs between runs, and what pages show instead: seconds, memory (not known on every
# system), and the folder of an experiment.
_DIFFERS = {
    r"\d+\.\d s(, [\d,]+ MB peak memory)?": "… s, … MB peak memory",
    r"(?<=/runs/)[0-9a-f]{16}(?=/)": "…",
}


class Block(NamedTuple):
    """A fenced block: language, title, text, and the number of lines before the text."""

    language: str
    title: str
    text: str
    line: int


class Surprise(NamedTuple):
    """Output that differs from the page, which shows it after some line."""

    line: int
    source: str
    shown: str
    printed: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.source}\nshown:\n{self.shown}\nprinted:\n{self.printed}"


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield Block(match[1], match[2] or "", match[3], text.count("\n", 0, match.start(3)))


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield the commands of a console: line where the output starts, command, output shown."""
    line = block.line
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = re.sub(r"\\\n *", "\0", part).partition("\n")
        yield line + command.count("\0") + 1, command.replace("\0", " "), shown
        line += part.count("\n")


def arguments(command: str) -> list[str]:
    """Return the words after ``boolrank``, split as by a shell."""
    name, *words = shlex.split(command, comments=True)
    assert name == "boolrank", f"only boolrank can be run, not {command!r}"
    return words


def run_command(command: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    screen, code = io.StringIO(), 0
    with redirect_stdout(screen), redirect_stderr(screen):
        try:
            cli.main(arguments(command))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, screen.getvalue()


class Shell:
    """Run the commands of a page; a service runs in the background until `close`."""

    def __init__(self) -> None:
        self.service: subprocess.Popen[str] | None = None
        self.address = SERVICE

    def run(self, command: str) -> str | None:
        """Return the output, or None if this system has no such program."""
        if command.startswith("boolrank serve"):
            return self._serve(arguments(command))
        if command.startswith("boolrank"):
            return run_command(command)[1]
        if os.name == "nt" or shutil.which(command.split(maxsplit=1)[0]) is None:
            return None
        done = subprocess.run(
            ["bash", "-c", command.replace(SERVICE, self.address)],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        return (done.stdout + done.stderr).replace(self.address, SERVICE)

    def _serve(self, words: list[str]) -> str:
        self.service = subprocess.Popen(
            [sys.executable, "-m", "boolrank", *words, "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.service.stderr is not None
        line = self.service.stderr.readline()
        found = re.search(r"http://([\d.:]+)", line)
        if found:
            self.address = found[1]
        return line.replace(self.address, SERVICE)

    def close(self) -> None:
        if self.service is not None:
            self.service.terminate()
            self.service.communicate()


def write_files(path: Path) -> None:
    """Write the files of a page into the current folder."""
    for block in blocks(path):
        if _is_file(block):
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")


def _is_file(block: Block) -> bool:
    return block.title.endswith((".csv", ".toml", ".py"))


def run_page(path: Path) -> Iterator[Surprise]:
    """Run a page in the current folder; yield every difference between page and output."""
    page = ModuleType("page")  # a module, so that classes of the page can be pickled
    before = [(table, dict(table)) for table in _TABLES]
    shell = Shell()
    sys.modules["page"] = page
    sys.path.insert(0, str(Path.cwd()))  # for modules that the page shows
    write_files(QUICK_START)
    write_files(path)
    try:
        for block in blocks(path):
            if not _is_file(block) and not block.title.startswith(NOT_RUN):
                yield from _RUN[block.language](block, vars(page), shell)
    finally:
        shell.close()
        del sys.modules["page"], sys.path[0]
        for block in blocks(path):
            sys.modules.pop(block.title.removesuffix(".py"), None)
        for table, content in before:  # pages add models, metrics and data sets
            table.clear()
            table.update(content)


def _run_python(block: Block, names: dict[str, Any], shell: Shell) -> Iterator[Surprise]:
    text = block.text.replace(SERVICE, shell.address)
    test = doctest.DocTestParser().get_doctest(text, {}, "page", None, block.line)
    assert test.examples, f"line {block.line}: Python without a prompt is not run"
    test.globs = names
    runner = _Runner(optionflags=FLAGS, verbose=False)
    runner.surprises = []
    runner.run(test, out=lambda _: None, clear_globs=False)
    yield from runner.surprises


class _Runner(doctest.DocTestRunner):
    """Keep the output that differs from the page."""

    surprises: list[Surprise]

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:  # noqa: ARG002
        line = test.lineno + example.lineno + example.source.count("\n")
        got = re.sub(r"^$", "<BLANKLINE>", got.removesuffix("\n"), flags=re.MULTILINE) + "\n"
        self.surprises.append(Surprise(line, example.source, example.want, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        name = exc_info[0].__name__
        self.report_failure(out, test, example, f"{name}: {exc_info[1]}\n")


def _run_console(block: Block, _: dict[str, Any], shell: Shell) -> Iterator[Surprise]:
    checker = doctest.OutputChecker()
    for line, command, shown in commands(block):
        printed = shell.run(command)
        if printed is None:
            continue
        for pattern, stands in _DIFFERS.items():
            printed = re.sub(pattern, stands, printed)
        if not checker.check_output(shown, printed, FLAGS):
            lines = [text.rstrip() for text in printed.strip("\n").splitlines()]
            yield Surprise(line, command, shown, "\n".join([*lines, ""]))


_RUN = {"python": _run_python, "console": _run_console}
_TABLES: list[Any] = [os.environ, MODELS, METRICS, DATASETS]


def main(paths: list[str]) -> None:
    """Write the current output of their blocks into pages."""
    for path in [Path(each).absolute() for each in paths]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ["BOOLRANK_DATA"] = str(Path(folder, "data"))
            lines = path.read_text(encoding="utf-8").splitlines()
            for each in reversed(list(run_page(path))):
                after = each.line + each.shown.count("\n")
                lines[each.line : after] = each.printed.splitlines()
            path.write_text("\n".join([*lines, ""]), encoding="utf-8")
            os.chdir(path.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
