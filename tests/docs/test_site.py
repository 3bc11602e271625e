"""The site builds without a warning, and its reference holds all that the code has."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from typing import get_args

import pytest
from pages import DOCS, PAGES, ROOT, blocks

from pytest_promptse import errors, hookspecs
from pytest_promptse.sandbox._causes import Cause
from pytest_promptse.tasks import _suitefile


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # The build requests nothing from the network.
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"),
            *("-d", folder / "trees", DOCS, folder / "html"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def text_of(page) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_page_is_on_it(site):
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").exists()


def test_nothing_is_fetched_from_elsewhere(site):
    fetched = re.compile(r"<(?:script|img|link)\b[^>]*(?:src|href)=\"https?:")
    assert [page for page in site.rglob("*.html") if fetched.search(page.read_text())] == []


def test_the_reference_is_that_of_the_code():
    command = [sys.executable, ROOT / "tools" / "reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_has_every_hook():
    text = (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")
    for name in vars(hookspecs):
        assert not name.startswith("pytest_promptse_") or f"`{name}(" in text


def test_the_reference_has_every_error():
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert [name for name in errors.__all__ if f"### `{name}`" not in text] == []


def test_every_cause_of_failure_is_explained():
    text = (DOCS / "reference" / "causes.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(get_args(Cause))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_repository_shows_each_page_as_the_site_does(page):
    # MyST's directives and definition lists are not part of GitHub's Markdown.
    assert not re.search(r"^(`{3,}\{|: )", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_first_page_leads_to_all_others():
    links = re.findall(r"\]\(([^)#]+\.md)", (DOCS / "index.md").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert pages - set(links) == {"index.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_in_the_repository_too(page):
    prose = page.read_text(encoding="utf-8")
    for block in blocks(page):
        prose = prose.replace(block.text, "")
    for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
        assert (page.parent / link).exists(), link


def test_the_reference_has_every_key_of_a_suite_file(site):
    text = text_of(site / "reference/suite-files.html")
    for keys in (_suitefile._FILE_KEYS, _suitefile._TASK_KEYS, _suitefile._EXAMPLE_KEYS):
        assert [key for key in keys if not re.search(rf"^{key}$", text, re.MULTILINE)] == []
