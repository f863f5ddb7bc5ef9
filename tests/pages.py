"""Checks of HTML pages: valid, self-contained, and with the expected content."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "wbr", "br", "img", "link", "hr", "input"}


class Outline(HTMLParser):
    """The ids, links and tables of a page, and its unbalanced tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.tables: dict[str, list[list[tuple[str, str]]]] = {}
        self.wrong: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in given:
            self.ids.append(given["id"])
        if tag in {"link", "img", "iframe", "object", "embed", "audio", "video"}:
            self.fetched.append(tag)
        for name in ("src", "srcset", "data", "href", "xlink:href", "action"):
            if name in given:
                (self.links if given[name].startswith("#") else self.fetched).append(given[name])
        if tag == "table":
            self.rows = self.tables.setdefault(given.get("data-name", ""), [])
        if tag == "tr" and "table" in self.open:
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append((given.get("data-value", ""), ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if {"td", "th"} & set(self.open) and "table" in self.open:
            value, text = self.rows[-1][-1]
            self.rows[-1][-1] = value, text + data


def check_page(page: str) -> Outline:
    """Raise if a page is broken or not self-contained."""
    outline = Outline(page)
    assert outline.wrong == []
    assert outline.open == []
    assert outline.fetched == []
    assert not re.search(r"https?://|@import|url\((?!#)", page)
    assert len(outline.ids) == len(set(outline.ids))
    used = {link[1:] for link in outline.links} | set(re.findall(r"url\(#([^)]+)\)", page))
    assert used <= set(outline.ids)
    return outline
