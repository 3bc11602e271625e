"""The pytest command line: the given settings, the id of the run, and the command to repeat it.

Every pytest session imports this module, so anything heavier than the option table is imported in
the functions that need it.
"""

from __future__ import annotations

import os
import shlex
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.hookspecs import INSTRUMENTS
from pytest_promptse.plugin._pytest_ini import ini_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.config._option import Option
    from pytest_promptse.config._settings import Settings
    from pytest_promptse.instruments._measurement import Instrument
    from pytest_promptse.record._schema import InvocationRecord

BAD_MARKS: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""Key in the stash of a module or class for errors of marks, by function."""
NO_MODEL = "promptse: no model; give --promptse-model, for example --promptse-model tiny"
"""Reason why tests with prompts are skipped in a run without a model."""
REFUSAL = "promptse_refusal"
"""Key in an xdist worker's output for the reason why the run cannot start."""

_RUN_ID: pytest.StashKey[str] = pytest.StashKey()
_SETTINGS: pytest.StashKey[GivenSettings] = pytest.StashKey()

# Options that concern a run as a whole. A command that repeats a few items leaves them out.
_OF_WHOLE_RUN = {
    "report",
    "save",
    "save_incomplete",
    "compare",
    "compare_fail",
    "compare_missing",
    "shard",
    "dry_run",
}


class GivenSettings:
    """The settings on the command line and in the ini file of one session.

    Parameters
    ----------
    config
        The configuration of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        flags: dict[str, Any] = {}
        ini: dict[str, Any] = {}
        for option in OPTIONS.values():
            value = config.getoption(option.ini, None)
            if value is not None:
                flags[option.name] = value
            value = None if option.flag_only else _ini_value(config, option)
            if value not in (None, [], ""):
                ini[option.name] = value
        ini_name = config.inipath.name if config.inipath else "the ini file"
        ini_folder = config.inipath.parent if config.inipath else self._root
        self._layers: list[tuple[dict[str, Any], Callable[[str], str]]] = [
            (
                self._from_root(flags, config.invocation_params.dir),
                lambda name: OPTIONS[name].flag,
            ),
            (
                self._from_root(ini, ini_folder),
                lambda name: f"{OPTIONS[name].ini} in {ini_name}",
            ),
        ]

    @property
    def any_given(self) -> bool:
        """True if the command line or the ini file has any setting."""
        return any(values for values, _ in self._layers)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the session.

        Raises
        ------
        SettingsError
            If a value cannot be used.
        """
        from pytest_promptse.config._settings import resolve

        return resolve(self._layers)

    def place_of(self, name: str) -> str | None:
        """Return where a setting was given, such as ``--promptse-seed``; None if it was not."""
        return next((where(name) for values, where in self._layers if name in values), None)

    def of_suite(
        self, keywords: Mapping[str, Any], *, where: Callable[[str], str], folder: Path
    ) -> Settings:
        """Return the settings of a suite: its own settings override those of the session.

        Parameters
        ----------
        keywords
            The keywords of the mark, or the settings of the suite file.
        where
            Returns the place of a keyword, for error messages.
        folder
            The folder to which template patterns in `keywords` are relative.

        Raises
        ------
        SettingsError
            If a keyword is unknown or its value cannot be used.
        """
        from pytest_promptse.config._settings import check_names, resolve

        check_names(list(keywords), marker=True, where=where("settings").rpartition(",")[0])
        of_suite = self._from_root(keywords, folder)
        return resolve([(of_suite, where), *self._layers])

    def _from_root(self, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Rewrite template patterns relative to `folder` as patterns relative to the root.

        `values` are settings as given. A value of a wrong type is left unchanged, since a later
        check reports it.
        """
        given = values.get("template")
        patterns = [given] if isinstance(given, str) else given
        if not isinstance(patterns, list | tuple) or not all(
            isinstance(pattern, str) and pattern.strip() for pattern in patterns
        ):
            # Reading the value later reports its error.
            return dict(values)
        from pytest_promptse.tasks._template import anchored

        return {**values, "template": [anchored(p.strip(), folder, self._root) for p in patterns]}


def _ini_value(config: pytest.Config, option: Option) -> Any:
    """Return the raw value that the ini file has for an option.

    A text of several lines is a list if the option allows it.
    """
    value = ini_value(config, option.ini)
    if option.repeatable and isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return value


def given_settings(config: pytest.Config) -> GivenSettings:
    """Return the settings of the session, read once."""
    if _SETTINGS not in config.stash:
        config.stash[_SETTINGS] = GivenSettings(config)
    return config.stash[_SETTINGS]


def run_id(config: pytest.Config) -> str:
    """Return the id of this run, which xdist workers share with their controller."""
    if hasattr(config, "workerinput"):
        return str(config.workerinput["promptse_run"])
    if _RUN_ID not in config.stash:
        from uuid import uuid4

        config.stash[_RUN_ID] = uuid4().hex
    return config.stash[_RUN_ID]


def invocation(config: pytest.Config) -> InvocationRecord:
    """Return the folder in which pytest was called, and the promptse options as typed.

    In a CI service these include the options in ``PYTEST_ADDOPTS``: its log is read on machines
    that do not have this variable. Options that concern a run as a whole, such as reports and
    comparisons, are left out.
    Credentials in addresses are replaced by ``***``.
    """
    from pytest_promptse.record._schema import InvocationRecord

    called = config.invocation_params
    typed = [str(argument) for argument in called.args]
    if os.environ.get("CI"):
        typed = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *typed]
    directory = os.path.relpath(called.dir, config.rootpath)
    return InvocationRecord(
        directory=directory.replace(os.sep, "/"),
        options=list(_typed_options(typed)),
    )


def _typed_options(arguments: Sequence[str]) -> Iterator[str]:
    from pytest_promptse._redaction import redact_argument

    by_flag = {option.flag: option for option in OPTIONS.values()}
    rest = iter(arguments)
    for argument in rest:
        flag, equals, _ = argument.partition("=")
        if flag not in by_flag:
            continue
        option = by_flag[flag]
        typed = [argument] if equals or option.is_switch else [argument, next(rest)]
        if option.name not in _OF_WHOLE_RUN:
            yield from map(redact_argument, typed)


def instrument_of(config: pytest.Config, path: Path) -> Instrument | None:
    """Return the instrument of a file ``*.NAME.yaml``, or None if no instrument has this name.

    The first such file loads the installed packages with instruments. Hidden files, such as
    ``.pre-commit-config.yaml``, have none: they are in many projects that have no instrument.

    Raises
    ------
    pytest.Collector.CollectError
        If the file is an argument of pytest, and its name is almost that of such a file.
    """
    stem, _, suffix = path.name.rpartition(".")
    before, _, name = stem.rpartition(".")
    if not (before and name and suffix in ("yaml", "yml")):
        return None
    config.pluginmanager.load_setuptools_entrypoints(INSTRUMENTS)
    instruments = {
        instrument.name: instrument
        for some in config.hook.pytest_promptse_instruments()
        for instrument in some
    }
    if name not in instruments and any(argument.endswith(path.name) for argument in config.args):
        # pytest itself would not say why it finds nothing in the file.
        hint = nearest(name, ("promptse", *instruments))
        if hint:
            raise pytest.Collector.CollectError(
                f"{path.name}: no suite or instrument has files named *.{name}.{suffix}{hint}; "
                "rename the file"
            )
    return instruments.get(name)
