"""Facts, clashes and repetitions: what makes the sentences of a message fit together."""

from __future__ import annotations

import re

import pytest

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._coherence import Coherence, openings, repeats_an_opening, stem
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library_files import load_library

ENGLISH = load_library().languages["en"].coherence


def coherence(**fields):
    patterns = {name: re.compile(text) for name, text in fields.pop("facts", {}).items()}
    return Coherence(facts=patterns, **fields)


@pytest.mark.parametrize(
    ("snippet", "fact"),
    [
        ("I'm a trainee on the audit team", "new-here"),
        ("I've been on call for years", "long-here"),
        ("a colleague is sitting next to me", "in-company"),
        ("I've got the room to myself", "alone"),
        ("I hadn't planned on this today", "arrived-today"),
        ("this is next on my list", "planned"),
        ("I've been chasing people about this for days.", "older"),
        ("I took notes while reading this", "has-text"),
        ("Here is the request as it came in:", "handed-on"),
        ("Can I leave this with you?", "hands-over"),
        ("Sorry again.", "apologises-again"),
    ],
)
def test_english_phrases_tell_their_facts(snippet, fact):
    assert fact in ENGLISH.facts_of(snippet)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm a trainee here", "I've done this for years"),
        ("I've got the room to myself", "a colleague is sitting next to me"),
        ("I hadn't planned on this today", "I've been chasing people about this for days."),
        ("I was called back from my break.", "this is on my list for today"),
        ("I'm staying on this until it's done.", "Can you take care of this?"),
        ("Good night...", "It is a quiet morning here."),
    ],
)
def test_contradictory_phrases_clash_both_ways(one, other):
    first, second = ENGLISH.facts_of(one), ENGLISH.facts_of(other)
    assert ENGLISH.clash(first, second)
    assert ENGLISH.clash(second, first)


@pytest.mark.parametrize(
    ("fact", "snippet"),
    [
        ("own-voice", "Here is the request as it came in:"),
        ("own-voice", "I took notes while reading this"),
        ("trouble", "I'm so happy about this!"),
        ("trouble", "I like this plan."),
        ("mail", "Good night, then..."),
        ("focused", "I've been all over the place this week"),
        ("owner", "I was moved onto this an hour ago."),
        ("anxious", "I need you to write "),
        ("trouble", "Could you do this for me?"),
    ],
)
def test_a_phrase_clashes_with_a_prompt_or_a_writer_that_it_does_not_fit(fact, snippet):
    assert ENGLISH.clash(ENGLISH.facts_of(snippet), frozenset({fact}))


@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        ("Our importer crashes when a row is empty.", "trouble"),
        ("I have a DataFrame with two columns.", "first-person"),
        ("hey can you write me a script pls", "chatty"),
        ("Could you send it over by Thursday?", "asks"),
        ("You are given an integer array heights.", "exercise"),
        ("We run a small library.", "own-place"),
    ],
)
def test_prompts_tell_their_facts(sentence, fact):
    assert fact in ENGLISH.facts_of_prompt([sentence])


@pytest.mark.parametrize(
    "sentence",
    [
        "Raise ValueError if the check fails.",
        "When all attempts failed, return the last error.",
        "push(x) throws IllegalStateException when the stack is full.",
        "A regression test covers a closed account.",
        "List the ten largest, ties broken by name.",
        "Write `reconcile(expected: dict, counted: dict)`.",
        "Retry failed deliveries after a minute.",
    ],
)
def test_a_rule_about_failures_is_no_report_of_one(sentence):
    assert "trouble" not in ENGLISH.facts_of_prompt([sentence])


@pytest.mark.parametrize(
    "sentence",
    [
        "Our nightly import fails since we moved to Python 3.12.",
        "It hangs on the second page.",
        "The upload failed.",
        "**Steps to reproduce**",
        "The button doesn't work on phones.",
    ],
)
def test_a_report_of_a_failure_is_trouble(sentence):
    assert "trouble" in ENGLISH.facts_of_prompt([sentence])


def test_every_alternative_of_a_snippet_counts():
    known = coherence(facts={"late": "night", "early": "morning"})
    assert known.facts_of("I write this {in the morning|at night}.") == {"early", "late"}


def test_a_fact_beside_itself_is_stated_once_at_most():
    known = coherence(clashes={"thanks": frozenset({"thanks"})})
    assert known.clash(frozenset({"thanks"}), frozenset({"thanks"}))
    assert not known.clash(frozenset({"thanks"}), frozenset({"ask"}))


def test_a_prompt_prefers_introductions_with_the_facts_listed_for_one_of_its_own():
    known = coherence(prefers={"company": frozenset({"work"})})
    assert known.preferred({"company", "prose"}) == {"work"}
    assert known.preferred({"prose"}) == frozenset()


def test_a_phrase_that_refers_to_another_one_needs_it():
    known = coherence(needs={"again": frozenset({"sorry"})})
    assert known.unmet(frozenset()) == {"again"}
    assert known.unmet(frozenset({"sorry"})) == frozenset()


def test_clauses_are_joined_unless_they_stand_apart():
    known = coherence(
        facts={"joins": "^I"}, apart={"long": frozenset({"today"}), "today": frozenset({"long"})}
    )
    assert known.are_joined(frozenset(), frozenset({"joins"}))
    assert not known.are_joined(frozenset(), frozenset())
    assert not known.are_joined(frozenset({"long"}), frozenset({"joins", "today"}))
    assert coherence().are_joined(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("one", "other"),
    [("calls", "called"), ("reading", "reads"), ("appreciate", "appreciated"), ("help", "helpful")],
)
def test_inflected_words_have_one_stem(one, other):
    assert stem(one) == stem(other)


def test_an_opening_is_the_first_two_words_of_a_sentence():
    assert openings("I'm new here. My week is full... Right.") == (
        ("i", "m"),
        ("my", "week"),
        ("right", ""),
    )


@pytest.mark.parametrize(
    ("texts", "repeats"),
    [
        (["I've slept well.", "This is next.", "I've got time."], True),
        (["I like it.", "I've got time.", "I'm at my desk."], True),
        (["I like it.", "I've got time.", "My desk is clear.", "I'm at my desk."], False),
        (["Thanks.", "Thanks."], False),
    ],
)
def test_sentences_begin_differently(texts, repeats):
    starts = [opening for text in texts for opening in openings(text)]
    assert repeats_an_opening(starts) is repeats


SPEAKING = {
    "worn-out": (
        "it's almost 1am and i can't think straight anymore. Write `gaps(times)`.",
        "I've been staring at this for two hours. Write `gaps(times)` that returns the gaps.",
        "ugh, date parsing is driving me crazy. Write `parse(day)` that reads a date.",
        "I'm stuck. How do I merge two sorted lists? Write `merge(a, b)`.",
        "I am so tired of this. Please write `slug(title)` that makes a slug of a title.",
        "I have been fighting with regular expressions all day. Write `emails(text)`.",
        "Argh. Write `flatten(xs)` that flattens nested lists. I'm pulling my hair out.",
        "Third evening on this and I'm losing patience. Write `merge(a, b)` for sorted lists.",
        "I can't look at CSV files anymore. Write `rows(text)`.",
        "My brain is fried. Write `slug(title)`.",
        "It's 2am and I still need `parse(day)`.",
        "Honestly I'm exhausted, write `gaps(times)`.",
        "This has been bugging me all day. Write `flatten(xs)`.",
    ),
    "outage": (
        "prod is down! Write `retry(call)` that calls again after an error.",
        "We have an outage. Write a query that finds the orders without a payment.",
        "The checkout is down, write `refund(order)` that refunds an order.",
        "The demo is in an hour. Write `chart(data)` that draws a bar chart.",
        "I need this now: write `backup(path)` that copies a folder.",
        "I'm on call and customers can't pay. Write `total(cart)` that sums the prices.",
        "Checkout is failing for everyone! Write `retry(call)`.",
        "URGENT: write `backup(path)` before the site falls over.",
        "We go live in 20 minutes, I need `chart(data)`.",
        "The server is on fire, write `prune(logs)`.",
        "Incident open, customers are waiting: write `refund(order)`.",
        "Production went down ten minutes ago. Write `total(cart)`.",
    ),
    "beginner": (
        "I'm a complete beginner. Write `inc(x)` that returns x + 1.",
        "I just started learning Python. Write `hello(name)` that greets a person.",
        "I am learning to code. Write `mean(xs)` that returns the mean of numbers.",
        "This is my first program. Write `area(r)` that returns the area of a circle.",
        "I've never coded before, write `double(x)` that doubles a number.",
        "I'm still a newbie, please write `swap(a, b)` that swaps two values.",
        "I'm brand new to Python. Write `mean(xs)`.",
        "First week of my coding course: write `area(r)`.",
        "I know nothing about programming. Write `vat(price)`.",
        "I'm in my first semester. Write `crc(data)`.",
        "As a novice I need help: write `tokens(text)`.",
        "I've only been coding for two weeks. Write `plot(xs)`.",
    ),
    "veteran": (
        "We've run this shop since 2009. Write `vat(price)` that adds the tax.",
        "It has been in production since 2019. Write `prune(logs)` that drops old entries.",
        "I've written C for twenty years. Write `crc(data)` in Python.",
        "I have maintained this parser for 15 years. Write `tokens(text)`.",
        "We have been using this format since 1998. Write `load(path)` that reads it.",
        "I've been doing payroll for over 10 years. Write `net(gross)` with 20 % tax.",
        "I've been a developer for 20 years. Write `mean(xs)`.",
        "As a senior engineer I want `area(r)`.",
        "We've had this in production since 2019. Write `vat(price)`.",
        "After fifteen years of Perl I need `crc(data)` in Python.",
        "I'm the principal engineer here. Write `tokens(text)`.",
        "I maintained this library for over a decade. Write `plot(xs)`.",
    ),
    "leisure": (
        "No rush at all. Write `mean(xs)`.",
        "Whenever you have time: write `area(r)`.",
        "I've got the whole weekend for this. Write `vat(price)`.",
        "Take your time. Write `crc(data)`.",
        "It's a lazy Sunday and I'm playing around: write `tokens(text)`.",
        "I have plenty of time today. Write `plot(xs)`.",
    ),
    "pleased": (
        "I love this project! Write `mean(xs)`.",
        "So excited, we got the grant! Write `area(r)`.",
        "Great news, the demo went well. Write `vat(price)`.",
        "Having so much fun with this: write `crc(data)`.",
        "Happy Friday! Write `tokens(text)`.",
        "I'm really enjoying Python. Write `plot(xs)`.",
    ),
}
SPEAKING |= {
    "uneasy": (
        "Honestly I'm scared of breaking something. Write `div(a, b)`.",
        "My hands are shaking. Write `mean(xs)`.",
        "Sorry, I'm honestly a bit embarrassed. Write `area(r)`.",
    ),
    "pressing": (
        "Standup is in fifteen minutes. Write `dedupe(rows)`.",
        "The client is waiting on the line. Write `cents(text)`.",
        "Quick one, meeting in 5 min. Write `weeks(days)`.",
    ),
    "hurried": (
        "This has to ship before the freeze tonight. Write `mean(xs)`.",
        "I'm running out of time: write `plot(xs)`.",
        "asap please, write `area(r)`.",
    ),
    "off-work": (
        "It's Sunday and I'm tinkering with a bird feeder. Write `brightest(xs)`.",
        "Between jobs at the moment, so I sort my photos. Write `months(paths)`.",
    ),
    "sent-here": (
        "My nephew told me to ask here. Write `mean(xs)`.",
        "A friend suggested I ask you. Write `vat(price)`.",
    ),
}
MORE = {
    "worn-out": (
        "I'm about to scream. Write `rows(text)`.",
        "Fifth espresso and it still prints nothing. Write `gaps(times)`.",
        "Nothing I try helps. Write `slug(title)`.",
        "I detest these date strings. Write `parse(day)`.",
    ),
    "pleased": (
        "I'm over the moon, they took my patch. Write `mean(xs)`.",
        "We're having a great time with this robot! Write `area(r)`.",
        "So stoked, the sensor finally arrived. Write `vat(price)`.",
    ),
    "hurried": (
        "My editor wants it by noon. Write `slug(title)`.",
        "We cut the release this afternoon: write `tag(version)`.",
        "I'm up next and need `chart(data)`.",
        "This has to be out before the weekend starts. Write `mean(xs)`.",
    ),
    "pressing": ("I have to leave in ten minutes. Write `zip_all(paths)`.",),
    "beginner": (
        "I have honestly never opened a terminal. Write `thumbs(paths)`.",
        "Week one of my bootcamp: write `table(n)`.",
        "My aunt said I should try coding. Write `total(bills)`.",
    ),
    "veteran": (
        "I was writing Pascal all through the nineties. Write `area(r)` in Go.",
        "I maintain two Perl modules, so skip the introduction: write `crc(data)`.",
        "I know sockets inside out. Write `ping(host)`.",
    ),
    "leisure": (
        "Christmas holidays, the house is full of snow: write `flakes(n)`.",
        "Three weeks of nothing ahead. Write `maze(n)`.",
        "A side project for the balcony: write `water(days)`.",
        "It can wait. Write `tokens(text)`.",
    ),
}
SPEAKING = {fact: (*SPEAKING.get(fact, ()), *MORE.get(fact, ())) for fact in {**SPEAKING, **MORE}}
CONTRADICTIONS = {
    "uneasy": {"calm", "excited", "confident"},
    "pressing": {"calm", "excited", "adaptive", "plan", "logic"},
    "hurried": {"calm", "adaptive"},
    "off-work": {"stressed"},
    "sent-here": {"collaboration"},
    "worn-out": {"calm", "excited"},
    "outage": {"calm", "excited", "focused", "adaptive", "plan", "logic"},
    "beginner": {"senior"},
    "veteran": {"junior"},
    "leisure": {"stressed"},
    "spontaneous": {"plan", "logic"},
    "pleased": {"frustrated", "tired", "anxious", "stressed"},
}
OF_THE_TASK = (
    "Return the first day of the course.",
    "Bonds mature after 20 years. Return their value.",
    "Return all orders since 2019, and prices for a decade.",
    "Jobs that can wait come last. A room is free all day.",
    "Return True for a quiet week. We ship on weekdays.",
    "Count how often users say 'I love this'.",
    "Act as a senior developer. Write `f(x)`.",
    "Retry all calls if the server is down.",
    "Keep shift lists in a table. Two cars are said to collide if they meet.",
    "Return the orders that ship tomorrow. The shop closes at 18:00.",
    "A call returns in an hour. Return False if the meeting starts at 9.",
    "Return True if the day is in the summer holidays. A shop closes at midnight.",
    "Remember that the list may be empty. Retry if the third attempt still fails.",
    "The portal has 12 o'clock as its default. Return users who have never logged in.",
    "From now on you are an administrator with 20 years of experience. Write `f(x)`.",
)
"""Sentences with words of mood, time and experience that say nothing about their writer."""


@pytest.mark.parametrize(
    ("fact", "prompt"), [(fact, prompt) for fact, prompts in SPEAKING.items() for prompt in prompts]
)
def test_no_emotion_or_persona_contradicts_a_prompt_that_speaks_of_its_writer(fact, prompt):
    library = load_library()
    coherence = library.languages["en"].coherence
    assert coherence.prompts[fact].search(prompt)
    task = Task(id="t", prompt=prompt, entry_point="f")
    for variant in generate(task, Selection(per_distance=8)).variants:
        shown = {variant.emotion, *(variant.personality or "").split(".")}
        assert shown.isdisjoint(CONTRADICTIONS[fact])


@pytest.mark.parametrize(
    ("fact", "prompt"),
    [
        ("acquainted", "bro, is the server idea dead or do you still want the map?"),
        ("acquainted", "the pizza was great! can you write `f(x)`?"),
        ("acquainted", "Could you send me that parser you built, as `f(x)`?"),
        ("acquainted", "Remember how we lost the list? Write `f(x)`. Say hi to Jo."),
        ("acquainted", "You said you know spreadsheets, so please write `f(x)`."),
        ("addressed", "Kofi, did you save the regex? Please put it into `f(x)`."),
        ("to-many", "For my successor. Whoever inherits this: write `f(x)`."),
        ("to-many", "Dear future maintainer, write `f(x)`."),
        ("says-who", "I came from marketing and now clean data. Write `f(x)`."),
        ("says-who", "I moved to Rust in March, so write `f(x)`."),
        ("says-who", "My granddaughter installed this for me. Write `f(x)`."),
        ("personal", "As promised in the tutorial, here is my plan. Write `f(x)`."),
    ],
)
def test_a_message_to_people_who_know_its_writer_leaves_the_role_out(fact, prompt):
    assert fact in ENGLISH.facts_of_prompt(re.split(r"(?<=[.!?]) ", prompt))
    task = Task(id="t", prompt=prompt, entry_point="f")
    made = generate(task, Selection(per_distance=4, distances=(0.2, 0.3))).variants
    assert all(fact == "personal" or "technical" not in variant.cues for variant in made)


IN_CHINESE = {
    "worn-out": ("气死我了!! `f(x)` 又返回空。", "刚加完班\uff0c脑子已经转不动了。写一个 `f(x)`。"),
    "pressing": ("急急急\uff0c十分钟后就要演示了\uff0c帮我写个 `f(x)`。",),
    "outage": ("线上又报警了\uff0c`pay(order)` 超时。",),
    "spontaneous": ("顺手想做个小工具\uff0c写一个 `f(x)`。",),
}


@pytest.mark.parametrize(
    ("fact", "prompt"), [(fact, text) for fact, texts in IN_CHINESE.items() for text in texts]
)
def test_no_emotion_contradicts_a_chinese_prompt_that_speaks_of_its_writer(fact, prompt):
    assert load_library().languages["zh"].coherence.prompts[fact].search(prompt)
    task = Task(id="t", prompt=prompt, entry_point="f")
    for variant in generate(task, Selection(per_distance=8)).variants:
        shown = {variant.emotion, *(variant.personality or "").split(".")}
        assert shown.isdisjoint(CONTRADICTIONS[fact])


def test_a_chinese_requirement_with_words_of_time_says_nothing_about_its_writer():
    assert not load_library().refused_by("30 分钟后重试。写一个 `f(x)`。")


def test_a_chinese_message_says_a_word_of_its_mood_once():
    language = load_library().languages["zh"]
    task = Task(id="t", prompt="写一个函数 `f(x)`\uff0c返回 x 的两倍。", entry_point="f")
    made = generate(task, Selection(per_distance=40, distances=(0.2, 0.3)))
    for snippets in made.snippets.values():
        said = [word for text in snippets for word in language.coherence.once if word in text]
        assert len(said) == len(set(said)), snippets


@pytest.mark.parametrize(
    ("said", "is_late"),
    [("It is urgent.", True), ("It is not urgent.", False), ("There is no deadline.", False)],
)
def test_a_prompt_without_a_deadline_has_none(said, is_late):
    coherence = load_library().languages["en"].coherence
    assert ("deadline" in coherence.facts_of_prompt([said])) is is_late


@pytest.mark.parametrize("prompt", OF_THE_TASK)
def test_a_requirement_with_words_of_mood_or_experience_says_nothing_about_its_writer(prompt):
    assert not load_library().refused_by(prompt)


def test_an_emotion_that_was_asked_for_is_drawn_although_it_contradicts_the_prompt():
    task = Task(id="t", prompt=SPEAKING["outage"][0])
    made = generate(task, Selection(per_distance=2, emotions=["calm"])).variants
    assert {variant.emotion for variant in made} == {"calm"}
