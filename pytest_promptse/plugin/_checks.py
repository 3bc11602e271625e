"""Test bodies as checks: their fixtures, their process, and what their end says of a program."""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import NotScoredError, TaskError
from pytest_promptse.plugin._effects import collect_effects, replay_effects
from pytest_promptse.plugin._pytest_private import (
    argument_names,
    failures_noted,
    fixture_definitions,
    renew_instance,
    set_up_again,
    temporary_folder,
    torn_down_after,
)
from pytest_promptse.run._judge import CheckProcess, CheckResult
from pytest_promptse.runtimes._runtime import call_text
from pytest_promptse.sandbox._blocks import last_entry, needs_class
from pytest_promptse.sandbox._candidate import CheckEnded, safe_text
from pytest_promptse.sandbox._handle import READ_NAMES, EntryPoint, Module
from pytest_promptse.sandbox._surroundings import CheckSurroundings
from pytest_promptse.sandbox.guest import landlock
from pytest_promptse.sandbox.guest.folders import Content, Folder
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    contextlib,
    dis,
    linecache,
    os,
    re,
    shutil,
)
from pytest_promptse.sandbox.guest.wire import WireError
from pytest_promptse.tasks._example import shown
from pytest_promptse.tasks._task import repeatable_random

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import CodeType

    from pytest_promptse.run._run import PromptseRun
    from pytest_promptse.runtimes._runtime import Door
    from pytest_promptse.sandbox._candidate import Candidate, ScriptResult
    from pytest_promptse.tasks._task import Task

TASK: pytest.StashKey[Task] = pytest.StashKey()
"""Key of the task whose program an item judges at present."""

# In a session's stash: the temporary folders that fixtures of a wider scope have made.
_KEPT_FOLDERS: pytest.StashKey[set[str]] = pytest.StashKey()

# The attributes of a candidate besides those of the program's entry point.
_OWN_NAMES = ("module", "run", "output")
_OWN_FIXTURES = ("candidate", "program", "task")
# The fixtures of these modules report failures that do not end the test, so that a program with
# such failures would pass.
_SOFT_ASSERTIONS = ("_pytest.subtests", "pytest_subtests", "pytest_check", "pytest_assume")

# The instructions that look for a name among the globals, or first in the body of a class.
_LOOKUPS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


class CandidateProxy(EntryPoint):
    # The value of the ``candidate`` fixture, which forwards to the program under test. This is no
    # docstring, since ``candidate.__doc__`` is the entry point's.

    _has_answer = False

    def __init__(self) -> None:
        self._program: Candidate | None = None
        self._was_used = False

    def _bind(self, program: Candidate) -> None:
        self._program = program
        self._was_used = False

    @property
    def promptse_owner(self) -> Candidate:
        if self._program is None:
            raise TaskError(
                "candidate can be used in the test body only; its program does not exist while "
                "fixtures are set up and torn down"
            )
        self._was_used = True
        return self._program

    def __repr__(self) -> str:
        # Assertion rewriting shows this, as in "where 5 = candidate(2)".
        return "candidate"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and (name not in READ_NAMES or self._program is None):
            if name != "__dataclass_fields__" or self._program is None:
                raise AttributeError(name)
            return getattr(self._entry_object(), name)
        program = self.promptse_owner
        return getattr(program, name) if name in _OWN_NAMES else program.ask("find", name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._place_of(name), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._place_of(name), name)

    def __dir__(self) -> list[str]:
        return [*_OWN_NAMES, *dir(self._entry_object())]

    def _place_of(self, name: str) -> Any:
        """Return what has this name, or gets it: the entry point, or else the module."""
        entry, module = self._entry_object(), Module(self.promptse_owner)
        return module if hasattr(module, name) and not hasattr(entry, name) else entry

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return a method, if a class of the check has the candidate and that is a function."""
        entry = None if instance is None else self._entry_object()
        get = getattr(type(entry), "__get__", None)
        return self if get is None else get(entry, instance, owner)

    def _is_class(self) -> bool:
        return self._program is not None and super()._is_class()

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return None if self._program is None else self.promptse_owner.__doc__


class ProgramProxy:
    """The value of the ``program`` fixture, which runs the program under test."""

    def __init__(self) -> None:
        self._program: Candidate | None = None
        self._was_used = self._has_answer = False

    def _bind(self, program: Candidate) -> None:
        self._program = program
        self._was_used = self._has_answer = False

    def __repr__(self) -> str:
        return "program"

    def run(
        self,
        stdin: str = "",
        args: Sequence[str] = (),
        *,
        files: Mapping[str, str] = MappingProxyType({}),
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> ScriptResult:
        """Run the program in a process of its own.

        Parameters
        ----------
        stdin
            The text of its standard input. For SQL, statements that run before the program.
        args
            Its arguments. For SQL, options of ``sqlite3``, such as ``-json``.
        files
            Texts of files in its working directory, by relative path.
        env
            Further environment variables.

        Returns
        -------
        The texts ``stdout`` and ``stderr``, and the ``returncode``, which is 128 and the number of
        the signal if one ended the program.

        Raises
        ------
        TaskError
            If the arguments cannot be passed to a program, or the test body has not begun.
        """
        if self._program is None:
            raise TaskError(
                "program can be run in the test body only, not while fixtures are set up"
            )
        for path in files:
            if path.startswith("/") or ".." in path.split("/"):
                raise TaskError(f"program.run: the file {path!r} must have a relative path")
        texts = (stdin, *args, *files, *files.values(), *env, *env.values())
        if isinstance(args, str) or not all(isinstance(text, str) for text in texts):
            raise TaskError("program.run takes texts: stdin='1 2', args=['-v'], files={'a': 'b'}")
        self._was_used = True
        result = self._program.run(stdin=stdin, args=[call_text(args, files, env)])
        self._has_answer = True
        return result


class FunctionCheck:
    """The body of a test function as a check, with new fixtures for every program.

    Parameters
    ----------
    item
        The item whose function is called.
    task
        The task for which pytest has set up the fixtures already.
    """

    def __init__(self, item: pytest.Function, task: Task) -> None:
        self._item = item
        self._is_tasks_check = _is_tasks_check(item.function)
        self._set_up_for: Task | None = task
        self._folders: list[tuple[Folder, Content]] = []
        self._present: set[str] = set()
        # With ``request`` a body can set up any fixture.
        self._has_own_fixtures = "request" in argument_names(item) or any(
            definitions[-1].scope == "function"
            for name, definitions in fixture_definitions(item).items()
            if name not in _OWN_FIXTURES
        )

    def prepare(self, task: Task) -> bool:
        """Set up the fixtures for a program. Return True if it needs a process of its own.

        A test function may change anything: a global, a default argument, the decimal context, the
        environment. An assertion that fails ends it before it changes that back. A function that
        only calls the task's own check changes no more than this check, and uses no fixture.
        """
        self._item.stash[TASK] = task
        has_state = not self._is_tasks_check or task.may_change_modules
        if self._set_up_for is not task and self._has_own_fixtures and has_state:
            renew_instance(self._item)
            set_up_again(self._item)
        self._set_up_for = None
        self._folders = []
        self._present = _temporary_folders(self._item)
        for path in self._item.session.stash.get(_KEPT_FOLDERS, set()):
            folder = Folder(path)
            # Too much, or gone: it cannot be handed to a program either.
            with contextlib.suppress(WireError, OSError):
                self._folders.append((folder, folder.take_changes()))
        return has_state

    def restore(self) -> None:
        """Remove the temporary folders that the check made, and put back those of fixtures."""
        for path in _temporary_folders(self._item) - self._present:
            shutil.rmtree(path, ignore_errors=True)
        for folder, content in self._folders:
            folder.restore(content)

    def __call__(self, candidate: Candidate, task: Task) -> CheckResult:
        item = self._item
        if not self._has_own_fixtures:
            renew_instance(item)
        if "task" in item.funcargs:
            item.funcargs["task"] = task
        name = door_of(item.fixturenames)
        proxy = item.funcargs[name]
        if not isinstance(proxy, CandidateProxy | ProgramProxy):
            raise TaskError(
                f"{item.nodeid}: the project has a fixture named {name!r} of its own; rename it"
            )
        arguments = {name: item.funcargs[name] for name in argument_names(item)}
        temporary = temporary_folder(item)

        def body() -> object:
            candidate.use_surroundings(CheckSurroundings(item.funcargs, temporary))
            return item.obj(**arguments)

        with torn_down_after(item.session):
            return run_body(body, candidate, proxy, str(item.path))


def _is_tasks_check(function: Callable[..., object]) -> bool:
    """Return whether the body of a test function is ``task.check(candidate)`` and no more."""
    code: CodeType | None = getattr(function, "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    if code is None or not {"task", "candidate"} <= {*names}:
        return False
    docstring = f"{function.__doc__!r}; " if function.__doc__ else ""
    source = f"def body({', '.join(names)}): {docstring}task.check(candidate)"
    [same, *_] = compile(source, "", "exec").co_consts
    return (code.co_code, code.co_names) == (same.co_code, same.co_names)


def refuse_soft_assertions(definition: pytest.FixtureDef[Any], where: str) -> None:
    """Raise TaskError if the failures of a fixture do not end the test at `where`."""
    if definition.func.__module__.startswith(_SOFT_ASSERTIONS):
        raise TaskError(
            f"{where}: takes {definition.argname!r}, whose failures do not end the test, so a "
            "wrong program would pass; write assert statements instead"
        )


@contextlib.contextmanager
def folders_noted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Note the temporary folders that a fixture makes in the block, if it outlives the test."""
    if request.scope == "function":
        yield
        return
    before = _temporary_folders(request)
    yield
    kept = request.session.stash.setdefault(_KEPT_FOLDERS, set())
    kept |= _temporary_folders(request) - before


def _temporary_folders(item: pytest.Item | pytest.FixtureRequest) -> set[str]:
    top = temporary_folder(item)
    if top is None:
        return set()
    with os.scandir(top) as entries:
        return {entry.path for entry in entries if entry.is_dir(follow_symlinks=False)}


def door_of(fixtures: Iterable[str]) -> Door:
    """Return the fixture by which a test function with these fixtures reaches a program."""
    return "program" if "program" in fixtures else "candidate"


def check_process(
    item: pytest.Item,
    run: PromptseRun,
    prepare: Callable[[Task], bool] = lambda _: False,
    restore: Callable[[], None] = lambda: None,
) -> CheckProcess:
    """Return how the check of `item` uses processes of its own.

    `prepare` and `restore` are those of `CheckProcess`. A debugger needs the check in pytest's own
    process.
    """

    def explain(error: BaseException) -> str:
        return str(item.repr_failure(pytest.ExceptionInfo.from_exception(error)))

    return CheckProcess(
        forks=not (item.config.option.usepdb or item.config.option.trace),
        prepare=prepare,
        restore=restore,
        writable=lambda: _writable_folders(item),
        needed=run.needed_descriptors,
        explain=explain,
        collect=collect_effects,
        replay=replay_effects,
    )


def _writable_folders(item: pytest.Item) -> list[str]:
    """Return the temporary folders of the item's fixtures."""
    funcargs: dict[str, Any] = getattr(item, "funcargs", {})
    folders = [str(funcargs[name]) for name in ("tmp_path", "tmpdir") if name in funcargs]
    factories = [
        funcargs[name] for name in ("tmp_path_factory", "tmpdir_factory") if name in funcargs
    ]
    if "request" in funcargs:  # by which the body may use any of them
        factories.append(funcargs["request"].getfixturevalue("tmp_path_factory"))
    return [*folders, *(str(factory.getbasetemp()) for factory in factories)]


_is_judging: ContextVar[bool] = ContextVar("is_judging", default=False)


def explain_comparison(op: str, left: object, right: object) -> list[str] | None:
    """Return one short line for a failed comparison while a program is judged, otherwise None.

    Programs return arbitrary values, and pytest's own diff of two long texts can take minutes.
    """
    return [f"{shown(left)} {op} {shown(right)}"] if _is_judging.get() else None


def run_body(
    body: Callable[[], object],
    candidate: Candidate,
    proxy: CandidateProxy | ProgramProxy,
    path: str,
) -> CheckResult:
    """Run the body of a check on a program. Distinguish a wrong program from a broken check.

    `body` calls the test function, `proxy` is its handle of the program, and `path` is its file,
    for error messages. A failed assertion or an error of the program is a result. TaskError is
    raised if the check is broken.
    """
    proxy._bind(candidate)  # noqa: SLF001 - both classes work together
    token = _is_judging.set(True)
    try:
        # All programs of a check get the same inputs if it draws some. So verdicts can be compared
        # and do not change.
        with repeatable_random(), failures_noted(candidate.failed.append):
            returned = body()
            candidate.require_no_failure()
    except (NotScoredError, CheckEnded, KeyboardInterrupt):
        raise
    except (pytest.skip.Exception, pytest.xfail.Exception) as ended:
        name = "skipped" if isinstance(ended, pytest.skip.Exception) else "called pytest.xfail"
        text = f"the check {name} ({ended.msg}); a check must pass or fail for every program"
        if not (candidate.used or proxy._has_answer):  # noqa: SLF001 - both classes work together
            raise TaskError(text) from None
        # The program may have caused it, such as by a NotImplementedError.
        cause = "exception" if candidate.raised(ended.__context__ or ended) else "wrong_answer"
        return CheckResult(cause, f"{_line(ended, path)}{text}")
    except (AssertionError, pytest.fail.Exception) as failed:
        if not proxy._was_used:  # noqa: SLF001 - both classes work together
            failed.add_note(
                f"raised before the test used {proxy!r}, so the check or a fixture is broken"
            )
            raise
        cause = "exception" if candidate.raised(failed) else "wrong_answer"
        _require_class(failed, path)
        hint = " (an object of the program equals no value of the check; compare attributes)"
        text = f"{safe_text(failed)}{hint if candidate.compared else ''}"
        return CheckResult(cause, f"{_line(failed, path)}{text}")
    except BaseException as error:  # noqa: BLE001 - as a rest of a program's BaseExceptionGroup
        return _error_result(error, candidate, path, used=candidate.used or proxy._has_answer)  # noqa: SLF001 - both classes work together
    finally:
        _is_judging.reset(token)
    if returned is not None:
        raise TaskError(
            f"the check returned {shown(returned)} instead of None; write `assert`, not `return`"
        )
    if not proxy._was_used:  # noqa: SLF001 - both classes work together
        raise TaskError(
            f"the check ended without using {proxy!r}, so every program would pass; call "
            f"{'candidate' if isinstance(proxy, CandidateProxy) else 'program.run()'}"
        )
    return CheckResult("")


def _error_result(
    error: BaseException, candidate: Candidate, path: str, *, used: bool
) -> CheckResult:
    """Return the result of a check that ended with `error`, or raise it if the check is broken.

    `path` is the check's file. `used` is True if the check has an answer of the program.
    """
    if candidate.raised(error):
        return CheckResult("exception", f"{type(error).__name__}: {safe_text(error)}")
    line = _line(error, path)
    refused = _permission_error(error)
    if refused is not None and not candidate.has_raised(refused) and landlock.version():
        text = (
            f"{line}the check is refused a file or a connection ({refused}); it can write only "
            "below tmp_path and to tempfile's files, and use no TCP; do the rest in a fixture"
        )
        if not used:
            raise TaskError(text) from None
        # Its answer may be the path, however it is spelt, or have led to it.
        return CheckResult("wrong_answer", text)
    _require_class(error, path)
    if not used or _is_of_check(error, path):
        raise error
    name = type(error).__name__
    return CheckResult("wrong_answer", f"{line}{name} in the check: {safe_text(error)}")


def _require_class(error: BaseException, path: str) -> None:
    """Raise TaskError if `error` ended a statement that needs a class in place of the candidate."""
    if needs_class(error, path):
        raise TaskError(
            f"{_line(error, path)}the candidate stands for the entry point and is no class itself; "
            "for `except`, `case` and `is`, write the class, as in candidate.module.Stack"
        ) from None


def _permission_error(error: BaseException | None) -> PermissionError | None:
    """Return the refusal that led to `error`. Libraries for HTTP wrap it in errors of their own."""
    while error is not None:
        # One of the kernel has a number, and comes from a call. The check may have raised another
        # of a class or with a number of the program.
        if (
            isinstance(error, PermissionError)
            and error.errno is not None
            and not _origin(error)[1].startswith("RAISE")
        ):
            return error
        error = error.__cause__ or error.__context__
    return None


def _origin(error: BaseException) -> tuple[CodeType | None, str]:
    """Return the code in which `error` was raised, and the name of the instruction.

    An error that was never raised, only named as a cause, has no code.
    """
    trace = error.__traceback__
    if trace is None:
        return None, "RAISE_VARARGS"
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return code, dis.opname[code.co_code[trace.tb_lasti]]


def _is_of_check(error: BaseException, path: str) -> bool:
    """Return whether an error is a mistake of the check itself, independent of the program.

    A name that nothing in the test file binds, or an ``import`` statement that fails, is a mistake
    of the check. The same errors from ``eval(answer)`` or ``import_module(answer)`` are not. Nor is
    a name that the check would have bound if the program had done something else.
    """
    if isinstance(error, TaskError):
        return True
    # Not by ``raise``, which may repeat an error of the program.
    code, operation = _origin(error)
    if code is None or code.co_filename != path:
        return False
    if isinstance(error, NameError):
        # Other instructions look for variables that the compiler has seen bound.
        return operation in _LOOKUPS and not _binds(code, path, error.name)
    return isinstance(error, ImportError) and operation.startswith("IMPORT")


def _binds(code: CodeType, path: str, name: str | None) -> bool:
    """Return whether `code` binds a name in its own scope, or a function of the file a global.

    The code of the module itself has run before any program.
    """
    if any(
        step.argval == name for step in dis.get_instructions(code) if step.opname == "STORE_NAME"
    ):
        return True
    source = "".join(linecache.getlines(path))
    return re.search(rf"^\s*global\b[^#\n]*\b{name}\b", source, re.MULTILINE) is not None


def _line(error: BaseException, path: str) -> str:
    """Return ``"line 12: "`` for the last line of the test file that `error` passed through.

    The result is empty if it passed through no line of `path`.
    """
    entry = last_entry(error, path)
    return "" if entry is None else f"line {entry.tb_lineno}: "
