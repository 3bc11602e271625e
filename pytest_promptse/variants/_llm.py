"""A model as rewriter: the instruction that it gets, and the reading of its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import Decoding, Prompt, derive_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import RewriteRequest
    from pytest_promptse.variants.invariance._finding import Finding

__all__ = ["DECODING", "MOST_RETRIES", "LlmRewriter"]

DECODING = Decoding(temperature=0.9, top_p=0.95, max_tokens=2048)
MOST_RETRIES = 3
"""Largest number of further requests after a rejected text."""

_FENCED = re.compile(r"\A\s*(`{3,})[\w-]*\n(?P<inside>.*?)\n?\1\s*\Z", re.DOTALL)
_RULED = re.compile(r"\A\s*=====+\n(?P<inside>.*?)\n?=====+\s*\Z", re.DOTALL)


class LlmRewriter:
    """Build the prompts in which a model gets the instruction to write a variant.

    The run sends them as requests like all others.

    Parameters
    ----------
    backend
        The model. Only its specification and identity are read; it is not started here.
    library
        The library with the instruction and the descriptions of emotions and personas.

    Attributes
    ----------
    name
        ``llm:BACKEND:NAME``.
    spec
        The model as ``BACKEND:NAME``.
    identity
        The values that identify the model in the store.
    library
        As the parameter.
    """

    has_persona = True

    def __init__(self, backend: Backend, *, library: Library) -> None:
        self.name = f"llm:{backend.spec}"
        self.spec = backend.spec
        self.identity = dict(backend.identity)
        self.library = library

    @property
    def label(self) -> str:
        """``name/version``."""
        return f"{self.name}/{self.version}"

    @property
    def version(self) -> str:
        """Eight hex digits of a hash of the instruction, the model and the decoding."""
        parts = (*self.library.instruction.values(), str(sorted(self.identity.items())))
        decoding = (DECODING.temperature, DECODING.top_p, DECODING.max_tokens)
        return f"{derive_seed(*parts, *decoding, self.library.digest):08x}"

    @property
    def instruction(self) -> str:
        """The instruction in the library, with the names of its parts as placeholders."""
        return "\n\n".join(self.library.instruction[part] for part in ("system", "request"))

    def prompt(
        self, request: RewriteRequest, rejected: Sequence[tuple[str, Sequence[Finding]]]
    ) -> Prompt:
        """Return the prompt for a text.

        Parameters
        ----------
        request
            The requested variant.
        rejected
            The texts that the model wrote for this request before, with their findings.

        Raises
        ------
        VariantError
            If the request has no emotion or no persona.
        """
        text = self._request(request)
        if rejected:
            last, findings = rejected[-1]
            reasons = "\n".join(f"- {finding.detail}" for finding in findings)
            again = self.library.instruction["again"]
            text += "\n\n" + _filled(again, {"candidate": last, "reasons": reasons})
        return Prompt(user=text, system=self.library.instruction["system"])

    def read(self, answer: str, original: str) -> str:
        """Return the text in the model's answer.

        A fence or rule around the whole text is removed. The text then ends as the original does.
        """
        for frame in (_FENCED, _RULED):
            match = frame.match(answer)
            if match and not frame.match(original):
                answer = match["inside"]
        start = original[: len(original) - len(original.lstrip())]
        end = original[len(original.rstrip()) :]
        return start + answer.strip() + end

    def _request(self, request: RewriteRequest) -> str:
        emotion, personality = request.emotion, request.personality
        if emotion is None or personality is None:
            raise VariantError(
                f"{self.name}: a model writes variants with an emotion and a persona; the request "
                f"for task {request.task.id!r} lacks one of them"
            )
        level = self.library.level(request.distance)
        persona = "\n".join(
            f"  {trait.name}: {trait.description} {trait.vocabulary}"
            for trait in personality.traits
        )
        return _filled(
            self.library.instruction["request"],
            {
                "description": emotion.description,
                "language": emotion.language,
                "pattern": emotion.pattern,
                "persona": persona,
                "emotion_weight": f"{request.weights['emotion']:.2f}",
                "persona_weight": f"{request.weights['personality']:.2f}",
                "contexts": ", ".join(
                    f"{name.replace('_', ' ')} {weight:.2f}"
                    for name, weight in request.weights.items()
                    if name not in ("emotion", "personality")
                ),
                "level": level.description,
                "fewest": str(level.fewest),
                "most": str(level.most),
                "prompt": request.task.prompt,
            },
        )


def _filled(template: str, values: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}(?!\}})", lambda match: values[match[1]], template)
