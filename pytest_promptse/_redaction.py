"""Make text from outside safe to show and store: replace secrets, escape control characters.

`PromptseError` passes every message through `shown`. So a message may quote a server's response or
a library's exception.
"""

from __future__ import annotations

import base64
import logging
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Secret",
    "acts",
    "escape_commands",
    "escape_controls",
    "redact",
    "redact_argument",
    "redact_logs",
    "remember_credentials",
    "remember_secret",
    "shown",
]

_HIDDEN = "***"
_SECRET_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
# A shorter value is likelier a word than a secret.
_SHORTEST = 8
# Repetitions before a fixed text are limited: otherwise a long text of one letter takes minutes.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ in addresses, with and without a scheme
    (re.compile(r"(\w[\w+.-]{0,30}://)[^\s/@'\"]+@"), rf"\1{_HIDDEN}@"),
    (re.compile(r"(?<![\w/])[\w.+-]{1,255}:[^\s@/:'\"]+@(?=[\w\[])"), f"{_HIDDEN}@"),
    # ?api-key=… and the like
    (
        re.compile(
            r"([?&;][\w.-]{0,50}(?:key|token|secret|passw|pwd|sig|auth|credential)[\w.-]{0,50}=)"
            r"[^&\s'\"#]+",
            re.IGNORECASE,
        ),
        rf"\1{_HIDDEN}",
    ),
    # headers
    (re.compile(r"\b(Bearer) +[^\s'\",]+"), rf"\1 {_HIDDEN}"),
    (re.compile(r"\b(Basic) +(?=[^\s'\"]*[A-Z0-9=])[\w+/=-]{8,}"), rf"\1 {_HIDDEN}"),
    (
        re.compile(
            r"\b((?:x-|proxy-)?(?:api[-_]?key|authorization|cookie)['\"]?\s*[:=]\s*['\"]?)"
            r"(?!\*|Bearer|Basic)[^\s'\",;)]+",
            re.IGNORECASE,
        ),
        rf"\1{_HIDDEN}",
    ),
    # keys by their usual prefixes
    (re.compile(r"\b(?:sk-|pk-|hf_|gsk_|gh[pousr]_|xai-|AIza)[\w*-]{8,}"), _HIDDEN),
)
# Control characters other than tab and line ends; bidirectional overrides, which can make a program
# look like another one (https://trojansource.codes/); and characters that UTF-8 cannot encode.
_ACTING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    r"\ud800-\udfff\ufffe\uffff]"
)
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions
# GitHub's runner reads its older form, ``##[``, at any place of a line, and so does that of Azure
# Pipelines: https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands
_COMMAND = re.compile(r"^([^\S\n]*)(?=::)|(?<=#)(?=#\w*\[)", re.MULTILINE)


def shown(text: str) -> str:
    """Return `text` with secrets replaced and control characters escaped."""
    return escape_commands(escape_controls(redact(text)).replace("\r", "\\x0d"))


def redact(text: str) -> str:
    """Return `text` with every secret replaced by ``***``.

    Four kinds of text count as secrets. The first are values of environment variables whose names
    end in KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL, of at least eight characters, whole or cut
    off. The second are credentials in addresses and headers. The third are words with the usual
    prefix of an API key, such as ``sk-``. The fourth are the values that `remember_credentials`
    got.
    """
    for secret in sorted(_remembered, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    for secret in _secrets_in_environment():
        for form in {secret, quote(secret, safe=""), repr(secret)[1:-1]}:
            # A message may contain only the first part, with or without an ellipsis.
            start = re.escape(form[:_SHORTEST])
            text = re.sub(rf"{start}(?:{re.escape(form[_SHORTEST:])}|[\w*.…-]*)", _HIDDEN, text)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


_remembered: set[str] = set()
_SHORTEST_REMEMBERED = 4


def remember_credentials(address: str) -> None:
    """Make `redact` replace the password and the query of `address` in every later text."""
    parts = urlsplit(address)
    userinfo = parts.netloc.rpartition("@")[0]
    password = userinfo.partition(":")[2]
    values = [value for _, value in parse_qsl(parts.query)]
    if password:
        values += [password, unquote(password)]
        values += [base64.b64encode(unquote(userinfo).encode()).decode()]
    _remembered.update(value for value in values if len(value) >= _SHORTEST_REMEMBERED)


def remember_secret(value: str) -> None:
    """Make `redact` replace `value` in every later text."""
    if len(value) >= _SHORTEST_REMEMBERED:
        _remembered.add(value)


def redact_argument(argument: str) -> str:
    """Return a command-line argument with its secrets replaced.

    In an address, every value of the query is replaced, since any of them may be a key.
    """
    option, equals, value = argument.partition("=")
    if not (equals and option.startswith("-")):
        option = equals = ""
        value = argument
    parts = urlsplit(value) if "://" in value else None
    if parts is None or not (parts.query or "@" in parts.netloc):
        return redact(argument)
    host = parts.netloc.rpartition("@")
    query = "&".join(
        f"{quote(name)}={_HIDDEN}" for name, _ in parse_qsl(parts.query, keep_blank_values=True)
    )
    netloc = f"{_HIDDEN}@{host[2]}" if host[1] else host[2]
    return option + equals + redact(urlunsplit((parts.scheme, netloc, parts.path, query, "")))


class Secret(str):
    """A setting that may hold credentials: an address or a header. Its repr shows none of them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(redact_argument(str(self)) if "://" in self else _HIDDEN)


def redact_logs() -> None:
    """Make the libraries that send requests log addresses and headers without secrets.

    A filter of a logger does not see the records of its children, so the records are changed where
    they are made.
    """
    if not _make_record:  # once: a later factory may call this one
        _make_record.append(logging.getLogRecordFactory())
        logging.setLogRecordFactory(_redacted_record)


_CLIENTS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "openai", "aiohttp", "LiteLLM"})
_make_record: list[Callable[..., logging.LogRecord]] = []


def _redacted_record(name: str, *args: Any, **more: Any) -> logging.LogRecord:
    record = _make_record[0](name, *args, **more)
    if name.partition(".")[0] in _CLIENTS:
        record.msg, record.args = redact(record.getMessage()), ()
    return record


def acts(text: str) -> bool:
    """Return whether `text` contains a character that `escape_controls` would escape."""
    return _ACTING.search(text) is not None


def escape_controls(text: str) -> str:
    """Return `text` with control and direction characters as Python escapes."""
    return _ACTING.sub(_escape, text)


def escape_commands(text: str) -> str:
    """Put a backslash into each command of `text` that a runner of CI jobs would follow."""
    return _COMMAND.sub(r"\1\\", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two digits


def _secrets_in_environment() -> set[str]:
    # The names are read at once, since messages are made in threads while pytest sets and deletes
    # PYTEST_CURRENT_TEST.
    names = filter(_SECRET_NAMES.search, list(os.environ))
    values = {os.environ.get(name, "").strip() for name in names}
    return {value for value in values if len(value) >= _SHORTEST}
