"""The preset ``paper`` asks for 30 variants at each distance: they can be made of every prompt."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
import yaml

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._coherence import Coherence
from pytest_promptse.variants._distance import normalised
from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._generate import Selection, generate, rewriter_named
from pytest_promptse.variants._language import prompt_language
from pytest_promptse.variants._library_files import load_library

HERE = Path(__file__).parent
LANGUAGES = load_library().languages
FILES = [*sorted((HERE / "prompts").glob("*.yaml")), HERE / "mixed.yaml"]
PROMPTS = {
    f"{path.stem}-{section}-{number}": prompt
    for path in FILES
    for section, prompts in yaml.safe_load(path.read_text("utf-8")).items()
    for number, prompt in enumerate(prompts)
    if prompt_language(read_document(prompt, "f")) in LANGUAGES
}
NARROW = {
    f"{code}-{number}": prompt
    for code, prompts in yaml.safe_load((HERE / "narrow.yaml").read_text("utf-8")).items()
    for number, prompt in enumerate(prompts)
}
# The writer of a letter or of code is somebody else.
OWN = [name for name, prompt in NARROW.items() if name.startswith("zh") and "\n" not in prompt]


def counted(prompt, distances, name="rules"):
    selection = Selection(per_distance=30, distances=distances)
    rewriter = rewriter_named(name, library=selection.library)
    task = Task(id="t", prompt=prompt, entry_point="f")
    variants = generate(task, selection, rewriter=rewriter).variants
    return [
        len({normalised(variant.text) for variant in variants if variant.distance == distance})
        for distance in distances
    ]


@pytest.mark.parametrize("name", [*PROMPTS][::6])
def test_thirty_distinct_variants_can_be_made_of_every_prompt(name):
    assert counted(PROMPTS[name], (0.1, 0.3)) == [30, 30]


@pytest.mark.parametrize("name", NARROW)
def test_thirty_distinct_variants_can_be_made_where_few_phrases_are_true(name):
    assert counted(NARROW[name], (0.1, 0.2, 0.3)) == [30, 30, 30]


@pytest.mark.parametrize("name", NARROW)
def test_thirty_distinct_neutral_variants_can_be_made(name):
    assert counted(NARROW[name], (0.1,), "neutral") == [30]


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_yields_is_only_left_out_of_the_firm_opponents(code):
    coherence = LANGUAGES[code].coherence
    for fact in chain(coherence.yields, ["outage"]):
        yielding = coherence.yields.get(fact, frozenset())
        assert coherence.opponents([fact], firm=True) == coherence.opponents([fact]) - yielding


def test_a_clash_with_one_fact_is_firm_although_it_yields_beside_a_different_fact():
    rules = Coherence(
        clashes={"chat": frozenset({"posts"}), "stub": frozenset({"posts"})},
        yields={"chat": frozenset({"posts"})},
    )
    assert rules.opponents(["chat"], firm=True) == frozenset()
    assert rules.opponents(["chat", "stub"], firm=True) == {"posts"}


@pytest.mark.parametrize("name", OWN)
def test_no_variant_contradicts_its_prompt(name):
    prompt = NARROW[name]
    coherence = LANGUAGES["zh"].coherence
    refused = coherence.opponents(coherence.facts_of_prompt([prompt]), firm=True)
    task = Task(id="t", prompt=prompt, entry_point="f")
    made = generate(task, Selection(per_distance=30))
    for snippets in made.snippets.values():
        assert refused.isdisjoint(chain.from_iterable(map(coherence.facts_of, snippets)))
