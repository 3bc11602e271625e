"""The jail without namespaces: Landlock and system-call filters, for containers that refuse them.

`docs/explanation/sandbox.md` lists what is weaker here than in bubblewrap.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._bubblewrap import as_user, python_command, worker_uid
from pytest_promptse.sandbox._mounts import PACKAGES
from pytest_promptse.sandbox.guest import landlock
from pytest_promptse.sandbox.guest.unpatched import __builtins__, os, stat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.sandbox._mounts import Mounts

_LEAST_VERSION = 3  # version 2 does not refuse to truncate files
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, kw_only=True)
class Confinement:
    """The folders and rules of one worker.

    Attributes
    ----------
    folder
        The folder that programs may write to. It is emptied after each program.
    packages
        A folder of links to the packages that programs may import.
    rules
        What programs may do with which paths.
    uid
        The user that programs run as, or None for the present one.
    """

    folder: str
    packages: str
    rules: tuple[tuple[str, str], ...]
    uid: int | None

    def command(self, mounts: Mounts) -> list[str]:
        """Return the command line of the zygote."""
        command = python_command(mounts.python)
        return command if self.uid is None else as_user(self.uid, command)


def check_landlock() -> None:
    """Raise SandboxError if this kernel cannot confine programs."""
    if landlock.version() < _LEAST_VERSION:
        raise SandboxError(
            f"Landlock is version {landlock.version()} here, and {_LEAST_VERSION} is needed "
            "(Linux 6.2 or later, with landlock in /sys/kernel/security/lsm)"
        )


def confine(mounts: Mounts, top: str, *, worker: int) -> Confinement:
    """Make the folders of one worker below `top`, and return its confinement."""
    folder = tempfile.mkdtemp(prefix=f"worker-{worker}-", dir=top)
    packages = tempfile.mkdtemp(prefix="packages-", dir=top)
    sources = []
    for source, target in mounts.binds:
        if target.startswith(PACKAGES):
            sources.append(source)
            os.symlink(source, Path(packages, Path(target).name))
    uid = None
    if os.geteuid() == 0:
        _check_open_to_all(Path(mounts.python))
        uid = worker_uid(worker)
        os.chown(folder, uid, uid)
        for path in (top, packages):
            Path(path).chmod(0o755)
    rules = [(folder, landlock.WRITE), (packages, landlock.READ)]
    rules += [(device, landlock.WRITE) for device in _DEVICES]
    rules += [(source, landlock.READ) for source in sources]
    hidden = [Path(path) for path in mounts.hidden]
    for source, target in mounts.binds:
        if not target.startswith(PACKAGES):
            rules += _readable(Path(source), hidden)
    return Confinement(folder=folder, packages=packages, rules=tuple(rules), uid=uid)


def _readable(path: Path, hidden: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield rules to read everything below `path`, except for the hidden folders.

    Rules add up, and none takes anything away. So a folder with a hidden one inside is listed, and
    its other entries are allowed one by one.
    """
    if path in hidden:
        return
    if not any(path in folder.parents for folder in hidden):
        yield str(path), landlock.READ
        return
    yield str(path), landlock.LIST
    for entry in path.iterdir():
        yield from _readable(entry, hidden)


def _check_open_to_all(python: Path) -> None:
    """Raise SandboxError if only root can execute the interpreter.

    Programs of root would not be bound by the limit on processes.
    """
    if not all(part.stat().st_mode & stat.S_IXOTH for part in (python, *python.parents)):
        raise SandboxError(
            f"programs run as another user than root, who cannot reach {python}; use an "
            "interpreter outside of root's home, or run pytest as a user without privileges"
        )
