"""The interface of rewriters: from a request they make candidates, which are judged one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Emotion, Personality
    from pytest_promptse.variants.invariance._finding import Finding


@dataclass(frozen=True, kw_only=True)
class RewriteRequest:
    """One variant that is wanted.

    ``distance`` is nominal. ``emotion`` and ``personality`` are None where the rewriter is not
    ``has_persona``; ``weights`` is what the context makes of them. ``seed`` is this variant's own.
    """

    task: Task
    distance: float
    index: int
    seed: int
    emotion: Emotion | None
    personality: Personality | None
    weights: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A candidate prompt and what is known of it.

    Parameters
    ----------
    text
        The whole prompt.
    cues
        What shows the emotion and each dimension of the persona: ``emotion``, ``technical``,
        ``experience``, ``collaboration``, each with the words that show it.
    operations
        What was done, such as ``request:question`` and ``block:quote``.
    sentences
        The writer's own sentences in it; everything else is the original's.
    snippets
        The phrases of the library that `sentences` were made from.
    """

    text: str
    cues: Mapping[str, str] = field(default_factory=dict)
    operations: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()


class Rewriter(Protocol):
    """Something that writes variants of tasks.

    ``name`` and ``version`` together are the rewriter of a variant, as in ``rules/2``: whatever
    changes the variants changes the version. ``has_persona`` says whether variants have an emotion
    and a persona. ``waives`` names the rules of invariance that its variants break by design,
    such as ``duplicate`` for the control condition that repeats the original.
    """

    @property
    def name(self) -> str:
        """The part of the rewriter's label before the slash."""

    @property
    def version(self) -> str:
        """The part of the rewriter's label after the slash."""

    @property
    def has_persona(self) -> bool:
        """Whether variants have an emotion and a persona."""

    @property
    def waives(self) -> frozenset[str]:
        """Names of rules that do not apply."""

    def candidates(
        self, request: RewriteRequest
    ) -> Generator[Draft | str, Sequence[Finding], None]:
        """Yield candidates, or their texts; what each was rejected for is sent back in.

        The generator ends where the rewriter gives up. The same request yields the same
        candidates where the rewriter is deterministic.
        """


def label(rewriter: Rewriter) -> str:
    """Return ``name/version``."""
    return f"{rewriter.name}/{rewriter.version}"
