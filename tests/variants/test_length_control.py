"""The control has the words of a variant, and nothing of its emotion and persona."""

from __future__ import annotations

from collections import Counter

import pytest
import variant_prompts
from msgspec.structs import replace

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import added_words
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._length_control import length_matched
from pytest_promptse.variants._library_files import load_library

TASK = Task(
    id="add",
    prompt="Write `add(a, b)`: return the sum of both numbers. Keep the code short and plain.",
)


def pairs(task, variants):
    return list(zip(variants, length_matched(task, variants), strict=True))


def added(task, variant):
    return added_words(task.prompt, variant.text)


def test_a_control_has_as_many_added_words_as_the_variant_beside_it():
    off: Counter[int] = Counter()
    for task in variant_prompts.tasks()[::6]:
        for variant, control in pairs(task, generate(task, Selection(per_distance=3)).variants):
            off[abs(added(task, control) - added(task, variant))] += 1
    assert off[0] + off[1] >= 0.995 * off.total()


def test_a_control_shows_no_emotion_and_no_persona_and_is_no_copy():
    library = load_library()
    english = library.languages["en"]
    felt = {s for f in english.feelings.values() for s in (*f.sentences, *f.utterances, *f.scenes)}
    made = pairs(TASK, generate(TASK, Selection(per_distance=8)).variants)
    assert len({control.text for _, control in made} | {TASK.prompt}) == len(made) + 1
    for variant, control in made:
        assert (control.distance, control.index) == (variant.distance, variant.index)
        assert control.id == f"d{variant.distance:g}-neutral-{variant.index}"
        assert (control.emotion, control.personality, dict(control.cues)) == (None, None, {})
        assert not any(snippet in control.text for snippet in felt)
        assert "`add(a, b)`" in control.text
        assert "return the sum of both numbers." in control.text
        assert "Keep the code short and plain" in control.text


def test_a_control_repeats_what_rules_did_to_the_request():
    for variant, control in pairs(TASK, generate(TASK, Selection(per_distance=8)).variants):
        done = [o for o in control.operations if not o.startswith("stands-for:")]
        assert done == list(variant.operations)


@pytest.mark.parametrize("words", [3, 30, 120])
def test_beside_a_text_that_a_model_wrote_stand_as_many_neutral_words(words):
    text = " ".join(["Oh dear."] + [f"word{n}" for n in range(words - 2)])
    [written] = generate(TASK, Selection(per_distance=1, distances=(0.2,))).variants
    written = replace(written, text=f"{text}\n\n{TASK.prompt}", rewriter="llm:paid:model/1")
    [(_, control)] = pairs(TASK, [written])
    assert added(TASK, control) == pytest.approx(words, abs=1)
    assert control.text.endswith(TASK.prompt)
    assert control.operations == ("padding",)


def test_the_same_variants_have_the_same_controls():
    variants = generate(TASK, Selection(per_distance=2)).variants
    assert length_matched(TASK, variants) == length_matched(TASK, variants)


def test_a_language_without_neutral_sentences_is_refused():
    german = Task(
        id="summe",
        prompt="Schreibe eine Funktion `summe(zahlen)`, die die Summe der Zahlen einer Liste "
        "bildet und zurückgibt. Leere Listen ergeben null.",
    )
    [variant] = generate(TASK, Selection(per_distance=1, distances=(0.1,))).variants
    variant = replace(variant, rewriter="llm:paid:model/1")
    with pytest.raises(VariantError, match="'summe'"):
        length_matched(german, [variant])
