"""What a check has set up around the program, and what the program does to it.

In one process, a check and a program share the environment, the working directory, temporary files,
the log and warnings. Here the check hands over what it has changed before a request, and the
program's effects come back with its answer.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from pytest_promptse.sandbox.guest.folders import Folder
from pytest_promptse.sandbox.guest.unpatched import __builtins__, importlib, io, os, random

_MOST_RECORDS = 1_000
_CHARS = 10_000


class Surroundings:
    """The surroundings of one program, in the jail."""

    def __init__(self) -> None:
        self._folders: dict[str, Folder] = {}
        self._random_state: Any = None
        # What the program had under the names that the check has patched.
        self._originals: dict[tuple[str, str], list[Any]] = {}
        self._effects: dict[str, list[Any]] = {"records": [], "warnings": []}

    def adopt(self, changes: dict[str, Any]) -> None:
        """Set up what the check has changed. Every key is the name of a method here."""
        for name, value in changes.items():
            getattr(self, f"_{name}")(value)

    def effects(self) -> dict[str, Any]:
        """Return the effects of the program since the last call, without empty ones."""
        found: dict[str, Any] = {
            path: content
            for path, folder in self._folders.items()
            if (content := folder.take_changes())
        }
        effects: dict[str, Any] = {"folders": found} if found else {}
        if self._random_state is not None and random.getstate() != self._random_state:
            self._random_state = random.getstate()
            effects["drew"] = True
        for name, items in self._effects.items():
            if items:
                effects[name] = items[:_MOST_RECORDS]
                self._effects[name] = []
        return effects

    def _folders_changed(self, changes: dict[str, Any]) -> None:
        for path, content in changes.items():
            self._folders.setdefault(path, Folder(path)).update(content)

    @staticmethod
    def _environment(changes: dict[str, str | None]) -> None:
        for name, value in changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @staticmethod
    def _directory(path: str) -> None:
        os.chdir(path)

    def _random(self, state: Any) -> None:
        random.setstate(state)
        self._random_state = state

    @staticmethod
    def _stdin(text: str) -> None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")

    def _patches(self, patches: list[tuple[str, str, Any]]) -> None:
        for module, path, values in patches:
            *names, name = path.split(".")
            owner = importlib.import_module(module)
            for inner in names:
                owner = getattr(owner, inner)
            present = [vars(owner)[name]] if name in vars(owner) else []
            before = self._originals.setdefault((module, path), present)
            new = before if values is None else values
            if new:
                setattr(owner, name, new[0])
            elif present:
                delattr(owner, name)

    def _levels(self, levels: dict[str, int]) -> None:
        """Set the levels of loggers, and collect records."""
        import logging  # noqa: PLC0415 - heavy; only for checks that read the log

        surroundings = self

        class Collector(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                formatter = logging.Formatter()
                error = record.exc_info and formatter.formatException(record.exc_info)
                surroundings._effects["records"].append(
                    (
                        record.name,
                        record.levelno,
                        record.pathname,
                        record.lineno,
                        record.getMessage()[:_CHARS],
                        record.funcName or "",
                        (error or "")[:_CHARS],
                    )
                )

        root = logging.getLogger()
        if not any(type(handler).__name__ == "Collector" for handler in root.handlers):
            root.addHandler(Collector())
        for name, level in levels.items():
            logging.getLogger(name or None).setLevel(level)

    def _warned(self, _: bool) -> None:
        """Collect warnings."""
        warnings.simplefilter("always")

        def collect(
            message: Any, category: Any, filename: str, lineno: int, *_rest: Any, **_names: Any
        ) -> None:
            del filename
            self._effects["warnings"].append((category, str(message)[:_CHARS], lineno))

        warnings.showwarning = collect
