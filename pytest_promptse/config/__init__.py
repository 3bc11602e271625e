"""Options, the table of metrics, resolved settings and the location of data files.

The names in ``__all__`` are for authors of metrics.
"""

from pytest_promptse.config._metrics import Metric, PromptGroup, TaskOutcomes

__all__ = ["Metric", "PromptGroup", "TaskOutcomes"]
