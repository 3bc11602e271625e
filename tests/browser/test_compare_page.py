from __future__ import annotations

import pytest
from hostile_record import ATTACKS, hostile_record
from page_checks import SCREENS, check_all_details
from record_builders import PAPER, flat, make_run, paper_runs

from pytest_promptse.compare import _page as study_page
from pytest_promptse.compare._entry import NamedRecord
from pytest_promptse.compare._study import study_of


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A page in which every name contains text that could break out of its place."""
    path = tmp_path_factory.mktemp("hostile") / "compare.html"
    study_page.write(
        study_of([NamedRecord(path=ATTACKS[0], record=hostile_record(n_tasks=5))]), path
    )
    return path


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """A page of models of several sizes and families, with all plots."""
    path = tmp_path_factory.mktemp("paper") / "compare.html"
    some = [PAPER[number] for number in (0, 3, 6, 7, 9)]
    study_page.write(study_of(paper_runs(n_tasks=10, each=2, models=some)), path)
    return path


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A page of two models, which are too few for most statistics."""
    path = tmp_path_factory.mktemp("bare") / "compare.html"
    runs = [make_run(name, {"one": flat(1.0)}, mode="light", confidence=None) for name in "ab"]
    study_page.write(study_of(runs), path)
    return path


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["hostile", "paper", "bare"])
def test_a_page_is_accessible_and_stays_within_the_screen(request, open_page, keep, name, screen):
    page = open_page(request.getfixturevalue(name), **SCREENS[screen])
    check_all_details(page)
    keep(page, f"compare-{name}-{screen}")


def test_nothing_that_anyone_wrote_runs(hostile, open_page):
    page = open_page(hostile)
    assert page.evaluate("window.owned") is None
    assert page.locator(":is(img, iframe, object, link)").count() == 0
    assert page.locator("body script").count() == 1


def test_the_leaderboard_sorts_both_ways_from_the_keyboard(paper, open_page):
    page = open_page(paper)
    table = page.locator("#leaderboard table").first
    button = table.get_by_role("button", name="pass@1")
    column = table.locator("thead th").all_text_contents().index("pass@1")

    def shown():
        rows = table.locator("tbody tr").all()
        return [float(row.locator("> *").nth(column).text_content()) for row in rows]

    sorted_by = table.locator("thead th[aria-sort]")
    assert sorted_by.all_text_contents() == ["#"]
    button.focus()
    page.keyboard.press("Enter")
    assert shown() == sorted(shown())
    page.keyboard.press("Enter")
    assert shown() == sorted(shown(), reverse=True)
    assert table.locator("thead th").nth(column).get_attribute("aria-sort") == "descending"


def test_tasks_are_found_by_words(paper, open_page):
    page = open_page(paper)
    rows = page.locator("#task-table tbody tr:visible")
    assert rows.count() == 4 * 10
    page.get_by_label("Find").fill("humaneval/7 llama-3.1-8b")
    assert rows.count() == 1
    assert page.get_by_role("status").text_content() == "1 of 40 rows"


def test_every_plot_has_a_name(paper, open_page):
    page = open_page(paper)
    # The sections of the research questions are closed until a reader opens them.
    hidden = page.locator("details#research figure")
    assert hidden.count() > 0
    assert not hidden.first.is_visible()
    page.locator("details#research > summary").click()
    assert page.locator("figure").count() == 10
    assert page.locator("figure").count() == page.get_by_role("img").count()
    assert page.get_by_role("img", name="Drop against pass@1").count() == 1
