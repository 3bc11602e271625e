"""The errors that users meet. Each has one line with the value, its place and the remedy."""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "ModelError",
    "NoBaselineError",
    "NotScoredError",
    "NotStoredError",
    "PromptseError",
    "RecordError",
    "SandboxError",
    "SettingsError",
    "StoreError",
    "TaskError",
    "VariantError",
]


class PromptseError(Exception):
    """Base class of the errors that this package raises on purpose.

    Parameters
    ----------
    message : str
        The error message, as one line. In text from a server or a library, secrets are replaced by
        ``***`` and control characters are written as escapes.
    """

    def __init__(self, message: str = "") -> None:
        # Every pytest session imports this module, and few raise an error.
        from pytest_promptse._redaction import shown

        super().__init__(shown(message))


class SettingsError(PromptseError):
    """An option, ini value or mark keyword cannot be used."""


class TaskError(PromptseError):
    """A task, suite file, prompt template or data set cannot be used."""


class VariantError(PromptseError):
    """A variant cannot be generated, or it does not make the same request as the original."""


class StoreError(PromptseError):
    """The folder or file that stores completions and verdicts cannot be used."""


class RecordError(PromptseError):
    """A result record cannot be read, written or compared."""


class NoBaselineError(RecordError):
    """No baseline with the given name exists yet."""


class NotScoredError(PromptseError):
    """Something other than the program failed, so there is nothing to score.

    The pytest item becomes an error, not a failure. The next run requests the missing completions.
    """


class ModelError(NotScoredError):
    """The model returned no completion, for example because the server is down."""


class BudgetError(NotScoredError):
    """Another request would exceed ``max_requests`` or ``max_cost``."""


class NotStoredError(NotScoredError):
    """A completion is not in the store, and ``replay_only`` forbids requests.

    The item is skipped.
    """


class SandboxError(NotScoredError):
    """The sandbox failed, not the program in it."""
