"""A hook of mkdocs: pictures of ours become part of the page, so that they have its colours.

As files they could not know whether the page is light or dark, since the reader may choose that.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PICTURE = re.compile(r'<img alt="([^"]*)" src="pictures/([a-z-]+)\.svg" ?/?>')
_STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)


def on_page_content(html: str, config: Any, **_: Any) -> str:
    """Put each picture in the place of the link to it."""
    folder = Path(config["docs_dir"]) / "pictures"

    def drawn(link: re.Match[str]) -> str:
        picture = (folder / f"{link[2]}.svg").read_text(encoding="utf-8")
        return _STYLE.sub("", picture).replace("\n", "")

    return _PICTURE.sub(drawn, html)
