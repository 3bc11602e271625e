"""Options, the table of metrics, resolved settings and the location of data files.

The names in ``__all__`` are for authors of metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._metrics import Metric

if TYPE_CHECKING:
    from pytest_promptse.config._task_outcomes import PromptGroup, TaskOutcomes

__all__ = ["Metric", "PromptGroup", "TaskOutcomes"]


def __getattr__(name: str) -> object:
    # Every pytest session imports this package for its options, and only a run has outcomes.
    if name in ("PromptGroup", "TaskOutcomes"):
        from pytest_promptse.config import _task_outcomes  # noqa: PLC0415 - see above

        return getattr(_task_outcomes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
