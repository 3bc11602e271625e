"""Differences that the judge reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Finding", "no_findings"]


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
        Pairs of premise and hypothesis. If a model confirms all of them, the finding is dropped.
        Empty if no model can clear the finding.
    """

    rule: str
    detail: str
    questions: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


def no_findings(_text: str) -> Iterable[Finding]:
    """Return no finding, where nothing but the rules judges a text."""
    return ()
