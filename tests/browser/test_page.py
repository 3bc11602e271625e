from __future__ import annotations

import subprocess
import sys

import pytest
from hostile_record import ATTACK, hostile_record
from page_checks import SCREENS, check_all_details, violations

from pytest_promptse.reports.html import _html


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    _html.write(hostile_record(n_tasks=5), path)
    return path


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The page of a run of the embedded model, as a user gets it."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "words.promptse.yaml").write_text(
        "promptse: 1\nsettings: {variants: 2, samples: 2, min_auc_e: 0.5, gate: point}\n"
        "tasks:\n"
        "  - id: shout\n"
        "    prompt: Write `shout(text)`, return the text in upper case. Keep it short and plain.\n"
        "    examples: [{call: \"shout('a')\", expect: A}]\n"
        "  - id: first\n"
        "    prompt: Write `first(items)`, return the first item of the list. Keep it plain.\n"
        "    examples: [{call: 'first([3, 2])', expect: 3}]\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    command += ["--promptse-model", "tiny", "--promptse-report", "html:out/report.html"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return folder / "out" / "report.html"


def tasks(page):
    return page.locator("#task-table tbody tr:visible")


def first_cells(page):
    return tasks(page).locator("th").all_text_contents()


@pytest.mark.parametrize("screen", SCREENS)
def test_a_page_is_accessible_and_stays_within_the_screen(report, open_page, keep, screen):
    page = open_page(report, **SCREENS[screen])
    check_all_details(page)
    keep(page, f"hostile-{screen}")


@pytest.mark.parametrize("screen", SCREENS)
def test_an_open_variant_is_accessible(report, open_page, keep, screen):
    page = open_page(report, fragment="#task=1&variant=1", **SCREENS[screen])
    page.locator("dialog .sample").first.wait_for()
    assert violations(page) == []
    assert page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
    keep(page, f"hostile-open-{screen}", full_page=False)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_of_a_real_run_is_accessible(real, open_page, keep, screen):
    page = open_page(real, **SCREENS[screen])
    assert violations(page) == []
    keep(page, f"real-{screen}")
    page.get_by_role("link", name="shout").first.click()
    page.locator("dialog summary").nth(1).click()
    page.locator("dialog .sample").first.wait_for()
    keep(page, f"real-open-{screen}", full_page=False)


def test_nothing_that_anyone_wrote_runs(report, open_page):
    page = open_page(report)
    for number in range(3):
        page.evaluate(f"location.hash = '#task={number}&variant=1'")
        page.locator("dialog .sample").first.wait_for()
    assert page.evaluate("window.owned") is None
    assert page.locator("dialog :is(script, img, iframe, svg, a)").count() == 0
    shown = page.locator("dialog .program").first.text_content()
    assert ATTACK[:100] in shown


def test_columns_sort_both_ways_with_what_was_not_measured_last(report, open_page):
    page = open_page(report)
    button = page.get_by_role("button", name="AUC-E")
    column = page.locator("#task-table thead th").all_text_contents().index("AUC-E")

    def shown():
        return [row.locator("> *").nth(column).text_content() for row in tasks(page).all()]

    button.click()
    header = page.locator("#task-table thead th").nth(column)
    assert header.get_attribute("aria-sort") == "ascending"
    measured = [value for value in shown() if value != "·"]
    assert measured == sorted(measured)
    assert shown()[-4:] == ["·"] * 4
    button.click()
    assert header.get_attribute("aria-sort") == "descending"
    assert shown()[: len(measured)] == sorted(measured, reverse=True)
    assert shown()[-4:] == ["·"] * 4


def test_tasks_are_filtered_by_words_model_suite_and_loss(report, open_page):
    page = open_page(report)
    assert tasks(page).count() == 20
    page.get_by_label("Find").fill("TASK-3 test_a")
    assert [name[:6] for name in first_cells(page)] == ["task-3"] * 2
    assert page.get_by_role("status").text_content() == "2 of 20 tasks"
    page.locator("#model").select_option("tiny")
    assert page.get_by_role("status").text_content() == "1 of 20 tasks"
    page.get_by_label("Find").fill("")
    page.locator("#suite").select_option(index=2)
    assert tasks(page).count() == 5
    page.get_by_label("only with a loss").check()
    assert [name[:6] for name in first_cells(page)] == [f"task-{n}" for n in (1, 2, 3, 4)]


def test_a_task_opens_and_closes_from_the_keyboard(report, open_page):
    page = open_page(report)
    link = page.locator("#task-table a").nth(1)
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    assert page.locator("#task-title").text_content().startswith("task-1")
    summary = dialog.locator("summary").nth(1)
    summary.focus()
    page.keyboard.press("Enter")
    opened = dialog.locator("details[open]")
    assert opened.locator("del").first.text_content() == "Please"
    assert opened.locator("ins").first.text_content() == "Argh,"
    assert opened.locator(".badge").all_text_contents() == ["pass", "wrong answer"]
    assert "line 3: assert" in opened.locator(".detail").text_content()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    # The event `close`, which mends the address, follows the hiding.
    page.wait_for_url(lambda url: "#" not in url)
    assert link.evaluate("link => link === document.activeElement")


def test_an_address_opens_a_variant_and_back_closes_it(report, open_page):
    page = open_page(report)
    page.get_by_role("link", name="d0.2-calm-0").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("details[open] .sample").first.wait_for()
    page.wait_for_url(lambda url: "#task=" in url)
    page.go_back()
    dialog.wait_for(state="hidden")


def test_variants_can_stand_with_the_most_harmful_first(report, open_page):
    page = open_page(report, fragment="#task=4")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    dialog.get_by_label("most harmful first").check()
    last = dialog.locator("summary").last
    assert last.locator(".name").text_content() == "Original prompt"
