"""The fixtures that test functions with a ``promptse`` mark use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_promptse.tasks._task import Task


@pytest.fixture
def candidate() -> Any:
    """The program under test. Calling it calls the requested function in the sandbox."""
    from pytest_promptse.plugin._checks import CandidateProxy

    return CandidateProxy()


@pytest.fixture
def program() -> Any:
    """The program under test, to be run: ``program.run(stdin="...", args=[...])``."""
    from pytest_promptse.plugin._checks import ProgramProxy

    return ProgramProxy()


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    """The task that the program under test should solve."""
    from pytest_promptse.plugin._targets import task_of

    return task_of(request.node)
