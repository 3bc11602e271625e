"""Introductions that are written as a whole: those of the library, and reading a file of them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._coherence import FACTS_OF_PROMPTS, openings, repeats_an_opening
from pytest_promptse.variants._distance import words
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._introductions import MANNERS, OPERATIONS
from pytest_promptse.variants._library import DIMENSIONS
from pytest_promptse.variants._library_files import load_library

LIBRARY = load_library()
ENGLISH = LIBRARY.languages["en"]
LENGTHS = {"style": range(15, 28), "transform": range(33, 47)}
COMMENTS = {"style": range(14, 28), "transform": range(30, 47)}
"""Comments may be shorter, since a request always follows them."""
PROMPTS = {
    "work": {"company"},
    "comment": {"stub"},
    "practice": {"exercise", "numbered", "short"},
}
"""The facts of the prompts for which the introductions of a kind are; of any person without one."""
STUB = 'def median_gap(times):\n    """Return the median of the gaps between times."""\n'
EXERCISE = "Exercise 4 (3 points). Write `f(x)`. It doubles every item of x. It keeps a zero."
PLAIN = Task(id="t", prompt="Write `f(x)`. It doubles every item of x. It keeps a zero.")
TEXT = (
    "[role: I began with maths this spring], and [way: this is next on my list]. "
    "[mood: I have all afternoon and a pot of tea beside me.]"
)


def of_kind(kind: str, language: str = "en") -> set[str]:
    known = LIBRARY.languages[language].introductions
    return {each.text for texts in known.values() for each in texts if each.kind == kind}


def test_every_emotion_and_persona_has_introductions_of_each_kind():
    for emotion, slug, operation in product(LIBRARY.emotions, LIBRARY.personalities(), OPERATIONS):
        kinds = Counter(each.kind for each in ENGLISH.introductions[emotion, slug, operation])
        assert {"any", "work"} <= set(kinds), (emotion, slug, operation)
        # More, since benchmarks have many tasks of code to complete.
        assert kinds["comment"] in (8, 10)
        assert kinds["practice"] == 1, (emotion, slug, operation)
        assert kinds["any"] + kinds["work"] + sum(kinds[each] for each in MANNERS) >= 3


def test_an_introduction_shows_each_trait_and_the_emotion_within_the_words_of_its_level():
    for (emotion, slug, operation), texts in ENGLISH.introductions.items():
        for each in texts:
            assert set(each.cues) == {*DIMENSIONS, "emotion"}, each.text
            lengths = COMMENTS if each.kind == "comment" else LENGTHS
            assert len(words(each.text)) in lengths[operation], (emotion, slug, each.text)
            assert not repeats_an_opening(openings(each.text)), each.text


def test_an_introduction_contradicts_no_prompt_of_a_person_or_no_text_of_a_company():
    coherence = ENGLISH.coherence
    # Emotions and personas that contradict these are not drawn.
    said = {"worn-out", "outage", "beginner", "veteran", "addressed", "leisure", "pleased"}
    said |= {"uneasy", "pressing", "hurried", "off-work", "late", "early", "past-noon", "sent-here"}
    said |= {"acquainted", "fresh", "names-day", "says-who"}
    of_person = (FACTS_OF_PROMPTS | set(coherence.prompts)) - {"company"} - said
    for texts in ENGLISH.introductions.values():
        for each in texts:
            prompts = PROMPTS.get(each.kind, of_person)
            # Somebody who has time has it above a deadline too.
            opponents = coherence.opponents(prompts) - {"joins", "unhurried"}
            assert opponents.isdisjoint(coherence.facts_of(each.text)), each.text


@pytest.mark.parametrize(
    "prompt",
    [
        "SHOP-212: Write `f(x)`. It doubles every item of x. It keeps a zero for our customers.",
        "Hi Anna,\n\nwrite `f(x)` for the shop. It doubles every item of x.\n\nThanks,\nTom\n",
        "As a librarian, I want to see the doubles.\n\nWrite `f(x)` for this.",
    ],
)
def test_a_text_of_a_company_has_no_student(prompt):
    made = generate(Task(id="c", prompt=prompt), Selection(per_distance=60, distances=(0.2, 0.3)))
    for snippets in made.snippets.values():
        facts = [ENGLISH.coherence.facts_of(snippet) for snippet in snippets]
        assert not any("student" in each for each in facts), snippets


def test_a_chinese_ticket_comes_from_somebody_at_work():
    prompt = "OPS-17 导出报表\n\n写一个函数 `f(rows)`。金额列保留原样。空行不导出。\n"
    made = generate(Task(id="z", prompt=prompt), Selection(per_distance=20, distances=(0.2, 0.3)))
    at_work = of_kind("work", "zh")
    for variant in made.variants:
        assert not at_work.isdisjoint(made.snippets[variant.id])


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        (STUB, "comment"),
        ("OPS-12: Double it\n\nWrite `f(x)`. It doubles every item. A zero is kept.", "work"),
        ("You are a careful SQL assistant.\n<task>Write `f(x)`. It doubles x.</task>\n", "work"),
    ],
)
def test_a_prompt_takes_the_introductions_that_are_for_it(prompt, kind):
    made = generate(Task(id="k", prompt=prompt), Selection(per_distance=40, distances=(0.2, 0.3)))
    chosen = of_kind(kind)
    for variant in made.variants:
        assert not chosen.isdisjoint(made.snippets[variant.id]), variant.text


@pytest.mark.parametrize(
    "prompt", [PLAIN.prompt, EXERCISE, "hey can someone write `f(x)`? It keeps each zero of x."]
)
def test_only_code_to_complete_has_comments(prompt):
    made = generate(Task(id="k", prompt=prompt), Selection(per_distance=20, distances=(0.2, 0.3)))
    comments = of_kind("comment")
    for variant in made.variants:
        assert comments.isdisjoint(made.snippets[variant.id]), variant.text


def test_people_who_study_have_an_exercise():
    practice = of_kind("practice")
    for prompt, expected in ((EXERCISE, True), (PLAIN.prompt, False)):
        made = generate(
            Task(id="k", prompt=prompt), Selection(per_distance=40, distances=(0.2, 0.3))
        )
        for variant in made.variants:
            practises = not practice.isdisjoint(made.snippets[variant.id])
            assert practises == expected, variant.text


def test_no_introduction_stands_in_the_library_more_than_once():
    texts = Counter(
        each.text.casefold() for known in ENGLISH.introductions.values() for each in known
    )
    assert texts.most_common(1)[0][1] == 1


@pytest.mark.parametrize("manner", MANNERS)
def test_a_manner_of_writing_is_recorded_and_some_writers_have_it(manner):
    made = generate(PLAIN, Selection(per_distance=120, distances=(0.2, 0.3)))
    shown_in = [v for v in made.variants if f"manner:{manner}" in v.operations]
    assert 0.01 < len(shown_in) / len(made.variants) < 0.1
    of_manner = of_kind(manner)
    for variant in shown_in:
        assert not of_manner.isdisjoint(made.snippets[variant.id])


@pytest.mark.parametrize(
    "prompt",
    [
        "My nightly export crashes since we added a warehouse. Fix `f(x)`. It doubles each x.",
        "Our customers wait too long. I need `f(x)` by Thursday. It doubles every item of x.",
    ],
)
def test_the_owner_of_a_matter_at_work_does_not_stand_in_for_anybody(prompt):
    made = generate(Task(id="o", prompt=prompt), Selection(per_distance=60, distances=(0.2, 0.3)))
    at_work = of_kind("work")
    for variant in made.variants:
        chosen = at_work & set(made.snippets[variant.id])
        assert chosen, variant.text
        if prompt.startswith("My"):
            assert not any("stand-in" in ENGLISH.coherence.facts_of(text) for text in chosen)


def test_a_chinese_message_names_the_request_as_this_once():
    prompt = "写一个函数 `f(rows)`。金额列保留原样。空行不导出。\n"
    made = generate(Task(id="z", prompt=prompt), Selection(per_distance=40, distances=(0.2,)))
    for variant in made.variants:
        naming = [s for s in made.snippets[variant.id] if "这个" in s or "这件" in s]
        assert len(naming) <= 1, variant.text


def test_a_chinese_message_asks_for_help_once():
    prompt = "写一个函数 `f(rows)`。金额列保留原样。空行不导出。\n"
    asks = set(LIBRARY.languages["zh"].requests.asks)
    made = generate(Task(id="z", prompt=prompt), Selection(per_distance=64, distances=(0.2, 0.3)))
    seeking = 0
    for variant in made.variants:
        snippets = made.snippets[variant.id]
        if any(re.search("帮忙|请教|搭把手", each) for each in snippets if each not in asks):
            seeking += 1
            assert asks.isdisjoint(snippets), variant.text
    assert seeking


def test_an_experienced_writer_with_a_school_of_their_own_studies_again():
    prompt = "我们学校的成绩页面没有平均分。写一个函数 `f(rows)` 算平均分。"
    made = generate(Task(id="s", prompt=prompt), Selection(per_distance=64, distances=(0.2, 0.3)))
    practice = of_kind("practice", "zh")
    for variant in made.variants:
        if ".senior." in variant.personality:
            assert not practice.isdisjoint(made.snippets[variant.id]), variant.text


def test_nobody_is_afraid_to_disturb_a_model():
    prompt = "<role>你是一名工程师</role>\n<task>\n写一个函数 `f(rows)`。空行不导出。\n</task>\n"
    made = generate(Task(id="m", prompt=prompt), Selection(per_distance=64, distances=(0.2, 0.3)))
    for variant in made.variants:
        assert not re.search("怕你|打扰|唐突|耽误", variant.text)


def test_a_formal_email_of_a_company_comes_from_somebody_at_work():
    prompt = "李工\uff0c您好\uff1a\n\n我们要导出报表。请写一个脚本。空行不导出。\n\n谢谢\n王敏\n"
    task = Task(id="f", prompt=prompt, entry_point="f")
    made = generate(task, Selection(per_distance=40, distances=(0.2, 0.3)))
    at_work = of_kind("work", "zh")
    for variant in made.variants:
        assert not at_work.isdisjoint(made.snippets[variant.id]), variant.text


def test_a_speech_of_several_sentences_is_no_list():
    prompt = "请写一个函数 `f(rows)`。金额列保留原样不变。空行和注释行都不导出。"
    made = generate(Task(id="l", prompt=prompt), Selection(per_distance=40, distances=(0.3,)))
    assert not any("block:bullets" in variant.operations for variant in made.variants)


def test_a_private_person_has_no_work():
    prompt = "I keep bees as a hobby. Can you write `f(x)` for me? It doubles every item of x."
    made = generate(Task(id="p", prompt=prompt), Selection(per_distance=40, distances=(0.2,)))
    at_work = of_kind("work")
    for variant in made.variants:
        assert at_work.isdisjoint(made.snippets[variant.id])


def test_a_context_for_the_emotion_prefers_introductions_with_more_of_it():
    key = ("tired", "pragmatic.senior.plan", "style")
    shares = {each.text: each.emotion_share for each in ENGLISH.introductions[key]}
    means = []
    for hint in ("A graph, a path, a prime, a permutation", "The deadline is urgent"):
        task = Task(id="t", prompt=f"I need `f(x)`. It doubles every x. It keeps a zero. {hint}.")
        chosen = Selection(
            per_distance=6, distances=(0.2,), emotions=[key[0]], personalities=[key[1]]
        )
        made = generate(task, chosen)
        drawn = [shares[s] for v in made.variants for s in made.snippets[v.id] if s in shares]
        assert len(drawn) == 6
        means.append(sum(drawn) / len(drawn))
    assert means[0] < means[1]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "en" / "introductions").mkdir(parents=True)
    return tmp_path


def write(folder, text, *, slug="expert.junior.plan", operation="style", kind="any", name="calm"):
    path = folder / "en" / "introductions" / f"{name}.yaml"
    path.write_text(f'{slug}:\n  {operation}:\n    {kind}:\n      - "{text}"\n')
    return path


def test_a_team_replaces_the_introductions_of_one_emotion_and_persona(folder):
    write(folder, TEXT)
    own = load_library(folder)
    chosen = Selection(
        distances=(0.2,),
        per_distance=3,
        emotions=["calm"],
        personalities=["expert.junior.plan"],
        library=own,
    )
    for variant in generate(PLAIN, chosen).variants:
        assert "I began with maths this spring" in variant.text
        assert variant.cues["collaboration"] == "this is next on my list"
    assert own.digest
    assert own.digest != load_library().digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": TEXT.replace("[mood:", "[feel:")}, "a label is one of role, way, mood"),
        ({"text": TEXT.replace("[way: this", "this").replace("list]", "list")}, "labelled [way: "),
        ({"text": TEXT.replace("all afternoon", "no bugs")}, "'bugs' could be read as part of"),
        ({"slug": "expert.junior.plans"}, "no key 'expert.junior.plans'"),
        ({"operation": "light"}, "no key 'light'"),
        ({"kind": "verbose"}, "no key 'verbose'"),
    ],
)
def test_an_invalid_introduction_is_refused_with_file_and_line(folder, change, said):
    path = write(folder, **{"text": TEXT, **change})
    with pytest.raises(VariantError) as caught:
        load_library(folder)
    assert str(caught.value).startswith(f"{path}:")
    assert said in str(caught.value)


def test_a_file_for_no_emotion_is_refused(folder):
    path = write(folder, TEXT, name="clam")
    with pytest.raises(VariantError, match="not a template file") as caught:
        load_library(folder)
    assert str(path) in str(caught.value)
    assert "calm.yaml" in str(caught.value)


def test_a_team_that_adds_sentences_to_an_emotion_reads_its_own_among_them(folder):
    (folder / "en" / "introductions").rmdir()
    (folder / "en" / "emotions.yaml").write_text(
        'calm:\n  style: {}\n  cues: ["The sea is flat."]\n'
        '  sentences: ["The sea is flat this week.", "All gulls sleep on the pier."]\n'
        '  closings: ["Fair winds."]\n'
    )
    chosen = Selection(
        distances=(0.2,), per_distance=80, emotions=["calm"], library=load_library(folder)
    )
    texts = [variant.text for variant in generate(PLAIN, chosen).variants]
    assert any("sea is flat" in text or "gulls sleep" in text for text in texts)
    assert not all("sea is flat" in text or "gulls sleep" in text for text in texts)


@pytest.mark.parametrize(
    "prompt",
    [
        "@dana can you write `f(x)`? it doubles every item of x.",
        "Sam, can you write `f(x)`? It doubles every item of x.",
        "hi team, can somebody write `f(x)`? it doubles every item of x.",
        "老张\uff0c帮我写一个函数 `f(rows)`\uff0c按日期分组。空行不算。",
    ],
)
def test_nobody_introduces_themselves_to_an_acquaintance(prompt):
    made = generate(Task(id="a", prompt=prompt), Selection(per_distance=24, distances=(0.2, 0.3)))
    for variant in made.variants:
        # Where the Chinese library has no introduction for the prompt, the mood stands alone.
        assert {"emotion"} <= set(variant.cues) <= {"collaboration", "emotion"}, variant.text


def test_a_role_of_an_introduction_is_left_out_if_it_stands_alone():
    for introductions in (ENGLISH.introductions, LIBRARY.languages["zh"].introductions):
        shorter = [
            (each, each.to_acquaintance)
            for texts in introductions.values()
            for each in texts
            if each.to_acquaintance
        ]
        assert len(shorter) > 400
        for each, without in shorter:
            assert set(without.cues) == {"collaboration", "emotion"}
            assert each.cues["technical"] not in without.text
            assert without.text in each.text


def test_the_heading_instructions_below_a_role_is_no_turn_of_a_person():
    prompt = "You translate commands to `f(x)`.\n\n# Instructions\n\nThe order is kept.\n"
    for variant in generate(Task(id="i", prompt=prompt), Selection(per_distance=8)).variants:
        assert prompt.strip() in variant.text
