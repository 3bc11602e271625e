"""The variant: a task's prompt in another voice, with everything needed to make it again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One wording of one task.

    ``distance`` is the nominal perturbation distance (0.0 for the original) and
    ``measured_distance`` what was measured, both in [0, 1]. ``emotion`` and ``personality``
    (``technical.experience.collaboration``) are None for the original and for control arms.
    ``context`` holds the weights with which emotion was laid over personality. ``seed`` is the
    rewriter's; ``rewriter`` names it with its version, as in ``rules/1``; ``original`` is the
    SHA-256 of the original prompt.
    """

    task_id: str
    text: str
    distance: float
    index: int
    emotion: str | None = None
    personality: str | None = None
    context: Mapping[str, float] = field(default_factory=dict)
    measured_distance: float = 0.0
    seed: int = 0
    rewriter: str = ""
    original: str = ""

    @property
    def id(self) -> str:
        """The wording's part of an item id: ``original`` or ``d0.1-tired-expert.senior.plan-0``."""
        if self.distance == 0.0:
            return "original"
        voice = "-".join(part for part in (self.emotion, self.personality) if part)
        return f"d{self.distance:g}-{voice or self.rewriter.partition('/')[0]}-{self.index}"


def original(task_id: str, prompt: str) -> Variant:
    """Return the original wording of a task as a variant at distance 0."""
    return Variant(
        task_id=task_id, text=prompt, distance=0.0, index=0, rewriter="", original=text_hash(prompt)
    )
