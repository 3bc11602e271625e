"""The sandbox: slots in which programs take turns, one process ahead of them."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Self

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox.candidate import Candidate
from pytest_promptse.sandbox.limits import Limits
from pytest_promptse.sandbox.spares import Spares
from pytest_promptse.sandbox.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.sandbox.slot import Slot

_DEFAULT_LIMITS = Limits()
# Another jail takes as long to open as spares save on so many programs.
_WORTH_ANOTHER_JAIL = 100


class Sandbox:
    """Slots to run programs in; made by `tiers.open_sandbox`, closed by `close` or ``with``.

    Attributes
    ----------
    tier : str
        ``bwrap``, ``docker``, ``podman`` or ``none``.
    description : str
        One line that says what this tier protects.

    With ``ahead`` an idle slot makes a process ready for the program after the one that runs.
    """

    def __init__(
        self,
        *,
        tier: str,
        description: str,
        make_slot: Callable[[int], Slot],
        release: Callable[[], None],
        slots: int,
        folder: str,
        ahead: bool = False,
    ) -> None:
        self.tier = tier
        self.description = description
        self.slots = slots
        self._make_slot = make_slot
        self._release = release
        self._folder = folder
        self._ahead = ahead
        self._spares = Spares()
        self._started = 0
        self._all: list[Slot] = []
        self._free: list[Slot] = []
        self._busy = 0
        self._alone = False
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def load(
        self,
        program: str,
        *,
        entry_point: str,
        limits: Limits = _DEFAULT_LIMITS,
        alone: bool = False,
    ) -> Iterator[Candidate]:
        """Load `program` and give it the turn until the end of the ``with``.

        Threads may load at once, as many as there are slots; more wait.

        Parameters
        ----------
        program : str
            Source text of a module.
        entry_point : str
            Name of the function or class that a call of the candidate calls.
        limits : Limits
            What the program may use in this turn.
        alone : bool
            Wait until no other program runs, and let none start meanwhile: for a time-out seen
            while the machine was crowded.

        Raises
        ------
        SandboxError
            When the jail fails. What the program does never raises here.
        """
        with self._slot(alone=alone) as slot:

            def start(*, stdin: bytes | None = None, separate: bool = False) -> Turn:
                is_script = stdin is not None or separate
                turn = None if is_script else self._spares.take(slot, limits)
                if turn is None:
                    self._spares.drop(slot)
                    turn = Turn(slot, limits, folder=self._folder, stdin=stdin, separate=separate)
                self._started += 1
                self._make_spare(limits)
                return turn

            candidate = Candidate(program, entry_point=entry_point, start=start)
            try:
                yield candidate
                candidate.finish()
            finally:
                candidate.close()

    @contextlib.contextmanager
    def _slot(self, *, alone: bool) -> Iterator[Slot]:
        slot = self._acquire(alone=alone)
        try:
            yield slot
        finally:
            self._release_slot(slot, alone=alone)

    def _release_slot(self, slot: Slot, *, alone: bool = False) -> None:
        with self._changed:
            self._busy -= 1
            self._alone = False if alone else self._alone
            self._free.append(slot)
            self._changed.notify_all()

    def _acquire(self, *, alone: bool) -> Slot:
        with self._changed:
            if alone:
                self._changed.wait_for(lambda: not self._alone)
                self._alone = True
                self._changed.wait_for(lambda: self._busy == 0)
            else:
                self._changed.wait_for(lambda: not self._alone and self._busy < self.slots)
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._busy += 1
            if self._free:
                # The one used last has its pages in the caches.
                slot = self._spares.among(self._free) or self._free[-1]
                self._free.remove(slot)
                return slot
            slot = self._make_slot(len(self._all))
            self._all.append(slot)
            return slot

    def _make_spare(self, limits: Limits) -> None:
        """Make a process ready for the program after this one, where a slot is idle."""
        with self._changed:
            if not self._ahead or self._alone or self._spares.among(self._free):
                return
            if self._free:
                slot = self._free.pop()
            elif len(self._all) < self.slots and self._started > _WORTH_ANOTHER_JAIL:
                slot = self._make_slot(len(self._all))
                self._all.append(slot)
            else:
                return
            self._busy += 1
        try:
            self._spares.make(slot, limits, folder=self._folder)
        finally:
            self._release_slot(slot)

    def close(self) -> None:
        """End every jail; safe to call twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        for slot in self._all:
            slot.stop()
        self._spares.close()
        self._release()
