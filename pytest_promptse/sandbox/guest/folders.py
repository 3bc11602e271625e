# The functions of os need no module that a program may have replaced.
"""Folders that the check and the program both have: what has changed in them, within limits."""

from __future__ import annotations

from typing import Any

from pytest_promptse.sandbox.guest.unpatched import __builtins__, itertools, os, stat
from pytest_promptse.sandbox.guest.wire import WireError

_MOST_ENTRIES = 1_000
_MOST_BYTES = 8 * 2**20
_MOST_LEVELS = 50
_OWNER, _PERMISSIONS = 0o600, 0o777
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
        prefix = f"{folder}/{os.urandom(8).hex()}"
        while names := os.listdir(folder):
            for name in names:
                path = f"{folder}/{name}"
                if _kind(path) != stat.S_IFDIR:
                    os.unlink(path)
                    continue
                os.chmod(path, 0o700)
                for inner in os.listdir(path):
                    inner_path = f"{path}/{inner}"
                    if _kind(inner_path) != stat.S_IFDIR:
                        os.unlink(inner_path)
                    else:
                        os.chmod(inner_path, 0o700)
                        os.rename(inner_path, f"{prefix}-{next(moved)}")
                os.rmdir(path)


def is_folder(path: str) -> bool:
    """Return whether there is a folder at `path`, or a link to one."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _kind(path: str) -> int:
    """Return the kind of what is at `path`, such as ``S_IFREG``, and 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except FileNotFoundError:
        return 0


def _make_folder(path: str) -> None:
    if not is_folder(path):
        parent = path.rpartition("/")[0]
        if parent:
            _make_folder(parent)
        os.mkdir(path)


def _open(path: str) -> Any:
    """Open a file to read it, even if its owner may not."""
    try:
        return open(path, "rb")
    except PermissionError:
        mode = os.stat(path).st_mode & _PERMISSIONS
        os.chmod(path, _OWNER)
        try:
            return open(path, "rb")
        finally:
            os.chmod(path, mode)


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
                    with _open(f"{self.path}/{name}") as file:
                        status = os.fstat(file.fileno())
                        data = file.read(_MOST_BYTES)
                        state[name] = status.st_ctime_ns, status.st_size
                        changed[name] = data, status.st_mode & _PERMISSIONS, status.st_mtime_ns
        changed |= dict.fromkeys(self._known.keys() - state.keys(), False)
        self._known = state
        return changed

    def update(self, changes: Content) -> None:
        """Write the entries that changed on the other side. Names stay within the folder.

        Raises
        ------
        WireError
            If a name or its content is malformed, or the folder has too much then.
        """
        _make_folder(self.path)
        for name, content in sorted(changes.items(), reverse=False in changes.values()):
            if type(name) is not str or {"", ".", ".."} & {*name.split("/")}:
                raise WireError("a file outside of its folder")
            self._check_depth(name)
            try:
                self._write(name, content)
            except (OSError, OverflowError, ValueError) as error:
                raise WireError(f"a file cannot be written: {error}") from None
        self._known = self._scan()

    def restore(self, content: Content) -> None:
        """Give the folder the content that `take_changes` returned when it was called first."""
        try:
            changed = self.take_changes()
        except WireError:  # too much
            remove_contents(self.path)
            changed = content
        self.update({name: content.get(name, False) for name in changed})

    def _write(self, name: str, content: Any) -> None:
        path = self.path
        kind = stat.S_IFDIR
        for part in name.split("/"):
            if not kind and content is not False:
                os.mkdir(path)
            path = f"{path}/{part}"
            kind = _kind(path)
            if kind == stat.S_IFLNK:
                raise WireError("a file behind a link")
        if kind and (content is False or (kind == stat.S_IFDIR) is not (content is None)):
            (os.rmdir if kind == stat.S_IFDIR else os.unlink)(path)
            kind = 0
        if content is None:
            _make_folder(path)
        elif _is_file(content):
            data, mode, modified = content
            if kind:
                os.chmod(path, _OWNER)
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, mode & _PERMISSIONS)
            os.utime(path, ns=(modified, modified))
        elif content is not False:
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
        waiting = [""] if is_folder(self.path) else []
        size = 0
        while waiting:
            inner = waiting.pop()
            with os.scandir(f"{self.path}/{inner}") as found:
                entries = list(itertools.islice(found, _MOST_ENTRIES + 1))
            for entry in entries:
                name = f"{inner}/{entry.name}" if inner else entry.name
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
