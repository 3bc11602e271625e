"""Pages in a real headless Chromium, whose console and network are watched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-quic", "--disable-background-networking"],
        )
        yield browser
        browser.close()


class Opened:
    """A page with its console messages and its network requests."""

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def open_page(chromium):
    """Open a file. The page must log no error and request nothing else until the end."""
    contexts = []

    def open_page(path, *, size=(1280, 900), fragment="", **options):
        width, height = size
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        # A long limit for busy machines: these tests do not depend on speed.
        context.set_default_timeout(600_000)
        opened = Opened(context.new_page())
        contexts.append((context, opened, path))
        opened.page.goto(f"{path.as_uri()}{fragment}")
        return opened.page

    yield open_page
    for context, opened, path in contexts:
        context.close()
        assert opened.complaints == []
        assert {url.partition("#")[0] for url in opened.requests} == {path.as_uri()}


@pytest.fixture(scope="session")
def keep():
    """Save a screenshot if PROMPTSE_SCREENSHOTS names a folder."""
    named = os.environ.get("PROMPTSE_SCREENSHOTS")

    def keep(page, name, *, full_page=True):
        if named is None:
            return
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", full_page=full_page)

    return keep
