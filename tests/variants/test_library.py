"""The template library, and what a team may lay over it."""

from __future__ import annotations

import pytest

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks.task import Task
from pytest_promptse.variants.generate import generate
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.rules import RulesRewriter

PIRATE = """\
cheerful:
  description: A programmer at sea.
  language: Nautical.
  pattern: Shouted.
  valence: 0.5
  arousal: 0.5
  openers: ["Ahoy:", "Arr:"]
  asks: ["Ahoy, could you {do}?"]
  intros: ["Hear this: {say}"]
  before: ["The wind is fair {today|tonight}.", "We sail at dawn.", "The crew is singing."]
  after: ["Fair winds to you.", "That was the whole chart."]
"""


def test_eight_emotions_cover_the_four_quadrants():
    emotions = Library.load().emotions
    assert set(emotions) == {
        "focused", "excited", "confident", "tired", "calm", "anxious", "frustrated", "stressed",
    }  # fmt: skip
    assert {emotion.quadrant for emotion in emotions.values()} == {
        "positive-active", "positive-calm", "negative-active", "negative-calm",
    }  # fmt: skip


def test_there_are_thirty_two_personalities():
    library = Library.load()
    assert len(set(library.personalities())) == 32
    assert library.personality("pragmatic.junior.adaptive").technical.name == "pragmatic engineer"


def test_strength_grows_with_distance_and_lies_between_the_listed_ones():
    library = Library.load()
    frames = [library.strength(distance).frames for distance in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)]
    assert frames == sorted(frames)
    assert frames[1] < frames[2] < frames[3]


def test_a_deadline_moves_the_weight_to_emotion_and_hard_problems_to_personality():
    library = Library.load()
    plain = library.weights("write a function")["emotion"]
    assert library.weights("urgent deadline today")["emotion"] > plain
    assert library.weights("recursion over a sorted graph")["emotion"] < plain


def test_a_team_can_add_an_emotion_and_hears_it(tmp_path):
    (tmp_path / "emotions.yaml").write_text(PIRATE)
    library = Library.load(tmp_path)
    assert len(library.emotions) == 9
    task = Task(id="t", prompt="Write `f(x)`. It returns the larger one of all the numbers in x.")
    made = generate(
        task, library=library, rewriter=RulesRewriter(library=library), emotions=["cheerful"],
        personalities=["expert.senior.plan"], distances=(0.2,),
    )  # fmt: skip
    sailor = ("Ahoy", "Arr", "Hear this", "wind", "sail", "crew", "Fair winds", "chart")
    assert all(any(word in variant.text for word in sailor) for variant in made.variants)
    assert all(variant.rewriter.startswith("rules/1+") for variant in made.variants)


def test_an_override_replaces_only_the_entry_of_its_name(tmp_path):
    (tmp_path / "emotions.yaml").write_text(PIRATE.replace("cheerful", "tired"))
    library = Library.load(tmp_path)
    assert library.emotion("tired").description == "A programmer at sea."
    assert library.emotion("calm") == Library.load().emotion("calm")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("valence: 0.5", "valence: 5", 5, "number from -1 to 1"),
        ("valence: 0.5", "valence: high", 5, "number from -1 to 1"),
        ("  pattern: Shouted.\n", "", 1, "lacks 'pattern'"),
        ("arousal", "arousel", 6, "did you mean 'arousal'"),
        ("could you {do}?", "could you?", 8, "must hold {do} once"),
        ("{today|tonight}", "{today}", 10, "braces hold alternatives"),
        ("We sail at dawn.", "Always sort the crew.", 10, "instruction"),
        ("We sail at dawn.", "The code must be fast.", 10, "obligation"),
        ("Arr:", "Not again:", 7, "negation"),
        ("We sail at dawn.", "We are 5 sailors.", 10, "no digits"),
        ("We sail at dawn.", "None of us sleeps.", 10, "part of the task"),
        ("description: A programmer at sea.", "description: [", 4, ""),
    ],
)
def test_what_is_no_template_is_refused_with_file_and_line(tmp_path, old, new, line, message):
    path = tmp_path / "emotions.yaml"
    assert old in PIRATE
    path.write_text(PIRATE.replace(old, new))
    with pytest.raises(VariantError) as caught:
        Library.load(tmp_path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_lexicon_entry_that_turns_an_instruction_round_is_refused(tmp_path):
    (tmp_path / "lexicon.yaml").write_text("- any: [should return, returns]\n")
    with pytest.raises(VariantError, match=r"lexicon.yaml:1: 'returns' instructs otherwise"):
        Library.load(tmp_path)


def test_a_file_of_another_name_and_a_folder_that_is_none_are_refused(tmp_path):
    (tmp_path / "emotion.yaml").write_text(PIRATE)
    with pytest.raises(VariantError, match=r"did you mean 'emotions.yaml'"):
        Library.load(tmp_path)
    with pytest.raises(VariantError, match="not a folder"):
        Library.load(tmp_path / "nowhere")
