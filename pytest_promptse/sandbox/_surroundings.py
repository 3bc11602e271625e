"""What a check sets up around the program, handed over to it, and the program's effects on it.

`guest.surroundings` is the other side. The check's process is thrown away after the verdict, so
effects on it reach no other program.
"""

from __future__ import annotations

import os
import sys
import warnings
from os import getcwd
from pathlib import PosixPath
from random import getstate, random
from typing import TYPE_CHECKING, Any
from warnings import warn_explicit

from pytest_promptse.sandbox._handle import HandleType, is_of_program
from pytest_promptse.sandbox.guest import standard
from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.folders import Folder, is_folder
from pytest_promptse.sandbox.guest.unpatched import __builtins__, logging
from pytest_promptse.sandbox.guest.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.sandbox._execution import Execution

_LEFT_OUT = ("PYTEST_", "TMPDIR")
_PROGRAM_FILE = "<program>"
_UNPATCHED = ("unittest", "pytest_promptse")
_STREAMS = {("sys", name) for name in ("stdin", "stdout", "stderr")}
_MISSING = object()
_start: dict[str, str] = {}
# The folder in which `tempfile` makes files in a process that only runs checks.
_of_tempfile: list[str] = []
# What tests have patched in the standard library: module and path of the name, with what has the
# name and what it was before.
_patched: dict[tuple[str, str], tuple[Any, Any]] = {}


def note_environment() -> None:
    """Note the environment before any test. A program gets only what tests change in it."""
    _start.clear()
    _start.update(os.environ)


def note_temporary_folder(path: str) -> None:
    """Note the folder of `tempfile` in this process, whose files a program may be given."""
    _of_tempfile[:] = [path]


def note_patch(owner: Any, name: str, before: Any = _MISSING) -> None:
    """Note that a test patches a name of a module or class of the standard library.

    `before` is what `owner` has under this name, if anything.
    """
    is_module = type(owner) is type(sys)
    module = owner.__name__ if is_module else getattr(owner, "__module__", None)
    if not (is_module or isinstance(owner, type)) or type(module) is not str:
        return
    top = module.partition(".")[0]
    place = (module, name if is_module else f"{owner.__qualname__}.{name}")
    if not is_module and standard.loaded(f"{module}.{owner.__qualname__}") is not owner:
        return  # such as the exceptions of pytest, which name another module
    if top in sys.stdlib_module_names and top not in _UNPATCHED and place not in _STREAMS:
        _patched.setdefault(place, (owner, before))


class CheckSurroundings:
    """The surroundings that one check sets up for a program.

    Parameters
    ----------
    fixtures : dict
        The check's fixtures of pytest by name. ``tmp_path``, ``monkeypatch``, ``caplog``,
        ``recwarn`` and those that capture output are used.
    temporary : str or None
        The folder of all temporary folders of the session.
    """

    def __init__(self, fixtures: dict[str, Any], temporary: str | None) -> None:
        self._fixtures = fixtures
        self._temporary = temporary
        self._folders: dict[str, Folder] = {}
        self._environment = dict(_start or os.environ)
        # By name what the program knows, for `_is_new`.
        self._known: dict[str, Any] = {
            "random": getstate(),
            "directory": getcwd(),  # noqa: PTH109 - a hot path
            "stdin": None if "monkeypatch" in fixtures else sys.stdin,
        }
        self._patches: dict[tuple[str, str], Any] = {}
        self._recorder = _recorder()
        self._warned = False
        self._streams = (sys.stdout, sys.stderr)
        self._captured = False
        self._written: dict[object, int] = {}
        if "tmp_path" in fixtures:
            self._folders[str(fixtures["tmp_path"])] = Folder(str(fixtures["tmp_path"]))

    @property
    def captures(self) -> bool:
        """True if the check reads the program's output, through pytest or a stream of its own."""
        is_redirected = sys.stdout is not self._streams[0] or sys.stderr is not self._streams[1]
        return is_redirected or any(name.startswith(("capsys", "capfd")) for name in self._fixtures)

    def starts_to_capture(self) -> bool:
        """Return True if the check has begun to capture since the last call."""
        before, self._captured = self._captured, self.captures
        return self._captured and not before

    def changes(self, arguments: Iterable[Any]) -> dict[str, Any]:
        """Return what has changed since the last call, for `Surroundings.adopt`.

        `arguments` are those of the request. A path among them tells which folder is needed.
        """
        found = {
            "folders_changed": self._changed_folders(arguments),
            "environment": self._changed_environment(),
            "directory": self._changed_directory(),
            "random": self._changed_random(),
            "stdin": self._changed_stdin(),
            "patches": self._new_patches(),
            "levels": self._changed_levels(),
            "warned": self._starts_to_record(),
        }
        return {name: value for name, value in found.items() if value}

    def _changed_folders(self, arguments: Iterable[Any]) -> dict[str, Any]:
        for value in arguments:
            path = str(value) if type(value) in (str, PosixPath) else ""
            if self._temporary and path.startswith(f"{self._temporary}/"):
                inner = path[len(self._temporary) + 1 :].partition("/")[0]
                folder = f"{self._temporary}/{inner}"
                if is_folder(folder):
                    self._folders.setdefault(folder, Folder(folder))
            for root in _of_tempfile:
                if path.startswith(f"{root}/"):
                    folder = f"{root}/{path[len(root) + 1 :].partition('/')[0]}"
                    folder = folder if is_folder(folder) else root
                    self._folders.setdefault(folder, Folder(folder))
        is_new = {path for path, folder in self._folders.items() if folder.is_new}
        found = {path: folder.take_changes() for path, folder in self._folders.items()}
        return {path: content for path, content in found.items() if content or path in is_new}

    def _is_new(self, name: str, now: Any) -> bool:
        """Return whether something differs from what the program knows. Then it knows it."""
        before = self._known.get(name)
        self._known[name] = now
        return bool(now != before)

    def _changed_environment(self) -> dict[str, str | None]:
        # Decoding all variables for each request would be slow. A test may have put a dict there.
        if not self._is_new("environment", dict(getattr(os.environ, "_data", os.environ))):
            return {}
        now = dict(os.environ)
        before, self._environment = self._environment, now
        names = {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
        return {name: now.get(name) for name in names if not name.startswith(_LEFT_OUT)}

    def _changed_directory(self) -> str | None:
        now = getcwd()  # noqa: PTH109 - a hot path
        is_shared = any(now == path or now.startswith(f"{path}/") for path in self._folders)
        return now if self._is_new("directory", now) and is_shared else None

    def _changed_random(self) -> Any:
        now = getstate()
        return now if self._is_new("random", now) else None

    def _changed_stdin(self) -> str | None:
        stream = sys.stdin
        if not self._is_new("stdin", stream):
            return None
        try:
            place = stream.tell()
            text = stream.read()
            stream.seek(place)
        except (OSError, ValueError, AttributeError):  # pytest's own, which refuses to be read
            return None
        return text if isinstance(text, str) else None

    def _new_patches(self) -> list[tuple[str, str, Any]]:
        """Return places of the standard library with new values.

        A value is in a list, which is empty if the check has deleted the name. None stands for what
        the program itself had there.
        """
        changed = []
        for place, (owner, before) in _patched.items():
            now = vars(owner).get(place[1].rpartition(".")[2], _MISSING)
            if now is not self._patches.get(place, before):
                self._patches[place] = now
                value = None if now is before else [now] if now is not _MISSING else []
                changed.append((*place, value))
        return changed

    def _changed_levels(self) -> dict[str, int] | None:
        if "caplog" not in self._fixtures:
            return None
        loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
        now = {
            "" if logger is logging.root else logger.name: logger.level
            for logger in loggers
            if isinstance(logger, logging.Logger) and logger.level
        }
        before = self._known.get("levels", {})
        is_new = self._is_new("levels", now)
        return {**dict.fromkeys(before.keys() - now.keys(), 0), **now} if is_new else None

    def _starts_to_record(self) -> bool:
        if self._warned:
            return False
        self._warned = (
            "recwarn" in self._fixtures
            or _recorder() is not self._recorder
            or any(action == "error" for action, *_ in warnings.filters)
        )
        return self._warned

    # -- effects --------------------------------------------------------------------------------

    def apply(self, effects: dict[Any, Any]) -> Warning | None:
        """Repeat effects of the program here. They are not trusted.

        Returns
        -------
        Warning or None
            The first warning that the check has made an error.

        Raises
        ------
        WireError
            If they are malformed.
        """
        for path, content in effects.get("folders", {}).items():
            if path not in self._folders or type(content) is not dict:
                raise WireError("a folder that the program does not have")
            self._folders[path].update(content)
        if "drew" in effects:
            # The program goes on with its numbers unless the check sets a state, be it the same as
            # before. It does not choose the state of the check, which may draw its inputs.
            random()  # noqa: S311 - not for cryptography
            self._known["random"] = getstate()
        for record in effects.get("records", []):
            name, level, path, line, message, function, error = take(
                list(record), str, int, str, int, str, str, str
            )
            made = logging.LogRecord(name, level, path, line, message, None, None, function)
            made.exc_text = error or None
            logging.getLogger(name).handle(made)
        failed: Warning | None = None
        for warning in effects.get("warnings", []):
            category, message, line = warning
            take([message, line], str, int)
            if not (isinstance(category, type) and issubclass(category, Warning)):
                raise WireError("a warning of a class that is none")
            # A class of the program is known by its base, since calling it would ask the program.
            category = next(
                kind
                for kind in category.__mro__
                if issubclass(kind, Warning) and not isinstance(kind, HandleType)
            )
            # The line is quoted from the file, so the program does not name one. A new registry,
            # since the filters of the check shall not count a program's warnings as repeated.
            try:
                warn_explicit(message, category, _PROGRAM_FILE, line, registry={})
            except ResourceWarning:
                pass  # destructors warn of it, whose exceptions end nothing
            except Warning as error:
                failed = failed or error
        return failed

    def write_output(self, execution: Execution) -> None:
        """Write the program's new output where that of the check goes."""
        execution.drain_output()
        streams = {execution.errors: sys.stderr, execution.output: sys.stdout}
        for output, stream in streams.items():
            text = output.text()
            # A stream of the program would print by a request, after which this is done again.
            if not is_of_program(stream):
                stream.write(text[self._written.get(output, 0) :])
            self._written[output] = len(text)

    def skip_output(self, execution: Execution) -> None:
        """Leave out the output so far, which the program wrote before the check redirected it."""
        execution.drain_output()
        for output in (execution.output, execution.errors):
            self._written[output] = len(output.text())


def _recorder() -> Any:
    """Return the list to which ``warnings.catch_warnings(record=True)`` adds at present."""
    return getattr(warnings._showwarnmsg_impl, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
