"""Every error a user can meet: one line that names the value, the place and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class PromptseError(Exception):
    """Anything this package raises on purpose; its text is meant for the user."""


class SettingsError(PromptseError):
    """An option, ini value or marker keyword that cannot be used."""


class TaskError(PromptseError):
    """A task, suite file or data set that cannot be used."""


class VariantError(PromptseError):
    """Wordings that cannot be made, or that break invariance."""


class StoreError(PromptseError):
    """The folder or file that completions are kept in cannot be used."""


class RecordError(PromptseError):
    """A result record that cannot be read or compared."""


class NoBaselineError(RecordError):
    """There is nothing yet to compare with."""


class NotScoredError(PromptseError):
    """Something outside the model's answer failed, so that there is nothing to score.

    An item that meets it is an error, never a failed sample, and what is missing is asked for
    again on the next run.
    """


class ModelError(NotScoredError):
    """The model did not answer: server down, request refused, retries used up."""


class BudgetError(NotScoredError):
    """Going on would exceed ``max_requests`` or ``max_cost``."""


class SandboxError(NotScoredError):
    """The jail itself failed, not the program in it."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the choice closest to `word`, else an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(choices), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
