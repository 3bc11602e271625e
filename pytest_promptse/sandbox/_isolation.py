"""Open a sandbox at an isolation level, or at the strongest one that works here."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._bubblewrap import bubblewrap_command, python_command
from pytest_promptse.sandbox._checker import remove_abandoned_folders
from pytest_promptse.sandbox._confined import check_landlock, confine
from pytest_promptse.sandbox._container import container_command, default_image, find_engine
from pytest_promptse.sandbox._mounts import PACKAGES, build_mounts
from pytest_promptse.sandbox._pool import SandboxPool
from pytest_promptse.sandbox._seccomp import Filters, compile_filters
from pytest_promptse.sandbox._worker import Worker
from pytest_promptse.sandbox.guest.folders import remove_contents
from pytest_promptse.sandbox.guest.unpatched import __builtins__

if TYPE_CHECKING:
    from collections.abc import Callable

# A check may have a path of its temporary files with or without the links in it.
_PATHS = (os.path.abspath, os.path.realpath)
ISOLATION_LEVELS = ("auto", "bwrap", "docker", "podman", "landlock", "none")


def open_sandbox(
    level: str = "auto",
    *,
    workers: int | None = None,
    packages: tuple[str, ...] = ("numpy",),
    image: str | None = None,
    folders: tuple[str, ...] = (),
    temporary: tuple[str, ...] = (),
) -> SandboxPool:
    """Open the sandbox that programs run in.

    Parameters
    ----------
    level : {"auto", "bwrap", "docker", "podman", "landlock", "none"}
        How programs are isolated from this machine. ``auto`` takes the strongest level that works
        here, but never ``none``. ``none`` runs programs in a separate process without isolation.
    workers : int, optional
        Number of programs that run at the same time. The default is twice the usable cores, since
        some programs sleep.
    packages : tuple of str
        Packages beyond the standard library that programs may import, if installed. In a container,
        programs can import the packages of its image instead.
    image : str, optional
        Image of the container levels, with a ``python3``. The default is the official slim image of
        this Python's version. The image must have been pulled already.
    folders : tuple of str
        Folders and files of this machine that programs may read, such as those of a compiler. A
        container shows none.
    temporary : tuple of str
        Folders in which checks have temporary files that programs get, besides that of `tempfile`.

    Raises
    ------
    SandboxError
        If the level, or every level under ``auto``, does not work here.
    """
    remove_abandoned_folders()
    if level not in ISOLATION_LEVELS:
        raise SandboxError(
            f"unknown sandbox {level!r}: one of {', '.join(ISOLATION_LEVELS)}"
            f"{nearest(level, ISOLATION_LEVELS)}"
        )
    count = workers or 2 * len(os.sched_getaffinity(0))
    if count < 1:
        raise SandboxError(f"workers must be at least 1, not {workers}")
    names = {function(path) for path in (tempfile.gettempdir(), *temporary) for function in _PATHS}
    wanted = _Wanted(
        workers=count, packages=packages, image=image, folders=folders, temporary=tuple(names)
    )
    if level != "auto":
        return _open(level, wanted)
    reasons = []
    for name in ("bwrap", "podman", "docker", "landlock"):
        try:
            return _open(name, wanted)
        except SandboxError as error:
            reasons.append(f"{name}: {error}")
    raise SandboxError(
        f"no sandbox works here ({'; '.join(reasons)}); docs/how-to/troubleshooting.md has the "
        "remedy for each. The last resort is --promptse-sandbox none, without any protection"
    )


_NAMESPACES = (
    "namespaces are blocked here; on Ubuntu 24.04: sudo sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0, in docker: --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined"
)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What a level opens a sandbox for: the arguments of `open_sandbox`."""

    workers: int
    packages: tuple[str, ...]
    image: str | None
    folders: tuple[str, ...]
    temporary: tuple[str, ...]


def _open(level: str, wanted: _Wanted) -> SandboxPool:
    """Open a level and run a trial program, so that errors occur at the start."""
    sandbox = _OPENERS[level](wanted)
    try:
        _try(sandbox)
    except SandboxError as error:
        sandbox.close()
        is_blocked = any(
            word in str(error) for word in ("namespace", "uid map", "Operation not permitted")
        )
        if level == "bwrap" and is_blocked:
            raise SandboxError(f"{error}; {_NAMESPACES}") from None
        raise
    return sandbox


def _try(sandbox: SandboxPool) -> None:
    with sandbox.load("def probe(): return 7", entry_point="probe") as candidate:
        answer = candidate()
    if answer != 7:  # noqa: PLR2004
        raise SandboxError(f"a trial program answered {answer!r} instead of 7")


def _open_bwrap(wanted: _Wanted) -> SandboxPool:
    program = shutil.which("bwrap")
    if sys.platform != "linux" or program is None:
        raise SandboxError("bubblewrap is not installed: apt-get install bubblewrap")
    filters = compile_filters()
    mounts = build_mounts(wanted.packages, wanted.folders, wanted.temporary)
    spawner = ThreadPoolExecutor(1, thread_name_prefix="promptse-spawner")
    return SandboxPool(
        isolation_level="bwrap",
        description="bubblewrap: programs see no network, no home, no project, no secrets",
        make_worker=lambda number: Worker(
            command=lambda: bubblewrap_command(program, mounts, worker=number),
            spawn=lambda function: spawner.submit(function).result(),
            isolation="namespaces",
            filters=filters,
            packages=PACKAGES,
            temporary=mounts.temporary,
        ),
        release=spawner.shutdown,
        workers=wanted.workers,
        folder="/tmp",  # noqa: S108 - the private one
        ahead=True,
        writable=tuple(f"{path}/" for path in ("/tmp", *mounts.temporary)),  # noqa: S108 - as above
    )


def _open_landlock(wanted: _Wanted) -> SandboxPool:
    check_landlock()
    filters = compile_filters(namespaces=False)
    mounts = build_mounts(wanted.packages, wanted.folders)
    top = tempfile.mkdtemp(prefix="promptse-")

    def make_worker(number: int) -> Worker:
        confinement = confine(mounts, top, worker=number)
        return Worker(
            command=lambda: confinement.command(mounts),
            isolation="landlock",
            filters=filters,
            packages=confinement.packages,
            confinement=confinement,
        )

    return SandboxPool(
        isolation_level="landlock",
        description=(
            "Landlock, without namespaces: programs see no network, no home, no project; "
            "weaker than bubblewrap (docs/explanation/sandbox.md#isolation-levels)"
        ),
        make_worker=make_worker,
        release=lambda: _remove(top),
        workers=wanted.workers,
        folder=top,
        writable=(),
    )


def _open_none(wanted: _Wanted) -> SandboxPool:
    folder = tempfile.mkdtemp(prefix="promptse-")
    mounts = build_mounts(wanted.packages, wanted.folders)
    found = [Path(source).parent for source, target in mounts.binds if target.startswith(PACKAGES)]
    return SandboxPool(
        isolation_level="none",
        description="none: programs run with your rights, only limits of time and memory hold",
        make_worker=lambda _: Worker(
            command=lambda: python_command(mounts.python),
            isolation="none",
            filters=Filters(),
            packages=str(found[0]) if found else "",
        ),
        release=lambda: _remove(folder),
        workers=wanted.workers,
        folder=folder,
    )


def _open_container(name: str, wanted: _Wanted) -> SandboxPool:
    if wanted.folders:
        raise SandboxError(
            "a container does not show the toolchains of this machine, which programs in other "
            "languages need; give --promptse-sandbox bwrap or landlock"
        )
    image = wanted.image or default_image()
    engine = find_engine(name, image)
    filters = compile_filters() if sys.platform == "linux" else Filters()
    return SandboxPool(
        isolation_level=name,
        description=f"{name} ({image}): programs see no network and none of your files",
        make_worker=lambda _: Worker(
            command=lambda: container_command(engine, image),
            isolation="user",
            filters=filters,
        ),
        release=lambda: None,
        workers=wanted.workers,
        folder="/tmp",  # noqa: S108 - the container's
        writable=("/tmp/",),  # noqa: S108 - the container's
    )


_OPENERS: dict[str, Callable[[_Wanted], SandboxPool]] = {
    "bwrap": _open_bwrap,
    "docker": partial(_open_container, "docker"),
    "podman": partial(_open_container, "podman"),
    "landlock": _open_landlock,
    "none": _open_none,
}


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        remove_contents(folder)
        Path(folder).rmdir()
