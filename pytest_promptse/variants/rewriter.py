"""What every rewriter speaks: a request in, candidates out, each judged before the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from pytest_promptse.tasks.task import Task
    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.library import Emotion, Personality


@dataclass(frozen=True, kw_only=True)
class RewriteRequest:
    """One wording that is wanted.

    ``distance`` is nominal, ``band`` the interval ``[low, high)`` that the measured one must
    fall in. ``emotion`` and ``personality`` are None where the rewriter is not ``voiced``;
    ``weights`` is what the context makes of them. ``seed`` is this wording's own.
    """

    task: Task
    distance: float
    band: tuple[float, float]
    index: int
    seed: int
    emotion: Emotion | None
    personality: Personality | None
    weights: Mapping[str, float]


class Rewriter(Protocol):
    """Something that rewords tasks.

    ``name`` and ``version`` together are the rewriter of a variant, as in ``rules/1``: whatever
    changes the wordings changes the version. ``voiced`` says whether it speaks with an emotion
    and a personality. ``waives`` names the rules of invariance that its wordings break by
    design, such as ``duplicate`` for the arm that repeats the original; ``english`` stands for
    originals in another language.
    """

    @property
    def name(self) -> str:
        """The part of the rewriter's label before the slash."""

    @property
    def version(self) -> str:
        """The part of the rewriter's label after the slash."""

    @property
    def voiced(self) -> bool:
        """Whether wordings have an emotion and a personality."""

    @property
    def waives(self) -> frozenset[str]:
        """Names of rules that do not apply."""

    def candidates(self, request: RewriteRequest) -> Generator[str, Sequence[Finding], None]:
        """Yield candidate prompts; what each was rejected for is sent back in.

        The generator ends where the rewriter gives up. The same request yields the same
        candidates where the rewriter is deterministic.
        """


def label(rewriter: Rewriter) -> str:
    """Return ``name/version``."""
    return f"{rewriter.name}/{rewriter.version}"
