from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.harden._candidates import is_for, load_candidates
from pytest_promptse.harden._search import UNTOUCHED
from pytest_promptse.tasks._task import Task
from pytest_promptse.tasks._template import render, render_first

PROMPT = "I am tired.\n\nWrite `slug(text: str) -> str`: join the words with `-`."


def text_of(candidates, name, prompt=PROMPT):
    task = Task(id="slug", prompt=prompt, entry_point="slug")
    template = candidates[name].template
    return (render_first if template.first else render)(template, task, prompt)


def test_each_shipped_candidate_says_its_idea_and_keeps_the_specification(tmp_path):
    candidates = load_candidates([], tmp_path)
    assert len(candidates) >= 7
    for name, candidate in candidates.items():
        assert candidate.idea.endswith(".")
        assert "`slug(text: str) -> str`: join the words with `-`." in text_of(candidates, name)[1]


def test_the_untouched_prompt_is_sent_as_it_is(tmp_path):
    assert text_of(load_candidates([], tmp_path), UNTOUCHED) == (None, PROMPT)


def test_the_request_alone_begins_with_the_signature(tmp_path):
    candidates = load_candidates([], tmp_path)
    sent = text_of(candidates, "without_preamble")[1]
    assert sent.startswith("Write `slug(text: str) -> str`: join")
    plain = "Please sort a list."
    assert text_of(candidates, "without_preamble", plain)[1] == plain


def test_a_teams_own_template_takes_part(tmp_path):
    (tmp_path / "ours.j2").write_text("{# Our house style. #}\nHello. {{ task.prompt }}")
    candidates = load_candidates(["*.j2"], tmp_path)
    assert candidates["ours"].idea == "Our house style."
    (tmp_path / "bare.j2").write_text("Hello. {{ task.prompt }}")
    assert "No comment" in load_candidates(["bare.j2"], tmp_path)["bare"].idea


def test_a_name_that_is_taken_is_an_error(tmp_path):
    (tmp_path / "system.j2").write_text("{{ task.prompt }}")
    with pytest.raises(TaskError, match="the template name 'system' is taken"):
        load_candidates(["system.j2"], tmp_path)


def lost(prompt, *causes):
    """Return a record of one prompt whose variants fail for these causes."""
    variants = [SimpleNamespace(causes=dict.fromkeys(causes, 1))]
    task = SimpleNamespace(original=SimpleNamespace(text=prompt), variants=variants)
    return SimpleNamespace(tasks=[task])


def test_the_diagnosis_decides_which_candidates_take_part(tmp_path):
    candidates = load_candidates([], tmp_path)

    def useful(*lost_for):
        return {name for name, each in candidates.items() if is_for(each, lost(*lost_for))}

    general = {name for name, each in candidates.items() if not each.template.helps} - {"select"}
    assert useful(PROMPT, "truncated") == general | {"room"}
    assert {"contract", "restate"} <= useful(PROMPT, "interface")
    assert "room" not in useful(PROMPT, "wrong_answer")
    assert "select" in useful(PROMPT + " `slug('a b')` returns `'a-b'`.", "wrong_answer")
