from __future__ import annotations

import re

import msgspec
import pytest
from hostile_record import hostile_record
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_promptse.errors import RecordError
from pytest_promptse.record._queries import losses
from pytest_promptse.record._schema import ErrorRecord
from pytest_promptse.reports import _markdown
from pytest_promptse.reports._formatting import DASH, MINUS
from pytest_promptse.reports.html import _html as html
from pytest_promptse.reports.terminal._summary import render

OWN_HTML = re.compile(
    r"(<details><summary>(Most harmful variants \(\d+( of \d+)?\)|figures with their intervals)"
    r"</summary>|</details>|</?sub>)\n*"
)
READER = MarkdownIt("gfm-like", {"linkify": False})
TEXTS = st.text(st.sampled_from("`|\\ \n<a*_[]!(@~$-#\u202e"), max_size=20)


def tokens(text):
    for token in READER.parse(text):
        yield token
        yield from token.children or ()


def test_nothing_that_anyone_wrote_becomes_markup():
    found = list(tokens(_markdown.render(hostile_record())))
    html = [token.content for token in found if token.type in ("html_block", "html_inline")]
    assert html
    assert all(OWN_HTML.fullmatch(piece) for piece in html)
    assert not {"image", "link_open"} & {token.type for token in found}


def test_the_version_in_a_record_becomes_no_markup():
    record = msgspec.structs.replace(hostile_record(), tool={"version": "<img src=x>"})
    html = [token for token in tokens(_markdown.render(record)) if token.type == "html_inline"]
    assert not [token for token in html if "img" in token.content]


def test_names_and_messages_stand_in_code_where_nobody_is_mentioned():
    text = [
        token.content
        for token in tokens(_markdown.render(hostile_record()))
        if token.type == "text"
    ]
    assert not [piece for piece in text if "@everyone" in piece or "owned" in piece]


def test_every_row_of_a_table_has_every_column():
    found = [token.type for token in READER.parse(_markdown.render(hostile_record()))]
    # Four suites with four figures each, two templates, their difference with two intervals, and
    # two figures of each suite against the baseline.
    assert found.count("tr_open") == (1 + 4) + (1 + 16) + (1 + 2) + (1 + 1) + (1 + 8)
    assert found.count("th_open") == 11 + 5 + 7 + 7 + 8
    assert found.count("td_open") == 4 * 11 + 16 * 5 + 2 * 7 + 7 + 8 * 8


def test_a_baseline_is_compared_with_in_the_figures_that_count():
    text = _markdown.render(hostile_record())
    assert f"| AUC-E | ✅ pass | 0.750 | 0.800 | +0.05 | {MINUS}0.01 to +0.11 | 0.020 |" in text
    assert "| pass@1 |  | 0.750 |" in text
    assert "| excess |  |" not in text


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_a_code_span_in_a_table_shows_its_text_and_nothing_else(text):
    rendered = READER.parse(f"| a |\n| - |\n| {_markdown.code(text)} |\n")
    cells = [token for token in rendered if token.type == "inline"][1:]
    [span] = cells[0].children
    assert span.type == "code_inline"
    assert span.content.split() == text.split()


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_nothing_in_a_code_block_ends_it(text):
    [token] = READER.parse(_markdown.block(text))
    assert token.type == "fence"
    assert token.content == text + "\n"


def test_the_verdict_comes_first_and_what_missed_its_gate_is_named(record):
    text = _markdown.render(record)
    assert text.startswith("### ❌ Not stable enough across variants\n")
    assert "- ❌ fail: `sub/test_slug.py::test_slugify`: `m`\n" in text
    assert f"| `sub/test_slug.py::test_fine` | ✅ pass | **0.800** | 0.75{DASH}0.85 |" in text


def test_the_most_harmful_variants_come_worst_first_with_what_changed(record):
    text = _markdown.render(record)
    shown = re.findall(r"^\*\*(\S+) → (\S+)\*\* `\S+` `(\S+)`", text, re.MULTILINE)
    assert [variant for *_, variant in shown] == [f"d0.3-tired-{name}" for name in "bdea"]
    assert "```diff\n- Please\n+ Oh well, please\n  add\n- x.\n+ b.\n```" in text


def test_the_terminal_and_the_pages_rank_variants_alike(record):
    ranked = [loss.variant.id for loss in losses(record.tasks, most=9).worst]
    terminal = re.findall(
        r"test_slugify (d0\.3-tired-\w)", render(record, width=120, colours=False)
    )
    assert terminal == ranked[:3]
    page = re.findall(r'class="opens">(d0\.3-tired-\w)<', html.render(record))
    assert page == ranked


def test_what_was_not_scored_is_said():
    assert "- ❗ not scored: `" in _markdown.render(hostile_record())


@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive", None])
@pytest.mark.parametrize("skipped", [False, True])
@pytest.mark.parametrize("missing", ["fail", "warn", None])
def test_only_a_run_that_passes_has_a_tick(record, verdict, skipped, missing):
    gate = msgspec.structs.replace(record.suites[0].gates[0], verdict=verdict)
    suite = msgspec.structs.replace(record.suites[0], gates=[gate], verdict=verdict)
    compare = {"compare": "main", "compare_missing": missing} if missing else {}
    record = msgspec.structs.replace(
        record,
        suites=[suite],
        errors=[ErrorRecord(where="t", message="m", skipped=skipped)],
        settings=record.settings | compare,
        comparisons=[],
    )
    headline = _markdown.render(record).partition("\n")[0]
    assert ("✅" in headline) == (verdict == "pass" and skipped and missing != "fail")
    assert headline.endswith(" (1 skipped)" if skipped else " (1 not scored)")


def test_a_run_without_gates_has_no_verdict(record):
    bare = msgspec.structs.replace(record, suites=[], tasks=[])
    assert _markdown.render(bare).startswith("### Stability across variants\n")


def test_it_is_written_to_the_requested_path(record, tmp_path):
    _markdown.write(record, tmp_path / "new" / "comment.md")
    assert (tmp_path / "new" / "comment.md").read_text("utf-8") == _markdown.render(record)


def test_a_path_that_cannot_be_written_is_named(record, tmp_path):
    with pytest.raises(RecordError, match=f"md:{re.escape(str(tmp_path))}: Is a directory"):
        _markdown.write(record, tmp_path)
