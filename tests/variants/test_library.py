"""The template library, and what a team may lay over it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._plainyaml import parse
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._language_files import MadeOnUse
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._lint import Lint
from pytest_promptse.variants.rules._rewriter import RulesRewriter

CHEERFUL = """\
cheerful:
  description: A programmer at sea.
  language: Nautical.
  pattern: Shouted.
  valence: 0.5
  arousal: 0.5
"""
PHRASES = """\
cheerful:
  style: {ends: ["!"]}
  cues: ["Ahoy!", "Fair winds today!"]
  sentences: ["The wind is fair {today|tonight}.", "We sail at dawn.", "The crew is singing."]
  closings: ["Fair winds to you."]
"""
TASK = Task(id="t", prompt="Write `f(x)`. It returns the larger one of all the numbers in x.")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "emotions.yaml").write_text(CHEERFUL)
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "emotions.yaml").write_text(PHRASES)
    return tmp_path


def test_emotions_cover_the_four_quadrants():
    emotions = load_library().emotions
    assert {emotion.quadrant for emotion in emotions.values()} == {
        "positive-active", "positive-calm", "negative-active", "negative-calm",
    }  # fmt: skip


def test_there_are_thirty_two_personalities():
    library = load_library()
    assert len(set(library.personalities())) == 32
    assert library.personality("pragmatic.junior.adaptive").technical.name == "pragmatic engineer"


def test_a_distance_means_the_nearest_level():
    library = load_library()
    assert [library.level(d).operation for d in (0.05, 0.14, 0.2, 0.26, 0.5)] == [
        "light", "light", "style", "transform", "transform",
    ]  # fmt: skip


def test_every_language_speaks_for_every_emotion_and_trait():
    library = load_library()
    for language in library.languages.values():
        assert set(language.feelings) == set(library.emotions)
        assert set(language.controls) == {"neutral", "polite"}
        technical, experience = library.traits["technical"], library.traits["experience"]
        assert set(language.roles) == {f"{t}.{e}" for t in technical for e in experience}
        assert set(language.collaboration) == set(library.traits["collaboration"])
        assert len(language.snippets) == len(set(language.snippets))
        assert len(language.snippets) >= 400


@pytest.mark.parametrize("code", sorted(load_library().languages))
def test_no_shipped_snippet_says_anything_about_the_task(tmp_path, code):
    # User entries are linted, so the shipped library as a user's folder is linted as well.
    inner = tmp_path / code
    shutil.copytree(templates_dir() / code, inner)
    assert load_library(tmp_path).languages[code].snippets


def test_windows_line_ends_make_no_other_library(tmp_path):
    text = (templates_dir() / "emotions.yaml").read_bytes()
    loaded = []
    for name, ends in (("unix", b"\n"), ("windows", b"\r\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "emotions.yaml").write_bytes(text.replace(b"\n", ends))
        loaded.append(load_library(tmp_path / name))
    unix, windows = loaded
    assert windows.digest == unix.digest != ""
    assert windows.emotions == unix.emotions


@pytest.mark.parametrize(
    ("snippet", "tag"),
    [
        ("You must be kidding.", "deontic"),
        ("Make it fast, friends.", "comparative"),
        ("I need it quickly.", "speed"),
        ("I think it was for the shop.", "hedge"),
        ("Don't worry about the rest.", "scope"),
        ("It is late, hence the tone.", "inference"),
        ("My code is all over the place.", "history"),
        ("Please explain it to me.", "request"),
        ("Do not use my name.", "negation"),
        ("I have seven cats.", "number"),
        ("I love a good function.", "code"),
        ("I have 7 cats.", "digit"),
    ],
)
def test_each_tag_of_the_lint_finds_its_words(snippet, tag):
    path = templates_dir() / "en" / "language.yaml"
    entry = parse(path.read_text(encoding="utf-8"), Path(path)).fields("file")["forbidden"]
    assert tag in (Lint.of(entry).problem(snippet, "sentence") or "")


def test_a_deadline_moves_the_weight_to_emotion_and_hard_problems_to_persona():
    library = load_library()
    plain = library.weights("write a function")["emotion"]
    assert library.weights("urgent deadline today")["emotion"] > plain
    assert library.weights("recursion over a sorted graph")["emotion"] < plain


def test_a_team_can_add_an_emotion_and_reads_it(folder):
    library = load_library(folder)
    assert set(library.emotions) == {*load_library().emotions, "cheerful"}
    made = generate(
        TASK,
        Selection(
            library=library,
            emotions=["cheerful"],
            personalities=["expert.senior.plan"],
            distances=(0.2,),
        ),
        rewriter=RulesRewriter(library=library),
    )
    sailor = ("Ahoy", "wind", "sail", "crew", "Fair winds")
    assert all(any(word in variant.text for word in sailor) for variant in made.variants)
    assert all(variant.rewriter.startswith("rules/18+") for variant in made.variants)


FACTS = """\
facts:
  at-sea: [sail, crew]
  on-land: [train]
  called-up: [Navy]
  shouting: ['(?-i:STORM)']
clashes:
  - [at-sea, on-land]
  - [at-sea, at-sea]
"""


def test_a_team_adds_facts_and_clashes_of_its_own(folder):
    (folder / "en" / "language.yaml").write_text(FACTS)
    library = load_library(folder)
    coherence = library.languages["en"].coherence
    assert "at-sea" in coherence.facts_of("We sail at dawn.")
    # A pattern ignores the case, unless it says otherwise.
    assert coherence.facts_of("We SAIL for the navy, storm or not.") >= {"at-sea", "called-up"}
    assert coherence.facts_of("storm", {"shouting"}) == frozenset()
    assert coherence.facts_of("STORM", {"shouting"}) == {"shouting"}
    assert coherence.clash(frozenset({"at-sea"}), frozenset({"on-land"}))
    assert coherence.clash(frozenset({"on-land"}), frozenset({"at-sea"}))
    assert "new-here" in coherence.facts
    made = generate(
        TASK,
        Selection(library=library, emotions=["cheerful"], per_distance=12, distances=(0.2,)),
        rewriter=RulesRewriter(library=library),
    )
    at_sea = {"We sail at dawn.", "The crew is singing."}
    assert all(len(at_sea.intersection(s)) <= 1 for s in made.snippets.values())


def with_role(folder, role):
    """Return the library with a trait of a team's own, and one phrase under `role`."""
    (folder / "en").mkdir(parents=True)
    (folder / "personalities.yaml").write_text(
        "technical:\n  shopkeeper:\n    name: shopkeeper\n"
        "    description: Runs a small shop.\n    vocabulary: Tills and stock.\n"
    )
    (folder / "en" / "personas.yaml").write_text(f"roles:\n  {role}\n")
    return load_library(folder)


def test_a_team_adds_a_persona_and_a_slip_in_it_is_refused(tmp_path):
    library = with_role(tmp_path / "own", "shopkeeper.junior: [I took over a flower shop]")
    assert "shopkeeper.junior.plan" in library.personalities()
    assert library.languages["en"].roles["shopkeeper.junior"] == ("I took over a flower shop",)
    with pytest.raises(VariantError, match=r"personas.yaml:2: no persona has 'shopkeper.junior' "):
        with_role(tmp_path / "slip", "shopkeper.junior: [I took over a flower shop]")
    with pytest.raises(VariantError, match=r"personas.yaml:2: .*leave out its final mark"):
        with_role(tmp_path / "sentence", "shopkeeper.junior: [I took over a flower shop.]")


def test_a_clash_of_an_unknown_fact_is_refused_with_file_and_line(folder):
    path = folder / "en" / "language.yaml"
    path.write_text(FACTS.replace("on-land]", "on-lnad]"))
    with pytest.raises(VariantError, match=r"'on-lnad' is not a fact \(did you mean 'on-land'\?\)"):
        load_library(folder)
    path.write_text(FACTS.replace("[at-sea, on-land]", "[at-sea]"))
    with pytest.raises(VariantError, match="lists pairs of facts"):
        load_library(folder)


def test_an_override_replaces_only_the_entry_of_its_name(folder):
    (folder / "emotions.yaml").write_text(CHEERFUL.replace("cheerful", "tired"))
    library = load_library(folder)
    assert library.emotion("tired").description == "A programmer at sea."
    assert library.emotion("calm") == load_library().emotion("calm")


def test_an_emotion_without_phrases_is_refused_with_the_place_to_add_them(folder):
    (folder / "en" / "emotions.yaml").unlink()
    library = load_library(folder)
    with pytest.raises(VariantError, match="'cheerful' has no phrases in en/"):
        generate(
            TASK,
            Selection(library=library, emotions=["cheerful"]),
            rewriter=RulesRewriter(library=library),
        )


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "message"),
    [
        ("emotions.yaml", "valence: 0.5", "valence: 5", 5, "number from -1 to 1"),
        ("emotions.yaml", "valence: 0.5", "valence: high", 5, "number from -1 to 1"),
        ("emotions.yaml", "  pattern: Shouted.\n", "", 1, "lacks 'pattern'"),
        ("emotions.yaml", "arousal", "arousel", 6, "did you mean 'arousal'"),
        ("en/emotions.yaml", "{today|tonight}", "{today}", 4, "'{' is a digit"),
        ("en/emotions.yaml", "We sail at dawn.", "It must be fast.", 4, "deontic"),
        ("en/emotions.yaml", "We sail at dawn.", "We are 5 sailors.", 4, "digit"),
        ("en/emotions.yaml", "closings", "closing", 5, "did you mean 'closings'"),
    ],
)
def test_what_is_no_template_is_refused_with_file_and_line(  # noqa: PLR0917
    folder, name, old, new, line, message
):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(VariantError) as caught:
        load_library(folder)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_file_of_another_name_and_a_folder_that_is_none_are_refused(folder):
    (folder / "emotion.yaml").write_text(CHEERFUL)
    with pytest.raises(VariantError, match=r"did you mean 'emotions.yaml'"):
        load_library(folder)
    with pytest.raises(VariantError, match="not a folder"):
        load_library(folder / "nowhere")


def test_phrases_for_a_shipped_emotion_are_added_to_its_own(tmp_path):
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "emotions.yaml").write_text('tired:\n  cues: ["My pillow is calling."]\n')
    (tmp_path / "en" / "personas.yaml").write_text(
        'collaboration:\n  plan: ["I keep a wall of notes"]\n'
    )
    shipped = load_library().languages["en"]
    added = load_library(tmp_path).languages["en"]
    tired, known = added.feelings["tired"], shipped.feelings["tired"]
    assert tired.cues == (*known.cues, "My pillow is calling.")
    assert (tired.style, tired.sentences) == (known.style, known.sentences)
    assert added.collaboration["plan"][-1] == "I keep a wall of notes"
    assert len(added.collaboration["plan"]) == len(shipped.collaboration["plan"]) + 1


def test_introductions_stay_unless_sentences_are_added_that_take_their_place(tmp_path):
    introductions = {"shipped": load_library().languages["en"].introductions}
    for name in ("cues", "sentences"):
        (tmp_path / name / "en").mkdir(parents=True)
        path = tmp_path / name / "en" / "emotions.yaml"
        path.write_text(f'tired:\n  {name}: ["My pillow is calling."]\n')
        introductions[name] = load_library(tmp_path / name).languages["en"].introductions
    assert introductions["cues"] == introductions["shipped"]
    assert "tired" not in {emotion for emotion, _, _ in introductions["sentences"]}


def test_what_a_prompt_refuses_is_found_without_reading_the_phrases_of_a_language():
    shipped = load_library()
    made = []
    library = replace(shipped, languages=MadeOnUse(shipped.languages, made.append))
    assert library.refused_by("I've been staring at this for hours. Write `f(x)`, please.")
    assert "en" in library.languages
    assert made == []
