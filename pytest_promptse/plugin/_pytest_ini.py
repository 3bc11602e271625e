"""The values of the ini file that pytest does not offer by a public name.

Every pytest session imports this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


def ini_names(config: pytest.Config) -> Iterable[str]:
    """Return the names that the ini file sets, known or not.

    Public as ``config.inicfg`` until pytest 9, which offers no way to list names that no plugin
    has registered.
    """
    return list(config._inicfg if hasattr(config, "_inicfg") else config.inicfg)  # noqa: SLF001


def ini_value(config: pytest.Config, name: str) -> Any:
    """Return the raw value of a registered ini option, or None if the file does not set it.

    ``config.getini`` supports one type per option. In TOML files, a setting such as a threshold may
    be a string, a number or a table. pytest 8.2 to 9.1 cannot register such a union.
    """
    given: Any = getattr(config, "_inicfg", {}).get(name)
    if hasattr(given, "mode"):
        return given.value
    return config.getini(name)
