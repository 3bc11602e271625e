"""The interface of rewriters: they turn a request into candidates, which are judged one by one."""

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
    """One requested variant.

    ``distance`` is nominal. ``emotion`` and ``personality`` are None if the rewriter's
    ``has_persona`` is False. ``weights`` are the weights of the two, from the context. ``seed`` is
    this variant's own.
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
    """A candidate prompt with its properties.

    Parameters
    ----------
    text
        The whole prompt.
    cues
        The words that show the emotion and each dimension of the persona, by ``emotion``,
        ``technical``, ``experience`` and ``collaboration``.
    operations
        The operations that were applied, such as ``request:question`` and ``block:quote``.
    sentences
        The writer's own sentences in the prompt. Everything else is the original's.
    snippets
        The phrases of the library that `sentences` were made from.
    """

    text: str
    cues: Mapping[str, str] = field(default_factory=dict)
    operations: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()


class Rewriter(Protocol):
    """A writer of variants of tasks.

    ``name`` and ``version`` together are the label of the rewriter, as in ``rules/2``. Any change
    of the variants must change the version. ``has_persona`` is True if variants have an emotion and
    a persona. ``waives`` names the invariance rules that its variants break by design. ``copy``
    allows the original itself and repeated texts. ``duplicate`` allows texts that differ only in
    case or blanks.
    """

    @property
    def name(self) -> str:
        """The part of the rewriter's label before the slash."""

    @property
    def version(self) -> str:
        """The part of the rewriter's label after the slash."""

    @property
    def has_persona(self) -> bool:
        """True if variants have an emotion and a persona."""

    @property
    def waives(self) -> frozenset[str]:
        """Names of rules that do not apply."""

    def candidates(
        self, request: RewriteRequest
    ) -> Generator[Draft | str, Sequence[Finding], None]:
        """Yield candidates, or their texts. The findings about each candidate are sent back in.

        The generator ends when the rewriter gives up. A deterministic rewriter yields the same
        candidates for the same request.
        """


def label(rewriter: Rewriter) -> str:
    """Return ``name/version``."""
    return f"{rewriter.name}/{rewriter.version}"
