"""Figures and one self-contained HTML page: light and dark, wide and narrow, no network."""
