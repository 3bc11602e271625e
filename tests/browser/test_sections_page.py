"""Pages of ``promptse history`` and ``promptse harden``, which are sections and no study."""

from __future__ import annotations

import pytest
from page_checks import SCREENS, check_all_details
from record_builders import flat, make_run

from pytest_promptse.cli._main import main
from pytest_promptse.compare import _page
from pytest_promptse.compare._baseline import FOLDER
from pytest_promptse.compare._history import append
from pytest_promptse.record._sections import Listing, Section


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A course of thirteen runs of which the last one is worse."""
    root = tmp_path_factory.mktemp("history")
    (root / FOLDER).mkdir(parents=True)
    for number, rate in enumerate([0.875, 0.9375] * 6 + [0.0]):
        day = f"2026-01-{number + 1:02}T03:00:00+00:00"
        tasks = {name: (1.0, flat(rate, each=4)[1]) for name in ("one", "two", "three")}
        append("main", make_run("m", tasks, n=16, finished=day).record, root)
    path = root / "history.html"
    source = str(root / FOLDER / "main.history.jsonl")
    assert main(["history", source, "--html", str(path)]) == 1
    return path


@pytest.fixture(scope="module")
def listing(tmp_path_factory):
    """A page with a diff whose lines are longer than a small screen."""
    path = tmp_path_factory.mktemp("listing") / "page.html"
    diff = "+++ hardened/x.j2\n+<script>window.owned = 1</script> " + "word " * 80
    section = Section(name="template", title="The template", blocks=(Listing(title="", text=diff),))
    _page.write_sections([section], path, title="x is confirmed")
    return path


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["history", "listing"])
def test_a_page_is_accessible_and_stays_within_the_screen(request, open_page, keep, name, screen):
    page = open_page(request.getfixturevalue(name), **SCREENS[screen])
    check_all_details(page)
    keep(page, f"{name}-{screen}")


def test_a_listing_is_text(listing, open_page):
    page = open_page(listing)
    assert page.evaluate("window.owned") is None
    assert "<script>" in page.locator("pre").inner_text()


def test_a_change_is_marked_in_the_plot_and_in_the_table(history, open_page):
    page = open_page(history)
    assert page.locator("figure svg").count() == 1
    assert page.get_by_role("cell", name="worse: pass rate reworded").count() == 1
