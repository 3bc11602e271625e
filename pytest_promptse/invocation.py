"""How pytest was called, as far as it takes to call it again on other items."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_promptse.options import OPTIONS
from pytest_promptse.reports.record import InvocationRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

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
