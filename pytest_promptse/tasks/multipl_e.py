"""Your copy of MultiPL-E: functions to complete in many languages, each with tests.

MultiPL-E translates HumanEval and MBPP: Cassano et al., "MultiPL-E: A Scalable and Polyglot
Approach to Benchmarking Neural Code Generation" (https://arxiv.org/abs/2208.08227). This package
contains no copy.

The tests are in the language of the program and run in its process, so **a program could forge its
verdict**. Reports say so. Tasks of your own with a check in Python have no such weakness.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._data_set import DataSet
from pytest_promptse.tasks._program_tests import ProgramTests
from pytest_promptse.tasks._task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MultiPLE", "tasks"]

_LANGUAGES = {
    "sh": "bash",
    "cpp": "cpp",
    "go": "go",
    "go_test.go": "go",
    "js": "javascript",
    "php": "php",
    "rb": "ruby",
    "rs": "rust",
    "ts": "typescript",
}
_NAME = re.compile(r"(\w+)\s*(?:<[^(]*>)?\s*\(")
_CHECK = """\
def check(program):
    result = program.run()
    lines = (result.stderr or result.stdout).strip().splitlines()
    assert result.returncode == 0, "\\n".join(lines[-12:]) or f"exit status {result.returncode}"
"""


def tasks(
    path: str | Path, *, only: Sequence[str] | None = None, limit: int | None = None
) -> MultiPLE:
    """Return the tasks of a MultiPL-E file, in the file's order.

    Use this function in a mark:
    ``@pytest.mark.promptse(multipl_e.tasks("humaneval-ts-reworded.jsonl"))``. The test uses the
    fixtures ``task`` and ``program``, and its body is ``task.check(program)``.

    Parameters
    ----------
    path
        A file of JSON lines, or of one JSON array, plain or compressed by gzip. Each object has
        ``name``, ``language``, ``prompt``, ``tests`` and ``stop_tokens``, and optionally
        ``canonical_solution``, which continues the prompt; other keys are ignored.
    only
        Names of the tasks to keep, as in ``["HumanEval_0_has_close_elements"]``.
    limit
        The number of tasks to keep, at least 1.
    """
    return MultiPLE(path=Path(path), only=None if only is None else tuple(only), limit=limit)


@dataclass(frozen=True, kw_only=True, eq=False)
class MultiPLE(DataSet):
    """Tasks in MultiPL-E's format, which `tasks` describes. The file is read on first use.

    The languages are C++, Go, JavaScript, PHP, Ruby, Rust, shell and TypeScript. A program
    consists of the imports of the prompt, the function in the answer, and the tests.

    Raises
    ------
    TaskError
        On first use, if the file cannot be read, if a line is invalid or repeats a name, or if the
        language of a line is not supported. The error is also raised if a name in `only` does not
        exist, or if `limit` is below 1.
    """

    name = "multipl_e"
    required = ("name", "language", "prompt", "tests")

    def task(self, record: dict[str, Any]) -> Task:
        language = _LANGUAGES.get(record["language"])
        if language is None:
            raise TaskError(
                f"the language {record['language']!r} is not one of {', '.join(_LANGUAGES)}"
                f"{nearest(record['language'], _LANGUAGES)}"
            )
        prompt: str = record["prompt"]
        stops = record.get("stop_tokens", [])
        if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
            raise TaskError("'stop_tokens' must be a list of texts")
        signature = prompt.rstrip().rpartition("\n")[2]
        name = _NAME.search(signature)
        if name is None:
            raise TaskError(f"the prompt ends with {signature!r}, which is not a signature")
        solution = record.get("canonical_solution")
        return Task(
            id=record["name"],
            prompt=prompt,
            entry_point=name[1],
            language=language,
            reference=None if solution is None else prompt + solution,
            tests=_CHECK,
            program_tests=ProgramTests(
                language=language,
                prompt=prompt,
                name=name[1],
                text=record["tests"],
                stops=tuple(stops),
            ),
        )
