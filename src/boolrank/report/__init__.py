"""Figures and self-contained HTML pages."""

from .evaluation import evaluation_page
from .output import claim_folder
from .page import Page, Section, check_report, render_page

__all__ = ["Page", "Section", "check_report", "claim_folder", "evaluation_page", "render_page"]
