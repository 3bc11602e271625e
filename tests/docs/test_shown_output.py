"""Pages are compared with printed output, and brought up to date with it."""

from __future__ import annotations

import pytest
from pages import blocks, rewrite
from shown_output import first_missing, is_as_shown, updated

from pytest_promptse.models._base import Usage
from pytest_promptse.plugin._progress_line import describe
from pytest_promptse.store._run_log import Progress

PAGE = """\
1. Run it:

   ```console
   $ pytest --promptse-model tiny
   ...
   test_slugify   1.00 AUC-E 0.5 in the old form
   legend of the old form
   ...
   $ promptse store info
   one model
   ```

The end.
"""
PRINTED = """\
== session starts ==
test_slugify   1.00 AUC-E 0.7 in the new form
  a line that was not there
legend of the new form
13 requests
two models
"""


def test_a_progress_line_in_a_row_of_dots_hides_nothing():
    progress = Progress(done=40, total=360, cached=0, rate=4.0, eta=80.0, usage=Usage())
    line = describe(progress, cost=None, width=80)
    shown = ["test_chunk.py .................          [100%]", "..."]
    for row in (
        f"test_chunk.py ....\n{line}\n.............  [100%]\n\n",
        f"test_chunk.py \n{line}\n{line}\n.................  [100%]\n\n",
    ):
        assert first_missing(shown, f"collected 17 items\n\n{row}") is None
    assert first_missing(shown, f"test_chunk.py ....\n{line}\n....\n") == shown[0]
    assert first_missing(shown, "test_chunk.py ........F........          [100%]") == shown[0]


@pytest.mark.parametrize("seconds", ["", " in 4.81s", " in 75.03s (0:01:15)"])
def test_how_long_a_run_took_is_not_compared(seconds):
    shown = "======= 1 failed, 16 passed ======="
    assert is_as_shown(shown, f"=== 1 failed, 16 passed{seconds} ===")
    assert not is_as_shown(shown, f"=== 1 failed, 17 passed{seconds} ===")


def test_a_page_gets_the_lines_that_are_printed_now(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    [block] = blocks(page)
    rewrite(page, {block: updated(block.rows, PRINTED)})
    [block] = blocks(page)
    assert first_missing(block.output, PRINTED) is None
    assert block.text.splitlines() == [
        "$ pytest --promptse-model tiny",
        "...",
        "test_slugify   1.00 AUC-E 0.7 in the new form",
        "  a line that was not there",
        "legend of the new form",
        "...",
        "$ promptse store info",
        "two models",
    ]
    assert page.read_text().startswith("1. Run it:\n\n   ```console\n   $ pytest")
    assert page.read_text().endswith("   two models\n   ```\n\nThe end.\n")


def test_lines_that_still_hold_stay_as_the_page_shows_them():
    rows = [("$ pytest", True), ("2 passed in ... seconds", False), ("old figure", False)]
    printed = "2 passed in 3 seconds\nold figures\n"
    assert updated(rows, printed) == ["$ pytest", "2 passed in ... seconds", "old figures"]


def test_a_passage_that_is_like_nothing_is_left_to_a_person():
    with pytest.raises(LookupError, match="the summary"):
        updated([("$ pytest", True), ("the summary", False)], "1234567890\n")


@pytest.mark.parametrize(
    ("printed", "is_shown"),
    [
        ("test_slugify   1.00 0.53 █▄▁ 0.598* 0.46 to 0.68  17 passed in 9.81s", True),
        ("test_slugify   1.00 0.65 █▅▁ 0.618* 0.46 to 0.68  17 passed in 2.64s", True),
        ("test_slugify   1.00 0.13 █▄▁ 0.598* 0.46 to 0.68  17 passed in 2.64s", False),
        ("test_slugify   1.00 0.53 █▄▁ 0.998* 0.46 to 0.68  17 passed in 2.64s", False),
        ("test_slugify   1.00 0.53 █▄▁ 0.598 0.46 to 0.68  17 passed in 2.64s", False),
        ("test_slugify   1.00 0.53 ███ 0.598* 0.46 to 0.68  17 passed in 2.64s", False),
        ("test_slugify   1.00 0.53 █▄▁ 0.598* 0.46 to 0.68  16 passed in 2.64s", False),
        ("test_slugify   1.00 0.53 █▄▁ 0.598* ?  17 passed in 2.64s", False),
    ],
)
def test_a_figure_may_differ_by_one_sample_and_a_star_or_a_count_not_at_all(printed, is_shown):
    shown = "test_slugify   1.00 0.53 █▄▁ 0.598* 0.46 to 0.68  17 passed in 2.64s"
    assert (first_missing([shown], printed) is None) is is_shown
