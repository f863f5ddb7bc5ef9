"""Pages: sections of a few kinds of blocks, rendered as one self-contained HTML file.

The content of a page is data. Its look is in ``templates/``, where each kind of block has a macro
with the name of its class in lower case; a `Table` is a block, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .._extras import needs
from .._version import __version__
from ..studies.cache import write_text
from ..table import Table
from .figures import Drawn, to_png, to_svg_file

if TYPE_CHECKING:
    import jinja2

__all__ = [
    "Block",
    "Entries",
    "Example",
    "Facts",
    "Figures",
    "Listed",
    "Listing",
    "Note",
    "Page",
    "Section",
    "check_report",
    "render_page",
    "write_page",
]

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True)
class Note:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Facts:
    """A few numbers with names, in large print."""

    facts: Mapping[str, str]


@dataclass(frozen=True)
class Entries:
    """Terms with explanations; ``commands`` are shown as code."""

    entries: Mapping[str, str]
    commands: bool = False


@dataclass(frozen=True)
class Figures:
    """Figures side by side."""

    figures: Sequence[Drawn]


class Listed(NamedTuple):
    """An item of a list with a tag, which may be a good one, and a score if it has one."""

    name: str
    tag: str = ""
    good: bool = False
    score: float | None = None


@dataclass(frozen=True)
class Listing:
    """Items under a title; ``reasons`` are the parts that add up to the score of the first."""

    title: str
    items: Sequence[Listed]
    more: str = ""
    reasons: Sequence[tuple[str, float]] = ()

    @property
    def total(self) -> float:
        return sum(part for _, part in self.reasons)


@dataclass(frozen=True)
class Example:
    """A user with lists side by side."""

    title: str
    tags: Sequence[str]
    about: str
    listings: Sequence[Listing]


Block = Note | Facts | Entries | Figures | Example | Table


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph and blocks; ``name`` is the target of links.

    Text may have `code` in backticks and **strong** words in asterisks.
    """

    name: str
    title: str
    text: str
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class Page:
    """The content of an HTML file."""

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""

    def figures(self) -> dict[str, Drawn]:
        """Return the figures by name."""
        blocks = [block for section in self.sections for block in section.blocks]
        panels = [block for block in blocks if isinstance(block, Figures)]
        return {drawn.name: drawn for block in panels for drawn in block.figures}


def render_page(page: Page) -> str:
    """Return the page as HTML, for light and dark, wide and narrow screens, paper, and offline.

    >>> text = render_page(Page("A page", "About `x < y`.", [Section("one", "Part one", "")]))
    >>> "<h2>Part one</h2>" in text, "<code>x &lt; y</code>" in text
    (True, True)
    """
    template = _environment().get_template("page.html")
    return template.render(page=page, version=__version__)


def write_page(page: Page, tables: Iterable[Table], path: Path) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path."""
    for name, drawn in page.figures().items():
        write_text(path.parent / "figures" / f"{name}.svg", to_svg_file(drawn.figure))
        write_text(path.parent / "figures" / f"{name}.png", to_png(drawn.figure))
    for table in tables:
        stem = path.parent / "tables" / table.name
        write_text(stem.with_suffix(".csv"), table.to_csv())
        write_text(stem.with_suffix(".md"), table.to_markdown())
        write_text(stem.with_suffix(".tex"), table.to_latex())
    write_text(path, render_page(page))
    return path


def check_report(what: str = "The page") -> None:
    """Raise before the work if the extra for pages is not installed."""
    with needs("report", what):
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401


@cache
def _environment() -> jinja2.Environment:
    with needs("report", "The page"):
        import jinja2
        from markupsafe import Markup, escape

    def prose(text: str) -> Markup:
        """Escape text and apply its markup."""
        marked = _CODE.sub(r"<code>\1</code>", str(escape(text)))
        return Markup(_STRONG.sub(r"<strong>\1</strong>", marked))  # noqa: S704 - escaped above

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
    return environment
