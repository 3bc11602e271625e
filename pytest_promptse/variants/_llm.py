"""A model as rewriter: the instruction that it gets, and the reading of its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import Prompt, derive_seed
from pytest_promptse.variants._rewriter import WRITING, Draft, Rewriter, WritingModel, ask
from pytest_promptse.variants.invariance._finding import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import Candidates, RewriteRequest

__all__ = ["LlmRewriter"]

_MOST_TEXTS = 4
"""Largest number of texts that are requested for a variant."""

_FENCED = re.compile(r"\A\s*(`{3,})[\w-]*\n(?P<inside>.*?)\n?\1\s*\Z", re.DOTALL)
_REWRITTEN = r"rewrit\w+|reworded|rephrased|revised"
_REWRITTEN_CHINESE = r"\u6539\u5199|\u91cd\u5199|\u7248\u672c"
_PREAMBLE = re.compile(
    rf"""\A[\s*\#_]*
    (?: (?=[^\n]{{0,180}}\b(?:{_REWRITTEN}|version|request|text)\b)
        (?:sure|certainly|of\ course|absolutely|okay|ok|here|below|the|this|my|{_REWRITTEN})\b
      | (?=[^\n]{{0,40}}(?:{_REWRITTEN_CHINESE}))
        (?:\u597d\u7684|\u4ee5\u4e0b|\u4e0b\u9762|\u8fd9\u662f|{_REWRITTEN_CHINESE}) )
    [^\n]{{0,180}}[:\uff1a][ \t*_]*\n+""",
    re.IGNORECASE | re.VERBOSE,
)
"""A first line such as "Here is the rewritten request:"."""
_REFUSAL = re.compile(
    r"(?:(?:(?:i['\u2019]m|i am) (?:very )?)?sorry,? (?:but )?"
    r"|as an ai\b.{0,40}|unfortunately,? )?"
    r"i (?:can['\u2019]?t|cannot|can not|won['\u2019]t|am unable to|am not able to|must decline)\b"
    r".{0,40}\b(?:help|assist|rewrite|comply|do that|do this|provide|fulfil|request|with)"
    r"|(?:\u62b1\u6b49|\u5bf9\u4e0d\u8d77|\u5f88\u9057\u61be)[\uff0c,]?\u6211?"
    r"(?:\u65e0\u6cd5|\u4e0d\u80fd|\u4e0d\u4f1a)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\A\s*(?P<mark>[\"\u201c])(?P<inside>[^\"\u201c\u201d]*)[\"\u201d]\s*\Z")
_RULED = re.compile(r"\A\s*=====+\n(?P<inside>.*?)\n?=====+\s*\Z", re.DOTALL)


class LlmRewriter(Rewriter):
    """Let a model write variants, with an instruction and the descriptions of the library.

    Parameters
    ----------
    backend
        The model. Only its specification and identity are read; it is not started here.
    library
        The library with the instruction and the descriptions of emotions and personas.
    """

    def __init__(self, backend: Backend, *, library: Library) -> None:
        self._spec = backend.spec
        self._identity = dict(backend.identity)
        self._library = library

    @property
    def name(self) -> str:
        """``llm:BACKEND:NAME``."""
        return f"llm:{self._spec}"

    @property
    def version(self) -> str:
        """Eight hex digits of a hash of the instruction, the model and the decoding."""
        parts = (*self._library.instruction.values(), str(sorted(self._identity.items())))
        decoding = (WRITING.temperature, WRITING.top_p, WRITING.max_tokens)
        return f"{derive_seed(*parts, *decoding, self._library.digest):08x}"

    @property
    def model(self) -> WritingModel:
        """The model, with the instruction of the library."""
        parts = (self._library.instruction[part] for part in ("system", "request"))
        return WritingModel(
            spec=self._spec, max_requests=_MOST_TEXTS, instruction="\n\n".join(parts)
        )

    def candidates(self, request: RewriteRequest) -> Candidates:
        """Ask for a text until one is accepted. A rejected one goes back with its findings.

        Raises
        ------
        VariantError
            If the request has no emotion or no persona.
        """
        original = request.task.prompt
        system = self._library.instruction["system"]
        first = user = self._request(request)
        while True:
            answer = yield from ask(Prompt(user=user, system=system))
            text = _text_in(answer, original)
            findings: Sequence[Finding] = yield Draft(text=text, findings=_refusal(text, original))
            reasons = "\n".join(f"- {finding.detail}" for finding in findings)
            again = self._library.instruction["again"]
            user = f"{first}\n\n{_filled(again, {'candidate': text, 'reasons': reasons})}"

    def _request(self, request: RewriteRequest) -> str:
        emotion, personality = request.emotion, request.personality
        if emotion is None or personality is None:
            raise VariantError(
                f"{self.name}: a model writes variants with an emotion and a persona; the request "
                f"for task {request.task.id!r} lacks one of them"
            )
        level = self._library.level(request.distance)
        persona = "\n".join(
            f"  {trait.name}: {trait.description} {trait.vocabulary}"
            for trait in personality.traits
        )
        return _filled(
            self._library.instruction["request"],
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


def _text_in(answer: str, original: str) -> str:
    """Return the text in the model's answer.

    A line that announces the text, and a fence, rule or quotation marks around the whole text, are
    removed. The text then ends as the original does.
    """
    preamble = _PREAMBLE.match(answer)
    if preamble and not _PREAMBLE.match(original):
        answer = answer[preamble.end() :]
    for frame in (_FENCED, _RULED, _QUOTED):
        match = frame.match(answer)
        if match and not frame.match(original):
            answer = match["inside"]
    start = original[: len(original) - len(original.lstrip())]
    end = original[len(original.rstrip()) :]
    return start + answer.strip() + end


def _refusal(text: str, original: str) -> tuple[Finding, ...]:
    """Return a finding if the model refuses to write instead of writing a variant."""
    first = text.strip().partition("\n")[0]
    if not _REFUSAL.match(first) or _longest_line(original) in text:
        return ()
    return (Finding("refusal", f"the model refuses to write: {first!r}"),)


def _longest_line(text: str) -> str:
    return max((line.strip() for line in text.splitlines()), key=len, default="")


def _filled(template: str, values: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}(?!\}})", lambda match: values[match[1]], template)
