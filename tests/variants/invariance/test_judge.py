"""The judge accepts verbatim sentences with talk around them, and gives the reason for the rest."""

from __future__ import annotations

import re

import pytest
import variant_prompts
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import normalised
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants.invariance._judge import Judge

LIBRARY = load_library()
PROMPTS = [
    task.prompt for task in variant_prompts.tasks() if re.search(r"[^\W\d_]{2}", task.prompt)
]


def cleared(findings):
    """Return whether a model that says yes to everything would accept the text."""
    return all(finding.questions for finding in findings)


@settings(deadline=None)
@given(st.data())
def test_every_change_of_a_word_of_the_prompt_is_found(data):
    prompt = data.draw(st.sampled_from(PROMPTS))
    words = list(re.finditer(r"[^\W\d_]{2,}", prompt))
    word = data.draw(st.sampled_from(words))
    other = data.draw(st.sampled_from(words))[0] + "q"
    text = f"{prompt[: word.start()]}{other}{prompt[word.end() :]}"
    assert Judge(prompt, LIBRARY).findings(text)


@settings(deadline=None)
@given(st.data())
def test_every_word_inside_a_sentence_of_the_prompt_is_found(data):
    words = list(re.finditer(r"(?<=[a-z] )[a-z]+(?= [a-z])", SENTENCE))
    place = data.draw(st.sampled_from(words)).start()
    added = data.draw(st.sampled_from(["not", "thanks", "I'm tired", "always", "(sorry)", "ugh,"]))
    text = f"{SENTENCE[:place]}{added} {SENTENCE[place:]}"
    assert Judge(SENTENCE, LIBRARY).findings(text)


SENTENCE = "Write a function that returns the longest of the given words, or the first of them."


TASK = """\
Write a function `mask(card, keep=4)` that hides a card number for {{ shop }}.

All digits except the last 4 must be replaced by "*". Spaces are not counted, and never removed.
You may assume that the number has at least 12 digits. See conf/mask.yaml and https://example.org/m.

1. Return None if the input is empty.
2. Keep the order of the groups.

```python
assert mask("1234 5678 9012") == "**** **** 9012"
```
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("`mask(card, keep=4)`", "`mask(card, keep=3)`", "code"),
        ('"**** **** 9012"', '"**** **** 9013"', "verbatim"),
        ("{{ shop }}", "{{ store }}", "code"),
        ("conf/mask.yaml", "config/mask.yaml", "code"),
        ("example.org/m", "example.org/n", "code"),
        ('by "*"', 'by "#"', "literal"),
        ("at least 12 digits", "at least 16 digits", "number"),
        ("at least 12", "at most 12", "comparison"),
        (", and never removed", ", and removed", "negation"),
        ("except the last 4", "including the last 4", "restriction"),
        ("the last 4", "the first 4", "order"),
        ("Return None if", "Return False if", "code"),
        ("You may assume", "You cannot assume", "negation"),
        ("digits except", "letters except", "reworded"),
        ("for {{ shop }}", "for {{ shop }} quickly", "instruction"),
        ("2. Keep the order of the groups.\n", "", "lost"),
        ("groups.\n", "groups.\n\nKeep it short.\n", "instruction"),
        ("groups.\n", "groups.\n\nFeel free to use numpy.\n", "instruction"),
        ("groups.\n", "groups.\n\nAlso explain how it works.\n", "instruction"),
    ],
)
def test_a_change_is_found_and_its_rule_named(old, new, rule):
    assert TASK.count(old) >= 1
    findings = Judge(TASK, LIBRARY).findings(TASK.replace(old, new, 1))
    assert rule in {finding.rule for finding in findings}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Write a function", "Could you please write a function"),
        ("Write a function", "Ugh, I can't believe how late it is. Write a function"),
        ('9012"\n```\n', '9012"\n```\n\nThanks, I am half asleep.\n'),
        ("All digits", "My head hurts. All digits"),
        ("of the groups.", "of the groups, thanks!"),
        ("1. Return", "- Return"),
    ],
)
def test_a_harmless_edit_is_accepted(old, new):
    assert TASK.count(old) == 1
    assert Judge(TASK, LIBRARY).findings(TASK.replace(old, new)) == ()


def test_a_quoted_specification_within_talk_is_accepted():
    quoted = "".join(f"> {line}\n" for line in TASK.splitlines())
    text = f"Hi, me again, and I am still not awake.\n\n{quoted}\nThat is all of it. Thank you!\n"
    assert Judge(TASK, LIBRARY).findings(text) == ()


def test_variants_by_rules_are_accepted_as_if_people_had_written_them():
    accepted = []
    for task in variant_prompts.tasks()[1::18]:
        judge = Judge(task.prompt, LIBRARY)
        made = generate(task, Selection(per_distance=3)).variants
        accepted += [not judge.findings(variant.text) for variant in made]
    assert len(accepted) > 100
    assert sum(accepted) >= 0.99 * len(accepted)


def test_an_edit_of_the_specification_is_found_in_every_variant_by_rules():
    task = Task(id="t", prompt=TASK)
    judge = Judge(TASK, LIBRARY)
    for variant in generate(task, Selection(per_distance=8)).variants:
        assert judge.findings(variant.text) == ()
        assert variant.text.count("groups") == TASK.count("groups")
        assert judge.findings(variant.text.replace("groups", "pairs"))


@pytest.mark.parametrize(
    "talk",
    [
        "The lighthouse is under water, oh dear.",
        "the lighthouse is under water - oh dear",
        "For context, the lighthouse is under water, oh dear...",
    ],
)
def test_sentences_of_a_teams_library_may_stand_in_a_variant_in_any_style(tmp_path, talk):
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "requests.yaml").write_text(
        'asks: ["The lighthouse is under water, oh dear."]\n'
    )
    text = f"{talk}\n\n{TASK}"
    assert Judge(TASK, LIBRARY).findings(text)
    assert Judge(TASK, load_library(tmp_path)).findings(text) == ()


def test_a_requirement_beside_a_sentence_of_the_library_is_found():
    [talk, *_] = (snippet for snippet in LIBRARY.languages["en"].snippets if len(snippet) > 30)
    judge = Judge(TASK, LIBRARY)
    assert judge.findings(f"{talk}\n\n{TASK}") == ()
    for added in ("Round all results.", "Skip the largest group."):
        assert judge.findings(f"{talk} {added}\n\n{TASK}")
        assert judge.findings(f"{talk.rstrip('.')}, {added}\n\n{TASK}")


def test_a_sentence_of_the_library_inside_code_is_found():
    prompt = "Fix this program:\n\n```\nprint(1)\n```"
    text = prompt.replace("print(1)", "print(1)\nThank you very much.")
    assert [finding.rule for finding in Judge(prompt, LIBRARY).findings(text)] == ["verbatim"]


def test_a_sentence_of_the_original_stays_even_if_the_library_has_it():
    prompt = "Here is the full request: return the largest of the numbers."
    assert Judge(prompt, LIBRARY).findings(f"Thank you. {prompt}") == ()


def test_the_original_and_other_variants_are_duplicates():
    reworded = TASK.replace("Write a function", "Please write a function")
    shouted = reworded.replace("the groups.", "the groups!")
    judge = Judge(TASK, LIBRARY)
    assert [f.rule for f in judge.findings(TASK + "\n")] == ["duplicate"]
    assert [f.rule for f in judge.findings(shouted, others={normalised(reworded)})] == ["duplicate"]
    assert judge.findings(TASK, waived={"duplicate"}) == ()


STUB = '''\
import math
from typing import List


def scaled(values: List[float], factor: float = 2.5, *, clip: bool = True) -> List[float]:
    """Return the values multiplied by factor, sorted in ascending order.

    >>> scaled([1.0, 200.0])
    [2.5, 500.0]
    """
'''


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("factor: float = 2.5", "scale: float = 2.5", "signature"),
        ("= 2.5", "= 2.0", "default"),
        ("factor: float", "factor: int", "annotation"),
        (") -> List[float]:", "):", "annotation"),
        ("def scaled(", "def scale(", "signature"),
        ("import math\n", "", "import"),
        (">>> scaled([1.0, 200.0])", ">>> scaled([1.0, 20.0])", "verbatim"),
        ("[2.5, 500.0]", "[2.5, 50.0]", "verbatim"),
        ("ascending", "descending", "order"),
        ('    """Return', '    "Return', "syntax"),
        ("import math\n", "import math\n\nSCALE = 3\n", "code"),
    ],
)
def test_a_changed_stub_is_found_and_the_rule_named(old, new, rule):
    assert STUB.count(old) >= 1
    findings = Judge(STUB, LIBRARY).findings(STUB.replace(old, new, 1))
    assert rule in {finding.rule for finding in findings}


def test_a_stub_takes_comments_above_and_sentences_in_its_docstring():
    comment = f"# It's late and my eyes keep closing.\n{STUB}"
    docstring = STUB.replace('"""Return', '"""I look after my team.\n\n    Return')
    assert Judge(STUB, LIBRARY).findings(comment) == ()
    assert Judge(STUB, LIBRARY).findings(docstring) == ()


@pytest.mark.parametrize(
    "prompt",
    [
        "fizzbuzz pls",
        "SELECT the three newest rows of events, please",
        "Traceback (most recent call last):\nKeyError: 'x'\n\nwhy?",
        "Écris une fonction qui renvoie le carré de x.",
        "def f(x):\n    return x\n",
        "排序",
        "?",
    ],
)
def test_no_prompt_is_refused(prompt):
    assert [finding.rule for finding in Judge(prompt, LIBRARY).findings(prompt)] == ["duplicate"]
    greeted = f"{prompt}\n" if prompt.startswith("def") else f"Hello!\n\n{prompt}"
    assert Judge(prompt, LIBRARY).findings(greeted, waived={"duplicate"}) == ()


@pytest.mark.parametrize(
    "change",
    [
        "at least 12 => at least 16",
        "at least 12 => at most 12",
        "12 digits => 12 letters",
        "never removed => always removed",
        "not counted => counted",
        "the last 4 => the first 4",
        "except the last => including the last",
        "Return None => Return False",
        "Return None if => Return None unless",
        'by "*" => by "x"',
        "for {{ shop }} => for {{ store }}",
        "All digits except => Except all digits",
        "number for => Number for",
        "must be => may be",
    ],
)
def test_no_model_may_clear_a_change_of_meaning(change):
    old, new = change.split(" => ")
    assert TASK.count(old) == 1
    findings = Judge(TASK, LIBRARY).findings(TASK.replace(old, new))
    assert findings
    assert not cleared(findings)


def test_a_model_decides_about_other_words_one_sentence_at_a_time():
    [finding] = Judge(TASK, LIBRARY).findings(TASK.replace("Keep the", "Preserve the"))
    was, now = "Keep the order of the groups.", "Preserve the order of the groups."
    assert finding.rule == "reworded"
    assert finding.questions == ((was, now), (now, was))


@pytest.mark.parametrize(
    "tail",
    [
        ", because they must be unique",
        ", no duplicates there",
        " (they are sorted)",
        ", or it raises an error",
        ", but only on Monday",
        ", and I want it sorted",
        ", because I need the index",
        " for me if you like",
        " when I call it",
        ", unless I am tired",
    ],
)
def test_a_requirement_behind_a_sentence_is_found(tail):
    prompt = "Write f(x). Names are compared with the list. Write the result to stdout."
    findings = Judge(prompt, LIBRARY).findings(prompt.replace("the list", f"the list{tail}"))
    assert findings
    assert not cleared(findings)


def test_sentences_in_another_order_are_found():
    prompt = "Write f(x). Sort the names. Drop the first of them."
    findings = Judge(prompt, LIBRARY).findings(
        "Write f(x). Drop the first of them. Sort the names."
    )
    assert "order" in {finding.rule for finding in findings}
    assert not cleared(findings)


def test_other_line_breaks_are_accepted():
    prompt = "Write f(x), which sorts the names\nin ascending order.\n\nIt keeps ties."
    text = "I'm tired.\n\nWrite f(x), which\nsorts the names in\nascending order. It keeps ties."
    assert Judge(prompt, LIBRARY).findings(text) == ()


def test_without_word_lists_a_model_decides_about_added_sentences():
    prompt = "Écris une fonction qui renvoie le carré de x."
    text = f"Je suis très fatigué. {prompt}"
    [finding] = Judge(prompt, LIBRARY).findings(text)
    assert finding.rule == "talk"
    assert finding.questions == ((prompt, text),)


def test_a_translation_is_another_language():
    german = "Schreibe eine Funktion, die das Quadrat von x zurückgibt und nicht mehr."
    english = "Write a function that returns the square of x and nothing more."
    assert "language" in {finding.rule for finding in Judge(english, LIBRARY).findings(german)}
