"""Backends that return completions, and the extraction of programs from completions.

The names in ``__all__`` are for authors of their own backends.
"""

from pytest_promptse.models._base import (
    Backend,
    BudgetGuard,
    Capabilities,
    Completion,
    Decoding,
    FatalError,
    OneByOneError,
    Prompt,
    Remote,
    Request,
    RequestUsage,
    Response,
    TransientError,
    Usage,
)
from pytest_promptse.models._registry import ModelOptions

__all__ = [
    "Backend",
    "BudgetGuard",
    "Capabilities",
    "Completion",
    "Decoding",
    "FatalError",
    "ModelOptions",
    "OneByOneError",
    "Prompt",
    "Remote",
    "Request",
    "RequestUsage",
    "Response",
    "TransientError",
    "Usage",
]
