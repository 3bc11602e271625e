"""A run with a server that dies: finished completions are kept, the others are an error."""

from __future__ import annotations

import pytest
from faulty_server import FaultyServer

TWICE = """
import pytest

@pytest.mark.promptse("Write `twice(x: int) -> int`: return twice x.", variants=2, samples=2)
def test_twice(candidate):
    assert candidate(3) == 6
"""


@pytest.fixture
def server(monkeypatch, pytester):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makepyfile(test_twice=TWICE)
    with FaultyServer() as running:
        yield running


def test_a_dead_server_opens_the_circuit_and_the_next_run_requests_what_is_missing(run, server):
    options = (
        *("--promptse-model", "openai:m", "--promptse-base-url", server.base_url),
        *("--promptse-concurrency", "1", "-v"),
    )
    # One successful start and one request, then an outage that is longer than the test.
    server.behaviour.retry_after = "86400"
    server.behaviour.faults.extend(["none", "none", "500", "500", "500"])
    died = run(*options)
    died.assert_outcomes(passed=1, errors=6 + 4)
    assert died.ret == pytest.ExitCode.TESTS_FAILED
    assert any("3 variants in a row failed" in line for line in died.outlines)
    assert any("not scored" in line for line in died.outlines)
    assert len(server.requests) == 5

    again = run(*options)
    again.assert_outcomes(passed=7 + 4)
    assert again.ret == pytest.ExitCode.OK
    assert len(server.requests) == 5 + 1 + 6


def test_the_wait_and_the_retries_are_as_many_as_the_options_say(run, server):
    server.behaviour.latency = 1.0
    result = run(
        *("--promptse-model", "openai:m", "--promptse-base-url", server.base_url),
        *("--promptse-request-timeout", "0.2", "--promptse-retries", "1", "-k", "original"),
    )
    result.assert_outcomes(errors=1)
    assert any("no answer within 0.2 s (tried 2 times)" in line for line in result.outlines)
    assert len(server.requests) == 2


def test_the_log_shows_no_secret_of_an_address(run, server, pytester):
    address = server.base_url.replace("://", "://me:hunter2hunter2@") + "?tenant=moonbase42"
    server.behaviour.answer = lambda _body, _number: "def twice(x):\n    return x"
    result = run(
        *("--promptse-model", "openai:m", "--promptse-base-url", address, "--log-level", "INFO"),
        *("--log-file", "log.txt", "--junitxml", "junit.xml"),
        *(
            "--full-trace",
            "-l",
            "-vv",
            "--promptse-min-pass-rate",
            "0.9",
            "--show-capture",
            "all",
            "-x",
        ),
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    written = [result.stdout.str(), result.stderr.str()]
    written += [(pytester.path / name).read_text() for name in ("log.txt", "junit.xml")]
    assert "HTTP Request" in written[2]
    for text in written:
        assert "hunter2" not in text
        assert "moonbase42" not in text
