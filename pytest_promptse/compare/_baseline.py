"""Baselines: records of earlier runs that are stored under a name and committed.

They are stored at the project's root, not in the store. The store is a cache and may be elsewhere
on a build server. A baseline is part of the project's history.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse._destinations import why_unwritable
from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import NoBaselineError, RecordError, SettingsError
from pytest_promptse.record._files import SUFFIX, baseline_command, encode, is_path
from pytest_promptse.record._schema import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.record._schema import Record

FOLDER = Path(".promptse", "baselines")


class Baselines:
    """The baselines of one project.

    Parameters
    ----------
    root
        Folder of the project. Baselines are in ``.promptse/baselines`` below it.
    here
        Folder to which paths are relative.
    """

    def __init__(self, root: Path, *, here: Path) -> None:
        self._folder = root / FOLDER
        self._here = here

    def load(self, name_or_path: str) -> Record:
        """Return a baseline by name, or any record by path (with a slash or ending in .json).

        Raises
        ------
        NoBaselineError
            If there is no baseline of this name. The message names the command that makes one.
        RecordError
            If the file cannot be read, is not a record, or has another schema version.
        """
        path = self._path(name_or_path)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            raise NoBaselineError(self._missing(name_or_path, path)) from None
        except OSError as error:
            raise RecordError(f"{path}: {error.strerror or error}") from None
        try:
            return decode(text, where=str(path))
        except RecordError as error:
            raise RecordError(
                f"{error}; make it again with: {baseline_command(name_or_path)}"
            ) from None

    def save(self, name: str, record: Record) -> Path:
        """Save `record` under `name`, replacing an older baseline, and return its file.

        The file is replaced atomically.

        Raises
        ------
        RecordError
            If it cannot be written.
        """
        path = self._folder / f"{name}{SUFFIX}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _replace(path, encode(record))
        except OSError as error:
            raise RecordError(
                f"--promptse-save {name}: {path}: {error.strerror or error}"
            ) from None
        return path

    def check_writable(self, name: str, *, where: str) -> None:
        """Check that a baseline can be saved under `name`, which was given at `where`.

        Raises
        ------
        SettingsError
            If it cannot.
        """
        if reason := why_unwritable(self._folder, folder=True):
            raise SettingsError(f"{where} {name}: {reason}, and baselines are saved there; mend it")

    def check_comparable(
        self, name_or_path: str, *, where: str, may_be_missing: bool, allow: str
    ) -> None:
        """Check that there is the baseline to compare with, which was given at `where`.

        `allow` is the option with which it `may_be_missing`.

        Raises
        ------
        SettingsError
            If there is none, unless `may_be_missing`, as in the first run of a project.
        RecordError
            If the file is not a record.
        """
        try:
            self.load(name_or_path)
        except NoBaselineError as error:
            if not may_be_missing:
                raise SettingsError(f"{where}: {error}, or give {allow}") from None

    def _path(self, name_or_path: str) -> Path:
        if is_path(name_or_path):
            return self._here / name_or_path
        return self._folder / f"{name_or_path}{SUFFIX}"

    def _missing(self, name_or_path: str, path: Path) -> str:
        make = f"make it with: {baseline_command(name_or_path)}"
        if is_path(name_or_path):
            return f"there is no record {name_or_path!r} yet ({path}); {make}"
        names = sorted(file.stem for file in self._folder.glob(f"*{SUFFIX}"))
        hint = nearest(name_or_path, names)
        others = f"; there are {', '.join(names)}" if names else ""
        return f"there is no baseline {name_or_path!r} yet ({path}){hint}{others}; {make}"


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
