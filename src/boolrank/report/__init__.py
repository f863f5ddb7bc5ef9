"""Tables, figures and self-contained HTML pages: light and dark, wide and narrow, no network."""

from .evaluation import evaluation_page
from .page import Page, Section, check_report, render_page

__all__ = ["Page", "Section", "check_report", "evaluation_page", "render_page"]
