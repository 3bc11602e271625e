"""Collection: turn a mark or a suite file into one pytest item per variant and gate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import PromptseError, TaskError, VariantError
from pytest_promptse.plugin import _fixtures
from pytest_promptse.plugin._checks import door_of, refuse_soft_assertions
from pytest_promptse.plugin._invocation import BAD_MARKS, NO_MODEL
from pytest_promptse.plugin._items import run_suite_file_item
from pytest_promptse.plugin._pytest_private import collected_fixture_definitions
from pytest_promptse.plugin._session import promptse_session
from pytest_promptse.plugin._targets import TARGET, IdParts, ItemTarget, NodeIds, targets_of
from pytest_promptse.run._plan import check_ids
from pytest_promptse.runtimes._check_files import read_check_file
from pytest_promptse.runtimes._detect import language_of_prompt
from pytest_promptse.store._run_log import PlannedGate
from pytest_promptse.tasks._suitefile import load_suite
from pytest_promptse.tasks._task import PROGRAM_ENTRY, Task, find_entry_point
from pytest_promptse.variants._choices import check_choices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.runtimes._runtime import Door

_DOORS: tuple[Door, ...] = ("candidate", "program")
_TASK_KEYWORDS = ("entry_point", "reference", "check")


@dataclass(frozen=True, kw_only=True)
class _Mark:
    """A ``promptse`` mark: its tasks, whether it has a single prompt, and its settings.

    ``tasks`` loads the tasks when it is called. ``door`` is the fixture that the function takes.
    """

    tasks: Callable[[], tuple[Task, ...]]
    single_prompt: bool
    settings: Settings
    door: Door


def parametrise(metafunc: pytest.Metafunc) -> None:
    """Parametrise a marked test function with a target for each of its variants and gates.

    The error of a mark that cannot be used is put into the stash of the module or class, which
    reports it.

    Parameters
    ----------
    metafunc
        A test function that has a ``promptse`` mark or takes ``candidate``.
    """
    item = metafunc.definition
    try:
        mark = _read_mark(metafunc)
        if mark is None:
            return
        session = promptse_session(metafunc.config)
        if not session.has_models:
            return
        line = metafunc.function.__code__.co_firstlineno
        suites = session.run.plan(
            item.nodeid, mark.tasks(), mark.settings, line=line, door=mark.door
        )
    except PromptseError as error:
        # The error of the module lists all marks that cannot be used.
        if item.parent is None:
            raise pytest.Collector.CollectError(str(error)) from None
        text = str(error)
        place = "" if text.startswith(item.nodeid) else f"{item.nodeid}: "
        item.parent.stash.setdefault(BAD_MARKS, {})[item.name] = f"{place}{text}"
        return
    id_parts = IdParts.needed_for(suites, task=not mark.single_prompt)
    given = NodeIds.given_to(metafunc.config)
    targets: list[ItemTarget] = []
    if given.may_contain(f"{item.name}["):
        targets = [target for suite in suites for target in targets_of(suite, id_parts, given)]
    if not targets:
        # Not an empty list, which the project's settings may turn into an error.
        targets = [next(targets_of(suites[0], id_parts, NodeIds(None)))]
    metafunc.parametrize(
        mark.door, [pytest.param(target, id=target.id) for target in targets], indirect=True
    )


def _read_mark(metafunc: pytest.Metafunc) -> _Mark | None:
    item = metafunc.definition
    where = item.nodeid
    marks = list(item.iter_markers("promptse"))
    if not marks:
        _check_is_marked(metafunc, where)
        return None
    if inspect.iscoroutinefunction(metafunc.function):
        raise TaskError(
            f"{where}: is an async function; make it a plain one, since candidate(...) returns "
            "the program's answer itself"
        )
    for name in metafunc.fixturenames:
        definitions = collected_fixture_definitions(metafunc, name)
        if definitions:
            refuse_soft_assertions(definitions[-1], where)
    door = _door(metafunc, where)
    keywords: dict[str, Any] = {}
    for mark in reversed(marks):
        keywords |= mark.kwargs
    with_nodes = item.iter_markers_with_node("promptse")
    node, source = next(((node, mark.args) for node, mark in with_nodes if mark.args), (item, ()))
    of_task = {name: keywords.pop(name) for name in _TASK_KEYWORDS if name in keywords}
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
    settings = promptse_session(metafunc.config).given.of_suite(
        keywords,
        where=lambda name: f"{where}, promptse mark, {name}",
        folder=item.path.parent,
    )
    # All methods under the mark of a class share its prompt, and therefore its completions.
    name = node.name if isinstance(node, pytest.Class) else getattr(item, "originalname", item.name)
    return _Mark(
        tasks=lambda: _tasks(
            source[0],
            of_task,
            name=name,
            where=where,
            language=settings.language or "",
            door=door,
            folder=item.path.parent,
        ),
        single_prompt=isinstance(source[0], str),
        settings=settings,
        door=door,
    )


def _door(metafunc: pytest.Metafunc, where: str) -> Door:
    taken = [name for name in _DOORS if name in metafunc.fixturenames]
    if not taken:
        raise TaskError(f"{where}: has a promptse mark but does not take 'candidate'; add it")
    if len(taken) > 1:
        raise TaskError(
            f"{where}: takes both 'candidate' and 'program'; take 'candidate' to call the program, "
            "or 'program' to run it"
        )
    return taken[0]


def _check_is_marked(metafunc: pytest.Metafunc, where: str) -> None:
    for name in _DOORS:
        definitions = collected_fixture_definitions(metafunc, name)
        if definitions and definitions[-1].func.__module__ == _fixtures.__name__:
            raise TaskError(
                f"{where}: takes {name!r} but has no promptse mark; "
                "add @pytest.mark.promptse('the prompt')"
            )


def _tasks(
    source: object,
    of_task: Mapping[str, Any],
    *,
    name: str,
    where: str,
    language: str,
    door: Door,
    folder: Path,
) -> tuple[Task, ...]:
    if isinstance(source, str):
        fields = _fields_of_task(source, of_task, language=language, door=door, folder=folder)
        return (Task(id=name, prompt=source, language=language, **fields),)
    if of_task:
        raise TaskError(
            f"{where}: {', '.join(of_task)} belongs to a single prompt; give it to each Task "
            "instead"
        )
    if isinstance(source, Task):
        return (replace(source, language=source.language or language),)
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
            raise TaskError(f"{where}: {task!r} among the tasks is not a Task")
    if not tasks:
        raise TaskError(f"{where}: the promptse mark got no tasks; give it at least one")
    check_ids(tasks, where)
    return tuple(replace(task, language=task.language or language) for task in tasks)


def _fields_of_task(
    prompt: str, of_task: Mapping[str, Any], *, language: str, door: Door, folder: Path
) -> dict[str, Any]:
    """Return the fields of the task of a single prompt, for the keywords of its mark."""
    fields = dict(of_task)
    check = fields.pop("check", None)
    if check is not None:
        language = language or language_of_prompt(prompt)
        fields["check_file"] = read_check_file(folder / check, language=language)
    elif door == "program":
        fields.setdefault("entry_point", find_entry_point(prompt) or PROGRAM_ENTRY)
    return fields


def set_target(item: pytest.Item) -> None:
    """Give a marked item its target, or skip it if the run has no model.

    Raises
    ------
    pytest.UsageError
        If the item cannot take ``candidate``.
    """
    name = getattr(item, "originalname", item.name)
    if item.parent is not None and name in item.parent.stash.get(BAD_MARKS, {}):
        return
    callspec = getattr(item, "callspec", None)
    door = door_of(getattr(item, "fixturenames", ()))
    target = callspec.params.get(door) if callspec is not None else None
    if callspec is None or not isinstance(target, ItemTarget):
        if not isinstance(item, pytest.Function) or door not in item.fixturenames:
            raise pytest.UsageError(
                f"{item.nodeid}: a promptse mark needs a plain pytest function or method; "
                "unittest.TestCase cannot take 'candidate'"
            )
        item.add_marker(pytest.mark.skip(reason=NO_MODEL))
        return
    if any(name != door for name in callspec.params):
        # The user's own parameters make another check, and so another suite with the same variants.
        rest = callspec.id.replace(target.id, "", 1).strip("-").replace("--", "-")
        session = promptse_session(item.config)
        suite = session.suite_with_id(target.suite, f"{target.suite.id}[{rest}]")
        target = replace(target, suite=suite)
    item.stash[TARGET] = target


class SuiteFileCollector(pytest.File):
    """A ``*.promptse.yaml`` file."""

    def collect(self) -> Iterator[pytest.Item]:
        session = promptse_session(self.config)
        try:
            file = load_suite(self.path, language=session.given.settings.language or "")
            place = f"{self.path.name}:{file.settings_line}"
            settings = session.given.of_suite(
                file.settings, where=lambda name: f"{place}, {name}", folder=self.path.parent
            )
            if not session.has_models:
                for skipped in file.tasks:
                    item = SuiteFileItem.from_parent(self, name=skipped.id, target=None, line=1)
                    item.add_marker(pytest.mark.skip(reason=NO_MODEL))
                    yield item
                return
            try:
                suites = session.run.plan(self.nodeid, file.tasks, settings, line=1)
            except VariantError as error:
                check_choices(
                    settings,
                    session.run.library,
                    lambda name: f"{place}, {name}" if name in file.settings else None,
                )
                raise error from None
        except PromptseError as error:
            raise self.CollectError(str(error)) from None
        id_parts = IdParts.needed_for(suites, task=False)
        given = NodeIds.given_to(self.config)
        for suite in suites:
            for target in targets_of(suite, id_parts, given):
                task, own_id = target.task, target.id
                if task is not None and isinstance(target.subject, PlannedGate):
                    # The name before the brackets is that of the task.
                    name = target.subject.name
                    own_id = own_id.removesuffix(f"{task.id}-{name}") + name
                name = f"{task.id if task else 'suite'}[{own_id}]"
                line = file.task_lines[task.id] if task else 1
                # A plain str, so that the node id equals the one that --lf has stored.
                node_id = f"{self.nodeid}::{name}"
                yield SuiteFileItem.from_parent(
                    self, name=name, nodeid=node_id, target=target, line=line
                )


class SuiteFileItem(pytest.Item):
    """A variant or a gate of a suite file, checked by the examples or tests of its task."""

    def __init__(self, *, target: ItemTarget | None, line: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._line = line
        if target is not None:
            self.stash[TARGET] = target

    def runtest(self) -> None:
        run_suite_file_item(self, promptse_session(self.config).run)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, self._line - 1, self.name
