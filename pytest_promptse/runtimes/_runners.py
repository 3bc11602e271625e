"""The table of test frameworks that run check files, and how their reports are read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.runtimes._launcher import FOLDER
from pytest_promptse.runtimes._toolchains import TOOLCHAINS, Toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ReportLine(NamedTuple):
    """A test with its state, or an error outside of a test without a name."""

    name: str
    state: str
    error: str


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A test framework.

    Attributes
    ----------
    name
        Its name in messages.
    pattern
        The names of its files. The program's file has the part before ``.test`` or ``_test``.
    example
        Such a name, for messages.
    sign
        A pattern in the text of its files. Without it, a later framework of the table gets the
        files of the same name.
    toolchain
        The commands. ``{test}`` stands for the path of the check file.
    read
        Returns the lines of its report.
    descriptor
        The descriptor to which the command writes the report. The output of programs is not in the
        report if the framework runs them in a process of its own, which does not have it.
    script
        A file of this package that the command runs, or an empty text.
    package
        The package of the project's ``node_modules`` that it needs, or an empty text.
    least
        The least version of `package`.
    seconds
        The seconds that it takes itself, in addition to the limits of a program.
    mebibytes
        The memory that it takes itself, in the same way.
    """

    name: str
    pattern: re.Pattern[str]
    example: str
    toolchain: Toolchain
    read: Callable[[str], Iterator[ReportLine]]
    sign: re.Pattern[str] | None = None
    descriptor: int = 3
    script: str = ""
    package: str = ""
    least: int = 0
    seconds: float = 0.0
    mebibytes: int = 0


def _read_lines(report: str) -> Iterator[ReportLine]:
    for line in report.splitlines():
        fields = json.loads(line)
        # Texts, although the process of the program may have sent something else.
        name, state, error = (str(fields.get(key, "")) for key in ReportLine._fields)
        yield ReportLine(name, state, error)


_GO_RESULT = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(")
_GO_STATES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_GO_CURRENT = re.compile(r"=== (?:RUN|CONT|NAME)\s+(\S+)")
_GO_MESSAGE = re.compile(r"\s*\w+\.go:\d+: (.*)|(panic: .*)")


def _read_go(report: str) -> Iterator[ReportLine]:
    current = ""
    errors: dict[str, str] = {}
    for line in report.splitlines():
        if result := _GO_RESULT.search(line):
            yield ReportLine(result[2], _GO_STATES[result[1]], errors.get(result[2], ""))
        elif running := _GO_CURRENT.match(line):
            current = running[1]
        elif message := _GO_MESSAGE.match(line):
            errors[current] = message[1] or message[2]
            if message[2]:
                yield ReportLine(current, "failed", message[2])


_NODE = TOOLCHAINS["javascript"]
_NODE_WORDS = ("{tool}", "--disable-warning=ExperimentalWarning", "{folder}/run.mjs", "{test}")

RUNNERS = (
    Runner(
        name="node:test",
        pattern=re.compile(r".+\.(?:test|spec)\.[cm]?[jt]s"),
        example="*.test.ts with an import of node:test",
        sign=re.compile(r"""["']node:test["']"""),
        toolchain=replace(_NODE, run=_NODE_WORDS),
        read=_read_lines,
        script="node_test.mjs",
        seconds=2.0,
        mebibytes=256,
    ),
    Runner(
        name="vitest",
        pattern=re.compile(r".+\.(?:test|spec)\.(?:[cm]?[jt]s|[jt]sx)"),
        example="*.test.ts",
        toolchain=replace(
            _NODE,
            run=_NODE_WORDS,
            # Outside of CI, a snapshot that does not exist is written and passes.
            environment=(*_NODE.environment, ("CI", "1")),
        ),
        read=_read_lines,
        script="vitest.mjs",
        package="vitest",
        least=3,
        seconds=4.0,
        mebibytes=1024,
    ),
    Runner(
        name="go test",
        pattern=re.compile(r".+_test\.go"),
        example="*_test.go",
        toolchain=replace(
            TOOLCHAINS["go"],
            build=("{tool}", "test", "-c", "-vet=off", "-o", "{output}", f"./{FOLDER}"),
            run=("{output}", "-test.v", "-test.paniconexit0"),
        ),
        read=_read_go,
        descriptor=1,
    ),
)
