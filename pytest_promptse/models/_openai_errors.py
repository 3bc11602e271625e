"""Translation of errors of the OpenAI client: overload, wrong request, unreachable server."""

from __future__ import annotations

import errno
import re
import ssl
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import openai

from pytest_promptse._redaction import redact
from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import LOWER_LENGTH, SHORTEN, FatalError, TransientError
from pytest_promptse.models._gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOO_MANY_REQUESTS = 429
_LONGEST_REASON = 300
_UNAVAILABLE = frozenset({503, 529})
_MAY_PASS = frozenset({408, 409, 423, 425, _TOO_MANY_REQUESTS})
_REFUSALS = frozenset({400, 422})
_SERVER_ERRORS = 500
# Refusals that concern one prompt only, not the model or the key.
_THIS_PROMPT = re.compile(
    r"context_length_exceeded|maximum context length|content_filter|content_policy"
    r"|string_above_max_length|prompt is too long"
)
_CLOSED = frozenset({errno.EPIPE, errno.ECONNRESET})
_NO_GATEWAY = Gateway()
_KEY = (
    "OPENAI_API_KEY to a valid key for this server, or the header that your gateway wants with "
    "--promptse-header"
)
_REMEDIES: Mapping[int, str] = {
    401: "set {key}",
    402: "the account has no credit left",
    403: "ask for access to this model, or choose another one",
    404: "check the model's name and --promptse-base-url",
    413: "request fewer samples or use shorter prompts",
}
# Servers describe the limit as "max_tokens is too large", or as "the maximum value for max_tokens".
_LENGTH_NAMES = re.compile(r"max_tokens|max_completion_tokens|max_output_tokens")
_OTHERWISE = "change the setting that the server names; no more requests are sent"


def classify(
    error: openai.APIError, *, where: str, timeout: float, gateway: Gateway = _NO_GATEWAY
) -> ModelError:
    """Return the error of this package for `error`, with a message of one line.

    Parameters
    ----------
    error
        The error of the client.
    where
        Model and server, for the message.
    timeout
        The time limit in seconds, for the message.
    gateway
        The headers and certificates of the request, for the remedy.
    """
    if not isinstance(error, openai.APIStatusError):
        return _without_answer(error, where=where, timeout=timeout, gateway=gateway)
    status = error.status_code
    message = f"{where}: HTTP {status}, {reason(error)}"
    if status == _TOO_MANY_REQUESTS and error.code == "insufficient_quota":
        return FatalError(f"{message}; the account has no credit left")
    if status in _MAY_PASS or status >= _SERVER_ERRORS:
        return TransientError(
            message,
            retry_after=retry_after(error.response.headers),
            overloaded=status == _TOO_MANY_REQUESTS or status in _UNAVAILABLE,
        )
    return refusal(message, status=status, about=f"{error.code} {error.param} {reason(error)}")


def _without_answer(
    error: openai.APIError, *, where: str, timeout: float, gateway: Gateway
) -> ModelError:
    causes = list(_causes(error))
    # The client also raises its time-out error if the connection fails.
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return TransientError(no_answer(where, timeout))
    first = causes[-1] if causes else error
    if isinstance(first, ssl.SSLError):
        return FatalError(f"{where}: {gateway.tls_failure(first)}")
    detail = redact(" ".join(str(first).split()))[:_LONGEST_REASON]
    remedy = "is the server up at that address?"
    if getattr(first, "errno", None) in _CLOSED and gateway.client_certificate is None:
        # With TLS 1.3, a server refuses a client when this has begun to write already, so whether
        # the client sees the refusal or only a closed connection is a matter of time.
        remedy += " If it demands a certificate, give --promptse-client-certificate FILE"
    return TransientError(f"{where}: {detail}; {remedy}")


def refusal(message: str, *, status: int, about: str, key: str = _KEY) -> ModelError | FatalError:
    """Return the error of a request that a server will refuse again, with its remedy.

    Parameters
    ----------
    message
        The text of the server's answer.
    status
        Status code of HTTP.
    about
        The names and texts that describe the error.
    key
        What the user sets if the server accepts no request of theirs.
    """
    if _THIS_PROMPT.search(about):
        return ModelError(f"{message}; {SHORTEN}")
    is_length = status in _REFUSALS and _LENGTH_NAMES.search(about)
    remedy = LOWER_LENGTH if is_length else _REMEDIES.get(status, _OTHERWISE)
    return FatalError(f"{message}; {remedy.format(key=key)}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    while error.__cause__ is not None:
        error = error.__cause__
        yield error


def reason(error: openai.APIStatusError) -> str:
    """Return the message of the server in one line, without secrets and not too long."""
    body = error.body
    message = body.get("message") if isinstance(body, dict) else body
    # Redacted before the message is cut, since a part of a key is a secret as well.
    return redact(" ".join(str(message or error.message).split()))[:_LONGEST_REASON]


def no_answer(where: str, timeout: float) -> str:
    """Return the message of a request that took longer than `timeout` seconds.

    `where` is the address of the server.
    """
    return f"{where}: no answer within {timeout:g} s"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the pause in seconds that a server requests, or None if it requests none.

    The header contains seconds or a date (RFC 9110, section 10.2.3). OpenAI also sends
    ``retry-after-ms``.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is not None and re.fullmatch(r"\d+(\.\d+)?", value.strip()):
            return float(value) * unit
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())
