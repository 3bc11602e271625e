"""The ``litellm`` backend: models of many providers through the LiteLLM library."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from pytest_promptse._redaction import redact, redact_logs, remember_credentials, shown
from pytest_promptse.errors import ModelError, SettingsError
from pytest_promptse.models._base import (
    Capabilities,
    Completion,
    Response,
    TransientError,
    Usage,
)
from pytest_promptse.models._openai_errors import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models._base import BudgetGuard, FinishReason, Request

# Otherwise the library requests a newer table of prices from the network on import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm
import openai

_THIS_PROMPT = (
    litellm.exceptions.ContextWindowExceededError,
    litellm.exceptions.ContentPolicyViolationError,
)
# Otherwise the library prints advice about providers into pytest's output.
litellm.suppress_debug_info = True
_OPTIONAL = ("temperature", "top_p", "seed", "n")
_FINISHED: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
}
_OVERLOADED = frozenset({429, 503})
_SERVER_ERROR = 500


class LitellmBackend:
    """A model of a provider that LiteLLM supports, for example ``anthropic/claude-sonnet-4-5``.

    The run controls retries, concurrency and budgets; those of the library are switched off.

    Parameters
    ----------
    spec
        The model as the user wrote it.
    name
        ``PROVIDER/MODEL``, as LiteLLM names it.
    base_url
        Address of the server, or None for that of the provider.
    timeout
        Time limit of one request, in seconds.
    """

    concurrency = 16

    def __init__(self, spec: str, name: str, *, base_url: str | None, timeout: float) -> None:
        self.spec = spec
        self.identity = {"backend": "litellm", "model": name}
        if base_url is not None:
            remember_credentials(base_url)
            self.identity["base_url"] = redact(base_url)
        self._name = name
        redact_logs()
        self._base_url = base_url
        self._timeout = timeout
        self._supported: frozenset[str] = frozenset()

    def check(self) -> None:
        """Check that the provider is known and its key is set.

        Raises
        ------
        SettingsError
            If a request could not be sent. The message names the missing variables.
        """
        try:
            litellm.get_llm_provider(self._name, api_base=self._base_url)
        except litellm.exceptions.BadRequestError:
            raise SettingsError(
                f"model {self.spec!r}: LiteLLM knows no provider of this name; give "
                "litellm:PROVIDER/MODEL, for example litellm:anthropic/claude-sonnet-4-5"
            ) from None
        missing = litellm.validate_environment(self._name)["missing_keys"]
        if missing and self._base_url is None:
            raise SettingsError(f"{self.spec}: {', '.join(missing)} is not set; set it to your key")

    async def reach(self, _guard: BudgetGuard) -> Capabilities:
        """Return the capabilities that LiteLLM lists for the model. No request is needed."""
        return await self.start()

    async def start(self) -> Capabilities:
        """Return the capabilities that LiteLLM lists for the model."""
        self._supported = frozenset(litellm.get_supported_openai_params(model=self._name) or ())
        return Capabilities(
            form="chat",
            logprobs="unknown" if "logprobs" in self._supported else None,
            seeded="seed" in self._supported,
            refused=tuple(name for name in _OPTIONAL if name not in self._supported),
        )

    async def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises
        ------
        TransientError, FatalError, ModelError
            As in `Backend.complete`.
        """
        try:
            async with asyncio.timeout(self._timeout):
                reply = await litellm.acompletion(**self._arguments(request))
        except TimeoutError:
            raise TransientError(f"{self.spec}: no answer within {self._timeout:g} s") from None
        except openai.APIError as error:
            raise self._classified(error) from None
        return _response(reply, request)

    def _arguments(self, request: Request) -> dict[str, Any]:
        prompt, decoding = request.prompt, request.decoding
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system is not None:
            messages.insert(0, {"role": "system", "content": prompt.system})
        wanted = {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "seed": request.seed,
            "n": request.n,
            "logprobs": True,
        }
        return {
            "model": self._name,
            "messages": messages,
            "max_tokens": decoding.max_tokens,
            "timeout": self._timeout,
            "api_base": self._base_url,
            "num_retries": 0,
            "max_retries": 0,
            **{name: value for name, value in wanted.items() if name in self._supported},
        }

    def _classified(self, error: openai.APIError) -> ModelError:
        message = shown(f"{self.spec}: {str(error).splitlines()[0]}")
        if isinstance(error, openai.APIConnectionError):
            return TransientError(message)
        status = getattr(error, "status_code", None) or _SERVER_ERROR
        if status in _OVERLOADED or status >= _SERVER_ERROR:
            return TransientError(
                message, retry_after=_retry_after(error), overloaded=status in _OVERLOADED
            )
        if isinstance(error, _THIS_PROMPT):
            return ModelError(f"{message}; shorten the prompt or choose another model")
        return refusal(
            message,
            status=status,
            about=str(error),
            key="the variable of your provider to a valid key",
        )

    async def close(self) -> None:
        """Close the library's connections."""
        await litellm.close_litellm_async_clients()


def _retry_after(error: openai.APIError) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _response(reply: Any, request: Request) -> Response:
    completions = tuple(
        _completion(choice, request.first + place) for place, choice in enumerate(reply.choices)
    )
    usage = getattr(reply, "usage", None)
    return Response(
        completions=completions[: request.n],
        usage=Usage(
            requests=1,
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
        ),
    )


def _completion(choice: Any, index: int) -> Completion:
    logprobs = getattr(choice, "logprobs", None)
    tokens = [token.logprob for token in getattr(logprobs, "content", None) or ()]
    return Completion(
        index=index,
        text=choice.message.content or "",
        finish_reason=_FINISHED.get(choice.finish_reason, "unknown"),
        n_tokens=len(tokens) or None,
        logprob=sum(tokens) if tokens else None,
    )
