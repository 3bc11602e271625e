"""How pytest was called: what its paths are meant from, and how to call it again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_promptse.config.options import OPTIONS
from pytest_promptse.plugin.hooks import layers
from pytest_promptse.record.schema import InvocationRecord
from pytest_promptse.tasks.template import anchored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pytest


def anchored_layers(config: pytest.Config) -> list[tuple[dict[str, Any], Callable[[str], str]]]:
    """Return the raw settings of command line and ini file, their templates as seen from the root.

    On the command line they were meant from where pytest was called, in the ini file from there.
    """
    (flags, flag), (ini, key) = layers(config)
    root = config.rootpath
    beside = config.inipath.parent if config.inipath else root
    return [
        (anchored_values(flags, config.invocation_params.dir, root), flag),
        (anchored_values(ini, beside, root), key),
    ]


def anchored_values(values: Mapping[str, Any], folder: Path, root: Path) -> dict[str, Any]:
    """Return raw settings whose templates were meant from `folder` as seen from `root`."""
    given = values.get("template")
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list | tuple) or not all(
        isinstance(pattern, str) and pattern.strip() for pattern in patterns
    ):
        # Whatever is wrong with it is said where it is read.
        return dict(values)
    return {**values, "template": [anchored(p.strip(), folder, root) for p in patterns]}


# What a run leaves behind or is compared with concerns the whole run, not a few of its items.
_OF_THE_WHOLE = {"report", "save", "compare", "compare_fail", "compare_missing", "dry_run"}


def invocation(config: pytest.Config) -> InvocationRecord:
    """Return the folder pytest was called in and the promptse options as they were typed."""
    where = config.invocation_params
    directory = os.path.relpath(where.dir, config.rootpath)
    return InvocationRecord(
        directory=directory.replace(os.sep, "/"),
        options=list(_options([str(argument) for argument in where.args])),
    )


def _options(arguments: Sequence[str]) -> Iterator[str]:
    by_flag = {option.flag: option for option in OPTIONS.values()}
    rest = iter(arguments)
    for argument in rest:
        flag, equals, _ = argument.partition("=")
        if flag not in by_flag:
            continue
        option = by_flag[flag]
        given = [argument] if equals or option.is_switch else [argument, next(rest)]
        if option.name not in _OF_THE_WHOLE:
            yield from given
