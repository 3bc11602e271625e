"""A model as rewriter: the instruction that it gets, and the reading of its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import Decoding, Prompt, derive_seed
from pytest_promptse.variants.invariance._finding import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import RewriteRequest

__all__ = ["DECODING", "MOST_RETRIES", "LlmRewriter"]

DECODING = Decoding(temperature=0.9, top_p=0.95, max_tokens=2048)
MOST_RETRIES = 3
"""Largest number of further requests after a rejected text."""

_FENCED = re.compile(r"\A\s*(`{3,})[\w-]*\n(?P<inside>.*?)\n?\1\s*\Z", re.DOTALL)
_PREAMBLE = re.compile(
    r"\A[\s*]*(?:sure|certainly|of course|okay|ok|here(?:'s|\u2019s| is| are))\b[^\n]{0,120}"
    r"\b(?:rewrit\w+|reworded|rephrased|revised|version|request|text)\b[^\n]{0,60}:[ \t*]*\n+",
    re.IGNORECASE,
)
"""A first line such as "Here is the rewritten request:"."""
_REFUSAL = re.compile(
    r"(?:(?:(?:i['\u2019]m|i am) (?:very )?)?sorry,? (?:but )?"
    r"|as an ai\b.{0,40}|unfortunately,? )?"
    r"i (?:can['\u2019]?t|cannot|can not|won['\u2019]t|am unable to|am not able to|must decline)\b"
    r".{0,40}\b(?:help|assist|rewrite|comply|do that|do this|provide|fulfil|request|with)",
    re.IGNORECASE,
)
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

        A line that announces the text, and a fence or rule around the whole text, are removed. The
        text then ends as the original does.
        """
        preamble = _PREAMBLE.match(answer)
        if preamble and not _PREAMBLE.match(original):
            answer = answer[preamble.end() :]
        for frame in (_FENCED, _RULED):
            match = frame.match(answer)
            if match and not frame.match(original):
                answer = match["inside"]
        start = original[: len(original) - len(original.lstrip())]
        end = original[len(original.rstrip()) :]
        return start + answer.strip() + end

    @staticmethod
    def refusal(text: str, original: str) -> tuple[Finding, ...]:
        """Return a finding if the model refuses to write instead of writing a variant."""
        first = text.strip().partition("\n")[0]
        if not _REFUSAL.match(first) or _longest_line(original) in text:
            return ()
        return (Finding("refusal", f"the model refuses to write: {first!r}"),)

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


def _longest_line(text: str) -> str:
    return max((line.strip() for line in text.splitlines()), key=len, default="")


def _filled(template: str, values: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}(?!\}})", lambda match: values[match[1]], template)
