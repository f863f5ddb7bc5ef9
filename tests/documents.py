"""Pages of documentation as blocks that run, and what they print beside what the page shows.

Of a page, all blocks run in order in one folder. Python is a doctest; in a console each line after
``$ `` is run, and what stands below it is what it prints; a block with the name of a file as its
title is that file. A block that cannot run says so in its title.

``python tests/documents.py docs/choosing.md …`` writes into pages what their blocks print now; look
at the difference before you keep it.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from boolrank import cli

DOCS = Path(__file__).parent.parent / "docs"
# The file that several pages speak of stands on this one.
QUICK_START = DOCS / "quickstart.md"
NOT_RUN = "Not run in the tests: "

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# What differs from run to run or version to version, and what pages show for it: seconds, memory
# (where the system tells it), and the folder of an experiment.
_DIFFERS = {
    r"\d+\.\d s(, [\d,]+ MB at most)?": "… s, … MB at most",
    r"(?<=/runs/)[0-9a-f]{16}(?=/)": "…",
}


class Block(NamedTuple):
    """A fenced block: its language, its title, its text, and how many lines stand before that."""

    language: str
    title: str
    text: str
    line: int


class Surprise(NamedTuple):
    """What a page shows from some line on, and what was printed instead."""

    line: int
    source: str
    shown: str
    printed: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.source}\nshown:\n{self.shown}\nprinted:\n{self.printed}"


def blocks(path: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield Block(match[1], match[2] or "", match[3], text.count("\n", 0, match.start(3)))


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """The commands of a console: the line where the output begins, the command, what is shown."""
    line = block.line
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = re.sub(r"\\\n *", "\0", part).partition("\n")
        yield line + command.count("\0") + 1, command.replace("\0", " "), shown
        line += part.count("\n")


def arguments(command: str) -> list[str]:
    """The words after ``boolrank``, as a shell would split them."""
    name, *words = shlex.split(command, comments=True)
    assert name == "boolrank", f"only boolrank can be run, not {command!r}"
    return words


def run_command(command: str) -> tuple[int, str]:
    """Exit code, and what stands on the screen."""
    screen, code = io.StringIO(), 0
    with redirect_stdout(screen), redirect_stderr(screen):
        try:
            cli.main(arguments(command))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, screen.getvalue()


def write_files(path: Path) -> None:
    """Write the files that a page shows into the folder where we are."""
    for block in blocks(path):
        if block.language in ("csv", "toml"):
            Path(block.title).write_text(block.text, encoding="utf-8")


def run_page(path: Path) -> Iterator[Surprise]:
    """Run a page in the folder where we are; gives what it shows and what is not so."""
    page = ModuleType("page")  # as at a prompt: classes that the page defines can be pickled
    sys.modules["page"] = page
    write_files(QUICK_START)
    write_files(path)
    try:
        for block in blocks(path):
            if not block.title.startswith(NOT_RUN):
                yield from _RUN[block.language](block, vars(page))
    finally:
        del sys.modules["page"]


def _run_python(block: Block, names: dict[str, Any]) -> Iterator[Surprise]:
    test = doctest.DocTestParser().get_doctest(block.text, {}, "page", None, block.line)
    assert test.examples, f"line {block.line}: Python without a prompt is not run"
    test.globs = names
    runner = _Runner(optionflags=FLAGS, verbose=False)
    runner.surprises = []
    runner.run(test, out=lambda _: None, clear_globs=False)
    yield from runner.surprises


class _Runner(doctest.DocTestRunner):
    """Keeps what examples printed that the page does not show."""

    surprises: list[Surprise]

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:  # noqa: ARG002
        line = test.lineno + example.lineno + example.source.count("\n")
        got = re.sub(r"^$", "<BLANKLINE>", got.removesuffix("\n"), flags=re.MULTILINE) + "\n"
        self.surprises.append(Surprise(line, example.source, example.want, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        name = exc_info[0].__name__
        self.report_failure(out, test, example, f"{name}: {exc_info[1]}\n")


def _run_console(block: Block, _: dict[str, Any]) -> Iterator[Surprise]:
    checker = doctest.OutputChecker()
    for line, command, shown in commands(block):
        _, printed = run_command(command)
        for pattern, stands in _DIFFERS.items():
            printed = re.sub(pattern, stands, printed)
        if not checker.check_output(shown, printed, FLAGS):
            lines = [text.rstrip() for text in printed.strip("\n").splitlines()]
            yield Surprise(line, command, shown, "\n".join([*lines, ""]))


def _keep(block: Block, _: dict[str, Any]) -> Iterator[Surprise]:
    """A file was written before."""
    assert Path(block.title).is_file()
    yield from ()


_RUN = {"python": _run_python, "console": _run_console, "csv": _keep, "toml": _keep}


def main(paths: list[str]) -> None:
    """Write into pages what their blocks print."""
    for path in [Path(each).absolute() for each in paths]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ["BOOLRANK_DATA"] = folder
            lines = path.read_text(encoding="utf-8").splitlines()
            for each in reversed(list(run_page(path))):
                after = each.line + each.shown.count("\n")
                lines[each.line : after] = each.printed.splitlines()
            path.write_text("\n".join([*lines, ""]), encoding="utf-8")
            os.chdir(path.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
