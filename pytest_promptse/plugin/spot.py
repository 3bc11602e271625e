"""The spot: what one pytest item stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.run.plan import GateSpot, Suite, Wording
    from pytest_promptse.tasks.task import Task


class Named(NamedTuple):
    """Which parts of an id are written, since there are several of them."""

    model: bool
    template: bool
    task: bool

    @classmethod
    def among(cls, suites: Sequence[Suite], *, task: bool) -> Named:
        """Return what tells the wordings of `suites` apart, with their tasks' names or without."""
        keys = [suite.key for suite in suites]
        return cls(
            model=len({key.model for key in keys}) > 1,
            template=len({key.template for key in keys}) > 1,
            task=task,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """A wording of a suite, or one of its gates; exactly one of the two is given.

    ``named`` says what stands before a wording's own name in ids.
    """

    id: str
    suite: Suite
    named: Named
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
        return _wording_id(self.suite, wording, self.named)

    def wordings(self) -> tuple[Wording, ...]:
        """Return the wordings that the item needs measured."""
        if self.wording is not None:
            return (self.wording,)
        assert self.gate is not None
        return self.suite.needed(self.gate)


SPOT: pytest.StashKey[Spot] = pytest.StashKey()


def spots_of(suite: Suite, named: Named) -> Iterator[Spot]:
    """Lay out a suite as items: its wordings task by task, then the gates."""
    for wording in suite.wordings:
        yield Spot(id=_wording_id(suite, wording, named), suite=suite, named=named, wording=wording)
    for gate in suite.gates:
        # Beside the suite's own gate a task's gate always needs the task's name.
        own = _joined(suite, named, gate.task, gate.name)
        yield Spot(id=own, suite=suite, named=named, gate=gate)


def _wording_id(suite: Suite, wording: Wording, named: Named) -> str:
    return _joined(suite, named, wording.task if named.task else None, wording.variant.id)


def _joined(suite: Suite, named: Named, task: Task | None, own: str) -> str:
    key = suite.key
    parts = (
        key.model if named.model else None,
        key.template if named.template else None,
        task.id if task else None,
        own,
    )
    return "-".join(part for part in parts if part is not None)
