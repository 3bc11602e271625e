from __future__ import annotations

import base64
import gzip
import html as entities
import json
import re
import sys

import msgspec
import pytest
from hostile_record import ATTACKS, hostile_record
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from parsed_page import Page

from pytest_promptse.errors import RecordError, SettingsError
from pytest_promptse.record._schema import InvocationRecord, ModelRecord
from pytest_promptse.reports.html import _html
from pytest_promptse.reports.html._embedded_data import embed
from pytest_promptse.scoring._scores import TaskDrop
from pytest_promptse.variants._word_diff import word_diff


@pytest.fixture(scope="module")
def page():
    return _html.render(hostile_record())


@pytest.fixture(scope="module")
def parsed(page):
    return Page(page)


def unpack(page):
    packed = re.search(r'id="variants">([^<]*)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_nothing_that_anyone_wrote_becomes_markup(parsed):
    tags = [tag for tag, _ in parsed.elements]
    assert tags.count("script") == 2
    assert not {"img", "iframe", "link", "object", "embed", "base"} & set(tags)
    assert not [
        name for _, attributes in parsed.elements for name in attributes if name[:2] == "on"
    ]


def test_what_would_act_on_the_text_around_it_is_written_out(page):
    assert "\\x00\\x1b[31m \\ud800 \\u202e" in page
    assert not re.search("[\x00\x1b\u202e]", page)
    assert not re.search("[\x00\x1b\u202e]", json.dumps(unpack(page), ensure_ascii=False))


def test_links_stay_in_the_page(parsed):
    links = {a["href"] for _, a in parsed.elements if "href" in a}
    assert links
    assert all(link.startswith("#") for link in links)
    assert not [a for _, a in parsed.elements if a.keys() & {"src", "srcset", "action", "data"}]


def test_what_anyone_wrote_is_shown_as_it_is(parsed):
    for attack in ATTACKS[:8]:
        assert attack in parsed.text


def test_the_policy_allows_the_pages_own_script_alone(page, parsed):
    [policy] = [a["content"] for tag, a in parsed.elements if "http-equiv" in a]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_ids_are_unique(parsed):
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_variant_is_in_the_page_with_its_difference_and_samples(page):
    [*tasks] = unpack(page)
    assert len(tasks) == 16
    original, first, _ = tasks[1]["variants"]
    assert (original["id"], original["distance"]) == ("original", 0)
    assert first["difference"][:2] == [[1, "Please"], [2, "Argh,"]]
    assert [sample[:2] for sample in first["samples"]] == [[6, None], [1, "wrong_answer"]]
    assert ATTACKS[0] in first["samples"][1][2]
    assert "def program()" in tasks[1]["texts"][first["samples"][0][3]]


def test_a_page_that_would_be_too_large_leaves_programs_out_and_says_so():
    record = hostile_record(programs=20)
    whole = len(embed(record, limit=10**9).data)
    notes = [embed(record, limit=limit).note for limit in (whole, whole - 1, whole // 3, 1)]
    assert notes[0] is None
    assert all(notes[1:])
    assert "no programs" in notes[3]
    page = _html.render(record, limit=1)
    assert notes[3] in Page(page).text
    assert all(not task["texts"] for task in unpack(page))


def test_figures_have_names_and_the_pages_own_colours(page, parsed):
    drawings = [a for tag, a in parsed.elements if tag == "svg"]
    # Two suites, and three maps and a plane for each of two models.
    assert len(drawings) == 2 + 2 * 4
    assert all(a["role"] == "img" and a["aria-labelledby"] for a in drawings)
    svg = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert not re.search("#[0-9a-f]{6}", svg)
    assert "var(--series-1)" in svg
    assert "font-family" not in svg


def test_a_record_is_always_the_same_page(page):
    assert _html.render(hostile_record()) == page


def test_what_was_not_measured_is_a_dot(record):
    nothing = msgspec.structs.replace(
        record.suites[0], estimates={}, elasticity={"0.3": None}, light=None
    )
    shown = Page(_html.render(msgspec.structs.replace(record, suites=[nothing])))
    assert "·" in shown.text


def test_a_run_of_nothing_but_errors_is_still_a_page(record):
    bare = msgspec.structs.replace(record, suites=[], tasks=[], subgroups=[])
    assert "Stability across variants" in Page(_html.render(bare)).text


def test_text_that_no_file_can_hold_is_written_all_the_same(tmp_path):
    _html.write(hostile_record(), tmp_path / "new" / "report.html")
    assert "task-3" in (tmp_path / "new" / "report.html").read_text("utf-8")


def test_a_path_that_cannot_be_written_is_named(record, tmp_path):
    with pytest.raises(RecordError, match=f"html:{re.escape(str(tmp_path))}: Is a directory"):
        _html.write(record, tmp_path)


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        SettingsError, match=r"needs matplotlib; pip install .pytest-promptse\[html\]"
    ):
        _html.check_installed()


def test_a_missing_extra_ends_the_run_before_any_request(pytester, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    pytester.makepyfile("def test_nothing(): pass")
    done = pytester.runpytest_inprocess("--promptse-report", "html:r.html")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines("ERROR: an html report needs jinja2; pip install *html]'")


TEXTS = st.lists(st.sampled_from(["a", "b", "c", " ", "\n", "  ", "<", "."])).map("".join)


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS)
def test_a_difference_but_for_what_is_gone_is_the_new_text(before, after):
    found = word_diff(before, after)
    assert "".join(change.text for change in found if change.kind != "gone") == after
    kept = " ".join(change.text for change in found if change.kind != "new")
    assert sorted(kept.split()) == sorted(before.split())


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text):
    assert all(change.kind == "same" for change in word_diff(text, text))


def test_entities_in_a_prompt_are_shown_as_typed(page):
    assert entities.escape("&amp;") in page


def test_settings_that_are_not_set_are_not_shown(record):
    for unset in (None, False, [], (), {}):
        page = _html.render(msgspec.structs.replace(record, settings={"template": unset, "m": 8}))
        shown = page[page.index("Models, settings and environment") :]
        assert ">m<" in shown
        assert ">template<" not in shown


def test_the_memory_is_shown_with_its_unit_and_no_empty_part_of_a_model(record):
    identity = {"backend": "openai", "model": "m", "api": ""}
    named = ModelRecord(spec="openai:m", identity=identity, capabilities=None)
    shown = replace(record, models=[named], settings={"memory": 512 * 2**20})
    page = _html.render(shown)
    assert "<td>512 MiB</td>" in page
    assert "<td>backend openai; model m</td>" in page


def test_a_failing_suite_is_followed_by_what_to_do_next(record):
    called = InvocationRecord(directory="sub", options=[])
    [suite, *_] = record.suites
    fails = replace(record, suites=[replace(suite, verdict="fail")], invocation=called)
    command = "promptse harden test_slug.py --model tiny"
    assert '<a href="#harmful">see which variants lose most</a>' in _html.render(fails)
    assert f"<code>{command}</code>" in _html.render(fails)
    assert "<code>promptse history</code>" in _html.render(fails)
    assert "What next" not in _html.render(replace(fails, suites=[replace(suite, verdict="pass")]))


def test_a_task_has_its_drop_and_whether_it_is_equivalent():
    record = hostile_record()
    drop = TaskDrop(value=0.2, ci95=(0.1, 0.3), shrunken=0.15, margin=0.1, equivalent=False)
    tasks = [replace(task, drop=drop) for task in record.tasks]
    page = _html.render(replace(record, tasks=tasks))
    assert '<td class="n" data-value="0.2">+0.20 <small>+0.10 to +0.30</small></td>' in page
    assert '<td class="nowrap">not shown within 0.10</td>' in page
