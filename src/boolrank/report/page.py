"""Pages: sections of a few kinds of blocks, rendered as one self-contained HTML file.

The content of a page is data. Its look is in ``templates/``, where each kind of block has a macro
with the name of its class in lower case; a `Table` is a block, too. Text may have `code` in
backticks and **strong** words in asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .._extras import needs
from .._version import __version__
from ..errors import InputError
from ..studies.cache import check_folder, write_text
from ..table import Table
from .figures import Plot

_MARKER = ".boolrank"  # a file with the name of the command that writes into the folder


class Note(NamedTuple):
    """A paragraph."""

    text: str


class Facts(NamedTuple):
    """A few numbers with names, in large print."""

    facts: Mapping[str, str]


class Entries(NamedTuple):
    """Terms with explanations; ``commands`` are shown as code."""

    entries: Mapping[str, str]
    commands: bool = False


class Item(NamedTuple):
    """An entry of a list, with a label; ✓ in the label emphasises it."""

    text: str
    label: str


class Lists(NamedTuple):
    """Lists side by side, each with a title and a note."""

    lists: Sequence[tuple[str, Sequence[Item], str]]


class Figures(NamedTuple):
    """Figures side by side."""

    plots: Sequence[Plot]


Block = Note | Facts | Entries | Figures | Lists | Table


class Section(NamedTuple):
    """A heading, a paragraph and blocks; ``name`` is the target of links."""

    name: str
    title: str
    text: str
    blocks: Sequence[Block] = ()


class Page(NamedTuple):
    """The content of an HTML file."""

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""


def claim_folder(folder: str | Path, command: str) -> Path:
    """Mark a folder as the output of a command; raise if it holds anything else.

    A new folder, an empty one and one with output of the same command are fine.
    """
    folder = Path(folder)
    check_folder(folder)
    marker = folder / _MARKER
    owner = marker.read_text(encoding="utf-8", errors="replace").strip() if marker.is_file() else ""
    if owner != command and folder.is_dir() and any(folder.iterdir()):
        content = f"output of `boolrank {owner}`" if owner else "files that boolrank did not write"
        raise InputError(
            f"{folder} holds {content}", hint="choose a new or an empty folder", parameter="out"
        )
    write_text(marker, f"{command}\n")
    return folder


def check_report() -> None:
    """Raise before the work if the extra for pages is not installed."""
    with needs("report", "The page"):
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401


def write_page(
    page: Page, tables: Iterable[Table], path: Path, papers: Iterable[Table] = ()
) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path.

    Tables are written as CSV and Markdown. LaTeX has ``papers`` instead, if they are given: tables
    of few columns, in one file with the name of the first table.
    """
    blocks = (block for section in page.sections for block in section.blocks)
    for plot in (plot for block in blocks if isinstance(block, Figures) for plot in block.plots):
        for kind in ("png", "svg"):
            write_text(path.parent / "figures" / f"{plot.name}.{kind}", plot.file(kind))
    papers = list(papers)
    for table in tables:
        stem = path.parent / "tables" / table.name
        write_text(stem.with_suffix(".csv"), table.to_csv())
        write_text(stem.with_suffix(".md"), table.to_markdown())
        latex = "\n".join(each.to_latex() for each in papers or [table])
        write_text(stem.with_suffix(".tex"), latex)
    write_text(path, render_page(page))
    return path


def render_page(page: Page) -> str:
    """Return the page as HTML, for light and dark, wide and narrow screens, paper, and offline.

    >>> text = render_page(Page("A page", "About `x < y`.", [Section("one", "Part one", "")]))
    >>> "<h2>Part one</h2>" in text, "<code>x &lt; y</code>" in text
    (True, True)
    """
    with needs("report", "The page"):
        import jinja2
        from markupsafe import Markup, escape

    def prose(text: str) -> Markup:
        """Escape text and apply its markup."""
        marked = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))
        strong = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
        return Markup(strong)  # noqa: S704 - escaped above

    def breakable(text: str) -> Markup:
        """Escape the text of a model, with breaks allowed before its parameters."""
        return escape(text).replace("(", Markup("<wbr>(")).replace("_", Markup("_<wbr>"))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("boolrank.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "breakable": breakable,
        "kind": lambda block: type(block).__name__.lower(),
        "minus": lambda text: text.replace("-", "−"),
        "prose": prose,
    }
    return environment.get_template("page.html").render(page=page, version=__version__)
