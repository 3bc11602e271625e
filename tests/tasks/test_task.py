"""A task has everything that is needed to judge a program for it."""

import random
import subprocess
import sys

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._example import Example
from pytest_promptse.tasks._task import Task

STUB = '''\
import math


def helper(x):
    """Given."""
    return x


def area(radius):
    """The area of a circle."""
'''


def test_the_last_definition_of_a_stub_is_its_entry_point():
    task = Task(id="t", prompt=STUB)
    assert task.entry_point == "area"
    assert task.is_stub


@pytest.mark.parametrize(
    "prompt",
    [
        "Write `area(radius: float) -> float`, the area of a circle.",
        "Write a function:\n```python\ndef area(radius): ...\n```",
        "Please write `class area` for circles",
    ],
)
def test_an_instruction_names_its_entry_point_in_code(prompt):
    task = Task(id="t", prompt=prompt)
    assert task.entry_point == "area"
    assert not task.is_stub


def test_the_name_that_examples_call_outranks_the_first_name_in_the_prompt():
    prompt = "Like `str.title(text)`, but write `title_case(text)`."
    task = Task(id="t", prompt=prompt, examples=(Example(call="title_case('a')", expect="A"),))
    assert task.entry_point == "title_case"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "non-empty id"),
        ({"id": "a[1]"}, "non-empty id without"),
        ({"id": "a\x1fb"}, "control characters"),
        ({"id": "\ud800"}, "control characters"),
        ({"prompt": " \n"}, "prompt is empty"),
        ({"prompt": "Sort a list."}, "write it like `name\\(arg\\)`"),
        ({"entry_point": "two words"}, "is not a name"),
        ({"examples": (Example(call="other(1)", expect=1),), "entry_point": "f"}, "calls other"),
        ({"examples": (Example(call="f(1)", expect=1),), "tests": ""}, "not both"),
    ],
)
def test_an_invalid_task_is_refused(fields, message):
    with pytest.raises(TaskError, match=message):
        Task(**({"id": "t", "prompt": "Write `f(x)`."} | fields))


def test_a_check_can_call_the_program_by_the_entry_points_name():
    task = Task(id="t", prompt=STUB, setup=STUB, tests="def check(candidate): assert area(1) == 3")
    task.check(lambda _: 3)
    with pytest.raises(AssertionError):
        task.check(lambda _: 4)


def test_a_check_has_the_helpers_that_the_setup_defines():
    tests = "def check(candidate): assert candidate(1) == helper(math.pi)"
    Task(id="t", prompt=STUB, setup=STUB, tests=tests).check(lambda _: 3.141592653589793)


def test_a_failing_check_shows_the_line_that_failed():
    tests = "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2) == 4\n"
    task = Task(id="t", prompt="Write `f(x)`.", tests=tests)
    with pytest.raises(AssertionError, match=r"assert candidate\(2\) == 4"):
        task.check(lambda x: x)


def test_a_message_of_the_checks_own_stays_and_the_line_is_noted():
    tests = "def check(candidate):\n    assert candidate(1) == 2, 'too small'\n"
    with pytest.raises(AssertionError, match="too small") as caught:
        Task(id="t", prompt="Write `f(x)`.", tests=tests).check(lambda x: x)
    assert "assert candidate(1) == 2" in caught.value.__notes__[0]


def test_one_program_leaves_nothing_behind_for_the_next():
    tests = "seen = []\ndef check(candidate):\n    seen.append(1)\n    assert len(seen) == 1\n"
    task = Task(id="t", prompt="Write `f(x)`.", tests=tests)
    task.check(None)
    task.check(None)


@pytest.mark.parametrize(
    ("setup", "tests", "may_change"),
    [
        ("", "def check(c):\n    assert c(1) == 2", False),
        ("from typing import List\nimport math", "def check(c):\n    import random", False),
        ("import decimal", "def check(c): pass", True),
        ("", "def check(c):\n    from os import environ", True),
        ("", "def check(c):\n    __import__('decimal')", True),
        ("", "def check(c", True),
    ],
)
def test_a_check_that_imports_a_module_with_state_may_change_it(setup, tests, may_change):
    task = Task(id="t", prompt="Write `f(x)`.", setup=setup, tests=tests)
    assert task.may_change_modules is may_change


def test_a_random_check_draws_the_same_each_time_and_leaves_the_generator_alone():
    tests = "import random\ndef check(candidate):\n    candidate(random.random())\n"
    task = Task(id="t", prompt="Write `f(x)`.", tests=tests)
    drawn = []
    state = random.getstate()
    task.check(drawn.append)
    assert random.getstate() == state
    random.random()
    task.check(drawn.append)
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (None, "has no check of its own"),
        ("x = 1", "KeyError: 'check'"),
        ("def check(candidate) pass", "is not Python"),
        ("import not_a_module_at_all", "ModuleNotFoundError"),
    ],
)
def test_a_broken_check_is_an_error_of_the_task_and_not_of_the_program(tests, message):
    with pytest.raises(TaskError, match=message):
        Task(id="t", prompt="Write `f(x)`.", tests=tests).check(None)


def test_examples_are_the_check_of_a_task_that_has_them():
    examples = (Example(call="f(1)", expect=1), Example(call="f(2)", expect=4))
    task = Task(id="t", prompt="Write `f(x)`.", examples=examples)
    task.check(lambda x: x * x)
    with pytest.raises(AssertionError, match=r"f\(2\) returned 2, expected 4"):
        task.check(lambda x: x)


@pytest.mark.parametrize(
    "other",
    [
        {"examples": (Example(call="f(1)", expect=2),)},
        {"examples": (Example(call="f(1)", expect=1, approx=0.1),)},
        {"examples": (Example(call="f(1)", expect=True),)},
        {"examples": (Example(call="f(1)", raises="ValueError"),)},
        {"tests": "def check(candidate): pass"},
        {"tests": "def check(candidate): pass", "setup": "import math"},
    ],
)
def test_another_check_has_another_digest(other):
    one = Task(id="t", prompt="Write `f(x)`.", examples=(Example(call="f(1)", expect=1),))
    same = Task(id="u", prompt="Do write `f(x)`.", examples=(Example(call="f(1)", expect=1),))
    assert one.check_digest == same.check_digest
    assert one.check_digest != Task(id="t", prompt="Write `f(x)`.", **other).check_digest


def test_the_digest_of_a_check_is_the_same_in_every_process():
    program = (
        "from pytest_promptse.tasks._example import Example\n"
        "from pytest_promptse.tasks._task import Task\n"
        "words = {'one', 'two', 'three', 'four'}\n"
        "example = Example(call='f()', expect=[words, {'key': frozenset(words)}])\n"
        "print(Task(id='t', prompt='p', examples=(example,)).check_digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1
