"""Refuse tests that ``promptse harden`` cannot measure, while it plans and before it pays.

`harden` loads this plugin into a dry run, whose templates and seed are those of its search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_promptse.plugin._invocation import given_settings
from pytest_promptse.plugin._targets import TARGET, unselected

if TYPE_CHECKING:
    from pytest_promptse.plugin._targets import ItemTarget


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Raise UsageError after the collection, unless that has errors of its own to report."""
    if session.testsfailed:
        return
    targets = [item.stash[TARGET] for item in session.items if TARGET in item.stash]
    if (reason := _why_not(targets, session.config)) is not None:
        raise pytest.UsageError(f"harden: {reason}")


def _why_not(targets: list[ItemTarget], config: pytest.Config) -> str | None:
    if not targets:
        return "no test is marked promptse; name one that is"
    given = given_settings(config).settings
    for suite in (target.suite for target in targets):
        for name in ("template", "seed"):
            if getattr(suite.settings, name) != getattr(given, name):
                return f"{suite.id} has a {name} of its own; take {name}= out of its mark or file"
    left_out, planned = unselected(targets)
    if left_out:
        return (
            f"{left_out} of {planned} variants are not selected; take out -k, --lf and node ids of "
            "single variants"
        )
    return None
