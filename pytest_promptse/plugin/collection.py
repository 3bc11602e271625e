"""Collection: a mark or a suite file becomes one pytest item per wording, plus the gates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import PromptseError, TaskError
from pytest_promptse.plugin.hooks import candidate as own_candidate
from pytest_promptse.plugin.items import run_suite_file_item
from pytest_promptse.plugin.session import bridge
from pytest_promptse.plugin.spot import SPOT, Named, Spot, spots_of
from pytest_promptse.run.plan import check_ids
from pytest_promptse.tasks.suitefile import load_suite
from pytest_promptse.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.config.settings import Settings

NO_MODEL = "promptse: no model; give --promptse-model, for example --promptse-model tiny"
_TASK_KEYWORDS = ("entry_point", "reference")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A ``promptse`` mark as read: where its tasks come from and its settings."""

    tasks: Callable[[], tuple[Task, ...]]
    single: bool
    settings: Settings


def parametrise(metafunc: pytest.Metafunc) -> None:
    """Turn a marked test function into its wordings and gates."""
    item = metafunc.definition
    try:
        mark = _read_mark(metafunc)
        if mark is None:
            return
        made = bridge(metafunc.config)
        if not made.has_models:
            return
        line = metafunc.function.__code__.co_firstlineno
        suites = made.run.plan(item.nodeid, mark.tasks(), mark.settings, line=line)
    except PromptseError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    spots = [
        spot
        for suite in suites
        for spot in spots_of(suite, Named.among(suites, task=not mark.single))
    ]
    metafunc.parametrize(
        "candidate", [pytest.param(spot, id=spot.id) for spot in spots], indirect=True
    )


def _read_mark(metafunc: pytest.Metafunc) -> Mark | None:
    item = metafunc.definition
    marks = list(item.iter_markers("promptse"))
    if not marks:
        fixtures = metafunc._arg2fixturedefs.get("candidate", ())  # noqa: SLF001 - no public way
        if fixtures and fixtures[-1].func.__module__ == own_candidate.__module__:
            raise TaskError(
                f"{item.nodeid}: takes 'candidate' but has no promptse mark; "
                "add @pytest.mark.promptse('the prompt')"
            )
        return None
    where = item.nodeid
    if inspect.iscoroutinefunction(metafunc.function):
        raise TaskError(
            f"{where}: is an async function; make it a plain one, since candidate(...) returns "
            "the program's answer itself"
        )
    if "candidate" not in metafunc.fixturenames:
        raise TaskError(f"{where}: has a promptse mark but does not take 'candidate'; add it")
    keywords: dict[str, Any] = {}
    for mark in reversed(marks):
        keywords |= mark.kwargs
    source = next((mark.args for mark in marks if mark.args), ())
    own = {name: keywords.pop(name) for name in _TASK_KEYWORDS if name in keywords}
    if not source:
        raise TaskError(
            f"{where}: the promptse mark has no prompt; give it a prompt, or tasks, as its "
            "first argument"
        )
    if len(source) > 1:
        raise TaskError(
            f"{where}: the promptse mark takes one prompt, or one iterable of tasks, not "
            f"{len(source)} arguments"
        )
    settings = bridge(metafunc.config).suite_settings(
        keywords,
        where=lambda name: f"{where}, promptse mark, {name}",
        folder=item.path.parent,
    )
    name = getattr(item, "originalname", item.name)
    return Mark(
        tasks=lambda: _tasks(source[0], own, name=name, where=where),
        single=isinstance(source[0], str),
        settings=settings,
    )


def _tasks(source: object, own: Mapping[str, Any], *, name: str, where: str) -> tuple[Task, ...]:
    if isinstance(source, str):
        return (Task(id=name, prompt=source, **own),)
    if own:
        raise TaskError(
            f"{where}: {', '.join(own)} belongs to a single prompt; give it to each Task instead"
        )
    if isinstance(source, Task):
        return (source,)
    if callable(source):
        source = source()
    if not isinstance(source, Iterable):
        raise TaskError(
            f"{where}: the promptse mark got {source!r}; give it a prompt, a Task or an iterable "
            "of Tasks"
        )
    tasks = tuple(source)
    for task in tasks:
        if not isinstance(task, Task):
            raise TaskError(f"{where}: {task!r} among the tasks is no Task")
    if not tasks:
        raise TaskError(f"{where}: the promptse mark got no tasks; give it at least one")
    check_ids(tasks, where)
    return tasks


def place(item: pytest.Item) -> None:
    """Give a marked item its spot, or the reason why it is skipped."""
    callspec = getattr(item, "callspec", None)
    spot = callspec.params.get("candidate") if callspec else None
    if not isinstance(spot, Spot):
        if not isinstance(item, pytest.Function) or "candidate" not in item.fixturenames:
            raise pytest.UsageError(
                f"{item.nodeid}: a promptse mark needs a plain pytest function or method; "
                "unittest.TestCase cannot take 'candidate'"
            )
        item.add_marker(pytest.mark.skip(reason=NO_MODEL))
        return
    assert callspec is not None
    others = {name for name in callspec.params if name != "candidate"}
    if others:
        # Parameters of the user's own make another check, so another suite of the same wordings.
        rest = callspec.id.replace(spot.id, "", 1).strip("-").replace("--", "-")
        suite = bridge(item.config).twin(spot.suite, f"{spot.suite.id}[{rest}]")
        spot = replace(spot, suite=suite)
    item.stash[SPOT] = spot


class SuiteFileCollector(pytest.File):
    """A ``*.promptse.yaml`` file."""

    def collect(self) -> Iterator[pytest.Item]:
        made = bridge(self.config)
        try:
            file = load_suite(self.path)
            place = f"{self.path.name}:{file.settings_line}"
            settings = made.suite_settings(
                file.settings, where=lambda name: f"{place}, {name}", folder=self.path.parent
            )
            if not made.has_models:
                for task in file.tasks:
                    item = SuiteFileItem.from_parent(self, name=task.id, spot=None, line=1)
                    item.add_marker(pytest.mark.skip(reason=NO_MODEL))
                    yield item
                return
            suites = made.run.plan(self.nodeid, file.tasks, settings, line=1)
        except PromptseError as error:
            raise self.CollectError(str(error)) from None
        for suite in suites:
            for spot in spots_of(suite, Named.among(suites, task=False)):
                owner, own_id = spot.task, spot.id
                if owner is not None and spot.gate is not None:
                    own_id = own_id.removesuffix(f"{owner.id}-{spot.gate.name}") + spot.gate.name
                name = f"{owner.id if owner else 'suite'}[{own_id}]"
                line = file.task_lines[owner.id] if owner else 1
                # Given as text, it is read as pytest reads those that --lf has kept: what is in
                # the brackets apart from the name.
                own = f"{self.nodeid}::{name}"
                yield SuiteFileItem.from_parent(self, name=name, nodeid=own, spot=spot, line=line)


class SuiteFileItem(pytest.Item):
    """A wording or a gate of a suite file, checked by the task's own examples."""

    def __init__(self, *, spot: Spot | None, line: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._line = line
        if spot is not None:
            self.stash[SPOT] = spot

    def runtest(self) -> None:
        run_suite_file_item(self)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, self._line - 1, self.name
