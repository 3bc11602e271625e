"""Hooks with which other packages add backends, rewriters, metrics, reports and instruments.

Implement a hook in a pytest plugin or a ``conftest.py``. The plugin calls all implementations
before it looks at its own backends, rewriters and reports. The first result that is not None is
used, so an implementation can also replace a built-in name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_promptse.config import Metric
    from pytest_promptse.instruments import Instrument
    from pytest_promptse.models import Backend, ModelOptions
    from pytest_promptse.record._schema import Record
    from pytest_promptse.variants import Rewriter

__all__ = [
    "INSTRUMENTS",
    "pytest_promptse_backend",
    "pytest_promptse_candidates",
    "pytest_promptse_instruments",
    "pytest_promptse_metrics",
    "pytest_promptse_names",
    "pytest_promptse_report",
    "pytest_promptse_rewriter",
]

INSTRUMENTS = "pytest_promptse.instruments"
"""The entry point group of modules that implement `pytest_promptse_instruments`."""


@pytest.hookspec(firstresult=True)
def pytest_promptse_backend(name: str, model: str, options: ModelOptions) -> Backend | None:
    """Return the backend for ``--promptse-model name:model``.

    Parameters
    ----------
    name
        The part of the option's value before the colon.
    model
        The part of the option's value after the colon.
    options
        The settings that a backend needs, such as the base URL.

    Returns
    -------
    The backend, or None if `name` belongs to another plugin.
    """


@pytest.hookspec(firstresult=True)
def pytest_promptse_rewriter(spec: str) -> Rewriter | None:
    """Return the rewriter for ``--promptse-rewriter spec``.

    Parameters
    ----------
    spec
        The value of the option.

    Returns
    -------
    The rewriter, or None if `spec` belongs to another plugin.
    """


@pytest.hookspec(firstresult=True)
def pytest_promptse_report(kind: str) -> Callable[[Record, Path], None] | None:
    """Return the function that writes ``--promptse-report kind:path``.

    Parameters
    ----------
    kind
        The part of the option's value before the colon.

    Returns
    -------
    A function that receives the record and the path, or None if `kind` belongs to another plugin.
    The record's ``tasks`` are a sequence but not always a list, because they may not fit in memory.
    `pytest_promptse.record.encode` yields a record as JSON in parts.
    """


@pytest.hookspec
def pytest_promptse_candidates() -> Sequence[str]:  # type: ignore[empty-body]
    """Return templates that ``promptse harden`` tries in addition to its own.

    Returns
    -------
    Paths or globs of Jinja2 files. The first comment of each file describes the idea of its
    template.
    """


@pytest.hookspec(historic=True)
def pytest_promptse_metrics() -> Sequence[Metric]:  # type: ignore[empty-body]
    """Return metrics that every suite has in addition to the built-in ones.

    A metric with a ``threshold_help`` has an option and a gate. Implement the hook in an installed
    plugin or in the ``conftest.py`` of the root directory. Otherwise pytest does not know the
    option when it reads the command line.

    Returns
    -------
    The metrics.
    """


@pytest.hookspec
def pytest_promptse_instruments() -> Sequence[Instrument]:  # type: ignore[empty-body]
    """Return instruments, such as questionnaires.

    A package lists the module with this hook under the entry point group
    ``pytest_promptse.instruments``. The module is imported when pytest collects the first file
    ``*.NAME.yaml``, and whenever the ``promptse`` command runs. Therefore, the import of this
    module must be fast.

    Returns
    -------
    The instruments of this plugin.
    """


@pytest.hookspec
def pytest_promptse_names(kind: Literal["backend", "rewriter", "report"]) -> Sequence[str] | None:
    """Return the names that this plugin adds, for the lists in error messages.

    Parameters
    ----------
    kind
        The kind of names to return.

    Returns
    -------
    The names, or None if the plugin adds none of this kind.
    """
