"""Processes made ready ahead: forked and confined while the program before them runs.

A spare waits for its program on its channel and runs no line of any until then. It waits in a jail
of its own, which no other program uses meanwhile, so neither sees the other nor is charged for it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.sandbox.limits import Limits
    from pytest_promptse.sandbox.slot import Slot


class Spares:
    """The turns that wait, at most one to a slot; a slot is asked for by who holds it."""

    def __init__(self) -> None:
        self._waiting: dict[Slot, Turn] = {}

    def among(self, slots: Iterable[Slot]) -> Slot | None:
        """Return one of `slots` in which a turn waits, if there is any."""
        return next((slot for slot in slots if slot in self._waiting), None)

    def make(self, slot: Slot, limits: Limits, *, folder: str) -> None:
        """Make a turn ready in `slot`; one that cannot be is missed by nobody."""
        with contextlib.suppress(SandboxError):
            self._waiting[slot] = Turn(slot, limits, folder=folder)

    def take(self, slot: Slot, limits: Limits) -> Turn | None:
        """Return the turn that waits in `slot`, if it is alive and can be held to `limits`."""
        turn = self._waiting.get(slot)
        if turn is None or not turn.adopt(limits):
            return None
        return self._waiting.pop(slot)

    def drop(self, slot: Slot) -> None:
        """End the turn that waits in `slot`, if there is one."""
        turn = self._waiting.pop(slot, None)
        if turn is not None:
            with contextlib.suppress(SandboxError):
                turn.close()

    def close(self) -> None:
        """End every turn that waits."""
        for slot in [*self._waiting]:
            self.drop(slot)
