"""Fill a template into one self-contained HTML page."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .._extras import needs

if TYPE_CHECKING:
    import jinja2

__all__ = ["render_page"]


def render_page(template: str, **context: Any) -> str:
    """The text of ``template``, a file of ``report/templates``, filled with ``context``.

    Everything is escaped except what the template marks as safe, and a name that the template uses
    and ``context`` lacks is an error.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> jinja2.Environment:
    with needs("report", "The report"):
        import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("boolrank.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = _thousands
    environment.filters["percent"] = _percent
    return environment


def _thousands(value: float) -> str:
    """A whole number in groups of three digits, with thin spaces.

    >>> _thousands(1234567) == "1\u202f234\u202f567"
    True
    """
    return f"{value:,.0f}".replace(",", "\u202f")


def _percent(value: float) -> str:
    """A share as a percentage with one decimal.

    >>> _percent(0.0624)
    '6.2 %'
    """
    return f"{100 * value:.1f} %"
