"""The checks of the suites for other languages pass the references and reject wrong programs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from javascript_programs import called
from program_runs import NotBuiltError, RunProgram, installed_runtime

from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.tasks._suitefile import load_suite

SUITES = Path(__file__).parents[2] / "example_suites" / "languages"
TASKS = load_suite(SUITES / "programs.promptse.yaml").tasks
MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text("utf-8"))
WITH_MISTAKES = [
    task for name in MISTAKES for task in load_suite(SUITES / f"{name}.promptse.yaml").tasks
]
# A build takes most of the time of a verdict in these languages.
SLOW_BUILDS = ("cpp", "go", "java", "rust")
# Programs that print the answer of the first assertion whatever they read.
CONSTANT = {
    "python": 'print("""{text}""")\n',
    "javascript": "console.log(`{text}`);\n",
    "typescript": "console.log(`{text}`);\n",
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(`{text}`)\n}\n',
    "c": '#include <stdio.h>\nint main(void) { puts("{escaped}"); }\n',
    "cpp": '#include <cstdio>\nint main() { std::puts("{escaped}"); }\n',
    "rust": 'fn main() {\n    println!("{escaped}");\n}\n',
    "java": "class Main { public static void main(String[] a) {"
    ' System.out.println("{escaped}"); } }\n',
    "bash": "echo '{text}'\n",
    "ruby": "puts '{text}'\n",
    "php": '<?php echo "{escaped}\\n";\n',
    "sql": "SELECT '{text}';\n",
}
FIRST_ANSWERS = {"sum": "6", "words": "a 1\nb 2"}


def _ids(task):
    return f"{task.language}-{task.id}"


def judged(sandbox, task, text):
    """Run the task's check on a program, and raise if it is wrong."""
    if task.door == "program":
        task.check(RunProgram(sandbox, installed_runtime(task.language), text))
        return
    load = called(sandbox, text, entry_point=task.entry_point, language=task.language)
    with load as candidate:
        task.check(candidate)


@pytest.mark.parametrize("task", WITH_MISTAKES, ids=_ids)
def test_reference_passes_and_mistakes_fail(sandbox, task):
    judged(sandbox, task, task.reference)
    mistakes = MISTAKES[task.language][task.id]
    assert len(mistakes) == 3
    assert all(old in task.reference for old, _ in mistakes)
    if task.language in SLOW_BUILDS:
        # The tasks take turns, so that each place in the list is judged.
        turn = WITH_MISTAKES.index(task) % 3
        mistakes = mistakes[turn : turn + 1]
    for old, new in mistakes:
        # What the program or the check's own code raises after a wrong answer is one, too.
        with pytest.raises((Exception, ProgramStopped, pytest.fail.Exception)) as caught:
            judged(sandbox, task, task.reference.replace(old, new, 1))
        assert not isinstance(caught.value, NameError | TaskError | NotBuiltError)


@pytest.mark.parametrize("task", TASKS, ids=_ids)
def test_half_a_program_is_rejected(sandbox, task):
    installed_runtime(task.language)
    lines = task.reference.splitlines(keepends=True)
    half = "".join(lines[: len(lines) // 2]) or "x"
    with pytest.raises((AssertionError, NotBuiltError)):
        task.check(RunProgram(sandbox, installed_runtime(task.language), half))


@pytest.mark.parametrize("task", [t for t in TASKS if t.language != "sql"], ids=_ids)
def test_program_that_ignores_its_input_is_rejected(sandbox, task):
    answer = FIRST_ANSWERS[task.id.partition("-")[0]]
    text = CONSTANT[task.language].replace("{text}", answer)
    text = text.replace("{escaped}", answer.replace("\n", "\\n"))
    program = RunProgram(sandbox, installed_runtime(task.language), text)
    first_input = "1\n2\n3\n" if task.id.startswith("sum") else "b a b\n"
    assert program.run(first_input).stdout.rstrip("\n") == answer
    with pytest.raises(AssertionError):
        task.check(program)


def test_suite_has_tasks_in_every_language():
    assert {task.language for task in TASKS} == set(LANGUAGES)
