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
    """

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"
