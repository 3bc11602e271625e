"""The SQLite file of the store: opening, and renaming of damaged files."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

from pytest_promptse.errors import StoreError
from pytest_promptse.sandbox.guest.unpatched import fcntl, sqlite3, threading
from pytest_promptse.store._tables import SCHEMA_VERSION, create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FILE_NAME = "promptse.db"

_FOLDER_FILES = {
    ".gitignore": "# Completions stay here; baselines may be committed.\n/*\n!/baselines/\n",
    "CACHEDIR.TAG": (
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# Completions and verdicts kept by pytest-promptse.\n"
        "# What this file is for: https://bford.info/cachedir/\n"
    ),
}
_BUSY_SECONDS = 60.0
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class Database:
    """One SQLite file in WAL mode, with a connection for each thread that uses it.

    Parameters
    ----------
    folder
        The folder of the file. It is created if it is missing.
    clean_up
        Deletes the leftovers of killed processes. Called with a connection inside a transaction,
        if no other process has the file open.

    Attributes
    ----------
    warnings
        Messages for the user about opening the file, one line each.

    Raises
    ------
    StoreError
        If the folder cannot be written, or the file has the tables of another version.
    """

    def __init__(self, folder: Path, *, clean_up: Callable[[sqlite3.Connection], None]) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self.warnings: tuple[str, ...] = ()
        self._clean_up = clean_up
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._connections_lock = threading.Lock()
        self._lock_file = self._open_folder()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this thread for queries."""
        with self._explained():
            yield self._connection()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this thread inside one atomic transaction.

        Inside another ``write`` of the same thread, it becomes part of that transaction.
        """
        with self._explained():
            connection = self._connection()
            inside_another = connection.in_transaction
            if inside_another:
                yield connection
                return
            # A transaction that starts with a read cannot become a write while another process
            # writes.
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a full disk has ended the transaction already
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Yield True if no other process has the store open, and keep others out until the end."""
        alone = self._try_exclusive()
        try:
            yield alone
        finally:
            fcntl.flock(self._lock_file, fcntl.LOCK_SH)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._connections_lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()
        self._lock_file.close()

    def _open_folder(self) -> IO[bytes]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                for name, text in _FOLDER_FILES.items():
                    self.folder.joinpath(name).write_text(text)
            return self.folder.joinpath("promptse.lock").open("ab")
        except OSError as error:
            raise StoreError(
                f"store {str(self.folder)!r} cannot be written ({error.strerror}); "
                "name another folder with --promptse-store"
            ) from error

    def _open(self) -> None:
        # Only a process that has the file to itself may create or rename it. Others wait here.
        if self._try_exclusive():
            self._prepare()
        fcntl.flock(self._lock_file, fcntl.LOCK_SH)
        with self.read() as connection:
            self._check_version(connection)

    def _prepare(self) -> None:
        try:
            with self.read() as connection:
                if not _is_empty(connection):
                    self._check_version(connection)
                connection.execute("PRAGMA journal_mode = WAL")
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            damage = "" if verdict == "ok" else verdict
        except StoreError as error:
            if not _is_damage(error.__cause__):
                raise
            damage = str(error.__cause__)
        if damage:
            self._rename_damaged(damage)
        with self.write() as connection:
            if _is_empty(connection):
                create_tables(connection)
            self._clean_up(connection)

    def _rename_damaged(self, damage: str) -> None:
        with self._connections_lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()
        kept = f"{FILE_NAME}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
        # The write-ahead log is renamed too, so that SQLite can use it with the renamed file.
        for suffix in ("", "-wal", "-shm"):
            part = self.folder / f"{FILE_NAME}{suffix}"
            if part.exists():
                part.rename(self.folder / f"{kept}{suffix}")
        warning = (
            f"store {str(self.path)!r} is damaged ({damage.splitlines()[0]}) and was renamed to "
            f"{kept!r}; its completions are requested again"
        )
        self.warnings = (*self.warnings, warning)
        with self.read() as connection:
            connection.execute("PRAGMA journal_mode = WAL")

    def _check_version(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"store {str(self.path)!r} has schema {version}, and this version of "
                f"pytest-promptse uses {SCHEMA_VERSION}; name another folder with --promptse-store"
            )

    def _try_exclusive(self) -> bool:
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            with self._connections_lock:
                self._connections.append(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            # In WAL mode, a killed process loses no data with this setting. A power cut may lose
            # the last transactions but does not damage the file:
            # https://www.sqlite.org/pragma.html#pragma_synchronous
            connection.execute("PRAGMA synchronous = NORMAL")
            self._local.connection = connection
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            remedy = (
                "end the runs that use it and start again: the damaged file is then renamed"
                if _is_damage(error)
                else "name another folder with --promptse-store or make room for this one"
            )
            raise StoreError(f"store {str(self.path)!r}: {error}; {remedy}") from error


def _is_empty(connection: sqlite3.Connection) -> bool:
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not n_tables


def _is_damage(error: BaseException | None) -> bool:
    # The low byte is the primary result code: https://www.sqlite.org/rescode.html
    return isinstance(error, sqlite3.Error) and (
        (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _DAMAGED
    )
