"""Any OpenAI-compatible server, through the official client."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import openai

from pytest_promptse.errors import SettingsError
from pytest_promptse.models.base import (
    Capabilities,
    Completion,
    Decoding,
    FatalError,
    OneByOneError,
    Prompt,
    Request,
    Response,
    TransientError,
    derive_seed,
    unlimited,
)
from pytest_promptse.models.openai_errors import classify, reason
from pytest_promptse.models.openai_wire import APIS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.errors import ModelError
    from pytest_promptse.models.base import BudgetGuard
    from pytest_promptse.models.openai_wire import Api, ApiName, Reply, Sample

_OPENAI = "https://api.openai.com/v1"
# Asked once at the start to see what the server honours. No field has its default value, since
# some models refuse only what differs from it. 16 tokens are the fewest that /v1/responses takes.
_PROBE = Request(
    prompt=Prompt(user="Write a Python function one() that returns 1."),
    decoding=Decoding(temperature=0.2, top_p=0.95, max_tokens=16),
    n=2,
    seed=derive_seed("probe"),
    variant_id="probe",
)
_REFUSABLE = ("temperature", "top_p", "n", "seed", "logprobs")
_REFUSALS = frozenset({400, 422})
_WRONG_API = frozenset({400, 404, 405, 422, 501})


@dataclass
class _Manner:
    """How this server wants to be asked, as far as is known."""

    api: Api
    refused: list[str] = field(init=False)
    length_name: str = field(init=False)

    def __post_init__(self) -> None:
        self.length_name = self.api.length_names[0]
        self.refused = list(self.api.lacks)

    def concede(self, error: openai.APIStatusError) -> bool:
        """Rename or leave out the field that `error` is about; False if it is about none."""
        first, *others = self.api.length_names
        for name in others:
            if self.length_name == first and name in reason(error):
                self.length_name = name
                return True
        for name in _REFUSABLE:
            if name not in self.refused and _is_about(name, error):
                self.refused.append(name)
                return True
        return False


class OpenAIBackend:
    """One model behind ``/v1/chat/completions``, ``/v1/completions`` or ``/v1/responses``.

    Parameters
    ----------
    spec
        What the user wrote: ``openai:NAME``.
    model
        The name the server knows.
    base_url
        The server; by default OPENAI_BASE_URL, else OpenAI's own.
    api
        Which of the three to speak; None tries them in this order.
    timeout
        Seconds one request may take.

    Raises
    ------
    SettingsError
        If `base_url` is not an address.

    Notes
    -----
    The key is read from OPENAI_API_KEY and appears in no message, record or repr. Requests are
    not retried here, and each ask is one request: of a server that ignores ``n`` the answer holds
    one sample.
    """

    # Where a server has room for fewer, the sampler finds out.
    concurrency = 128

    def __init__(
        self,
        spec: str,
        model: str,
        *,
        base_url: str | None = None,
        api: ApiName | None = None,
        timeout: float = 120.0,
    ) -> None:
        self._spec = spec
        self._model = model
        self._given_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        if urlsplit(self._given_url or _OPENAI).scheme not in ("http", "https"):
            raise SettingsError(
                f"{spec}: {self._given_url!r} is no address of a server; give one like "
                "http://localhost:8000/v1"
            )
        self._given_api = api
        self._timeout = timeout
        self._manner: _Manner | None = None
        self._client: openai.AsyncOpenAI | None = None

    @property
    def spec(self) -> str:
        """What the user wrote."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """Model, server and the API asked for; credentials in the address are left out."""
        return {
            "backend": "openai",
            "model": self._model,
            "server": self._server,
            "api": self._given_api or "",
        }

    @property
    def _server(self) -> str:
        parts = urlsplit(self._given_url or _OPENAI)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))

    @property
    def _key(self) -> str:
        return os.environ.get("OPENAI_API_KEY", "")

    @property
    def _where(self) -> str:
        return f"{self._spec} at {self._server}"

    def check(self) -> None:
        """Raise SettingsError where the server needs a key and there is none."""
        if not self._key and self._given_url is None:
            raise SettingsError(
                f"{self._spec}: OPENAI_API_KEY is not set; export a key, or give "
                "--promptse-base-url for a server that needs none"
            )

    async def start(self) -> Capabilities:
        """Ask for a few tokens and see what the server honours.

        Raises
        ------
        FatalError
            If there is no key, or the server refuses the model, the key or the request.
        TransientError
            If the server cannot be reached or is overloaded.
        """
        return await self.reach(unlimited)

    async def reach(self, meter: BudgetGuard) -> Capabilities:
        """Start as `start` does, each request sent inside `meter`."""
        try:
            self.check()
        except SettingsError as error:
            raise FatalError(str(error)) from None
        if self._client is None:
            self._client = openai.AsyncOpenAI(
                # Servers that need no key still get the header, which must not be empty.
                api_key=self._key or "none",
                base_url=self._given_url or _OPENAI,
                max_retries=0,
                timeout=self._timeout,
                # Half the time of the default one.
                http_client=openai.DefaultAioHttpClient(timeout=self._timeout),
            )
        manner, reply = await self._probe(meter)
        self._manner = manner
        if len(reply.samples) < _PROBE.n and "n" not in manner.refused:
            manner.refused.append("n")
        told = all(sample.logprobs is not None for sample in reply.samples)
        return Capabilities(
            form=manner.api.form,
            logprobs="unknown" if told else None,
            seeded="seed" not in manner.refused,
            refused=tuple(name for name in _REFUSABLE if name in manner.refused),
            details={"api": manner.api.name, "server": self._server},
        )

    async def complete(self, request: Request) -> Response:
        """Answer one request by one request to the server."""
        manner = self._manner
        assert manner is not None, "start() comes first"
        try:
            reply = await self._request(manner, request)
        except openai.APIStatusError as error:
            # Fewer samples a request come from the same distribution, so this concession alone
            # may come after the start: some servers take n up to some most only.
            if error.status_code not in _REFUSALS or request.n == 1 or not _is_about("n", error):
                raise self._meaning(error) from None
            manner.refused.append("n")
            raise OneByOneError(str(self._meaning(error))) from None
        except openai.APIError as error:
            raise self._meaning(error) from None
        return Response(
            completions=tuple(
                _completion(sample, request.first + number, reply)
                for number, sample in enumerate(reply.samples[: request.n])
            ),
            usage=reply.usage,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _probe(self, meter: BudgetGuard) -> tuple[_Manner, Reply]:
        """Return how to request, and the answer to having done so once."""
        names: list[ApiName] = [self._given_api] if self._given_api else list(APIS)
        objection: ModelError | None = None
        for name in names:
            manner = _Manner(api=APIS[name])
            try:
                return manner, await self._concede(manner, meter)
            except openai.APIStatusError as error:
                meaning = self._meaning(error)
                if error.status_code not in _WRONG_API or error.code == "model_not_found":
                    raise meaning from None
                objection = objection or meaning
            except openai.APIError as error:
                raise self._meaning(error) from None
        tried = f" (tried the APIs {', '.join(names)})" if len(names) > 1 else ""
        raise FatalError(f"{objection}{tried}")

    async def _concede(self, manner: _Manner, meter: BudgetGuard) -> Reply:
        """Ask, each time without one more of what the server refuses."""
        while True:
            async with meter(_PROBE) as usage:
                try:
                    reply = await self._request(manner, _PROBE)
                except openai.APIStatusError as error:
                    usage.refuse()
                    if error.status_code not in _REFUSALS or not manner.concede(error):
                        raise
                else:
                    usage.paid = reply.usage
                    return reply

    async def _request(self, manner: _Manner, request: Request) -> Reply:
        assert self._client is not None, "start() comes first"
        parameters: dict[str, Any] = {"model": self._model}
        parameters[manner.length_name] = request.decoding.max_tokens
        fields = manner.api.fields(request.prompt, request.decoding, n=request.n, seed=request.seed)
        for name, values in fields.items():
            if name not in manner.refused:
                parameters |= values
        # The typed methods would take the request apart and the answer as well, at a quarter of
        # the client's whole time: https://github.com/openai/openai-python#undocumented-endpoints
        response = await self._client.post(
            manner.api.path, body=parameters, cast_to=openai.HttpxBinaryResponseContent
        )
        try:
            return manner.api.read(response.content)
        except TransientError as error:
            raise TransientError(f"{self._where}: {error}") from None

    def _meaning(self, error: openai.APIError) -> ModelError:
        return classify(error, where=self._where, key=self._key, timeout=self._timeout)


def _is_about(name: str, error: openai.APIStatusError) -> bool:
    """Whether a refusal is about one parameter: by its own word, else by its message's."""
    if error.param:
        return name == error.param
    quoted = rf"[`'\"]{name}[`'\"]"
    # A single letter is found in any sentence, so it must be written as a name is.
    bare = rf"\b{name}\b" if len(name) > 1 else rf"\b{name}\s*(?:[=<>]|must be)"
    return re.search(f"{quoted}|{bare}", reason(error)) is not None


def _completion(sample: Sample, index: int, reply: Reply) -> Completion:
    n_tokens: int | None = None
    if sample.logprobs is not None:
        n_tokens = len(sample.logprobs)
    elif len(reply.samples) == 1 and reply.usage.completion_tokens:
        n_tokens = reply.usage.completion_tokens
    return Completion(
        index=index,
        text=sample.text,
        finish_reason=sample.finish_reason,
        n_tokens=n_tokens,
        logprob=None if sample.logprobs is None else math.fsum(sample.logprobs),
    )
