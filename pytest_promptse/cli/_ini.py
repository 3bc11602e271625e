"""The settings that a project has in its ini file, for commands that run no test."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

# In pytest's order: https://docs.pytest.org/en/stable/reference/customize.html
_FILES = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
_OWN = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")


class IniFile(NamedTuple):
    """The file that configures pytest, with the values of its settings by name as written."""

    path: Path
    values: Mapping[str, Any]

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of those options that the file sets."""
        inis = {name: OPTIONS[name].ini for name in names}
        return {name: self.values[ini] for name, ini in inis.items() if self.values.get(ini)}

    def place(self, name: str) -> str:
        """Return where the file sets an option, for error messages."""
        return f"{OPTIONS[name].ini} in {self.path.name}"

    def folder_of(self, name: str) -> Path | None:
        """Return the folder that an option names, relative to that of the file, or None."""
        value = self.given(name).get(name)
        return None if value is None else self.path.parent / OPTIONS[name].read(value, name)


def ini_file(folder: Path) -> IniFile | None:
    """Return the file in `folder` that configures pytest, or None if there is none.

    Raises
    ------
    SettingsError
        If the file cannot be read.
    """
    for name, tables in _FILES.items():
        path = folder / name
        if not path.is_file():
            continue
        values: Any = _read(path)
        for table in tables:
            values = values.get(table)
            if values is None:
                break
        if values is None and name not in _OWN:
            continue
        values = dict(values or {})
        return IniFile(path, values.pop("ini_options", values))
    return None


def project_file() -> IniFile:
    """Return the file that configures pytest in this folder, or in the nearest one above it."""
    here = Path.cwd()
    files = (ini_file(folder) for folder in (here, *here.parents))
    return next(filter(None, files), IniFile(here / "pytest.ini", {}))


def _read(path: Path) -> Mapping[str, Any]:
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"{path}: cannot be read ({reason}); mend this line") from None
    return {name: dict(parser[name]) for name in parser.sections()}
