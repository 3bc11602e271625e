"""Hooks of installed plugins, and tasks of a project's tests, for the ``promptse`` command."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

from pytest_promptse import hookspecs
from pytest_promptse.config._options import add_metric
from pytest_promptse.errors import TaskError
from pytest_promptse.run._extensions import Extensions

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.instruments import Instrument
    from pytest_promptse.tasks._task import Task

_PREFIX = "pytest_promptse_"
_PLAIN: pluggy.HookimplOpts = {
    "wrapper": False,
    "hookwrapper": False,
    "optionalhook": False,
    "tryfirst": False,
    "trylast": False,
    "specname": None,
}


class _Plugins(pluggy.PluginManager):
    """Register the hooks of this package alone. As in pytest, they need no decorator."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if not name.startswith(_PREFIX) or not callable(getattr(plugin, name, None)):
            return None
        return super().parse_hookimpl_opts(plugin, name) or _PLAIN


def installed_instruments() -> list[Instrument]:
    """Return the instruments of installed packages. Only their modules are imported."""
    plugins = _Plugins("pytest")
    plugins.add_hookspecs(hookspecs)
    plugins.load_setuptools_entrypoints(hookspecs.INSTRUMENTS)
    return [
        instrument for some in plugins.hook.pytest_promptse_instruments() for instrument in some
    ]


@cache
def hooks() -> pluggy.HookRelay:
    """Return the hooks of installed pytest plugins and of ``conftest.py`` in this folder."""
    plugins = _Plugins("pytest")
    plugins.add_hookspecs(hookspecs)
    plugins.load_setuptools_entrypoints("pytest11")
    path = Path("conftest.py").resolve()
    if path.is_file():
        plugins.register(_loaded(path))
    plugins.hook.pytest_promptse_metrics.call_historic(result_callback=_add_metrics)
    return plugins.hook


def _add_metrics(metrics: Iterable[Metric]) -> None:
    for metric in metrics:
        add_metric(metric)


def _loaded(path: Path) -> object:
    spec = importlib.util.spec_from_file_location("conftest", path)
    if spec is None or spec.loader is None:
        raise TaskError(f"{path}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TaskError(f"{path}: {error!r} while it was imported") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def extensions() -> Extensions:
    """Return the backends and rewriters, those of `hooks` among them."""
    return Extensions(hooks())


class _Collected:
    """A pytest plugin that keeps the tasks of the collected marks."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.problems: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            callspec = getattr(item, "callspec", None)
            params = {} if callspec is None else callspec.params
            target = params.get("candidate", params.get("program"))
            suite = getattr(target, "suite", None)
            if suite is not None:
                self.tasks |= {task.id: task for task in suite.tasks}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(str(report.longrepr).strip().splitlines()[-1])


def tasks_of_tests(path: Path) -> tuple[Task, ...]:
    """Return the tasks of the marks in a test file.

    Raises
    ------
    TaskError
        If the file cannot be collected or has no mark.
    """
    import pytest  # noqa: PLC0415 - only test files need it

    collected = _Collected()
    pytest.main(
        [
            *("--collect-only", "-p", "no:terminal", "-p", "no:cacheprovider"),
            *("--promptse-model", "reference", str(path)),
        ],
        plugins=[collected],
    )
    if collected.problems:
        raise TaskError(f"{path}: {'; '.join(collected.problems)}")
    if not collected.tasks:
        raise TaskError(f"{path}: no promptse mark in this file")
    return tuple(collected.tasks.values())
