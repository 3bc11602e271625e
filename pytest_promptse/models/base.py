"""What every backend speaks: a prompt in, seeded completions out."""

from __future__ import annotations

import hashlib
import json
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from pytest_promptse.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

FinishReason = Literal["stop", "length", "content_filter", "unknown"]


class TransientError(ModelError):
    """What may pass when asked again: overload, a broken connection, an unusable answer.

    ``retry_after`` is the pause in seconds that the server asked for, None where it named none.
    ``overloaded`` says that the server is asked too much at once (429 or 503), which calls for
    fewer requests at a time and not only for another attempt.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, overloaded: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.overloaded = overloaded


class FatalError(ModelError):
    """What no other attempt will mend, for this or any request: bad key, unknown model."""


class OneByOneError(ModelError):
    """The model turns out to take one sample a request only: to be asked so from now on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What is sent: the user's part and, where a team template has one, the system's."""

    user: str
    system: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How completions are drawn; every field is sent explicitly."""

    temperature: float = 0.2
    top_p: float = 1.0
    max_tokens: int = 512


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One sample of one prompt.

    ``logprob`` is the natural log-probability of the whole sequence under the raw model
    distribution (before temperature and top-p where the server gives the choice), ``n_tokens``
    the number of tokens it sums over; both None where the model does not say. ``index`` is the
    sample's number within its wording, from 0.
    """

    index: int
    text: str
    finish_reason: FinishReason = "stop"
    n_tokens: int | None = None
    logprob: float | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What answering cost: requests sent, tokens in, tokens out."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


def token_cost(price: tuple[float, float], prompt_tokens: float, completion_tokens: float) -> float:
    """Return the cost of tokens, in the currency of `price`.

    Parameters
    ----------
    price
        Of one million prompt tokens and of one million completion tokens.
    prompt_tokens, completion_tokens
        Numbers of tokens, at least 0.
    """
    return (price[0] * prompt_tokens + price[1] * completion_tokens) / 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request: samples ``first … first + n - 1`` of a wording.

    ``seed`` is this request's own, in [0, 2³¹); ``task_id``, ``variant_id`` and
    ``template``, the name of the prompt template if there is one, say which wording it is, for
    backends that look answers up. ``reference`` is the task's own solution,
    which only the ``reference`` backend reads.
    """

    prompt: Prompt
    decoding: Decoding
    n: int
    first: int = 0
    seed: int = 0
    task_id: str = ""
    variant_id: str = "original"
    template: str | None = None
    reference: str | None = None


@dataclass(frozen=True, kw_only=True)
class Response:
    """The completions of one request and what they cost."""

    completions: tuple[Completion, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a started backend turned out to honour; goes into the record as it is.

    ``form`` says how answers must be read: ``chat`` (prose and fences around code) or
    ``completion`` (text that goes on where the prompt stopped). ``logprobs`` is ``raw`` (model
    distribution), ``processed`` (after temperature and top-p), ``unknown`` or None for no
    log-probabilities at all. ``refused`` names decoding fields that the server would not take.
    """

    form: Literal["chat", "completion"]
    logprobs: Literal["raw", "processed", "unknown"] | None = None
    seeded: bool = True
    refused: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """A model that can be asked. Created without side effects; ``start`` does the heavy work."""

    @property
    def spec(self) -> str:
        """``BACKEND:NAME`` as the user wrote it."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes this model another model; part of the key of each completion."""

    @property
    def concurrency(self) -> int:
        """The most requests worth having under way at once."""

    async def start(self) -> Capabilities:
        """Load or reach the model. Raises ModelError with a remedy if it cannot be used."""

    async def complete(self, request: Request) -> Response:
        """Answer one request, without retries of its own.

        A response with at least one but fewer than ``request.n`` completions says that the rest
        must be requested one by one.

        Raises
        ------
        TransientError
            If another attempt may succeed.
        OneByOneError
            If the server takes one sample a request only.
        FatalError
            If no further request to this model can succeed.
        ModelError
            If this request alone cannot be answered.
        """

    async def close(self) -> None:
        """Give back memory, processes and connections."""


class RequestUsage:
    """What one request turned out to use; one unanswered request until told otherwise."""

    def __init__(self) -> None:
        self.paid = Usage(requests=1)
        self.refused = False

    def refuse(self) -> None:
        """Take note that the request was turned away, so that it took no tokens."""
        self.refused = True


BudgetGuard: TypeAlias = "Callable[[Request], AbstractAsyncContextManager[RequestUsage]]"
"""What a request is sent inside of: it says whether that may be paid, and books what it took."""


@asynccontextmanager
async def unlimited(_request: Request) -> AsyncIterator[RequestUsage]:
    """Let any request be sent, and book nothing."""
    yield RequestUsage()


@runtime_checkable
class Remote(Protocol):
    """What a backend has besides, where its model is reached by requests and not loaded here."""

    def check(self) -> None:
        """Raise SettingsError where it is plain without a request that none can be sent."""

    async def reach(self, meter: BudgetGuard) -> Capabilities:
        """Start, with every request that this takes sent inside `meter`."""


def completion_key(
    identity: Mapping[str, str], prompt: Prompt, decoding: Decoding, seed: int
) -> str:
    """Return the key, 64 hex digits, under which a wording's completions are kept.

    Another model, wording, decoding or seed is another key; the number of samples is not part
    of it, so that asking for more asks only for the missing ones.
    """
    parts = [dict(identity), asdict(prompt), asdict(decoding), seed]
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def derive_seed(*parts: str | float) -> int:
    """Return a seed in [0, 2³¹) hashed from `parts`: the same everywhere, adjacent nowhere."""
    canonical = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:4], "big") >> 1
