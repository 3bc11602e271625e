"""The site builds without a warning, and its reference holds all that the code has."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import pytest
from pages import DOCS, PAGES, ROOT, blocks

from pytest_promptse import hookspecs
from pytest_promptse.cli._main import make_parser
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.record._schema import json_schema
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


def test_the_reference_has_every_option(site):
    text = text_of(site / "reference/options.html")
    for option in OPTIONS.values():
        assert f"{option.flag}" in text
        assert option.flag_only or option.ini in text


def test_the_reference_has_every_keyword_of_the_mark(site):
    rows = re.findall(r"^(\w+)$", text_of(site / "reference/mark.html"), re.MULTILINE)
    assert {option.name for option in OPTIONS.values() if option.marker} <= set(rows)


def test_the_reference_has_every_field_of_the_record(site):
    text = text_of(site / "reference/record.html")
    for name, part in json_schema()["$defs"].items():
        assert name in text
        assert all(field in text for field in part.get("properties", {}))


def test_the_reference_has_every_hook(site):
    text = text_of(site / "reference/hooks.html")
    for name in vars(hookspecs):
        assert not name.startswith("pytest_promptse_") or f"{name}(" in text


def test_the_reference_has_every_command(site):
    text = text_of(site / "reference/commands.html")
    [commands] = [action.choices for action in make_parser()._actions if action.choices]
    for command in commands.values():
        assert f"usage: {command.prog}" in text


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
