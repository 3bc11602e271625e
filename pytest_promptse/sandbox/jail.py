"""The sandbox: the strongest tier that works here, and slots in which programs take turns."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pytest_promptse.errors import SandboxError, nearest
from pytest_promptse.sandbox.bubblewrap import bubblewrap_command, python_command
from pytest_promptse.sandbox.candidate import Candidate
from pytest_promptse.sandbox.container import container_command, default_image, find_engine
from pytest_promptse.sandbox.limits import Limits
from pytest_promptse.sandbox.slot import Slot
from pytest_promptse.sandbox.spares import Spares
from pytest_promptse.sandbox.syscalls import Filters, compile_filters
from pytest_promptse.sandbox.turn import Turn
from pytest_promptse.sandbox.view import PACKAGES, build_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIERS = ("auto", "bwrap", "docker", "podman", "none")
_DEFAULT_LIMITS = Limits()
# Another jail takes as long to open as spares save on so many programs.
_WORTH_ANOTHER_JAIL = 100


class Sandbox:
    """Slots to run programs in; made by `open_sandbox`, closed by `close` or ``with``.

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


def open_sandbox(
    tier: str = "auto",
    *,
    slots: int | None = None,
    packages: tuple[str, ...] = ("numpy",),
    image: str | None = None,
) -> Sandbox:
    """Open the sandbox that programs run in.

    Parameters
    ----------
    tier : {"auto", "bwrap", "docker", "podman", "none"}
        What isolates programs from this machine; ``auto`` takes the strongest that works here
        and never ``none``. ``none`` runs them in a separate process without isolation.
    slots : int, optional
        Programs at one time; by default twice the usable cores, since some of them sleep.
    packages : tuple of str
        Packages beyond the standard library that programs may import, where installed. In a
        container programs may import what its image has instead.
    image : str, optional
        Image of the container tiers, with a ``python3``; by default the official slim image of
        this Python's version. It must be there already.

    Raises
    ------
    SandboxError
        When the tier, or under ``auto`` every tier, does not work here.
    """
    if tier not in TIERS:
        raise SandboxError(
            f"unknown sandbox {tier!r}: one of {', '.join(TIERS)}{nearest(tier, TIERS)}"
        )
    count = slots or 2 * len(os.sched_getaffinity(0))
    if count < 1:
        raise SandboxError(f"slots must be at least 1, not {slots}")
    if tier != "auto":
        return _OPENERS[tier](count, packages, image)
    reasons = []
    for name in ("bwrap", "podman", "docker"):
        try:
            return _OPENERS[name](count, packages, image)
        except SandboxError as error:
            reasons.append(f"{name}: {error}")
    raise SandboxError(
        "no sandbox works here (" + "; ".join(reasons) + "): apt-get install bubblewrap, or run "
        "generated programs without protection by --promptse-sandbox none"
    )


def _open(sandbox: Sandbox) -> Sandbox:
    """Return `sandbox` after one program ran in it, so that what fails does so now."""
    try:
        with sandbox.load("def probe(): return 7", entry_point="probe") as candidate:
            answer = candidate()
    except SandboxError:
        sandbox.close()
        raise
    if answer != 7:  # noqa: PLR2004
        sandbox.close()
        raise SandboxError(f"a trial program answered {answer!r} instead of 7")
    return sandbox


def _open_bwrap(slots: int, packages: tuple[str, ...], _: str | None) -> Sandbox:
    program = shutil.which("bwrap")
    if sys.platform != "linux" or program is None:
        raise SandboxError("bubblewrap is not installed: apt-get install bubblewrap")
    filters = compile_filters()
    view = build_view(packages)
    spawner = ThreadPoolExecutor(1, thread_name_prefix="promptse-spawner")

    def make_slot(number: int) -> Slot:
        return Slot(
            command=lambda: bubblewrap_command(program, view, slot=number),
            spawn=lambda function: spawner.submit(function).result(),
            isolation="namespaces",
            filters=filters,
            packages=PACKAGES,
        )

    return _open(
        Sandbox(
            tier="bwrap",
            description="bubblewrap: programs see no network, no home, no project, no secrets",
            make_slot=make_slot,
            release=spawner.shutdown,
            slots=slots,
            folder="/tmp",  # noqa: S108 - the private one
            ahead=True,
        )
    )


def _open_none(slots: int, packages: tuple[str, ...], _: str | None) -> Sandbox:
    folder = tempfile.mkdtemp(prefix="promptse-")
    view = build_view(packages)
    found = [Path(source).parent for source, target in view.binds if target.startswith(PACKAGES)]

    def make_slot(_: int) -> Slot:
        return Slot(
            command=lambda: python_command(view.python),
            spawn=lambda function: function(),
            isolation="none",
            filters=Filters(),
            packages=str(found[0]) if found else "",
        )

    return _open(
        Sandbox(
            tier="none",
            description="none: programs run with your rights, only limits of time and memory hold",
            make_slot=make_slot,
            release=lambda: shutil.rmtree(folder, ignore_errors=True),
            slots=slots,
            folder=folder,
        )
    )


def _open_container(name: str, slots: int, _: tuple[str, ...], image: str | None = None) -> Sandbox:
    chosen = image or default_image()
    engine = find_engine(name, chosen)
    filters = compile_filters() if sys.platform == "linux" else Filters()

    def make_slot(_: int) -> Slot:
        return Slot(
            command=lambda: container_command(engine, chosen),
            spawn=lambda function: function(),
            isolation="user",
            filters=filters,
            packages="",
        )

    return _open(
        Sandbox(
            tier=name,
            description=f"{name} ({chosen}): programs see no network and none of your files",
            make_slot=make_slot,
            release=lambda: None,
            slots=slots,
            folder="/tmp",  # noqa: S108 - the container's
        )
    )


_OPENERS: dict[str, Callable[[int, tuple[str, ...], str | None], Sandbox]] = {
    "bwrap": _open_bwrap,
    "docker": partial(_open_container, "docker"),
    "podman": partial(_open_container, "podman"),
    "none": _open_none,
}
