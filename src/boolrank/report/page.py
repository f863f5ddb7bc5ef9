"""A page: a heading and sections of blocks, filled into one self-contained HTML file.

All pages are made of the same few kinds of blocks (`blocks.py`). What a page says is data; how it
looks stands in ``templates/``, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .._extras import needs
from .._version import __version__
from ..studies.cache import write_text
from .blocks import Block, Figures
from .figures import Drawn, to_png, to_svg_file
from .tables import FORMS, Table

if TYPE_CHECKING:
    import jinja2

__all__ = ["Page", "Section", "check_report", "render_page", "write_page"]

_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, and what they are about.

    Text may have `code` in backticks and **strong** words in asterisks.
    """

    name: str  # where links to it go
    title: str
    text: str
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class Page:
    """Everything that one HTML file says."""

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""

    def figures(self) -> dict[str, Drawn]:
        """All figures by name, to be written as files of their own."""
        blocks = [block for section in self.sections for block in section.blocks]
        panels = [block for block in blocks if isinstance(block, Figures)]
        return {drawn.name: drawn for block in panels for drawn in block.figures}


def render_page(page: Page) -> str:
    """The page as HTML: light and dark, wide and narrow, on paper, and without any network.

    >>> text = render_page(Page("A page", "About `x < y`.", [Section("one", "Part one", "")]))
    >>> "<h2>Part one</h2>" in text, "<code>x &lt; y</code>" in text
    (True, True)
    """
    template = _environment().get_template("page.html")
    return template.render(page=page, version=__version__)


def write_page(page: Page, tables: Iterable[Table], path: Path) -> Path:
    """Write the page, and beside it ``tables/`` and ``figures/``; returns the path."""
    for name, drawn in page.figures().items():
        place = path.parent / "figures" / name
        write_text(place.with_suffix(".svg"), to_svg_file(drawn.figure))
        write_text(place.with_suffix(".png"), to_png(drawn.figure))
    for table in tables:
        for ending, form in FORMS.items():
            write_text(path.parent / "tables" / f"{table.name}{ending}", form(table))
    write_text(path, render_page(page))
    return path


def check_report(what: str = "The page") -> None:
    """Say what is missing before the work, not after it."""
    with needs("report", what):
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401


@cache
def _environment() -> jinja2.Environment:
    with needs("report", "The page"):
        import jinja2
        from markupsafe import Markup, escape

    def prose(text: str) -> Markup:
        """Text with its marks, and everything else escaped."""
        marked = _CODE.sub(r"<code>\1</code>", str(escape(text)))
        return Markup(_STRONG.sub(r"<strong>\1</strong>", marked))  # noqa: S704 - escaped above

    def breakable(text: str) -> Markup:
        """A kernel's text, that may be broken before its parameters where a line is short."""
        return escape(text).replace("(", Markup("<wbr>(")).replace("_", Markup("_<wbr>"))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("boolrank.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": breakable, "prose": prose}
    return environment
