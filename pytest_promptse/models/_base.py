"""The interface between the sampler and the backends: requests, responses and errors."""

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
    """An error after which a repeated request may succeed, such as overload or a broken connection.

    Parameters
    ----------
    retry_after
        The pause in seconds that the server requested, at least 0, or None if the server requested
        no pause.
    overloaded
        True if the server refused the request because of too many requests (HTTP 429 or 503). The
        sampler then sends fewer requests concurrently.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, overloaded: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.overloaded = overloaded


class FatalError(ModelError):
    """An error that affects every request to the model, such as a wrong key or model name."""


SHORTEN = "lower max_tokens by --promptse-max-tokens, shorten the prompt or choose another model"
"""Remedy if a prompt and its answer do not fit into the context of the model."""
LOWER_LENGTH = (
    "the server does not accept this max_tokens; set a lower one by --promptse-max-tokens"
)
"""Remedy if a server refuses the length of the answer."""


class OneByOneError(ModelError):
    """The server accepts only one sample per request.

    The sampler then sends one request per sample.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The prompt: a user message and, if a prompt template has one, a system message."""

    user: str
    system: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Decoding parameters. Every field is sent with each request.

    ``temperature`` is >= 0, ``top_p`` is in (0, 1], and ``max_tokens`` limits the completion.
    """

    temperature: float = 0.2
    top_p: float = 1.0
    max_tokens: int = 512


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One completion of one prompt.

    Attributes
    ----------
    index
        Number of the sample within its variant, from 0.
    text
        The generated text.
    finish_reason
        Why generation ended.
    n_tokens, logprob
        Number of generated tokens, and their natural log-probability under the model distribution.
        If the server supports it, this is the distribution before temperature and top-p. Both are
        None if the model does not report them. A log-probability that is NaN or above 0 becomes
        None.
    """

    index: int
    text: str
    finish_reason: FinishReason = "stop"
    n_tokens: int | None = None
    logprob: float | None = None

    def __post_init__(self) -> None:
        # A completion that was paid for counts without it, as from a model that reports none.
        object.__setattr__(self, "logprob", valid_logprob(self.logprob))


_ROUNDING = 1e-3


def valid_logprob(value: float | None) -> float | None:
    """Return `value`, or None if it is NaN or above 0, which no log-probability is."""
    return value if value is not None and value <= _ROUNDING else None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Numbers of requests, prompt tokens and completion tokens."""

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
        Prices of one million prompt tokens and of one million completion tokens.
    prompt_tokens, completion_tokens
        Numbers of tokens, at least 0.
    """
    return (price[0] * prompt_tokens + price[1] * completion_tokens) / 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request for samples ``first … first + n - 1`` of a variant.

    Attributes
    ----------
    prompt, decoding
        The prompt and the decoding parameters to send.
    n, first
        The number of samples, at least 1, and the index of the first sample, at least 0.
    seed
        Seed of this request, in [0, 2³¹).
    task_id, variant_id, template
        Ids of the task and the variant, and the name of the prompt template, for backends that look
        up completions. ``template`` is None without a prompt template.
    reference
        The reference solution of the task, for the ``reference`` backend only.
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
    """The completions of one request, and the usage of the request."""

    completions: tuple[Completion, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The capabilities of a started model, which are part of the record.

    Attributes
    ----------
    form
        How to read completions: ``chat`` (code in prose and fences) or ``completion`` (text that
        continues the prompt).
    logprobs
        The distribution under which the log-probabilities are computed: ``raw`` (of the model),
        ``processed`` (after temperature and top-p), ``unknown``, or None without log-probabilities.
    seeded
        True if the model uses the seed of a request.
    refused
        Decoding fields that the server does not accept.
    details
        Further facts about the model for the record, such as versions.
    """

    form: Literal["chat", "completion"]
    logprobs: Literal["raw", "processed", "unknown"] | None = None
    seeded: bool = True
    refused: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """A model. Creating a backend has no side effects; ``start`` loads or contacts the model."""

    @property
    def spec(self) -> str:
        """The model in the form ``BACKEND:NAME``, as the user wrote it."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Values that distinguish this model from others.

        These values are part of the key of each completion.
        """

    @property
    def concurrency(self) -> int:
        """The largest useful number of concurrent requests."""

    async def start(self) -> Capabilities:
        """Load or contact the model.

        Raises
        ------
        ModelError
            If the model cannot be used. The message states a remedy.
        """

    async def complete(self, request: Request) -> Response:
        """Answer one request. The sampler retries failed requests, so a backend must not.

        If a response has fewer than ``request.n`` completions, the sampler requests the missing
        ones one by one. A response must have at least one completion.

        Parameters
        ----------
        request
            The prompt, the decoding parameters and the samples to return.

        Raises
        ------
        TransientError
            If another attempt may succeed.
        OneByOneError
            If the server accepts only one sample per request.
        FatalError
            If no further request to this model can succeed.
        ModelError
            If only this request cannot be answered.
        """

    async def close(self) -> None:
        """Release memory, processes and connections."""


class RequestUsage:
    """A counter of the usage of one request, which starts at one request and no tokens."""

    def __init__(self) -> None:
        self.paid = Usage(requests=1)
        self.refused = False

    def refuse(self) -> None:
        """Record that the server refused the request, which therefore used no tokens."""
        self.refused = True


BudgetGuard: TypeAlias = "Callable[[Request], AbstractAsyncContextManager[RequestUsage]]"
"""A function that returns a context manager for each request.

The context manager raises BudgetError if the request exceeds the budget, and adds the usage of the
request to the totals.
"""


@asynccontextmanager
async def unlimited(_request: Request) -> AsyncIterator[RequestUsage]:
    """Allow every request and book nothing."""
    yield RequestUsage()


@runtime_checkable
class Remote(Protocol):
    """Additional methods of a backend that sends requests to a server while it starts."""

    def check(self) -> None:
        """Raise SettingsError if no request can succeed, for example because the key is missing."""

    async def reach(self, guard: BudgetGuard) -> Capabilities:
        """Start the model. Every request during start-up must be sent inside ``guard()``.

        Parameters
        ----------
        guard
            A function that returns a context manager for each request. The context manager checks
            the budget and counts usage.
        """


def completion_key(
    identity: Mapping[str, str], prompt: Prompt, decoding: Decoding, seed: int
) -> str:
    """Return the key of the completions of a variant in the store, 64 hexadecimal digits.

    The key depends on the model, prompt, decoding and seed, but not on the number of samples. A
    run with more samples therefore requests the missing ones only.

    Parameters
    ----------
    identity
        The values with which the backend identifies the model.
    prompt
        The messages that are sent.
    decoding
        The decoding parameters.
    seed
        The seed of the variant.
    """
    parts = [dict(identity), asdict(prompt), asdict(decoding), seed]
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def derive_seed(*parts: str | float) -> int:
    """Return a seed in [0, 2³¹) that is derived from the SHA-256 of `parts`."""
    canonical = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:4], "big") >> 1
