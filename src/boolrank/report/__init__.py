"""Tables of results, figures, and self-contained HTML pages."""
