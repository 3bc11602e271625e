"""The checks of the suite for all languages reject wrong programs. References pass in CI."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_runs import installed_runtime, run_program

from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.sandbox._causes import Failure
from pytest_promptse.tasks._suitefile import load_suite

SUITE = Path(__file__).parents[2] / "example_suites" / "languages" / "programs.promptse.yaml"
TASKS = load_suite(SUITE).tasks
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


class Program:
    """The ``program`` of a check, run without pytest."""

    def __init__(self, sandbox, language, text):
        self._run = lambda stdin="", args=(): run_program(
            sandbox, language, text, stdin=stdin, args=args
        )

    def run(self, stdin="", args=()):
        result = self._run(stdin, args)
        assert not isinstance(result, Failure), result
        return result


def _ids(task):
    return task.id


@pytest.mark.parametrize("task", TASKS, ids=_ids)
def test_half_a_program_is_rejected(sandbox, task):
    installed_runtime(task.language)
    lines = task.reference.splitlines(keepends=True)
    half = "".join(lines[: len(lines) // 2]) or "x"
    with pytest.raises(AssertionError):
        task.check(Program(sandbox, task.language, half))


@pytest.mark.parametrize("task", [t for t in TASKS if t.language != "sql"], ids=_ids)
def test_program_that_ignores_its_input_is_rejected(sandbox, task):
    answer = FIRST_ANSWERS[task.id.partition("-")[0]]
    text = CONSTANT[task.language].replace("{text}", answer)
    text = text.replace("{escaped}", answer.replace("\n", "\\n"))
    program = Program(sandbox, task.language, text)
    first_input = "1\n2\n3\n" if task.id.startswith("sum") else "b a b\n"
    assert program.run(first_input).stdout.rstrip("\n") == answer
    with pytest.raises(AssertionError):
        task.check(program)


def test_suite_has_tasks_in_every_language():
    assert {task.language for task in TASKS} == set(LANGUAGES)
