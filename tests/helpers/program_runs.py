"""A sandbox that shows the toolchains of this machine, and a way to run one program in it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._runtime import Runtime, call_text, runtime_of
from pytest_promptse.runtimes._toolchains import NODE_PACKAGE
from pytest_promptse.sandbox._causes import Failure, ProgramStopped
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.sandbox._candidate import ScriptResult
    from pytest_promptse.sandbox._pool import SandboxPool


def open_sandbox_with_toolchains() -> SandboxPool:
    """Return a sandbox that shows every toolchain that is installed here."""
    runtimes = []
    for language in LANGUAGES:
        with contextlib.suppress(TaskError):
            runtimes.append(runtime_of(language, "program"))
    folders = dict.fromkeys(folder for runtime in runtimes for folder in runtime.folders)
    return open_sandbox("auto", workers=1, packages=("numpy", NODE_PACKAGE), folders=tuple(folders))


def installed_runtime(language: str) -> Runtime:
    """Return the runtime of a language, or skip the test if its toolchain is missing."""
    try:
        return runtime_of(language, "program")
    except TaskError as error:
        pytest.skip(str(error))


_LIMITS = Limits(wall=10.0, cpu=10.0)


class NotBuiltError(Exception):
    """The program does not build."""


class RunProgram:
    """The ``program`` of a check without pytest: built once, and run within `wall` seconds."""

    def __init__(
        self,
        sandbox: SandboxPool,
        runtime: Runtime,
        text: str,
        *,
        limits: Limits = _LIMITS,
    ) -> None:
        self._sandbox = sandbox
        self._limits = runtime.limits(limits)
        self._prepared = runtime.prepare(text, sandbox, self._limits)

    def outcome(
        self,
        stdin: str = "",
        args: Sequence[str] = (),
        files: Mapping[str, str] = {},
        env: Mapping[str, str] = {},
    ) -> ScriptResult | Failure | None:
        """Run the program. Return why it could not be built or was stopped, if so."""
        if isinstance(self._prepared, Failure):
            return self._prepared
        load = self._sandbox.load(self._prepared, entry_point="launch", limits=self._limits)
        with load as candidate:
            try:
                return candidate.run(stdin, [call_text(args, files, env)])
            except ProgramStopped:
                return candidate.failure

    def run(self, stdin: str = "", args: Sequence[str] = ()) -> ScriptResult:
        """Run the program, as a check does."""
        result = self.outcome(stdin, args)
        if isinstance(result, Failure) and result.cause == "build":
            raise NotBuiltError(result.detail)
        assert result is not None
        assert not isinstance(result, Failure), result
        return result


def run_program(
    sandbox: SandboxPool,
    language: str,
    program: str,
    *,
    wall: float = 10.0,
    stdin: str = "",
    args: Sequence[str] = (),
    files: Mapping[str, str] = {},
    env: Mapping[str, str] = {},
) -> ScriptResult | Failure | None:
    """Prepare a program and run it once within `wall` seconds."""
    limits = Limits(wall=wall, cpu=wall)
    prepared = RunProgram(sandbox, installed_runtime(language), program, limits=limits)
    return prepared.outcome(stdin, args, files, env)
