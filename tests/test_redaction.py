"""Secrets and characters that act reach neither terminal nor file, whatever a server answers."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse._redaction import redact, redact_argument, remember_credentials, shown
from pytest_promptse.config._settings import resolve
from pytest_promptse.errors import ModelError, PromptseError, SettingsError
from pytest_promptse.models._openai import OpenAIBackend

KEY = "sk-planted-0123456789abcdef"
ODD_KEY = "quoted'and\\back\\slashed-1234"
PASSWORD, QUERY_KEY = "p4sswd99", "querytok77"


@pytest.fixture(params=[KEY, ODD_KEY], ids=["usual", "odd"])
def key(request, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", request.param)
    return request.param


@pytest.mark.parametrize(
    "text",
    [
        "{key}",
        "refused: Authorization: Bearer {key}",
        "RequestInfo(headers=<CIMultiDict('Authorization': 'Bearer {key}')>)",
        "b'Bearer {key}'",
        "'x-api-key': '{key}'",
        "http://host/v1?api-key={key}&n=1",
        "Incorrect API key provided: {start}****cdef.",
        "cut off at {start}",
    ],
)
def test_a_key_is_hidden_in_any_text(text, key):
    message = redact(text.format(key=key, start=key[:14]))
    assert key[:12] not in message
    assert "***" in message


def test_a_key_is_hidden_as_a_repr_writes_it(key):
    assert key[9:] not in redact(repr(RuntimeError(f"Bearer {key}")))


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("http://user:p4ss@host/v1", "http://***@host/v1"),
        ("https://token@host:8000/v1", "https://***@host:8000/v1"),
        ("https://host/v1?api-version=1&code=abc", "https://host/v1?api-version=***&code=***"),
        ("--promptse-base-url=http://u:p@host/v1", "--promptse-base-url=http://***@host/v1"),
        ("u:p@host/v1", "***@host/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("--promptse-model=openai:gpt-4.1", "--promptse-model=openai:gpt-4.1"),
        ("tests/test_a.py::test_b[x@0.2]", "tests/test_a.py::test_b[x@0.2]"),
    ],
)
def test_credentials_in_addresses_are_hidden(address, hidden):
    assert redact_argument(address) == hidden


def test_a_password_is_hidden_wherever_it_occurs_once_its_address_is_known():
    remember_credentials(f"http://user:{PASSWORD}@host/v1?key={QUERY_KEY}")
    message = redact(f"user {PASSWORD} or {QUERY_KEY} or Basic dXNlcjpwNHNzd2Q5OQ== is wrong")
    assert message == "user *** or *** or Basic *** is wrong"


def test_settings_that_are_recorded_hold_no_credentials():
    raw = {"base_url": f"http://user:{PASSWORD}@host/v1?key={QUERY_KEY}"}
    values = resolve([(raw, lambda name: name)]).as_json_values()
    assert values["base_url"] == "http://***@host/v1?key=***"


@given(st.text(alphabet="\x1b\x07\u202e\u2066\r\x00\x9b ab:#[\n", max_size=60))
def test_no_message_holds_what_a_terminal_or_a_runner_acts_on(text):
    message = str(PromptseError(text))
    assert not set(message) & set("\x1b\x07\u202e\u2066\r\x00\x9b")
    assert not any(line.lstrip().startswith(("::", "##[")) for line in message.split("\n"))


def test_a_message_may_be_made_while_another_thread_changes_the_environment(monkeypatch):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as thread:
            messages = thread.submit(
                lambda: {str(PromptseError("rate limit")) for _ in range(3000)}
            )
            while not messages.done():
                monkeypatch.setenv("PYTEST_OTHER_TEST", "1")
                monkeypatch.delenv("PYTEST_OTHER_TEST")
            assert messages.result() == {"rate limit"}
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("unit", ["x", ".", "?key", "x.", "a:", "sk-"])
def test_a_long_output_of_a_program_costs_no_minutes(unit):
    began = time.process_time()
    shown(unit * (50_000 // len(unit)))
    assert time.process_time() - began < 5.0


def test_escapes_say_what_stood_there():
    assert shown("a\x1b[31mb\u202ec\n::error::d") == "a\\x1b[31mb\\u202ec\n\\::error::d"


# -- servers that repeat what they are sent ------------------------------------------------------


class Echo:
    """Answers each connection with bytes made of the Authorization header that it got."""

    def __init__(self, answer, *, rest=()):
        self.answer, self.rest = answer, rest
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536)
                head, _, body = data.partition(b"\r\n\r\n")
                size = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
                while len(body) < size:
                    body += connection.recv(65536)
                header = next(
                    line for line in data.split(b"\r\n") if line.lower().startswith(b"authoriz")
                )
                try:
                    connection.sendall(self.answer(header))
                    for pause, more in self.rest:
                        time.sleep(pause)
                        connection.sendall(more)
                except OSError:
                    continue


ECHOES = {
    "a malformed status line": lambda header: b"HTTP/1.1 2OO " + header + b"\r\n\r\n",
    "no HTTP": lambda header: header + b"\r\n\r\n",
    "a malformed header": lambda header: (
        b"HTTP/1.1 200 OK\r\n" + header.replace(b":", b"") + b"\r\n\r\n"
    ),
    "a malformed length": lambda header: (
        b"HTTP/1.1 200 OK\r\nContent-Length: " + header + b"\r\n\r\n"
    ),
    "a malformed chunk": lambda header: (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + header + b"\r\n"
    ),
    "a reason": lambda header: (
        b"HTTP/1.1 500 " + header + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    ),
    "a message cut in the middle of the key": lambda header: (
        b"HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Length: 400\r\n\r\n"
        + (b"x" * 270 + header + b" " * 400)[:400]
    ),
    "a body that is not what the API returns": lambda header: (
        b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n" + (header + b" " * 300)[:300]
    ),
}


def complain(address, *, timeout=20.0):
    backend = OpenAIBackend("openai:m", "m", base_url=address, api="chat", timeout=timeout)

    async def talk():
        try:
            await backend.start()
        finally:
            await backend.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(talk())
    return f"{caught.value} {caught.value!r} {caught.value.args}"


@pytest.mark.parametrize("answer", ECHOES.values(), ids=ECHOES)
def test_no_error_repeats_the_key_or_the_password(answer, key):
    server = Echo(answer)
    message = complain(f"http://127.0.0.1:{server.port}/v1")
    assert key[:12] not in message
    message = complain(f"http://user:{PASSWORD}@127.0.0.1:{server.port}/v1?token={QUERY_KEY}")
    assert not [secret for secret in (key[:12], PASSWORD, QUERY_KEY) if secret in message]
    server.listener.close()


def test_an_answer_of_gigabytes_is_not_read(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    bomb = gzip.compress(bytes(200 * 2**20), 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    server = Echo(lambda _: head + bomb)
    assert "the answer is over 64 MiB" in complain(f"http://127.0.0.1:{server.port}/v1")


def test_an_encoding_that_was_not_requested_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\n{}"
    server = Echo(lambda _: head)
    assert "in the encoding 'gzip, gzip'" in complain(f"http://127.0.0.1:{server.port}/v1")


def test_the_time_limit_covers_an_answer_that_drips(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    server = Echo(lambda _: head, rest=[(0.2, b" ")] * 100)
    message = complain(f"http://127.0.0.1:{server.port}/v1", timeout=1.0)
    assert "no answer within 1 s" in message


def test_user_and_query_of_the_address_are_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = []
    server = Echo(lambda header: message.append(header.lower()) or ECHOES["a reason"](b"X"))
    complain(f"http://user:{PASSWORD}@127.0.0.1:{server.port}/v1?token={QUERY_KEY}")
    assert {message[0]} == {*message} == {b"authorization: basic dxnlcjpwnhnzd2q5oq=="}


def test_an_address_that_is_none_is_named_without_its_password():
    with pytest.raises(SettingsError, match=r"\*\*\*@host") as caught:
        OpenAIBackend("openai:m", "m", base_url=f"user:{PASSWORD}@host/v1")
    assert PASSWORD not in str(caught.value)


def test_no_output_of_a_run_holds_a_planted_secret(pytester, monkeypatch):
    """Terminal, record, page, Markdown, annotations and the store."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "out.summary"))
    server = Echo(ECHOES["a message cut in the middle of the key"])
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.promptse('Write `one()` that returns 1.')\n"
        "def test_one(candidate):\n    assert candidate() == 1\n"
    )
    result = pytester.runpytest_subprocess(
        "--promptse-model=openai:m",
        "--promptse-base-url",
        f"http://user:{PASSWORD}@127.0.0.1:{server.port}/v1?token={QUERY_KEY}",
        "--promptse-samples=1",
        "--promptse-store=store",
        "--promptse-report=json:out.json",
        "--promptse-report=html:out.html",
        "--promptse-report=md:out.md",
        "--promptse-report=github",
        "--promptse-sandbox=none",
        timeout=120,
    )
    texts = {"terminal": "\n".join([*result.outlines, *result.errlines])}
    assert "HTTP 400" in texts["terminal"]
    for path in [*pytester.path.glob("out.*"), *pytester.path.glob("store/*.db*")]:
        texts[path.name] = path.read_bytes().decode(errors="replace")
    assert {"out.json", "out.html", "out.md", "out.summary"} <= texts.keys()
    database = next(pytester.path.glob("store/*.db"))
    with closing(sqlite3.connect(database)) as connection:
        texts["dump"] = "\n".join(connection.iterdump())
    for where, text in texts.items():
        for secret in (KEY[:12], PASSWORD, QUERY_KEY):
            assert secret not in text, where
