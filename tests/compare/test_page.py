from __future__ import annotations

import re
import sys

import pytest
from hostile_record import ATTACKS, hostile_record
from parsed_page import Page
from record_builders import flat, make_run, paper_runs, save

from pytest_promptse.cli._main import main
from pytest_promptse.compare._entry import NamedRecord
from pytest_promptse.compare._page import render
from pytest_promptse.compare._study import study_of


@pytest.fixture(scope="module")
def hostile():
    return Page(render(study_of([NamedRecord(path="x", record=hostile_record())])))


@pytest.fixture(scope="module")
def paper():
    return render(study_of(paper_runs(n_tasks=4, each=2)))


def test_nothing_that_anyone_wrote_becomes_markup(hostile):
    tags = [tag for tag, _ in hostile.elements]
    assert tags.count("script") == 1
    assert not {"img", "iframe", "link", "object", "embed", "base", "a b"} & set(tags)
    assert not [name for _, found in hostile.elements for name in found if name[:2] == "on"]
    for attack in ATTACKS[:2]:
        assert attack in hostile.text
    assert not re.search("[\x00\x1b\u202e]", hostile.text)


def test_links_stay_in_the_page_and_the_policy_allows_its_own_script_alone(hostile):
    links = {found["href"] for _, found in hostile.elements if "href" in found}
    assert all(link.startswith("#") for link in links)
    assert not [a for _, a in hostile.elements if a.keys() & {"src", "srcset", "action", "data"}]
    [policy] = [found["content"] for _, found in hostile.elements if "http-equiv" in found]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy


def test_ids_are_unique_and_plots_have_names_and_the_pages_own_colours(paper):
    elements = Page(paper).elements
    ids = [found["id"] for _, found in elements if "id" in found]
    assert len(ids) == len(set(ids))
    drawings = [found for tag, found in elements if tag == "svg"]
    # The plane and size; sensitivity, size by family, E(d), SoftExec; light; ECE, coupling, bias.
    assert len(drawings) == 2 + 4 + 1 + 3
    assert all(found["role"] == "img" and found["aria-labelledby"] for found in drawings)
    assert not re.search("#[0-9a-f]{6}", "".join(re.findall(r"<svg.*?</svg>", paper, re.DOTALL)))


def test_a_study_is_always_the_same_page(paper):
    assert render(study_of(paper_runs(n_tasks=4, each=2))) == paper


def test_what_is_missing_is_said_in_the_page():
    runs = [make_run(name, {"one": flat(1.0)}, mode="light", confidence=None) for name in "ab"]
    text = Page(render(study_of(runs))).text
    assert "Missing: a correlation needs 3 models" in text
    assert "Missing: PromptSE needs log-probabilities" in text


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        save(make_run(name, {"one": flat(1.0)}), tmp_path / f"{name}.json")
    return tmp_path


def test_the_command_writes_the_page_into_a_new_folder(saved):
    assert main(["compare", "a.json", "b.json", "--html", "out/page.html"]) == 0
    assert "2 models side by side" in (saved / "out" / "page.html").read_text("utf-8")


def test_a_path_that_cannot_be_written_is_named(saved, capsys):
    assert main(["compare", "a.json", "b.json", "--html", "."]) == 2
    assert capsys.readouterr().err == "promptse: --html .: Is a directory\n"


def test_a_missing_extra_is_said_before_anything_is_read(saved, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["compare", "none.json", "b.json", "--html", "x.html"]) == 2
    assert capsys.readouterr().err == (
        "promptse: compare --html needs matplotlib; pip install 'pytest-promptse[html]'\n"
    )
