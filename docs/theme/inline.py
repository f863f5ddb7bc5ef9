"""A hook of mkdocs: embed pictures into the page, so that they have its colours.

A linked file does not know whether the reader has chosen light or dark.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PICTURE = re.compile(r'<img alt="([^"]*)" src="pictures/([a-z-]+)\.svg" ?/?>')
_STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)


def on_page_content(html: str, config: Any, **_: Any) -> str:
    """Replace links to pictures by the pictures."""
    folder = Path(config["docs_dir"]) / "pictures"

    def drawn(link: re.Match[str]) -> str:
        picture = (folder / f"{link[2]}.svg").read_text(encoding="utf-8")
        return _STYLE.sub("", picture).replace("\n", "")

    return _PICTURE.sub(drawn, html)
