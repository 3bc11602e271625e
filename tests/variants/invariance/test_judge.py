"""The judge distinguishes real changes from faithful paraphrases, and gives the reason."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import variant_prompts
import yaml
from judged_texts import cases

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library import Library
from pytest_promptse.variants.invariance._judge import Judge, normalised

LIBRARY = Library.load()
HARD = ("free",)
"""Retellings of a whole specification. Many of them are rejected, as the documentation says."""
SETS = sorted(Path(__file__).parent.glob("*_set.yaml"))
FOUND, ACCEPTED = 0.97, 0.8
RETOLD = {
    "fifteenth_set": 0.55,
    "sixteenth_set": 0.47,
    "seventeenth_set": 0.55,
    "eighteenth_set": 0.55,
    "twentyfirst_set": 0.75,
    "twentysecond_set": 0.5,
}
"""The least share of accepted paraphrases in sets that are mostly retellings."""
FEW = 5
"""Kinds with fewer cases are judged together with the others only."""


def rate(path: Path, *, change: bool) -> dict[str, list[bool]]:
    """Return for each kind of case whether the judge decided each of them as it should."""
    found: dict[str, list[bool]] = defaultdict(list)
    for case in cases(path):
        if case.change == change:
            found[case.kind].append(bool(Judge(case.prompt, LIBRARY).findings(case.text)) == change)
    return found


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
@pytest.mark.parametrize(("change", "least"), [(True, FOUND), (False, ACCEPTED)])
def test_the_rates_are_met_over_each_set_and_for_each_kind(path, change, least):
    kinds = rate(path, change=change)
    every = [right for group in kinds.values() for right in group]
    least = least if change else RETOLD.get(path.stem, least)
    assert sum(every) >= least * len(every)
    for kind, group in kinds.items():
        if len(group) >= FEW and kind not in HARD:
            assert sum(group) >= (least - 0.1) * len(group), kind


def test_the_sets_are_as_large_as_the_documentation_says():
    found = [case for path in SETS for case in cases(path)]
    assert sum(case.change for case in found) >= 300
    assert sum(not case.change for case in found) >= 150
    assert len({case.prompt for case in found}) >= 60
    assert len({case.topic for case in found}) >= 20


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
        ("digits except", "letters except", "lost"),
        ("for {{ shop }}", "for {{ shop }} quickly", "added"),
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
        ("Write a function", "Could you please implement a function"),
        ("Write a function", "Ugh, I can't believe this is still on my desk. Write a function"),
        ("Keep the order", "Preserve the order"),
        ("Spaces are not counted", "Spaces aren't counted"),
        ('9012"\n```\n', '9012"\n```\n\nThanks, I was not getting anywhere with it.\n'),
        ("Return None if the input is empty.", "If the input is empty, return None."),
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


@pytest.mark.parametrize("layout", ["{0}\n\n{1}", "{1}\n\n{0}", "{0} {1}"])
def test_sentences_beside_the_task_are_distinguished(layout):
    """Requirements in any style are found, and statements about the writer are accepted."""
    data = yaml.safe_load(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8"))
    judge = Judge(data["prompt"], LIBRARY)

    def clean(sentence):
        return not judge.findings(layout.format(sentence, data["prompt"]))

    added = [sentence for sentence in data["added"] if clean(sentence)]
    assert len(added) <= (1 - FOUND) * len(data["added"]), added
    talk = [sentence for sentence in data["talk"] if not clean(sentence)]
    assert len(talk) <= (1 - ACCEPTED) * len(data["talk"]), talk


def test_variants_by_rules_are_accepted_as_if_people_had_written_them():
    accepted = []
    for task in variant_prompts.tasks()[1::6]:
        judge = Judge(task.prompt, LIBRARY)
        made = generate(task, Selection(per_distance=3)).variants
        accepted += [not judge.findings(variant.text) for variant in made]
    assert len(accepted) > 300
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
        "The support desk is on fire, what a day.",
        "the support desk is on fire - what a day",
        "For context, the support desk is on fire, what a day...",
    ],
)
def test_sentences_of_a_teams_library_may_stand_in_a_variant_in_any_style(tmp_path, talk):
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "requests.yaml").write_text(
        'asks: ["The support desk is on fire, what a day."]\n'
    )
    text = f"{talk}\n\n{TASK}"
    assert Judge(TASK, LIBRARY).findings(text)
    assert Judge(TASK, Library.load(tmp_path)).findings(text) == ()


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
    reworded = TASK.replace("Write a function", "Implement a function")
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
    docstring = STUB.replace('"""Return', '"""I look after this service.\n\n    Return')
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
    ("prompt", "same", "other"),
    [
        (
            "The method never raises an error.",
            "No error is ever raised by the method.",
            "The method raises an error.",
        ),
        (
            "Write a Go function sort_ids(ids).",
            "Write sort_ids(ids) in Go.",
            "Write sort_ids(ids) in Rust.",
        ),
        (
            "Only active members are listed.",
            "Only members that are active are listed.",
            "Active members are listed.",
        ),
        (
            "Show id and name, ordered by name.",
            "Show id and name, sorted by name.",
            "Show id and name, ordered by id.",
        ),
        (
            "Print a dash for each id. Do not modify the list.",
            "Print a dash for each id. Leave the list unmodified.",
            "Print a dash for each id. Modify the list.",
        ),
        (
            "stop() ends the run; stop returns None. Each id can occur at most once.",
            "stop() ends the run; it returns None. Each id occurs at most once.",
            "stop() ends the run; it returns None. Each id occurs at least once.",
        ),
        (
            "Use the image python:3.12-slim and C99. Turn the lamp off if it is unknown.",
            "Use the image python:3.12-slim and C99. If it is not known, turn off the lamp.",
            "Use the image python:3.11-slim and C99. Turn the lamp off if it is unknown.",
        ),
        (
            "Answer with C99 code only. Turn the lamp off if the id is unknown.",
            "Only answer with C99 code. The lamp is turned off if the id is not known.",
            "Answer with C11 code only. Turn the lamp off if the id is unknown.",
        ),
        (
            "Return the list. You may not modify it. Errors are shown.",
            "Return the list. It must not be modified. Show errors.",
            "Return the list. You may modify it. Errors are shown.",
        ),
        (
            "Write f(x). Raise ValueError if x is negative.",
            "Write f(x). A negative x leads to a ValueError.",
            "Write f(x). A negative x leads to a TypeError.",
        ),
        (
            "Write f(x). The result is sorted by name in ascending order.",
            "Write f(x). It returns the result in ascending order by name.",
            "Write f(x). It returns the result in descending order by name.",
        ),
        (
            "Write f(x). The total never drops below zero. Keep every line under 80 characters.",
            "Write f(x). The total must not go below zero. Every line must be under 80 characters.",
            "Write f(x). The total must not go above zero. Every line must be under 80 characters.",
        ),
        (
            "Write a query. Table staff(id, name). Inactive users are skipped.",
            "Write a query on the table staff(id, name). Skip users if they are inactive.",
            "Write a query on the table staff(id, name). Skip users if they are active.",
        ),
        (
            "Write f(x). Lines with a # are ignored. Do not change the input.",
            "Write f(x). Any line with a # must be ignored. The input may not be modified.",
            "Write f(x). Any line with a # must be ignored. The input may be modified.",
        ),
        (
            "Write f(x). It reads a file, or the standard input if no file is given.",
            "Write f(x). It reads a file. If no file is given, it reads the standard input.",
            "Write f(x). It reads a file and the standard input.",
        ),
        (
            "Write f(x). If x is 0, the answer is 5. The status is 1 otherwise.",
            "Write f(x). Return 5 when x equals 0. Otherwise the status is 1.",
            "Write f(x). Return 5 when x exceeds 0. Otherwise the status is 1.",
        ),
        (
            "Translate it. Do not give medical advice.",
            "Translate it. You must not give any medical advice.",
            "Translate it. You must give any medical advice.",
        ),
        (
            "Break ties by id. Print the rows.",
            "Print the rows. Ties are broken by id.",
            "Print the rows.",
        ),
        (
            "请编写函数 mask(text)。长度至少8个字符。",
            "我想请你帮我写一个函数 mask(text)。长度至少8个字符。",
            "请编写函数 mask(text)。长度至少6个字符。",
        ),
        (
            "Write f(x). Lint the files before the tests start.",
            "Write f(x). The tests only start once linting the files has finished.",
            "Write f(x). Linting the files only starts once the tests have finished.",
        ),
        (
            "Write f(x). Only members may call it at most three times.",
            "Write f(x). It may only be called at most three times by members.",
            "Write f(x). Members may call it at most three times.",
        ),
        (
            'Write f(x). The kind is one of "book" and "toy". A year is optional.',
            'Write f(x). The kind must be "book" or "toy". A year may be left out.',
            'Write f(x). The kind must be "book" or "tool". A year may be left out.',
        ),
        (
            "Write f(x). Turn the fan off again once it is off.",
            "Write f(x). Once it is switched off, turn the fan off again.",
            "Write f(x). Once it is switched on, turn the fan off again.",
        ),
        (
            "Write f(x). Two jobs must never run on one host.",
            "Write f(x). No two jobs may ever run on one host.",
            "Write f(x). Two jobs may run on one host.",
        ),
        (
            "Write f(x). A discount starts from 100 euros on.",
            "Write f(x). A discount starts at 100 euros or more.",
            "Write f(x). A discount starts at 100 euros or less.",
        ),
        (
            "Write f(x). Return an error that names the line.",
            "Write f(x). Return an error with the line.",
            "Write f(x). Return an error without the line.",
        ),
        (
            "Write f(x). Let the user choose a country.",
            "Write f(x). The user can choose a country.",
            "Write f(x). The user cannot choose a country.",
        ),
        (
            "Write f(x). Show the school bus for each city.",
            "Write f(x). For each city, show the school bus.",
            "Write f(x). Show the bus school for each city.",
        ),
        (
            "Write f(x). Move the robot at 5 metres per second.",
            "Write f(x). Move the robot at a speed of 5 metres per second.",
            "Write f(x). Move the robot at a speed of 6 metres per second.",
        ),
        (
            "Write f(x). No two jobs may share a host.",
            "Write f(x). Jobs may never share a host.",
            "Write f(x). No three jobs may share a host.",
        ),
        (
            "Write f(x). Limit each host to 5 jobs.",
            "Write f(x). Allow each host at most 5 jobs.",
            "Write f(x). Allow each host at least 5 jobs.",
        ),
        (
            "Write f(x). Reject sizes under 1 or over 9.",
            "Write f(x). Reject sizes of less than 1 or more than 9.",
            "Write f(x). Reject sizes of 1 or more.",
        ),
        (
            "Write f(x). Each host may run 5 jobs.",
            "Write f(x). Every host may run up to 5 jobs.",
            "Write f(x). All hosts together may run 5 jobs.",
        ),
        (
            "Write f(x). Products bind more tightly than sums do.",
            "Write f(x). Products bind tighter than sums do.",
            "Write f(x). Sums bind more tightly than products do.",
        ),
        (
            "Write code for a lock. Block all public access.",
            "Write the code for a lock. All public access is blocked.",
            "Write the code for a lock. Block all public write access.",
        ),
        (
            "Write f(x). Ignore case and accents.",
            "Write f(x). Case and accents are ignored.",
            "Please write f(x). Ignore case but keep accents.",
        ),
        (
            "Write f(x). Other cells stay empty.",
            "Write f(x). Other cells are left empty.",
            "Write f(x). Other cells are left out.",
        ),
        (
            "Write f(x). The text is left aligned.",
            "Write f(x). The text must be left aligned.",
            "Write f(x). The text is right aligned.",
        ),
        (
            "Write f(x). The host may only start once the disk is ready.",
            "Write f(x). The host must not start before the disk is ready.",
            "Write f(x). The disk must not start before the host is ready.",
        ),
        (
            "Write f(x). Writing to a full buffer drops the oldest byte.",
            "Write f(x). If the buffer is full, writing drops the oldest byte.",
            "Write f(x). If the buffer is empty, writing drops the oldest byte.",
        ),
        (
            "Write a module that parses dates.",
            "Write a module that can parse dates.",
            "Write a module that may parse dates or times.",
        ),
        (
            "Write f(x). The tax is 5 % of the price if the price is known.",
            "Write f(x). If the price is known, the tax is 5 % of the price.",
            "Write f(x). The tax is 5 % of the tax if the price is known.",
        ),
        (
            "Write f(x). The fields are name, age and note; the note is optional.",
            "Write f(x). The fields are name, age and note, and the note is optional.",
            "Write f(x). The fields are name, age and note; the age is optional.",
        ),
        (
            "Write f(x). It keeps the last five results.",
            "Write f(x). It keeps the five most recent results.",
            "Write f(x). It keeps the five oldest results.",
        ),
    ],
)
def test_another_grammar_is_accepted_and_the_change_beside_it_found(prompt, same, other):
    assert Judge(prompt, LIBRARY).findings(same) == ()
    assert Judge(prompt, LIBRARY).findings(other)


@pytest.mark.parametrize(
    "remark",
    [
        ", because of course people can't find their shift key",
        ", no surprises there",
        " (they insisted)",
        ", or I'll be hearing about it on Monday",
        ", nothing fancy",
        ", my tutor complains otherwise",
        ", nobody cares about the rest",
        ", we all know where that went",
        " (so smart, right?)",
        ", thankfully",
    ],
)
def test_a_remark_on_a_requirement_is_accepted(remark):
    prompt = "Write f(x). Names are compared with the list. Write the result to stdout."
    assert Judge(prompt, LIBRARY).findings(prompt.replace("the list", f"the list{remark}")) == ()


@pytest.mark.parametrize(
    "tail",
    [
        ", because they must be unique",
        ", no duplicates there",
        " (they are sorted)",
        ", or it raises an error",
        ", nothing else",
        ", but only on Monday",
        ", the tutor gets a copy",
        ", the auditors receive mail",
        ", nobody may change it",
        ", and I want it sorted",
        ", because I need the index",
        ", where they hate case",
        ", not that the result matters",
        ", people can cancel it",
        ", that is the last digit first",
    ],
)
def test_a_requirement_in_the_place_of_a_remark_is_found(tail):
    prompt = "Write f(x). Names are compared with the list. Write the result to stdout."
    assert Judge(prompt, LIBRARY).findings(prompt.replace("the list", f"the list{tail}"))


def test_a_translation_is_another_language():
    german = "Schreibe eine Funktion, die das Quadrat von x zurückgibt und nicht mehr."
    english = "Write a function that returns the square of x and nothing more."
    assert "language" in {finding.rule for finding in Judge(english, LIBRARY).findings(german)}


@pytest.mark.parametrize(
    ("requirement", "changed"),
    [
        ("Never retry POST requests.", "POST requests need not be retried."),
        ("Never retry POST requests.", "There is no need to retry POST requests."),
        ("Do not sort the rows.", "You don't have to sort the rows."),
        ("It ignores case and spaces.", "It ignores spaces, respecting case."),
        (
            "List all employees who earn more than their manager.",
            "List all employees whose manager earns more than they do.",
        ),
        (
            "List products that cost less than the average.",
            "List products whose average costs less than they do.",
        ),
    ],
)
def test_a_change_of_few_words_is_found(requirement, changed):
    prompt = "Write a function `f(x)` in Python.\n\n{}"
    assert Judge(prompt.format(requirement), LIBRARY).findings(prompt.format(changed))


@pytest.mark.parametrize(
    ("requirement", "reworded"),
    [
        ("Double the wait each time.", "Double the wait every time."),
        ("Stop if the server cannot be reached.", "Stop if the server is unreachable."),
        (
            "Reject files that are larger than the limit.",
            "Files larger than the limit are rejected.",
        ),
        ("You do not have to sort the rows.", "The rows need not be sorted."),
    ],
)
def test_the_same_in_few_other_words_is_accepted(requirement, reworded):
    prompt = "Write a function `f(x)` in Python.\n\n{}"
    assert not Judge(prompt.format(requirement), LIBRARY).findings(prompt.format(reworded))
