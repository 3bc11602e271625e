"""The strongest tier of isolation that works here, opened as a sandbox."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import SandboxError, nearest
from pytest_promptse.sandbox.bubblewrap import bubblewrap_command, python_command
from pytest_promptse.sandbox.container import container_command, default_image, find_engine
from pytest_promptse.sandbox.jail import Sandbox
from pytest_promptse.sandbox.slot import Slot
from pytest_promptse.sandbox.syscalls import Filters, compile_filters
from pytest_promptse.sandbox.view import PACKAGES, build_view

if TYPE_CHECKING:
    from collections.abc import Callable

TIERS = ("auto", "bwrap", "docker", "podman", "none")


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
