"""A small project to run the plugin on, and models that answer from a file."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from slug_project import RAISES, RIGHT, SLUG, WRONG, same_answers, slug_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fork_server import ForkServer

# Other plugins of the development environment would only cost time.
OTHERS = (
    *("xdist", "hypothesispytest", "anyio", "asyncio", "pytest_cov", "django", "randomly"),
    *("rerunfailures", "timeout"),
)
WITHOUT = tuple(part for name in OTHERS for part in ("-p", f"no:{name}"))


@pytest.fixture
def programs() -> SimpleNamespace:
    return SimpleNamespace(right=RIGHT, wrong=WRONG, raises=RAISES)


@pytest.fixture
def run(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Run pytest with the plugin in a process of its own."""

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*WITHOUT, *arguments)

    return run


class NestedRun(NamedTuple):
    """A run of pytest, and the folder of its project."""

    result: pytest.RunResult
    folder: Path

    def record(self) -> dict:
        """Return the record that ``--promptse-report json:run.json`` has written."""
        return json.loads((self.folder / "run.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def run_once(
    fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., NestedRun]:
    """Run pytest with the plugin once for several tests of a module.

    ``run_once({"test_it.py": text}, *arguments)`` writes the files into a new folder, runs pytest
    there as the fixture ``run`` does, and returns a `NestedRun`. A fixture of the module makes the
    run, and each test asserts on its part of the result.
    """

    def run_once(files: Mapping[str, str], *arguments: str) -> NestedRun:
        folder = tmp_path_factory.mktemp("project")
        for name, text in files.items():
            (folder / name).write_text(text)
        path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        basetemp = f"--basetemp={tmp_path_factory.mktemp('temporary')}"
        done = fork_server.run(
            (sys.executable, "-m", "pytest", basetemp, *WITHOUT, *arguments),
            cwd=str(folder),
            env={**os.environ, "PYTHONPATH": path, "HOME": str(folder)},
        )
        lines = (done.stdout.splitlines(), done.stderr.splitlines())
        return NestedRun(pytest.RunResult(done.returncode, *lines, duration=0.0), folder)

    return run_once


@pytest.fixture
def run_labelled(run: Callable[..., pytest.RunResult]) -> Callable[[Path], None]:
    """Run programs that share a process with their tests, and find in each report that they do."""
    kinds = ("json", "html", "md", "latex")

    def run_labelled(folder: Path) -> None:
        reports = [
            argument
            for kind in kinds
            for argument in ("--promptse-report", f"{kind}:report.{kind}")
        ]
        result = run("--promptse-model", "reference", *reports)
        result.assert_outcomes(passed=8)
        result.stdout.fnmatch_lines(["*shared process: each program runs in one process*"])
        for kind in kinds:
            assert "shared process" in folder.joinpath(f"report.{kind}").read_text("utf-8")

    return run_labelled


@pytest.fixture
def slug(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_slug=SLUG)


@pytest.fixture
def answers(pytester: pytest.Pytester) -> Callable[..., str]:
    """Write a replay file in which variants of a distance are answered by given programs.

    ``answers({0.0: [RIGHT], 0.1: [WRONG, RIGHT]})`` uses the programs of a distance in turn. Other
    distances get right programs. Return the ``--promptse-model`` value.
    """

    def write(programs: dict[float, list[str]]) -> str:
        path = pytester.path / "answers.jsonl"
        path.write_text(slug_answers(programs))
        return f"replay:{path}"

    return write


@pytest.fixture
def replay(pytester: pytest.Pytester) -> Callable[..., str]:
    """Write a replay file that answers every variant of some tasks with the same programs.

    ``replay({"test_double": [program, …]}, prompt)`` gives as many samples as programs.
    """

    def write(programs: dict[str, list[str]], prompt: str) -> str:
        path = pytester.path / "answers.jsonl"
        path.write_text(same_answers(programs, prompt))
        return f"replay:{path}"

    return write
