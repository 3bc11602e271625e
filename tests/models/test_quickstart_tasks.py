"""The quickstart's tasks: their checks distinguish programs, and the embedded model solves them."""

import asyncio
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

from pytest_promptse.models._base import Decoding, Prompt, Request
from pytest_promptse.models._ct2 import tiny_backend
from pytest_promptse.tasks._suitefile import load_suite
from pytest_promptse.tasks._task import Task

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "example_suites" / "quickstart"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


def marked_functions():
    for name, function in vars(load(QUICKSTART / "test_functions.py")).items():
        if name.startswith("test_"):
            (mark,) = function.pytestmark
            prompt = inspect.cleandoc(mark.args[0])
            yield Task(id=name, prompt=prompt, reference=mark.kwargs["reference"]), function


def all_tasks():
    yield from marked_functions()
    for task in load(QUICKSTART / "test_task_list.py").TASKS:
        yield task, task.check
    for task in load_suite(QUICKSTART / "strings.promptse.yaml").tasks:
        yield task, task.check


FAMILIES = {
    re.match(r"\w+", family.signature)[0]: family
    for family in load(ROOT / "tools" / "tiny_corpus.py").families()
}
TASKS = list(all_tasks())
CASES = [pytest.param(task, check, id=task.id) for task, check in TASKS]


def passes(task, check, program):
    namespace = {}
    exec(program, namespace)
    try:
        check(namespace[task.entry_point])
    except (AssertionError, pytest.fail.Exception, LookupError, TypeError, ValueError):
        return False
    return True


def right_program(task, check):
    family = FAMILIES[task.entry_point]
    programs = [family.solution(behaviour) for behaviour in family.behaviours]
    right = [program for program in programs if passes(task, check, program)]
    assert len(right) == 1
    return right[0]


@pytest.mark.parametrize(("task", "check"), CASES)
def test_the_check_takes_the_reference(task, check):
    assert passes(task, check, task.reference)


@pytest.mark.parametrize(("task", "check"), CASES)
def test_the_check_takes_one_of_the_behaviours_the_model_knows_and_no_other(task, check):
    assert right_program(task, check)


@pytest.mark.parametrize(("task", "check"), CASES)
def test_the_prompt_is_short(task, check):
    assert len(task.prompt.split()) <= 40


def test_there_are_at_least_twenty_tasks():
    assert len({task.id for task, _ in TASKS}) >= 20


def test_the_embedded_model_solves_nine_in_ten_plain_requests():
    async def run():
        backend = tiny_backend()
        await backend.start()
        decoding = Decoding(temperature=0.2, max_tokens=120)
        asks = [
            Request(prompt=Prompt(user=task.prompt), decoding=decoding, n=8, task_id=task.id)
            for task, _ in TASKS
        ]
        return [await backend.complete(ask) for ask in asks]

    right = [right_program(task, check) for task, check in TASKS]
    answers = asyncio.run(run())
    solved = [
        completion.text.endswith(f"```python\n{program}\n```")
        for program, answer in zip(right, answers, strict=True)
        for completion in answer.completions
    ]
    assert sum(solved) / len(solved) >= 0.9
