"""A parsed HTML page, for tests of every kind of page."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text outside scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self._raw = [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._raw = tag if tag in ("script", "style") else None

    def handle_endtag(self, _tag):
        self._raw = None

    def handle_data(self, data):
        if self._raw is None:
            self.text += data
