"""Programs in JavaScript and TypeScript that tests call through the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.sandbox._limits import Limits

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_promptse.sandbox._candidate import Candidate
    from pytest_promptse.sandbox._pool import SandboxPool

LIMITS = Limits(wall=10.0, cpu=10.0)


def called(
    sandbox: SandboxPool,
    program: str,
    *,
    entry_point: str = "f",
    language: str = "javascript",
    limits: Limits = LIMITS,
) -> AbstractContextManager[Candidate]:
    """Load a program for a ``with``. Without Node, the test is skipped."""
    try:
        runtime = runtime_of(language, "candidate")
    except TaskError as error:
        pytest.skip(str(error))
    prepared = runtime.prepare(program, sandbox, limits, entry_point=entry_point)
    assert isinstance(prepared, str)
    return sandbox.load(
        prepared,
        entry_point=entry_point,
        language=runtime.guest,
        limits=runtime.limits(limits),
    )
