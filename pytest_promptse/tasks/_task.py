"""The task: an original prompt, and the checks that judge a program written for it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from functools import cached_property, lru_cache
from random import getstate, seed, setstate
from typing import TYPE_CHECKING, Any

from pytest_promptse.config._options import CALLED_LANGUAGES
from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._detect import language_of_prompt
from pytest_promptse.sandbox._blocks import last_entry
from pytest_promptse.sandbox._failing import FAILURE, compiled, failure
from pytest_promptse.sandbox.guest.unpatched import ast, hashlib, json, linecache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType

    from pytest_promptse.runtimes._check_files import CheckFile
    from pytest_promptse.runtimes._runtime import Door
    from pytest_promptse.tasks._example import Example
    from pytest_promptse.tasks._program_tests import ProgramTests

# Control characters and lone surrogates, which pytest ids, the store and files cannot contain.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


_RUNS = re.compile(r"^def check\(program\b", re.MULTILINE)
PROGRAM_ENTRY = "main"
"""The entry point of a program that is run, if the prompt names no other."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A programming task: a prompt, and optionally its own check and a reference solution.

    Parameters
    ----------
    id
        A short name, unique in its suite. Item ids contain this name, so the name must not contain
        ``[``, ``]`` or ``::``.
    prompt
        The original prompt: an instruction in English (plain or Markdown), or a code stub for
        the model to complete, as in HumanEval.
    entry_point
        The name that the check calls. The default is the name that the examples call. Without
        examples, the default comes from the prompt: the last ``def`` or ``class`` of a stub, or the
        first name written like ``name(...)`` in inline code or in a code fence.
    reference
        A complete program that solves the task. The ``reference`` model returns this program, and
        its running time sets the time limits. The reference never runs in the same sandbox as a
        model's program.
    tests
        Python source that defines ``check(candidate)``, which raises an exception if a program is
        wrong. The source runs outside the sandbox, in a new namespace for each program. In this
        source, the name of the entry point also refers to `candidate`.
    setup
        Python source executed before `tests` in the same namespace, for helpers that the prompt
        defines and the check uses.
    examples
        Calls with their expected results, instead of `tests`.
    metadata
        Further data on the task, for use in the test body.
    language
        The language of the programs, such as ``go``. The default is the language named at the
        beginning of the prompt ("Write a Go program …"), else the language of the settings, else
        Python. Checks can call functions of programs in Python, JavaScript and TypeScript. Checks
        cannot call functions of programs in other languages: they run such a program with the
        fixture `program`.
    program_tests
        Tests in the language of the program, which run in the process of the program. The check
        then only reads the exit status of this process.
    check_file
        A file of tests that a framework such as vitest runs in the program's process. The check
        then reads the framework's report. The file determines the language of the task. The default
        of `reference` is the file with the same name without ``.test``, and the default of
        `entry_point` is the first name that the file imports.

    Raises
    ------
    TaskError
        If the prompt is empty, or if no entry point is given and the prompt contains no entry
        point. The error is also raised if an example calls a different name, or if both `tests` and
        `examples` are given.
    """

    id: str
    prompt: str
    entry_point: str = ""
    reference: str | None = None
    tests: str | None = None
    setup: str = ""
    examples: tuple[Example, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str = ""
    program_tests: ProgramTests | None = None
    check_file: CheckFile | None = None

    def __post_init__(self) -> None:
        parts = ("[", "]", "::")
        if not self.id or any(part in self.id for part in parts) or _CONTROL.search(self.id):
            raise TaskError(
                f"task id {self.id!r}: give a non-empty id without '[', ']', '::' or control "
                "characters"
            )
        if not self.prompt.strip():
            raise TaskError(
                f"task {self.id!r}: the prompt is empty; say what the model is to write"
            )
        if self.examples and self.tests is not None:
            raise TaskError(f"task {self.id!r}: give either tests or examples, not both")
        self._find_language()
        if self.examples and self.language not in ("", *CALLED_LANGUAGES):
            raise TaskError(
                f"task {self.id!r}: examples call a function, which a check cannot do in "
                f"{self.language}; write a check with program.run(stdin=...)"
            )
        if not self.entry_point:
            object.__setattr__(self, "entry_point", self._find_entry_point())
        elif not self.entry_point.isidentifier():
            raise TaskError(f"task {self.id!r}: entry_point {self.entry_point!r} is not a name")
        for example in self.examples:
            if example.name != self.entry_point:
                raise TaskError(
                    f"task {self.id!r}: the example {example.call} calls {example.name}, "
                    f"not the entry point {self.entry_point}"
                )

    def _find_language(self) -> None:
        if self.check_file is not None:
            object.__setattr__(self, "language", self.check_file.language)
            if self.reference is None:
                object.__setattr__(self, "reference", self.check_file.solution)
        elif not self.language:
            object.__setattr__(self, "language", language_of_prompt(self.prompt))

    def _find_entry_point(self) -> str:
        if self.examples:
            return self.examples[0].name
        if self.check_file is not None and self.check_file.entry_point:
            return self.check_file.entry_point
        if self.language in CALLED_LANGUAGES[1:]:
            match = _NAMED_IN_SCRIPT.search(self.prompt) or _DECLARED.search(self.prompt)
            return match[1] or match[2] if match else PROGRAM_ENTRY
        name = find_entry_point(self.prompt)
        if name is None and self.language not in ("", "python"):
            return PROGRAM_ENTRY
        if name is None:
            raise TaskError(f"task {self.id!r}: {_NO_ENTRY_POINT}")
        return name

    def require_entry_point(self) -> None:
        """Raise TaskError if there is no name that a check can call."""
        if self.entry_point == PROGRAM_ENTRY:
            raise TaskError(_NO_ENTRY_POINT)

    @cached_property
    def door(self) -> Door:
        """The fixture that the task's own check uses: ``candidate`` or ``program``."""
        runs = self.check_file is not None or (self.tests and _RUNS.search(self.tests))
        return "program" if runs else "candidate"

    @property
    def shares_process(self) -> bool:
        """True if the task's tests run in the process of the program."""
        return self.program_tests is not None or self.check_file is not None

    def reached_by(self, door: Door | None) -> Door:
        """Return how a check runs a program: ``candidate``, ``program`` or ``tests``.

        `door` is the fixture of the check. None means the fixture of the task's own check.

        Raises
        ------
        TaskError
            If the task's tests run in the process of the program, and `door` is ``candidate``.
        """
        if not self.shares_process:
            return door or self.door
        if door == "candidate":
            raise TaskError(
                "its tests run with the program; take the fixture 'program' instead of "
                "'candidate', and task.check(program) in the test"
            )
        return "tests"

    def whole(self, program: str) -> str:
        """Return the program that is run, with the task's tests if they run in the same process."""
        return program if self.program_tests is None else self.program_tests.appended_to(program)

    @cached_property
    def is_stub(self) -> bool:
        """True if the prompt is Python source to complete, and not an instruction."""
        return parse_stub(self.prompt) is not None

    @cached_property
    def check_digest(self) -> str:
        """SHA-256 of everything that the result of the check depends on, as 64 hex digits."""
        parts: list[Any] = [
            self.entry_point,
            self.setup,
            self.tests,
            [example.canonical for example in self.examples],
        ]
        if self.program_tests is not None:
            parts.append(astuple(self.program_tests))
        if self.check_file is not None:
            parts.append(self.check_file.digest_parts)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def may_change_modules(self) -> bool:
        """True if the check imports a module whose state it may change, such as ``decimal``.

        Any other check can change only its own namespace, which is new for each program.
        """
        try:
            tree = ast.parse(f"{self.setup}\n{self.tests or ''}")
        except (SyntaxError, ValueError):  # `check` reports it
            return True
        imported: set[str | None] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module)
            elif isinstance(node, ast.Name) and node.id in ("__import__", "__builtins__"):
                imported.add(node.id)
        return not imported <= _WITHOUT_STATE

    def check(self, candidate: Any) -> None:
        """Run the task's own check on a program, and raise an exception if the program is wrong.

        Every call uses the same random numbers from `random`, so that verdicts are reproducible.
        The state of `random` is restored afterwards.

        Parameters
        ----------
        candidate
            The program's entry point.

        Raises
        ------
        AssertionError
            If a result is wrong. The message contains the call or the failing line of the check.
        TaskError
            If the task has neither tests nor examples, or if executing `setup` and `tests` fails or
            does not define ``check``.
        Exception
            Any other exception raised by a call of `candidate`.
        """
        if self.check_file is not None:
            self.check_file.check(candidate)
            return
        if self.examples:
            for example in self.examples:
                example.check(candidate)
            return
        code = self._check_code
        name = f"promptse_check_{self.entry_point}"
        namespace: dict[str, Any] = {"__name__": name, FAILURE: failure}
        with repeatable_random():
            try:
                exec(code, namespace)  # noqa: S102 - the user's own check
                check = namespace["check"]
            except Exception as error:  # noqa: BLE001 - whatever the user's own source raises
                raise TaskError(
                    f"task {self.id!r}: its check(candidate) cannot be set up: "
                    f"{type(error).__name__}: {error}"
                ) from None
            namespace[self.entry_point] = candidate
            try:
                check(candidate)
            except AssertionError as error:
                line = self._failing_line(error)
                if error.args:
                    error.add_note(f"in the check: {line}")
                else:
                    error.args = (line,)
                raise

    @property
    def _check_file(self) -> str:
        return f"<check of {self.id}>"

    @cached_property
    def _check_code(self) -> CodeType:
        if self.tests is None:
            raise TaskError(f"task {self.id!r} has no check of its own; assert in the test body")
        source = f"{self.setup}\n\n{self.tests}\n"
        try:
            code = compiled(source, self._check_file)
        except (SyntaxError, ValueError) as error:
            raise TaskError(f"task {self.id!r}: its check is not Python: {error}") from None
        # Lets tracebacks quote the check: https://docs.python.org/3/library/linecache.html
        lines = source.splitlines(keepends=True)
        linecache.cache[self._check_file] = (len(source), None, lines, self._check_file)
        return code

    def _failing_line(self, error: AssertionError) -> str:
        entry = last_entry(error, self._check_file)
        return "" if entry is None else linecache.getline(self._check_file, entry.tb_lineno).strip()


@contextmanager
def repeatable_random() -> Iterator[None]:
    """Give the code of the context the same random numbers from `random` each time."""
    state = getstate()
    seed(0)
    try:
        yield
    finally:
        setstate(state)


# The rewriter, the invariance check and the judge parse the same few prompts again and again.
@lru_cache(maxsize=64)
def parse_stub(prompt: str) -> ast.Module | None:
    """Return the syntax tree of a code stub, or None where `prompt` is not Python source.

    A stub must parse as it is and contain a function or class; a docstring alone is enough as a
    body. Callers must not modify the tree, since it is cached.
    """
    try:
        tree = ast.parse(prompt.rstrip() + "\n")
    except (SyntaxError, ValueError):
        return None
    defines = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return tree if any(isinstance(node, defines) for node in tree.body) else None


# Modules without state, and ``random``, whose state is restored.
_WITHOUT_STATE = frozenset(
    ["typing", "math", "cmath", "string", "re", "itertools", "collections", "copy", "random"]
)

_NO_ENTRY_POINT = (
    "cannot tell which name the prompt asks for; write it like `name(arg)` in the prompt or give "
    "entry_point='name'"
)
_NAMED = re.compile(r"(?:`{1,3}(?:python|py)?\s*|\b)(?:async\s+def|def|class)\s+([A-Za-z_]\w*)")
# A class, which may be followed by calls of its methods, or a function with or without type
# parameters, in JavaScript and TypeScript.
_NAMED_IN_SCRIPT = re.compile(
    r"\bclass\s+`([A-Za-z_]\w*)|`(?:[\w.]*\.)?([A-Za-z_]\w*)(?:<[^`(]*>)?\("
)
_DECLARED = re.compile(r"\b(?:function[\s*]*|class\s+|const\s+)()([A-Za-z_]\w*)\s*[(<={]")
_CALLED = re.compile(r"`(?:[\w.]*\.)?([A-Za-z_]\w*)\(")


def find_entry_point(prompt: str) -> str | None:
    """Return the name of the function or class that `prompt` requests, or None if it names none."""
    stub = parse_stub(prompt)
    if stub is not None:
        names = [
            node.name
            for node in stub.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        return names[-1]
    for pattern in (_CALLED, _NAMED):
        match = pattern.search(prompt)
        if match:
            return match[1]
    return None
