"""The spot: what one pytest item stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.run.plan import GateSpot, Suite, Wording
    from pytest_promptse.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A wording of a suite, or one of its gates; exactly one of the two is given.

    ``name_model`` and ``name_task`` say what stands before a wording's own name in ids.
    """

    id: str
    suite: Suite
    name_model: bool
    name_task: bool
    wording: Wording | None = None
    gate: GateSpot | None = None

    @property
    def task(self) -> Task | None:
        """The one task that the item is about, or None for a gate of the whole suite."""
        if self.wording is not None:
            return self.wording.task
        return self.gate.task if self.gate is not None else None

    def id_of(self, wording: Wording) -> str:
        """Return the id of the spot that measures a wording of the same suite."""
        return _wording_id(self.suite, wording, self.name_model, self.name_task)

    def wordings(self) -> tuple[Wording, ...]:
        """Return the wordings that the item needs measured."""
        if self.wording is not None:
            return (self.wording,)
        assert self.gate is not None
        return self.suite.needed(self.gate)


SPOT: pytest.StashKey[Spot] = pytest.StashKey()


def spots_of(suite: Suite, *, name_model: bool, name_task: bool) -> Iterator[Spot]:
    """Lay out a suite as items: its wordings task by task, then the gates."""
    for wording in suite.wordings:
        own = _wording_id(suite, wording, name_model, name_task)
        yield Spot(id=own, suite=suite, name_model=name_model, name_task=name_task, wording=wording)
    for gate in suite.gates:
        # Beside the suite's own gate a task's gate always needs the task's name.
        task = gate.task.id if gate.task else None
        own = _joined(suite.model if name_model else None, task, gate.name)
        yield Spot(id=own, suite=suite, name_model=name_model, name_task=name_task, gate=gate)


def _wording_id(suite: Suite, wording: Wording, name_model: bool, name_task: bool) -> str:
    return _joined(
        suite.model if name_model else None,
        wording.task.id if name_task else None,
        wording.variant.id,
    )


def _joined(*parts: str | None) -> str:
    return "-".join(part for part in parts if part is not None)
