"""Differences that the judge reports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """One difference between an original and a variant.

    Attributes
    ----------
    rule
        Name of the rule that the variant breaks, such as ``negation``.
    detail
        The difference, with the words that differ.
    questions
        Pairs of premise and hypothesis. A model that confirms all of them clears the finding. Empty
        if no model may.
    """

    rule: str
    detail: str
    questions: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"
