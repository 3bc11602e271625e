"""The ``openai`` backend: any OpenAI-compatible server, through the official client."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import openai

from pytest_promptse._redaction import redact_argument, redact_logs, remember_credentials
from pytest_promptse.errors import PromptseError, SettingsError
from pytest_promptse.models._base import (
    Capabilities,
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
from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._openai_errors import classify, no_answer, reason
from pytest_promptse.models._openai_wire import APIS, REFUSABLE, completions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.errors import ModelError
    from pytest_promptse.models._base import BudgetGuard
    from pytest_promptse.models._openai_wire import Api, ApiName, Reply

_OPENAI = "https://api.openai.com/v1"
# Sent once at the start to find out what the server supports. No field has its default value,
# because some models refuse other values only. 16 tokens are the fewest that /v1/responses takes.
_PROBE = Request(
    prompt=Prompt(user="Write a Python function one() that returns 1."),
    decoding=Decoding(temperature=0.2, top_p=0.95, max_tokens=16),
    n=2,
    seed=derive_seed("probe"),
    variant_id="probe",
)
# The samples of one request with the log-probabilities of their tokens take a few megabytes.
_MAX_ANSWER = 64 * 2**20
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_REFUSALS = frozenset({400, 422})
_WRONG_API = frozenset({400, 404, 405, 422, 501})


@dataclass
class _RequestMode:
    """The API, field names and fields that this server accepts, as far as known.

    ``refused`` are the names of fields that the server refused, and ``length_name`` is its name of
    the token limit.
    """

    api: Api
    refused: list[str] = field(init=False)
    length_name: str = field(init=False)

    def __post_init__(self) -> None:
        self.length_name = self.api.length_names[0]
        self.refused = list(self.api.lacks)

    def fall_back(self, error: openai.APIStatusError) -> bool:
        """Rename or omit the field that `error` names. Return whether there is one."""
        first, *others = self.api.length_names
        for name in others:
            if self.length_name == first and name in reason(error):
                self.length_name = name
                return True
        for name in REFUSABLE:
            if name not in self.refused and _is_about(name, error):
                self.refused.append(name)
                return True
        return False


class OpenAIBackend:
    """One model behind ``/v1/chat/completions``, ``/v1/completions`` or ``/v1/responses``.

    Parameters
    ----------
    spec
        ``openai:NAME``.
    model
        The name of the model on the server.
    base_url
        The server; by default OPENAI_BASE_URL, else OpenAI. ``user:password@`` is sent as basic
        authentication in place of the key, and a query with each request.
    api
        One of the three APIs; None tries them in this order.
    timeout
        Time limit of one request, in seconds.
    gateway
        Headers, certificates and proxy.

    Raises
    ------
    SettingsError
        If `base_url` or the proxy is not an HTTP address.

    Notes
    -----
    The key is read from OPENAI_API_KEY and does not appear in messages, records or a repr.
    Requests are not retried here. Each `Request` is one HTTP request: if the server ignores
    ``n``, the response contains one sample.
    """

    # The sampler reduces this if the server is overloaded.
    concurrency = 128

    def __init__(
        self,
        spec: str,
        model: str,
        *,
        base_url: str | None = None,
        api: ApiName | None = None,
        timeout: float = 120.0,
        gateway: Gateway | None = None,
    ) -> None:
        self._spec = spec
        self._model = model
        self._given_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        remember_credentials(self._given_url or "")
        redact_logs()
        if urlsplit(self._given_url or _OPENAI).scheme not in ("http", "https"):
            raise SettingsError(
                f"{spec}: {redact_argument(self._given_url or '')!r} is not the address of a "
                "server; give one such as http://localhost:8000/v1"
            )
        proxy = (gateway or Gateway()).proxy
        if proxy is not None and urlsplit(proxy).scheme not in ("http", "https"):
            raise SettingsError(
                f"--promptse-proxy: {redact_argument(proxy)!r} is not the address of a proxy; give "
                "one such as http://proxy:3128"
            )
        self._given_api = api
        self._timeout = timeout
        self._gateway = gateway or Gateway()
        remember_credentials(self._gateway.proxy or "")
        self._mode: _RequestMode | None = None
        self._client: openai.AsyncOpenAI | None = None

    @property
    def spec(self) -> str:
        """The specification that the user gave."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """Model, server and API option. Credentials in the address are left out."""
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
        """Raise SettingsError if a key that the server needs, or a file, is missing.

        This also makes the client, which reads the proxies of the environment. In the sampler's
        thread that could fail while pytest changes the environment for a test.
        """
        headers = self._gateway.sent_headers()
        self._gateway.tls_context()
        if not self._key and self._given_url is None:
            raise SettingsError(
                f"{self._spec}: OPENAI_API_KEY is not set; export a key, or give "
                "--promptse-base-url for a server that needs none"
            )
        if self._client is None:
            parts = urlsplit(self._given_url or _OPENAI)
            authentication = _basic_authentication(parts.netloc.rpartition("@")[0])
            self._client = openai.AsyncOpenAI(
                # The header must not be empty, even for servers that need no key.
                api_key=self._key or "none",
                base_url=self._server,
                default_headers={**authentication, **headers},
                default_query=dict(parse_qsl(parts.query)),
                max_retries=0,
                timeout=self._timeout,
                http_client=_bounded_client(self._timeout, self._gateway),
            )

    async def start(self) -> Capabilities:
        """Send a probe request to find out what the server supports.

        Raises
        ------
        FatalError
            If there is no key, or the server refuses the model, the key or the request.
        TransientError
            If the server cannot be reached or is overloaded.
        """
        return await self.reach(unlimited)

    async def reach(self, guard: BudgetGuard) -> Capabilities:
        """Start like `start`, with each request sent inside `guard`."""
        try:
            self.check()
        except SettingsError as error:
            raise FatalError(str(error)) from None
        mode, reply = await self._probe(guard)
        self._mode = mode
        if len(reply.samples) < _PROBE.n and "n" not in mode.refused:
            mode.refused.append("n")
        reported = all(choice.logprobs is not None for choice in reply.samples)
        return Capabilities(
            form=mode.api.form,
            logprobs="unknown" if reported else None,
            seeded="seed" not in mode.refused,
            refused=tuple(name for name in REFUSABLE if name in mode.refused),
            details={"api": mode.api.name, "server": self._server},
        )

    async def complete(self, request: Request) -> Response:
        """Answer one request with one HTTP request."""
        mode = self._mode
        if mode is None:
            raise RuntimeError("complete() is called before start()")
        try:
            reply = await self._request(mode, request)
        except openai.APIStatusError as error:
            # Some servers accept n only up to a limit. Fewer samples per request come from the
            # same distribution, so this fallback alone is possible after the start.
            if error.status_code not in _REFUSALS or request.n == 1 or not _is_about("n", error):
                raise self._meaning(error) from None
            mode.refused.append("n")
            raise OneByOneError(str(self._meaning(error))) from None
        except openai.APIError as error:
            raise self._meaning(error) from None
        return Response(
            completions=completions_of(reply, first=request.first, n=request.n),
            usage=reply.usage,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _probe(self, guard: BudgetGuard) -> tuple[_RequestMode, Reply]:
        """Return the request mode that the server accepts, and its reply to the probe."""
        names: list[ApiName] = [self._given_api] if self._given_api else list(APIS)
        objection: ModelError | None = None
        for name in names:
            mode = _RequestMode(api=APIS[name])
            try:
                return mode, await self._fall_back(mode, guard)
            except openai.APIStatusError as error:
                meaning = self._meaning(error)
                if error.status_code not in _WRONG_API or error.code == "model_not_found":
                    raise meaning from None
                objection = objection or meaning
            except openai.APIError as error:
                raise self._meaning(error) from None
        tried = f" (tried the APIs {', '.join(names)})" if len(names) > 1 else ""
        raise FatalError(f"{objection}{tried}")

    async def _fall_back(self, mode: _RequestMode, guard: BudgetGuard) -> Reply:
        """Send the probe, and omit one more refused field after each refusal.

        `mode` is changed accordingly. `guard` counts each request against the budget. An error that
        is not about a known field is raised.
        """
        while True:
            async with guard(_PROBE) as usage:
                try:
                    reply = await self._request(mode, _PROBE)
                except openai.APIStatusError as error:
                    usage.refuse()
                    if error.status_code not in _REFUSALS or not mode.fall_back(error):
                        raise
                else:
                    usage.paid = reply.usage
                    return reply

    async def _request(self, mode: _RequestMode, request: Request) -> Reply:
        if self._client is None:
            raise RuntimeError("a request is sent before start()")
        parameters: dict[str, Any] = {"model": self._model}
        parameters[mode.length_name] = request.decoding.max_tokens
        fields = mode.api.fields(request.prompt, request.decoding, n=request.n, seed=request.seed)
        for name, values in fields.items():
            if name not in mode.refused:
                parameters |= values
        # The typed methods validate request and response, which takes a quarter of the client's
        # time: https://github.com/openai/openai-python#undocumented-endpoints
        try:
            # The client's own time-outs restart with each piece of the response.
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(
                    mode.api.path, body=parameters, cast_to=openai.HttpxBinaryResponseContent
                )
        except TimeoutError:
            raise TransientError(no_answer(self._where, self._timeout)) from None
        except (openai.APIError, PromptseError):
            raise
        except Exception as error:  # noqa: BLE001 - the HTTP library's own, of which there are several
            raise TransientError(f"{self._where}: no HTTP answer: {error}") from None
        try:
            return mode.api.read(response.content)
        except TransientError as error:
            raise TransientError(f"{self._where}: {error}") from None

    def _meaning(self, error: openai.APIError) -> ModelError:
        return classify(error, where=self._where, timeout=self._timeout, gateway=self._gateway)


def _basic_authentication(userinfo: str) -> dict[str, str]:
    """Return the header for ``user:password@`` in an address, which is sent instead of the key."""
    if not userinfo:
        return {}
    encoded = base64.b64encode(unquote(userinfo).encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def _bounded_client(timeout: float, gateway: Gateway) -> Any:
    """Return an HTTP client that reads at most `_MAX_ANSWER` bytes of an answer.

    The client uses aiohttp, which takes half the time of the default HTTP library.
    """
    # Other encodings can expand one piece of an answer to gigabytes.
    client = openai.DefaultAioHttpClient(
        timeout=timeout,
        headers={"Accept-Encoding": "gzip, deflate"},
        verify=gateway.tls_context(),
        proxy=gateway.proxy,
    )

    async def read(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in _ENCODINGS:
            raise ValueError(f"the answer comes in the encoding {encoding!r}, not requested")
        pieces = bytearray()
        async for piece in response.aiter_bytes():
            pieces += piece
            if len(pieces) > _MAX_ANSWER:
                await response.aclose()
                raise ValueError(f"the answer is over {_MAX_ANSWER >> 20} MiB")
        # This attribute has the body once the client has read it, so nothing reads it again.
        response._content = bytes(pieces)  # noqa: SLF001

    client.event_hooks = {"response": [read]}
    return client


def _is_about(name: str, error: openai.APIStatusError) -> bool:
    """Return whether `error` is about the parameter `name`, by its ``param`` or its message."""
    if error.param:
        return name == error.param
    quoted = rf"[`'\"]{name}[`'\"]"
    # A single letter occurs in any sentence, so it must be quoted or followed by an operator.
    bare = rf"\b{name}\b" if len(name) > 1 else rf"\b{name}\s*(?:[=<>]|must be)"
    return re.search(f"{quoted}|{bare}", reason(error)) is not None
