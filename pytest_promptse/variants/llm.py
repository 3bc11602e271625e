"""A model as rewriter: instructed from the library, judged like everybody, told why it failed."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from pytest_promptse.models.base import (
    Decoding,
    Prompt,
    Remote,
    Request,
    RequestUsage,
    Usage,
    derive_seed,
)
from pytest_promptse.variants.rewriter import Draft

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping, Sequence
    from types import TracebackType

    from pytest_promptse.models.base import Backend
    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.library import Library
    from pytest_promptse.variants.rewriter import RewriteRequest

TEMPERATURE, TOP_P, MAX_TOKENS = 0.9, 0.95, 2048
MOST_TRIES = 8
_FENCED = re.compile(r"\A\s*(`{3,})[\w-]*\n(?P<inside>.*?)\n?\1\s*\Z", re.DOTALL)
_RULED = re.compile(r"\A\s*=====+\n(?P<inside>.*?)\n?=====+\s*\Z", re.DOTALL)


class LlmRewriter:
    """Asks a model to reword, at most ``MOST_TRIES`` times for each wording.

    Every try has its own seed, and after a rejection the model is shown its wording and what was
    wrong with it. What the asking cost is summed up in ``usage``, apart from the run's own.

    Parameters
    ----------
    backend
        Any backend; it is started at the first request. Close the rewriter, or use it as a
        context manager, to close it.
    library
        Where the instruction and the descriptions are taken from.
    most_tries
        Requests per wording, at least 1.

    Notes
    -----
    Wordings are as reproducible as the model: freeze them to keep them. The rewriter runs its own
    event loop, so it cannot be used from within a coroutine; give it a thread there.
    """

    voiced = True
    waives = frozenset({"english"})

    def __init__(self, backend: Backend, *, library: Library, most_tries: int = MOST_TRIES) -> None:
        self.name = f"llm:{backend.spec}"
        self.usage = Usage()
        self._backend = backend
        self._library = library
        self._most_tries = most_tries
        self._runner: asyncio.Runner | None = None

    @property
    def version(self) -> str:
        """Eight hex digits over the instruction, the model and the decoding."""
        parts = (*self._library.instruction.values(), str(sorted(self._backend.identity.items())))
        decoding = (TEMPERATURE, TOP_P, MAX_TOKENS, self._library.digest)
        return f"{derive_seed(*parts, *decoding):08x}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the backend, if it was ever started."""
        if self._runner is not None:
            self._runner.run(self._backend.close())
            self._runner.close()
            self._runner = None

    def candidates(self, request: RewriteRequest) -> Generator[Draft, Sequence[Finding], None]:
        """Yield the model's wordings, each of them asked for after the last one was judged."""
        instruction = self._instruction(request)
        again = ""
        for number in range(self._most_tries):
            seed = derive_seed(request.seed, "candidate", number)
            text = self._asked(Prompt(user=instruction + again, system=self._system), seed)
            wording = _framed_like(text, request.task.prompt)
            findings = yield Draft(text=wording)
            reasons = "\n".join(f"- {finding.detail}" for finding in findings or ())
            again = "\n\n" + _filled(
                self._library.instruction["again"], {"candidate": wording, "reasons": reasons}
            )

    @property
    def _system(self) -> str:
        return self._library.instruction["system"]

    def _asked(self, prompt: Prompt, seed: int) -> str:
        if self._runner is None:
            self._runner = asyncio.Runner()
            backend = self._backend
            start = backend.reach(self._meter) if isinstance(backend, Remote) else backend.start()
            self._runner.run(start)
        decoding = Decoding(temperature=TEMPERATURE, top_p=TOP_P, max_tokens=MAX_TOKENS)
        ask = Request(prompt=prompt, decoding=decoding, n=1, seed=seed, variant_id="rewriting")
        answer = self._runner.run(self._backend.complete(ask))
        self.usage += answer.usage
        return answer.completions[0].text

    @asynccontextmanager
    async def _meter(self, _ask: Request) -> AsyncIterator[RequestUsage]:
        slip = RequestUsage()
        try:
            yield slip
        finally:
            self.usage += slip.paid

    def _instruction(self, request: RewriteRequest) -> str:
        emotion, personality = request.emotion, request.personality
        assert emotion is not None
        assert personality is not None
        level = self._library.level(request.distance)
        profile = "; ".join(
            f"{trait.name} — {trait.description} {trait.vocabulary}" for trait in personality.traits
        )
        return _filled(
            self._library.instruction["request"],
            {
                "description": emotion.description,
                "language": emotion.language,
                "pattern": emotion.pattern,
                "personality": profile,
                "emotion_weight": f"{request.weights['emotion']:.2f}",
                "personality_weight": f"{request.weights['personality']:.2f}",
                "strength": level.description,
                "low": str(level.fewest),
                "high": str(level.most),
                "prompt": request.task.prompt,
            },
        )


def _filled(template: str, values: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}(?!\}})", lambda match: values[match[1]], template)


def _framed_like(text: str, original: str) -> str:
    """Take off a fence or ruler that the model put around everything, and end as the original."""
    for frame in (_FENCED, _RULED):
        match = frame.match(text)
        if match and not frame.match(original):
            text = match["inside"]
    start = original[: len(original) - len(original.lstrip())]
    end = original[len(original.rstrip()) :]
    return start + text.strip() + end
