"""Requests and responses of the three APIs of OpenAI-compatible servers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar

import msgspec

from pytest_promptse.models._base import (
    Completion,
    FinishReason,
    TransientError,
    Usage,
    valid_logprob,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models._base import Decoding, Prompt

_T = TypeVar("_T")
REFUSABLE = ("temperature", "top_p", "n", "seed", "logprobs")
"""Decoding fields that some servers refuse."""

ApiName = Literal["chat", "completions", "responses"]

_FINISH: Mapping[str | None, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One choice of a response; ``logprobs`` has one entry per token, None if not reported."""

    text: str
    finish_reason: FinishReason
    logprobs: tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The choices of one response and their usage."""

    samples: tuple[Choice, ...]
    usage: Usage


class Api(Protocol):
    """One API.

    Attributes
    ----------
    form
        How to read its completions.
    lacks
        Decoding fields that the API does not have.
    length_names
        Possible names of the token limit, the preferred one first.
    """

    name: ApiName
    path: str
    form: Literal["chat", "completion"]
    lacks: tuple[str, ...]
    length_names: tuple[str, ...]

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters of the request, grouped by decoding field.

        The group ``prompt`` is always sent. The caller adds the token limit.

        `n` is the number of completions, and `seed` that of the request.
        """

    def read(self, body: bytes) -> Reply:
        """Parse `body`. Raise TransientError if it is not a usable response."""


def completions_of(reply: Reply, *, first: int, n: int) -> tuple[Completion, ...]:
    """Return the choices of a response as the samples ``first … first + n - 1`` at most.

    Choices after the first `n` are left out; there may be fewer.
    """
    return tuple(
        _completion(choice, first + number, reply)
        for number, choice in enumerate(reply.samples[:n])
    )


def _completion(choice: Choice, index: int, reply: Reply) -> Completion:
    n_tokens: int | None = None
    if choice.logprobs is not None:
        n_tokens = len(choice.logprobs)
    elif len(reply.samples) == 1 and reply.usage.completion_tokens:
        n_tokens = reply.usage.completion_tokens
    return Completion(
        index=index,
        text=choice.text,
        finish_reason=choice.finish_reason,
        n_tokens=n_tokens,
        logprob=None if choice.logprobs is None else math.fsum(choice.logprobs),
    )


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Usage(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None

    def counted(self) -> Usage:
        return Usage(
            requests=1,
            prompt_tokens=self.prompt_tokens or self.input_tokens or 0,
            completion_tokens=self.completion_tokens or self.output_tokens or 0,
        )


class _Token(msgspec.Struct):
    logprob: float | None = None


class _ChatLogprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _ChatChoice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: Any = None


class _ChatBody(msgspec.Struct):
    choices: list[_ChatChoice]
    usage: Any = None


class ChatApi:
    """``/v1/chat/completions``: messages in, messages out.

    ``form`` is the form of the prompt, ``lacks`` are the decoding fields that the API does not
    have, and ``length_names`` are its names of the token limit, to be tried in order.
    """

    name: ApiName = "chat"
    path = "/chat/completions"
    form: Literal["chat", "completion"] = "chat"
    lacks: tuple[str, ...] = ()
    # Many servers do not know the newer name; reasoning models refuse the older one.
    # https://platform.openai.com/docs/api-reference/chat/create
    length_names: tuple[str, ...] = ("max_tokens", "max_completion_tokens")

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters by decoding field.

        `n` is the number of completions. Each value has the fields of the request's body, so that a
        refused field can be omitted.
        """
        return {
            "prompt": {"messages": _messages(prompt)},
            "temperature": {"temperature": decoding.temperature},
            "top_p": {"top_p": decoding.top_p},
            "n": {"n": n},
            "seed": {"seed": seed},
            "logprobs": {"logprobs": True},
        }

    def read(self, body: bytes) -> Reply:
        """Parse `body`."""
        response = _decode(body, _ChatBody)
        return _reply(
            [
                Choice(
                    text=_text(choice.message, choice.finish_reason),
                    finish_reason=_FINISH.get(choice.finish_reason, "unknown"),
                    logprobs=_logprobs(_optional(choice.logprobs, _ChatLogprobs).content),
                )
                for choice in response.choices
            ],
            response.usage,
        )


class _TextLogprobs(msgspec.Struct):
    token_logprobs: list[float | None] | None = None


class _TextChoice(msgspec.Struct):
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class _TextBody(msgspec.Struct):
    choices: list[_TextChoice]
    usage: Any = None


class CompletionsApi:
    """``/v1/completions``: text in, continuation out.

    The attributes are those of `ChatApi`. A system message is put before the prompt.
    """

    name: ApiName = "completions"
    path = "/completions"
    form: Literal["chat", "completion"] = "completion"
    lacks: tuple[str, ...] = ()
    length_names: tuple[str, ...] = ("max_tokens",)

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters by decoding field.

        `n` is the number of completions. Each value has the fields of the request's body, so that a
        refused field can be omitted.
        """
        parts = [part for part in (prompt.system, prompt.user) if part is not None]
        return {
            "prompt": {"prompt": "\n\n".join(parts)},
            "temperature": {"temperature": decoding.temperature},
            "top_p": {"top_p": decoding.top_p},
            "n": {"n": n},
            "seed": {"seed": seed},
            "logprobs": {"logprobs": 1},
        }

    def read(self, body: bytes) -> Reply:
        """Parse `body`."""
        response = _decode(body, _TextBody)
        return _reply(
            [
                Choice(
                    text=_text(_Message(content=choice.text), choice.finish_reason),
                    finish_reason=_FINISH.get(choice.finish_reason, "unknown"),
                    logprobs=_known(_optional(choice.logprobs, _TextLogprobs).token_logprobs),
                )
                for choice in response.choices
            ],
            response.usage,
        )


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None
    logprobs: Any = None


class _Output(msgspec.Struct):
    type: str = ""
    content: list[_Part] | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _ResponseBody(msgspec.Struct):
    output: list[_Output]
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    usage: Any = None


class ResponsesApi:
    """``/v1/responses``: one completion per request, without a seed.

    The attributes are those of `ChatApi`.
    """

    name: ApiName = "responses"
    path = "/responses"
    form: Literal["chat", "completion"] = "chat"
    lacks: tuple[str, ...] = ("n", "seed")
    length_names: tuple[str, ...] = ("max_output_tokens",)

    def fields(
        self,
        prompt: Prompt,
        decoding: Decoding,
        *,
        n: int,  # noqa: ARG002 - the API has no such field
        seed: int,  # noqa: ARG002 - likewise
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters by decoding field.

        Each value has the fields of the request's body, so that a refused field can be omitted. `n`
        and `seed` are ignored, because the API has no such fields.
        """
        return {
            "prompt": {"input": _messages(prompt), "store": False},
            "temperature": {"temperature": decoding.temperature},
            "top_p": {"top_p": decoding.top_p},
            "logprobs": {"include": ["message.output_text.logprobs"]},
        }

    def read(self, body: bytes) -> Reply:
        """Parse `body`."""
        response = _decode(body, _ResponseBody)
        parts = [part for output in response.output for part in output.content or ()]
        texts = [part for part in parts if part.type == "output_text"]
        refusals = [part.refusal for part in parts if part.refusal]
        reason = response.incomplete_details.reason if response.incomplete_details else None
        if response.status == "failed":
            raise TransientError("the server says that the response failed")
        finish = "stop" if response.status in ("completed", None) else reason
        tokens = [_optional({"content": part.logprobs}, _ChatLogprobs).content for part in texts]
        reported = [token for group in tokens if group is not None for token in group]
        content = "".join(part.text or "" for part in texts) if texts else None
        sample = Choice(
            text=_text(_Message(content=content, refusal="".join(refusals) or None), finish),
            finish_reason=_FINISH.get(finish, "unknown"),
            logprobs=_logprobs(reported if None not in tokens else None),
        )
        return _reply([sample], response.usage)


APIS: Mapping[ApiName, Api] = {
    "chat": ChatApi(),
    "completions": CompletionsApi(),
    "responses": ResponsesApi(),
}


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    messages = [{"role": "user", "content": prompt.user}]
    if prompt.system is not None:
        messages.insert(0, {"role": "system", "content": prompt.system})
    return messages


def _decode(body: bytes, shape: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = error
    try:
        # Unlike msgspec, json reads the NaN that some servers write as a log-probability.
        return msgspec.convert(json.loads(body), shape)
    except (ValueError, RecursionError, msgspec.ValidationError):
        raise TransientError(f"the response is not in the format of this API: {reason}") from reason


def _optional(value: object, shape: type[_T]) -> _T:
    """Return a field that a completion does not need: empty if it is not in the format of the API.

    A completion that was paid for is not requested again because of such a field.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return shape()


def _text(message: _Message, finish_reason: str | None) -> str:
    """Return the text. An empty message is valid only with a reason such as the token limit.

    A refusal counts as text. TransientError is raised for another empty message.
    """
    content = message.refusal if message.content is None else message.content
    if content is None and finish_reason not in ("length", "content_filter", "max_output_tokens"):
        raise TransientError("the response has no content")
    return content or ""


def _logprobs(tokens: list[_Token] | None) -> tuple[float, ...] | None:
    return None if tokens is None else _known([token.logprob for token in tokens])


def _known(values: list[float | None] | None) -> tuple[float, ...] | None:
    """Return `values`, or None if there are none or any is missing or no log-probability."""
    if not values:
        return None
    valid = tuple(value for value in values if value is not None and valid_logprob(value) == value)
    return valid if len(valid) == len(values) else None


def _reply(samples: list[Choice], usage: object) -> Reply:
    if not samples:
        raise TransientError("the response has no choices")
    return Reply(samples=tuple(samples), usage=_optional(usage, _Usage).counted())
