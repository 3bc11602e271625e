"""Outcomes of a run of pytest, by the file of the items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def outcomes_by_file(result: pytest.RunResult) -> dict[str, str]:
    """Return a letter per item by its file, as a run without ``-q`` and ``-v`` shows them.

    ``{"test_it.py": "..F"}``, for example.
    """
    return dict(re.findall(r"^(\S+) ([.EFsxX]+) +\[", result.stdout.str(), re.MULTILINE))
