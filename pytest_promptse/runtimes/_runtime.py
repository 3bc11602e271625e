"""The runtime of a language: how a program is found, prepared and run."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import re
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._options import CALLED_LANGUAGES, LANGUAGES
from pytest_promptse.errors import SandboxError, TaskError
from pytest_promptse.models._extract import Extraction, extract
from pytest_promptse.runtimes import _launcher
from pytest_promptse.runtimes._check_files import CheckFile, NodePackages, node_packages
from pytest_promptse.runtimes._fences import extract_fenced
from pytest_promptse.runtimes._toolchains import InstalledToolchain, installed, with_tests
from pytest_promptse.sandbox._causes import Failure, ProgramStopped
from pytest_promptse.sandbox._limits import MIB, Limits, needs_confirmation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.models._base import FinishReason
    from pytest_promptse.runtimes._fences import Target
    from pytest_promptse.sandbox._candidate import ScriptResult
    from pytest_promptse.sandbox._pool import SandboxPool

Door: TypeAlias = Literal["candidate", "program", "tests"]
"""How a check reaches a program: it calls its functions, runs it, or runs it with its tests."""

_BUILD_LIMITS = Limits(
    wall=60.0,
    cpu=120.0,
    memory=2048 * MIB,
    output=28 * MIB,
    processes=512,
    file_size=512 * MIB,
    open_files=1024,
    address_space=1 << 44,
)
_DETAIL_LINES = 12
_HEAP_SHARE = 0.6
_LEAST_NODE = (22, 18)
"""It strips types, and its JSON.parse gives the source of a number."""


class Runtime:
    """What judging needs to know of a language.

    The defaults are those of a language that needs no toolchain.

    Attributes
    ----------
    key
        A text that changes with the version of the toolchain, as a part of the key of a verdict.
        It is empty for called Python, whose version is in the key of every check.
    folders
        Folders and files of this machine that programs or their compiler read.
    builds
        True if `prepare` runs a compiler in the sandbox.
    guest
        The language in which the sandbox serves the requests of a check.
    """

    @property
    def key(self) -> str:
        return ""

    @property
    def folders(self) -> tuple[str, ...]:
        return ()

    @property
    def builds(self) -> bool:
        return False

    @property
    def guest(self) -> str:
        return "python"

    def extract(
        self,
        text: str,
        *,
        prompt: str,
        entry_point: str,
        form: Literal["chat", "completion"],
        finish_reason: FinishReason,
    ) -> Extraction:
        """Return the program in a model's answer (see `pytest_promptse.models._extract`)."""
        return extract(
            text, prompt=prompt, entry_point=entry_point, form=form, finish_reason=finish_reason
        )

    def prepare(
        self, program: str, sandbox: SandboxPool, limits: Limits, *, entry_point: str = ""
    ) -> str | Failure:
        """Return the Python module that the sandbox loads for a program, or why there is none.

        `limits` are those of the run. A build has limits of its own. `entry_point` is the function
        or class that a check calls.
        """
        del sandbox, limits, entry_point
        return program

    def check(self, sandbox: SandboxPool) -> None:
        """Raise SandboxError if the toolchain does not start in the sandbox."""

    def limits(self, limits: Limits) -> Limits:
        """Return the limits that the sandbox enforces where the user asked for `limits`."""
        return limits


def runtime_of(language: str, door: Door, check_file: CheckFile | None = None) -> Runtime:
    """Return the runtime of a language.

    `check_file` has the tests, if they are those of a team's own framework.

    Raises
    ------
    TaskError
        If the language is unknown, if its toolchain or a framework is missing, or if a check cannot
        call its programs.
    """
    if check_file is not None:
        toolchain = installed("javascript" if check_file.runner.package else check_file.language)
        toolchain = replace(toolchain, toolchain=check_file.runner.toolchain)
        return _Framework(toolchain, check_file, node_packages(check_file))
    if language not in LANGUAGES:
        raise TaskError(
            f"language {language!r} is not known: one of {', '.join(LANGUAGES)}"
            f"{nearest(language, LANGUAGES)}"
        )
    if door == "program":
        return _Run(installed(language))
    if door == "tests":
        return _Tested(with_tests(installed(language)))
    if language == "python":
        return Runtime()
    if language not in CALLED_LANGUAGES:
        raise TaskError(
            f"a check cannot call functions of a program in {language}; take the fixture 'program' "
            "instead of 'candidate', and program.run(stdin=...) in the check"
        )
    node = installed(language)
    if node.number < _LEAST_NODE:
        least = ".".join(map(str, _LEAST_NODE))
        raise TaskError(
            f"language {language!r}: {node.path} is {node.version}, and calling functions needs "
            f"{least}; pip install 'pytest-promptse[javascript]'"
        )
    return _CalledJavaScript(node)


class _Parts(NamedTuple):
    """Texts by the name of their file, values of placeholders, and further entries of the plan."""

    texts: Mapping[str, str]
    names: Mapping[str, str]
    plan: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class _Run(Runtime):
    """Any language: a program that is built, if the language needs it, and run."""

    installed: InstalledToolchain

    @property
    def key(self) -> str:
        return f"run {self.installed.language}: {self.installed.version}"

    @property
    def folders(self) -> tuple[str, ...]:
        return self.installed.folders

    @property
    def builds(self) -> bool:
        return bool(self.installed.toolchain.build)

    @property
    def _target(self) -> Target:
        return "program"

    @property
    def _language(self) -> str:
        return self.installed.language

    def extract(
        self,
        text: str,
        *,
        prompt: str,
        entry_point: str,
        form: Literal["chat", "completion"],
        finish_reason: FinishReason,
    ) -> Extraction:
        find = extract
        if (self._language, self._target) != ("python", "program"):
            find = partial(extract_fenced, language=self._language, target=self._target)
        return find(
            text, prompt=prompt, entry_point=entry_point, form=form, finish_reason=finish_reason
        )

    def limits(self, limits: Limits) -> Limits:
        # Node, Go and Java reserve address space and start threads in proportion to the machine,
        # and not to the program. The memory that they use is measured from outside.
        return replace(limits, address_space=1 << 44, processes=max(limits.processes, 256))

    def check(self, sandbox: SandboxPool) -> None:
        toolchain = self.installed.toolchain
        reason = self._why_not_started(toolchain.version, sandbox)
        if reason:
            raise SandboxError(
                f"language {self.installed.language!r}: {toolchain.tool} does not start in the "
                f"sandbox ({reason}); install it outside of home folders and /tmp: "
                f"{toolchain.install}"
            )

    def _why_not_started(self, arguments: Sequence[str], sandbox: SandboxPool) -> str:
        """Run the tool in the sandbox. Return its error in one line, or an empty text."""
        places = {"{tool}": self.installed.path, "{prefix}": self.installed.prefix}
        environment = self.installed.toolchain.environment
        plan = {
            "files": {},
            "command": [self.installed.path, *arguments],
            "environment": {name: _filled(value, places) for name, value in environment},
        }
        result = _run_once(plan, sandbox)
        if isinstance(result, Failure):
            return result.detail.partition("\n")[0]
        said = result.stderr.strip().partition("\n")[0]
        return "" if result.returncode == 0 else said or f"status {result.returncode}"

    def prepare(
        self, program: str, sandbox: SandboxPool, limits: Limits, *, entry_point: str = ""
    ) -> str | Failure:
        del entry_point
        texts, names, plan_of_run = self._parts(program)
        toolchain = self.installed.toolchain
        files = {name: _base64(text) for name, text in texts.items()}
        places = {
            **names,
            "{tool}": self.installed.path,
            "{prefix}": self.installed.prefix,
            "{output}": f"{{folder}}/{toolchain.output}",
            "{heap}": str(int(limits.memory / MIB * _HEAP_SHARE)),
        }
        environment = {name: _filled(value, places) for name, value in toolchain.environment}
        if toolchain.build:
            plan = {
                "files": files,
                "command": [_filled(word, places) for word in toolchain.build],
                "environment": environment,
                "collect": toolchain.output,
            }
            built = _build(plan, sandbox)
            if isinstance(built, Failure):
                return built
            files = built
        return _launcher_text(
            {
                "files": files,
                "command": [_filled(word, places) for word in toolchain.run],
                "environment": environment,
                **plan_of_run,
            }
        )

    def _parts(self, program: str) -> _Parts:
        file, main = self.installed.toolchain.file, ""
        if self.installed.language == "java":
            file, main = _java_names(program)
        return _Parts({file: program}, {"{source}": f"{{folder}}/{file}", "{main}": main})


@dataclass(frozen=True)
class _Tested(_Run):
    """A function with tests in its own language, which run in its process."""

    @property
    def _target(self) -> Target:
        return "definition"


@dataclass(frozen=True)
class _Framework(_Tested):
    """A program with a check file, which a test framework runs in its process."""

    check_file: CheckFile
    packages: NodePackages

    @property
    def key(self) -> str:
        runner = self.check_file.runner
        script = hashlib.sha256(_script_text(runner.script).encode()).hexdigest()
        return f"{runner.name} {self.packages.version}: {self.installed.version}, {script}"

    @property
    def folders(self) -> tuple[str, ...]:
        return (*self.installed.folders, *self.packages.folders)

    def limits(self, limits: Limits) -> Limits:
        runner = self.check_file.runner
        return replace(
            super().limits(limits),
            wall=limits.wall + runner.seconds,
            cpu=limits.cpu + runner.seconds,
            memory=limits.memory + runner.mebibytes * MIB,
            output=_BUILD_LIMITS.output,
            open_files=_BUILD_LIMITS.open_files,
        )

    def check(self, sandbox: SandboxPool) -> None:
        super().check(sandbox)
        package, path = self.check_file.runner.package, self.packages.path
        loads = ("-p", f"require({f'{path}/{package}/package.json'!r})")
        if package and self._why_not_started(loads, sandbox):
            raise SandboxError(
                f"check {self.check_file.path.name!r}: the sandbox does not show {path}; move the "
                "project out of /tmp, to a folder that the user of the programs can read"
            )

    @property
    def _target(self) -> Target:
        return "call" if self.check_file.language in CALLED_LANGUAGES else "definition"

    @property
    def _language(self) -> str:
        return self.check_file.language

    def _parts(self, program: str) -> _Parts:
        runner, path = self.check_file.runner, self.packages.path
        texts = self.check_file.sources(program)
        if runner.script:
            texts["run.mjs"] = _script_text(runner.script)
        links = {"node_modules": path} if path else {}
        plan = {"report": runner.descriptor, "links": links}
        return _Parts(texts, {"{test}": self.check_file.test}, plan)


@dataclass(frozen=True)
class _CalledJavaScript(_Run):
    """JavaScript or TypeScript, whose functions and classes a check calls."""

    @property
    def key(self) -> str:
        guest = hashlib.sha256(_script_text("javascript.cjs").encode()).hexdigest()
        return f"call {self.installed.language}: {self.installed.version}, {guest}"

    @property
    def guest(self) -> str:
        return self.installed.language

    @property
    def _target(self) -> Target:
        return "call"

    def prepare(
        self, program: str, sandbox: SandboxPool, limits: Limits, *, entry_point: str = ""
    ) -> str | Failure:
        del sandbox
        language = self.installed.language
        files = {"guest.cjs": _script_text("javascript.cjs"), "program.source": program}
        plan = {
            "files": {name: _base64(text) for name, text in files.items()},
            "command": [
                self.installed.path,
                # Above the limit, which is measured from outside and says what happened.
                f"--max-old-space-size={2 * limits.memory // MIB}",
                "--disable-warning=ExperimentalWarning",
                "{folder}/guest.cjs",
                "{folder}/program.source",
                entry_point,
                language,
            ],
            "environment": dict(self.installed.toolchain.environment),
        }
        return f"{inspect.getsource(_launcher)}\n\nbecome({plan!r})\n"


@cache
def _script_text(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8") if name else ""


def passed_tests(
    check_file: CheckFile, program: str, sandbox: SandboxPool, limits: Limits
) -> tuple[str, ...] | Failure:
    """Return the names of the tests of a check file that a program passes, or why it did not run.

    `limits` are those of the run.
    """
    runtime = runtime_of(check_file.language, "tests", check_file)
    prepared = runtime.prepare(program, sandbox, limits)
    if isinstance(prepared, Failure):
        return prepared
    result = _run_text(prepared, sandbox, runtime.limits(limits))
    return result if isinstance(result, Failure) else check_file.passed(result.stdout)


def call_text(args: Sequence[str], files: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Return the argument with which the launcher is run, for one run of a program."""
    return json.dumps({"args": list(args), "files": dict(files), "env": dict(env)})


def _build(plan: Mapping[str, object], sandbox: SandboxPool) -> dict[str, str] | Failure:
    """Run a compiler in the jail. Return the files that it made, or its errors."""
    result = _run_once(plan, sandbox)
    if isinstance(result, Failure):
        return result
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()[:_DETAIL_LINES]
        return Failure(cause="build", detail="\n".join(lines) or "the compiler said nothing")
    try:
        files: dict[str, str] = json.loads(result.stdout)
    except ValueError:
        return Failure(cause="build", detail="the build's result is too large")
    return files


def _run_once(plan: Mapping[str, object], sandbox: SandboxPool) -> ScriptResult | Failure:
    """Run a compiler."""
    result = _run_text(_launcher_text(plan), sandbox, _BUILD_LIMITS)
    if isinstance(result, Failure):
        return Failure(
            cause="build", detail=f"the compiler was stopped: {result.cause}: {result.detail}"
        )
    return result


def _run_text(text: str, sandbox: SandboxPool, limits: Limits) -> ScriptResult | Failure:
    """Run a launcher. A time-out while other programs ran is confirmed alone, as a program's is."""
    for alone in (False, True):
        with sandbox.load(text, entry_point="launch", limits=limits, alone=alone) as candidate:
            try:
                return candidate.run(args=[call_text((), {}, {})])
            except ProgramStopped as stopped:
                failure = candidate.failure or Failure(cause="exception", detail=str(stopped))
        if not needs_confirmation(failure, cpu_seconds=candidate.cpu_seconds, limits=limits):
            break
    return failure


def _launcher_text(plan: Mapping[str, object]) -> str:
    return f"{inspect.getsource(_launcher)}\n\nlaunch({plan!r})\n"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def _filled(word: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(name, value)
    return word


_PUBLIC = re.compile(
    r"\bpublic\s+(?:(?:final|abstract|sealed|strictfp)\s+)*"
    r"(?:class|record|enum|interface)\s+(\w+)"
)
_TYPE = re.compile(r"\b(?:class|record|enum|interface)\s+(\w+)")
_MAIN = re.compile(r"\bvoid\s+main\s*\(")
_PACKAGE = re.compile(r"^[^\S\n]*package\s+([\w.]+)\s*;", re.MULTILINE)


def _java_names(program: str) -> tuple[str, str]:
    """Return the file name that javac demands, and the full name of the class with ``main``."""
    public = _PUBLIC.search(program)
    main = _MAIN.search(program)
    types = [match for match in _TYPE.finditer(program) if main and match.start() < main.start()]
    name = types[-1][1] if types else (public[1] if public else "Main")
    package = _PACKAGE.search(program)
    full = f"{package[1]}.{name}" if package else name
    return f"{public[1] if public else name}.java", full
