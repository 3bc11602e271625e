"""The interface of rewriters: they turn a request into candidates, which are judged one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pytest_promptse.models._base import Decoding, Prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Emotion, Personality
    from pytest_promptse.variants.invariance._finding import Finding

WRITING = Decoding(temperature=0.9, top_p=0.95, max_tokens=2048)
"""The decoding of requests for texts."""

Candidates: TypeAlias = Generator[Union["Draft", str, "Ask"], Any, None]
"""Candidates and requests. The findings about a candidate, or the model's answer, are sent back."""


@dataclass(frozen=True, kw_only=True)
class RewriteRequest:
    """One requested variant.

    ``distance`` is the nominal distance. ``emotion`` and ``personality`` are None if the rewriter's
    ``draws_persona`` is False. ``weights`` are the weights of emotion and persona, which depend on
    the context of the task. ``seed`` is specific to this variant.
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
        For the emotion and for each trait of the persona, the longest unbroken run of words that
        expresses this emotion or trait. The keys are ``emotion``, ``technical``, ``experience`` and
        ``collaboration``.
    operations
        The rewriting operations that were applied, such as ``request:question`` and
        ``block:quote``.
    sentences
        The sentences that the rewriter has added to the prompt. All other text belongs to the
        original.
    snippets
        The phrases of the library from which `sentences` are composed.
    findings
        The rewriter's own findings, such as a refusal. A candidate with findings is rejected.
    """

    text: str
    cues: Mapping[str, str] = field(default_factory=dict)
    operations: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request to the model of a rewriter. The function `ask` creates such requests."""

    prompt: Prompt
    decoding: Decoding


def ask(prompt: Prompt | str, *, decoding: Decoding = WRITING) -> Generator[Ask, Any, str]:
    """Return the answer of the rewriter's model: ``answer = yield from ask(prompt)``.

    The run sends the request through the common queue, with retries and within the budget. The
    answer is kept in the store, so a second run does not pay for it again.

    Parameters
    ----------
    prompt
        The user message, or a prompt with a system message.
    decoding
        The decoding parameters: by default temperature 0.9, top-p 0.95 and at most 2,048 tokens.
        The run chooses the seed.
    """
    prompt = Prompt(user=prompt) if isinstance(prompt, str) else prompt
    answer: str = yield Ask(prompt=prompt, decoding=decoding)
    return answer


@dataclass(frozen=True, kw_only=True)
class WritingModel:
    """The model that a rewriter uses.

    Parameters
    ----------
    spec
        The model as ``BACKEND:NAME``. The run uses the backend that it would use for
        ``--promptse-model``.
    max_requests
        The maximum number of requests, and of candidates, for one variant. The run never exceeds
        this number, so a dry run can state the maximum number of requests of a run.
    instruction
        The instruction to the model, before the values of a task are inserted. Only the record uses
        this text.
    """

    spec: str
    max_requests: int
    instruction: str = ""


class Rewriter(ABC):
    """Base class of rewriters, which write variants of tasks offline or with a model."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The part of the rewriter's label before the slash."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The part of the rewriter's label after the slash.

        If the variants change, the version must change too.
        """

    @property
    def has_persona(self) -> bool:
        """True if variants have an emotion and a persona, which is the default."""
        return True

    @property
    def waives(self) -> frozenset[str]:
        """Names of the rules of the judge that the variants break by design: none by default.

        With ``copy``, the original itself and repeated texts are allowed. With ``duplicate``, texts
        that differ only in case or whitespace are allowed.
        """
        return frozenset()

    @property
    def model(self) -> WritingModel | None:
        """The model to which `candidates` sends prompts, or None (the default)."""
        return None

    @property
    def label(self) -> str:
        """Name and version, as in ``rules/2``."""
        return f"{self.name}/{self.version}"

    @property
    def draws_as(self) -> str:
        """The label from which seeds, emotions and personas are derived; `label` by default."""
        return self.label

    @property
    def draws_persona(self) -> bool:
        """True if each `RewriteRequest` has an emotion and a persona; `has_persona` by default."""
        return self.has_persona

    @abstractmethod
    def candidates(self, request: RewriteRequest) -> Candidates:
        """Yield candidates, as drafts or as text. ``yield`` returns the findings about a candidate.

        A rewriter can also send a prompt to its `model`: ``answer = yield from ask(prompt)``. The
        generator ends when the rewriter gives up. The same request and the same answers must result
        in the same candidates.
        """
