"""A hook of mkdocs: show the navigation beside the page from 1100 pixels on, not from 1220."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WIDTHS = {"76.25em": "68.75em", "76.234375em": "68.734375em"}  # of the theme, and ours


def on_post_build(config: Any, **_: Any) -> None:
    """Replace the width in the styles and the script of the theme."""
    assets = Path(config["site_dir"]) / "assets"
    for path in (*assets.glob("stylesheets/*.css"), *assets.glob("javascripts/bundle*.js")):
        text = path.read_text(encoding="utf-8")
        for old, new in _WIDTHS.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
