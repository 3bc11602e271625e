"""Backends: the interface for plugin authors, and the built-in models."""

from pytest_promptse.models.base import (
    Backend,
    BudgetGuard,
    Capabilities,
    Completion,
    Decoding,
    FatalError,
    FinishReason,
    OneByOneError,
    Prompt,
    Remote,
    Request,
    RequestUsage,
    Response,
    TransientError,
    Usage,
    unlimited,
)

__all__ = [
    "Backend",
    "BudgetGuard",
    "Capabilities",
    "Completion",
    "Decoding",
    "FatalError",
    "FinishReason",
    "OneByOneError",
    "Prompt",
    "Remote",
    "Request",
    "RequestUsage",
    "Response",
    "TransientError",
    "Usage",
    "unlimited",
]
