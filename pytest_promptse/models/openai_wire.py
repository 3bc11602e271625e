"""The three APIs of OpenAI-compatible servers: how each is asked and what its answers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import msgspec

from pytest_promptse.models.base import FinishReason, TransientError, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models.base import Decoding, Prompt

_T = TypeVar("_T")
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
class Sample:
    """One choice of an answer; ``logprobs`` has one entry per token, None where not told."""

    text: str
    finish_reason: FinishReason
    logprobs: tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The choices of one answer and what they cost."""

    samples: tuple[Sample, ...]
    usage: Usage


class Api(Protocol):
    """One way to request.

    ``form`` says how its answers must be read, ``lacks`` which decoding fields it has no name
    for, ``length_names`` what the limit on tokens may be called, the preferred name first.
    """

    name: ApiName
    path: str
    form: Literal["chat", "completion"]
    lacks: tuple[str, ...]
    length_names: tuple[str, ...]

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the request's parameters by the decoding field that calls for them.

        What every request needs is under ``prompt``; the limit on tokens is added by the caller.
        """

    def read(self, body: bytes) -> Reply:
        """Return what `body` says. Raises TransientError where it is no usable response."""


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

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
    logprobs: _ChatLogprobs | None = None


class _ChatBody(msgspec.Struct):
    choices: list[_ChatChoice]
    usage: _Usage | None = None


class ChatApi:
    """``/v1/chat/completions``: messages in, messages out."""

    name: ApiName = "chat"
    path = "/chat/completions"
    form: Literal["chat", "completion"] = "chat"
    lacks: tuple[str, ...] = ()
    # The newer name is unknown to many servers, the older one refused by reasoning models.
    # https://platform.openai.com/docs/api-reference/chat/create
    length_names: tuple[str, ...] = ("max_tokens", "max_completion_tokens")

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters by decoding field."""
        return {
            "prompt": {"messages": _messages(prompt)},
            "temperature": {"temperature": decoding.temperature},
            "top_p": {"top_p": decoding.top_p},
            "n": {"n": n},
            "seed": {"seed": seed},
            "logprobs": {"logprobs": True},
        }

    def read(self, body: bytes) -> Reply:
        """Return what `body` says."""
        response = _decode(body, _ChatBody)
        return _reply(
            [
                Sample(
                    text=_text(choice.message, choice.finish_reason),
                    finish_reason=_FINISH.get(choice.finish_reason, "unknown"),
                    logprobs=_logprobs(choice.logprobs.content if choice.logprobs else None),
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
    logprobs: _TextLogprobs | None = None


class _TextBody(msgspec.Struct):
    choices: list[_TextChoice]
    usage: _Usage | None = None


class CompletionsApi:
    """``/v1/completions``: text in, text that goes on."""

    name: ApiName = "completions"
    path = "/completions"
    form: Literal["chat", "completion"] = "completion"
    lacks: tuple[str, ...] = ()
    length_names: tuple[str, ...] = ("max_tokens",)

    def fields(
        self, prompt: Prompt, decoding: Decoding, *, n: int, seed: int
    ) -> dict[str, dict[str, Any]]:
        """Return the parameters by decoding field."""
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
        """Return what `body` says."""
        response = _decode(body, _TextBody)
        return _reply(
            [
                Sample(
                    text=_text(_Message(content=choice.text), choice.finish_reason),
                    finish_reason=_FINISH.get(choice.finish_reason, "unknown"),
                    logprobs=_known(choice.logprobs.token_logprobs if choice.logprobs else None),
                )
                for choice in response.choices
            ],
            response.usage,
        )


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None
    logprobs: list[_Token] | None = None


class _Output(msgspec.Struct):
    type: str = ""
    content: list[_Part] | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _ResponseBody(msgspec.Struct):
    output: list[_Output]
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    usage: _Usage | None = None


class ResponsesApi:
    """``/v1/responses``: one answer a request, without a seed."""

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
        """Return the parameters by decoding field."""
        return {
            "prompt": {"input": _messages(prompt), "store": False},
            "temperature": {"temperature": decoding.temperature},
            "top_p": {"top_p": decoding.top_p},
            "logprobs": {"include": ["message.output_text.logprobs"]},
        }

    def read(self, body: bytes) -> Reply:
        """Return what `body` says."""
        response = _decode(body, _ResponseBody)
        parts = [part for output in response.output for part in output.content or ()]
        spoken = [part for part in parts if part.type == "output_text"]
        refusals = [part.refusal for part in parts if part.refusal]
        reason = response.incomplete_details.reason if response.incomplete_details else None
        if response.status == "failed":
            raise TransientError("the server says that the response failed")
        finish = "stop" if response.status in ("completed", None) else reason
        tokens = [part.logprobs for part in spoken]
        told = [token for group in tokens if group is not None for token in group]
        content = "".join(part.text or "" for part in spoken) if spoken else None
        sample = Sample(
            text=_text(_Message(content=content, refusal="".join(refusals) or None), finish),
            finish_reason=_FINISH.get(finish, "unknown"),
            logprobs=_logprobs(told if None not in tokens else None),
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
        raise TransientError(f"the answer is not what this API returns: {error}") from error


def _text(message: _Message, finish_reason: str | None) -> str:
    """Return what was said; nothing at all is an answer only where the server says why."""
    said = message.refusal if message.content is None else message.content
    if said is None and finish_reason not in ("length", "content_filter", "max_output_tokens"):
        raise TransientError("the answer has no content")
    return said or ""


def _logprobs(tokens: list[_Token] | None) -> tuple[float, ...] | None:
    return None if tokens is None else _known([token.logprob for token in tokens])


def _known(values: list[float | None] | None) -> tuple[float, ...] | None:
    """Return `values` if there are any and none is missing: a part says nothing of the whole."""
    if not values:
        return None
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _reply(samples: list[Sample], usage: _Usage | None) -> Reply:
    if not samples:
        raise TransientError("the answer has no choices")
    return Reply(samples=tuple(samples), usage=(usage or _Usage()).counted())
