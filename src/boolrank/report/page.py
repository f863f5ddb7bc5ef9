"""Pages: sections of a few kinds of blocks, rendered as one self-contained HTML file.

The content of a page is data. Its look is in ``templates/``, where each kind of block has a macro
with the name of its class in lower case; a `Table` is a block, too. Text may have `code` in
backticks and **strong** words in asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._extras import needs
from .._version import __version__
from ..data.interactions import Interactions
from ..errors import InputError
from ..storage.output import check_output, write_text
from ..table import Table
from .figures import Plot

_MARKER = ".boolrank"  # a file with the name of the command that writes into the folder


class Note(NamedTuple):
    """A paragraph."""

    text: str


class Entries(NamedTuple):
    """Terms with explanations; ``commands`` are shown as code."""

    entries: Mapping[str, str]
    commands: bool = False


class Lists(NamedTuple):
    """Lists side by side: title, texts with labels, and a note; ✓ in a label emphasises it."""

    lists: Sequence[tuple[str, Mapping[str, str], str]]


class Figures(NamedTuple):
    """Figures side by side."""

    plots: Sequence[Plot]


Block = Note | Entries | Figures | Lists | Table


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


def data_size(data: Interactions, users: str = "users", items: str = "items") -> str:
    """Return the size and density of data in a line."""
    n_users, n_items = data.shape
    density, median = data.size / (n_users * n_items), np.median(np.diff(data.indptr))
    return (
        f"{n_users:,} {users} × {n_items:,} {items}, {data.size:,} interactions ({density:.2%} of "
        f"all pairs), median of {median:g} {items} per {users[:-1]}"
    )


def made(command: str, entries: Mapping[str, str], machine: Mapping[str, Any]) -> Entries:
    """Return the block on the command, its seed and data, and the machine of `studies.run`."""
    here = machine["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    place = f"{here['processor']}, {here['cores']} cores, {here['system']} {here['architecture']}"
    first = {"command": f"`{command}`"} if command else {}
    return Entries({**first, **entries, "versions": versions, "machine": place})


def claim_folder(folder: str | Path, command: str) -> None:
    """Mark a folder as the output of a command; raise if it holds anything else.

    A new folder, an empty one and one with output of the same command are fine. The extra for pages
    has to be installed: commands call this before their work.
    """
    with needs("report", "The page"):
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401
    folder = Path(folder)
    check_output(folder)
    marker = folder / _MARKER
    owner = marker.read_text(encoding="utf-8", errors="replace").strip() if marker.is_file() else ""
    if owner != command and folder.is_dir() and any(folder.iterdir()):
        content = f"output of `boolrank {owner}`" if owner else "files that boolrank did not write"
        raise InputError(
            f"{folder} holds {content}", hint="choose a new or an empty folder", parameter="out"
        )
    write_text(marker, f"{command}\n")


def write_page(page: Page, tables: Iterable[Table], path: Path) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path."""
    blocks = (block for section in page.sections for block in section.blocks)
    for plot in (plot for block in blocks if isinstance(block, Figures) for plot in block.plots):
        for kind in ("png", "svg"):
            write_text(path.parent / "figures" / f"{plot.name}.{kind}", plot.file(kind))
    for table in tables:
        stem = path.parent / "tables" / table.name
        write_text(stem.with_suffix(".csv"), table.to_csv())
        write_text(stem.with_suffix(".md"), table.to_markdown())
        write_text(stem.with_suffix(".tex"), table.to_latex())
    write_text(path, render_page(page))
    return path


def render_page(page: Page) -> str:
    """Return the page as HTML, for light and dark, wide and narrow screens, paper, and offline.

    >>> text = render_page(Page("A page", "About `x < y`.", [Section("one", "Part one", "")]))
    >>> "<h2>Part one</h2>" in text, "<code>x &lt; y</code>" in text
    (True, True)
    """
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
