"""The instruction to a model as rewriter, and the reading of its answers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, requests_for
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._llm import LlmRewriter
from pytest_promptse.variants._rewriter import Ask, Draft
from pytest_promptse.variants.invariance._finding import Finding

TASK = Task(id="t", prompt="Write `first(text)`. It returns the first word, and not the last.\n")
LIBRARY = load_library()


def rewriter(**identity):
    backend = SimpleNamespace(spec="scripted:model", identity={"backend": "scripted", **identity})
    return LlmRewriter(backend, library=LIBRARY)


def wanted():
    selection = Selection(
        distances=(0.2,),
        per_distance=1,
        emotions=["tired"],
        personalities=["expert.senior.plan"],
        library=LIBRARY,
    )
    [request] = requests_for(TASK, selection, rewriter())
    return request


def written(answer, original=TASK.prompt):
    """Return the draft that the rewriter makes of a model's answer."""
    task = replace(TASK, prompt=original)
    candidates = rewriter().candidates(replace(wanted(), task=task))
    assert isinstance(next(candidates), Ask)
    draft = candidates.send(answer)
    assert isinstance(draft, Draft)
    return draft


def test_the_prompt_has_emotion_persona_contexts_level_and_the_original():
    request = wanted()
    prompt = next(rewriter().candidates(request)).prompt
    level = LIBRARY.level(0.2)
    emotion = LIBRARY.emotion("tired")
    parts = [TASK.prompt, emotion.description, emotion.language, emotion.pattern, level.description]
    parts += [trait.description for trait in request.personality.traits]
    parts += [f"{level.fewest} to {level.most} words", f"{request.weights['emotion']:.2f}"]
    assert all(text in prompt.user for text in parts)
    assert "time pressure" in prompt.user
    assert "{" not in prompt.user.replace("{{ x }}", "").replace("{x}", "")
    assert prompt.system


def test_a_rejected_text_goes_back_with_its_findings():
    candidates = rewriter().candidates(wanted())
    first = next(candidates).prompt
    candidates.send("bad text")
    again = candidates.send((Finding("negation", "'not' was lost"),)).prompt
    assert "bad text" in again.user
    assert "- 'not' was lost" in again.user
    assert again.user.startswith(first.user)


def test_a_request_without_a_persona_is_refused():
    with pytest.raises(VariantError, match="lacks one of them"):
        next(rewriter().candidates(replace(wanted(), emotion=None)))


@pytest.mark.parametrize(
    "answer",
    ["```\nText.\n```", "=====\nText.\n=====", "\n\nText.\n\n", '"Text."', "\u201cText.\u201d"],
)
def test_a_fence_a_rule_or_quotation_marks_around_the_answer_is_taken_off(answer):
    assert written(answer).text == "Text.\n"


def test_a_fence_that_the_original_has_stays():
    fenced = "```\nText.\n```"
    assert written(fenced, fenced).text == fenced


def test_the_version_follows_the_model_and_the_instruction():
    assert rewriter().label == rewriter().label
    assert rewriter().label != rewriter(weights="other").label
    assert rewriter().label.startswith("llm:scripted:model/")


@pytest.mark.parametrize(
    "preamble",
    [
        "Here is the rewritten request:",
        "Sure! Here's a version in this voice:",
        "**Here is the text:**",
        "Of course. Here is the reworded request as that developer would send it:",
        "Rewritten request:",
        "## The request, rewritten:",
        "以下是改写后的请求\uff1a",
    ],
)
def test_a_line_that_announces_the_text_is_taken_off(preamble):
    answer = f"{preamble}\n\nI'm tired.\n\n{TASK.prompt}"
    assert written(answer).text == f"I'm tired.\n\n{TASK.prompt}"
    assert written(answer, answer).text == answer


def test_the_writers_own_first_line_stays():
    text = f"Here is my week so far: rain.\n\n{TASK.prompt}"
    assert written(text).text == text


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot rewrite this request.", True),
        ("抱歉\uff0c我无法帮助您完成这个请求。", True),
        (f"I can't think with this headache.\n\n{TASK.prompt}", False),
        (f"I'm sorry, I can't do this alone, help.\n\n{TASK.prompt}", False),
    ],
)
def test_a_refusal_is_told_from_a_writer_who_cannot(text, refuses):
    assert bool(written(text).findings) is refuses
