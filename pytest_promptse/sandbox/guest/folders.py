# ruff: noqa: PTH101, PTH103, PTH104, PTH106, PTH107, PTH108, PTH110, PTH112, PTH114, PTH117, PTH118
# ruff: noqa: PTH120, PTH208
# The functions of os need no module that a program may have replaced.
"""Folders that the check and the program both have: what has changed in them, within limits."""

from __future__ import annotations

import itertools
import os
from os import listdir, urandom
from typing import Any

from pytest_promptse.sandbox.guest.wire import WireError

# Tests patch ``builtins.open``.
_open = open

_MOST_ENTRIES = 1_000
_MOST_BYTES = 8 * 2**20
_MOST_LEVELS = 50
_OWNER, _READ, _PERMISSIONS = 0o600, 0o400, 0o777
Content = dict[str, Any]
"""Relative path of each entry: None for a folder, False for what was deleted, and for a file its
bytes, its permissions and the time of its last change in nanoseconds."""


def _is_file(content: Any) -> bool:
    return type(content) is tuple and [*map(type, content)] == [bytes, int, int]


def remove_contents(*folders: str) -> None:
    """Remove everything in `folders`, however deep it is and whatever its modes are.

    No process may use the folders meanwhile. Folders are moved to the top before they are removed,
    since a path and a recursion have a limit.
    """
    for folder in folders:
        moved = itertools.count()
        prefix = os.path.join(folder, urandom(8).hex())
        while names := listdir(folder):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isdir(path):
                    os.unlink(path)
                    continue
                os.chmod(path, 0o700)
                for inner in listdir(path):
                    inner_path = os.path.join(path, inner)
                    if os.path.islink(inner_path) or not os.path.isdir(inner_path):
                        os.unlink(inner_path)
                    else:
                        os.chmod(inner_path, 0o700)
                        os.rename(inner_path, f"{prefix}-{next(moved)}")
                os.rmdir(path)


class Folder:
    """A folder, and the state of its entries that the other side knows."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: dict[str, tuple[int, int] | None] = {}
        self.is_new = True

    def take_changes(self) -> Content:
        """Return the entries that have changed since the last call or `update`.

        Links and devices are left out.

        Raises
        ------
        WireError
            If the folder has too many entries or bytes.
        """
        self.is_new = False
        state = self._scan()
        changed: Content = {}
        for name, stamp in state.items():
            if name not in self._known or self._known[name] != stamp:
                changed[name] = None
                if stamp is not None:
                    with _open(os.path.join(self.path, name), "rb") as file:
                        status = os.fstat(file.fileno())
                        data = file.read(_MOST_BYTES)
                        changed[name] = data, status.st_mode & _PERMISSIONS, status.st_mtime_ns
        changed |= dict.fromkeys(self._known.keys() - state.keys(), False)
        self._known = state
        return changed

    def update(self, changes: Content) -> None:
        """Write the entries that changed on the other side. Names stay within the folder.

        Raises
        ------
        WireError
            If a name or its content is malformed.
        """
        os.makedirs(self.path, exist_ok=True)
        self._check_size(len(changes), sum(len(c[0]) for c in changes.values() if _is_file(c)))
        for name, content in sorted(changes.items(), reverse=False in changes.values()):
            if type(name) is not str or os.path.isabs(name) or ".." in name.split("/"):
                raise WireError("a file outside of its folder")
            self._check_depth(name)
            try:
                self._write(os.path.join(self.path, name), content)
            except (OSError, OverflowError) as error:
                raise WireError(f"a file cannot be written: {error}") from None
        self._known = self._scan()

    def _write(self, path: str, content: Any) -> None:
        within = os.path.relpath(path, self.path)
        if os.path.realpath(path) != os.path.join(os.path.realpath(self.path), within):
            raise WireError("a file behind a link")
        if (
            content is not False
            and os.path.exists(path)
            and os.path.isdir(path) is (content is not None)
        ):
            self._write(path, False)
        if content is False:
            if os.path.isdir(path):
                os.rmdir(path)
            elif os.path.exists(path):
                os.remove(path)
        elif content is None:
            os.makedirs(path, exist_ok=True)
        elif _is_file(content):
            data, mode, modified = content
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.exists(path):
                os.chmod(path, _OWNER)
            with _open(path, "wb") as file:
                file.write(data)
            # Both sides must be able to read it.
            os.chmod(path, mode & _PERMISSIONS | _READ)
            os.utime(path, ns=(modified, modified))
        else:
            raise WireError("the content of a file is malformed")

    def _check_size(self, entries: int, size: int) -> None:
        if entries > _MOST_ENTRIES:
            raise WireError(f"{self.path} has over {_MOST_ENTRIES} entries")
        if size > _MOST_BYTES:
            raise WireError(f"{self.path} has files of over {_MOST_BYTES} bytes")

    def _check_depth(self, name: str) -> None:
        # Python's own functions, such as shutil.rmtree, recurse once per level.
        if name.count("/") >= _MOST_LEVELS:
            raise WireError(f"{self.path} has folders in over {_MOST_LEVELS} levels")

    def _scan(self) -> dict[str, tuple[int, int] | None]:
        state: dict[str, tuple[int, int] | None] = {}
        waiting = [""]
        size = 0
        while waiting:
            inner = waiting.pop()
            with os.scandir(os.path.join(self.path, inner)) as found:
                entries = list(itertools.islice(found, _MOST_ENTRIES + 1))
            for entry in entries:
                name = os.path.join(inner, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    self._check_depth(name)
                    state[name] = None
                    waiting.append(name)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat()
                    # Nobody can set this time, as the time of the last change of the content.
                    state[name] = (status.st_ctime_ns, status.st_size)
                    size += status.st_size
                self._check_size(len(state), size)
        return state
