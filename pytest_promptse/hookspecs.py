"""Hooks by which other packages add backends, rewriters and reports.

Implement them in a plugin or a ``conftest.py``; the first implementation that returns something
other than None for a name is taken, and built-in names come last, so that they can be replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_promptse.models.base import Backend
    from pytest_promptse.models.registry import ModelOptions
    from pytest_promptse.record.schema import Record
    from pytest_promptse.variants.generate import Rewriter


@pytest.hookspec(firstresult=True)
def pytest_promptse_backend(name: str, model: str, options: ModelOptions) -> Backend | None:
    """Return the backend for ``--promptse-model name:model``, or None if `name` is not yours."""


@pytest.hookspec(firstresult=True)
def pytest_promptse_rewriter(spec: str) -> Rewriter | None:
    """Return the rewriter for ``--promptse-rewriter spec``, or None if it is not yours."""


@pytest.hookspec(firstresult=True)
def pytest_promptse_report(kind: str) -> Callable[[Record, Path], None] | None:
    """Return what writes ``--promptse-report kind:path``, or None if `kind` is not yours.

    A record's ``tasks`` are a sequence that need not be a list, since they may not fit in memory
    at once; `pytest_promptse.record.schema.encode` yields any record as JSON, part by part.
    """
