"""Completions in the store have an age, and can be requested again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 24 * 3600.0


@pytest.fixture
def usage(
    pytester: pytest.Pytester, run: Callable[..., pytest.RunResult], slug: None
) -> Callable[..., dict[str, Any]]:
    """Run the suite with options and return the usage in its record."""

    def run_with(*options: str) -> dict[str, Any]:
        result = run("--promptse-model", "reference", "--promptse-report", "json:r.json", *options)
        assert result.ret == pytest.ExitCode.OK
        found: dict[str, Any] = json.loads((pytester.path / "r.json").read_text())["usage"]
        return found

    return run_with


def test_old_completions_and_with_fresh_all_are_requested_again(
    pytester: pytest.Pytester, usage: Callable[..., dict[str, Any]]
) -> None:
    first = usage()
    assert (first["requests"], first["cached"], "oldest" in first) == (4, 0, False)
    path = pytester.path / ".promptse" / "promptse.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE completion SET created = created - ?", (2 * DAY,))
    kept = usage("--promptse-max-age", "3")
    assert (kept["requests"], kept["cached"]) == (0, 8)
    assert kept["oldest"] < json.loads((pytester.path / "r.json").read_text())["started"]
    renewed = usage("--promptse-max-age", "1")
    assert (renewed["requests"], renewed["cached"]) == (4, 0)
    assert usage("--promptse-fresh")["requests"] == 4
    assert usage()["cached"] == 8
