"""Data sets by name, and made-up ones."""
