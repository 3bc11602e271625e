"""What an item measures or decides, and the ids that name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.plugin._checks import TASK
from pytest_promptse.run._plan import PlannedComparison, PlannedVariant
from pytest_promptse.store._run_log import PlannedGate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_promptse.run._plan import Suite
    from pytest_promptse.store._run_log import SuiteKey
    from pytest_promptse.tasks._task import Task

Subject: TypeAlias = PlannedVariant | PlannedGate | PlannedComparison
"""The variant that an item measures, or the gate or comparison that it decides."""


class IdParts(NamedTuple):
    """The optional parts of an item's id before the name of its variant or gate.

    A field is True if the part is needed to tell items apart.
    """

    model: bool
    template: bool
    task: bool

    @classmethod
    def needed_for(cls, suites: Sequence[Suite], *, task: bool) -> IdParts:
        """Return the parts that distinguish the items of `suites`.

        Parameters
        ----------
        suites
            The suites of one test function or suite file.
        task
            True if the name of the task is a part of the id.
        """
        keys = [suite.key for suite in suites]
        return cls(
            model=len({key.model for key in keys}) > 1,
            template=len({key.template for key in keys}) > 1,
            task=task,
        )

    def id_of(self, suite: Suite, subject: Subject) -> str:
        """Return the id of the item of a variant, gate or comparison of `suite`.

        The parts are joined by ``-``.
        """
        if isinstance(subject, PlannedVariant):
            task, name = (subject.task.id if self.task else None), subject.outline.id
        else:
            # The gate of a task has the task's name, even if other ids do not need it.
            task, name = subject.task, subject.name
        parts = (
            suite.key.model if self.model else None,
            suite.key.template if self.template else None,
            task,
            name,
        )
        return "-".join(part for part in parts if part is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemTarget:
    """The variant or gate of a pytest item.

    Attributes
    ----------
    id
        The part of the item's name in brackets.
    suite
        The suite of the variant or gate.
    id_parts
        The optional parts of the ids in the suite.
    subject
        The variant that the item measures, or the gate or comparison that it decides.
    """

    id: str
    suite: Suite
    id_parts: IdParts
    subject: Subject

    @property
    def task(self) -> Task | None:
        """The task of the variant or gate, or None for a gate of the whole suite."""
        if isinstance(self.subject, PlannedVariant):
            return self.subject.task
        ids = {task.id: task for task in self.suite.tasks}
        return None if self.subject.task is None else ids[self.subject.task]

    def needed(self) -> tuple[PlannedVariant, ...]:
        """Return the variants that must be measured for this item."""
        if isinstance(self.subject, PlannedVariant):
            return (self.subject,)
        return self.suite.needed_by(self.subject)


TARGET: pytest.StashKey[ItemTarget] = pytest.StashKey()
"""Key of the target in an item's stash."""


class NodeIds(NamedTuple):
    """The node ids of single items on the command line.

    Attributes
    ----------
    text
        All of the command line's node ids, one per line. None if an argument is no node id of a
        single item, so that any item may be selected.
    """

    text: str | None

    @classmethod
    def given_to(cls, config: pytest.Config) -> NodeIds:
        """Return the node ids among the arguments of a session."""
        paths = [argument.partition("[")[0] for argument in config.args]
        single = all(
            "::" in path and path != argument
            for path, argument in zip(paths, config.args, strict=True)
        )
        return cls("\n".join(config.args) if single else None)

    def may_contain(self, part: str) -> bool:
        """Return whether one of the given node ids may contain `part`.

        pytest escapes some characters in node ids. A part with such characters may be in any.
        """
        is_escaped = not (part.isascii() and part.isprintable()) or "\\" in part
        return self.text is None or is_escaped or part in self.text


def targets_of(suite: Suite, id_parts: IdParts, given: NodeIds) -> Iterator[ItemTarget]:
    """Yield a target for each variant and control, then for each gate and the comparison.

    Drawing the variants of hundreds of tasks for one item would take most of its time. So targets
    that the given node ids do not name are left out. The suite has their variants nonetheless.

    Parameters
    ----------
    suite
        The suite of the targets.
    id_parts
        Defines the ids of the targets.
    given
        The node ids on the command line.
    """
    comparison = suite.comparison
    subjects: list[Subject] = [*suite.variants, *suite.controls, *suite.gates]
    if comparison is not None:
        subjects.append(comparison)
    for subject in subjects:
        if _may_be_given(subject, given):
            target_id = id_parts.id_of(suite, subject)
            yield ItemTarget(id=target_id, suite=suite, id_parts=id_parts, subject=subject)


def _may_be_given(subject: Subject, given: NodeIds) -> bool:
    if not isinstance(subject, PlannedVariant):
        return given.may_contain(subject.name)
    # The id of a task is the name of its function or class, or a part of the item's name. The id of
    # a variant comes last, since asking for it draws the variants of the task.
    distance = f"d{subject.distance:g}-" if subject.distance else ""
    return all(map(given.may_contain, (subject.task.id, distance))) and given.may_contain(
        subject.outline.id
    )


def needed_by(targets: Iterable[ItemTarget]) -> list[tuple[Suite, PlannedVariant]]:
    """Return each variant that any of the targets needs once, with its suite."""
    needed: dict[tuple[SuiteKey, tuple[str, str]], tuple[Suite, PlannedVariant]] = {}
    for target in targets:
        for planned in target.needed():
            needed.setdefault((target.suite.key, planned.key), (target.suite, planned))
    return list(needed.values())


def unselected(targets: Iterable[ItemTarget]) -> tuple[int, int]:
    """Return how many variants no target needs, and how many all suites of the targets have."""
    targets = list(targets)
    planned = sum(len(suite.variants) for suite in {t.suite.key: t.suite for t in targets}.values())
    selected = sum(not variant.control for _, variant in needed_by(targets))
    return planned - selected, planned


def task_of(item: pytest.Item) -> Task:
    """Return the task of the program that `item` judges at present.

    Raises
    ------
    TaskError
        If the item has no ``promptse`` mark.
    """
    if TASK in item.stash:
        return item.stash[TASK]
    target = item.stash.get(TARGET, None)
    if target is None:
        raise TaskError(
            f"{item.nodeid}: takes 'task' but has no promptse mark; "
            "add @pytest.mark.promptse('the prompt')"
        )
    return target.task or target.suite.tasks[0]


def node_id_of(item: pytest.Item, target: ItemTarget, planned: PlannedVariant) -> str | None:
    """Return the node id of the item that measures `planned`, a variant of the same suite.

    `item` is the item of `target`. The result is None if the id cannot be derived from that of
    `item`.
    """
    variant_id = target.id_parts.id_of(target.suite, planned)
    if not isinstance(item, pytest.Function):
        return f"{target.suite.id}::{planned.task.id}[{variant_id}]"
    begin = f"{item.originalname}[{target.id}"
    # pytest escapes non-ASCII characters in an id. The part of the id from this plugin is then
    # unknown.
    if not (item.name.startswith(begin) and variant_id.isascii()):
        return None
    before = item.nodeid.removesuffix(item.name)
    return f"{before}{item.originalname}[{variant_id}{item.name.removeprefix(begin)}"
