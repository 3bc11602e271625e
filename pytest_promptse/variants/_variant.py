"""The variant: a task's prompt in the words of another writer, with its properties."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations

import msgspec


def text_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of one task.

    Parameters
    ----------
    task_id, text
        Id of the task, and the whole prompt.
    distance
        The nominal perturbation distance in [0, 1); 0.0 for the original.
    index
        Index of the variant among those of the same task and distance, from 0.
    emotion, personality
        Their names (``technical.experience.collaboration`` for a persona). None for the original
        and for control conditions.
    context
        The weights of emotion and persona.
    measured_distance, added_share, replaced_share, moved_share, length_ratio
        The difference between `text` and the original, as in
        `pytest_promptse.variants._distance.Change`.
    cues
        The words that show the emotion and each dimension of the persona: the longest unbroken run
        of each, by ``emotion``, ``technical``, ``experience`` and ``collaboration``. A trait
        without a cue is missing.
    operations
        The operations on the prompt, such as ``request:question`` and ``block:quote``.
    seed
        The seed of the rewriter.
    rewriter
        Name and version of the rewriter, as in ``rules/2``.
    original
        The SHA-256 of the original prompt.
    """

    task_id: str
    text: str
    distance: float
    index: int
    emotion: str | None = None
    personality: str | None = None
    context: Mapping[str, float] = {}
    measured_distance: float = 0.0
    added_share: float = 0.0
    replaced_share: float = 0.0
    moved_share: float = 0.0
    length_ratio: float = 1.0
    cues: Mapping[str, str] = {}
    operations: tuple[str, ...] = ()
    seed: int = 0
    rewriter: str = ""
    original: str = ""

    @property
    def id(self) -> str:
        """The variant's part of an item id: ``original`` or ``d0.1-tired-expert.senior.plan-0``."""
        if self.distance == 0.0:
            return "original"
        style = "-".join(part for part in (self.emotion, self.personality) if part)
        return f"d{self.distance:g}-{style or self.rewriter.partition('/')[0]}-{self.index}"


def original(task_id: str, prompt: str) -> Variant:
    """Return the original prompt of a task as a variant at distance 0.

    `prompt` is the whole text; its hash identifies the original.
    """
    return Variant(
        task_id=task_id, text=prompt, distance=0.0, index=0, rewriter="", original=text_hash(prompt)
    )
