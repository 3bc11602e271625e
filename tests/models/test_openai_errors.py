from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import openai
import pytest

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import FatalError, TransientError
from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._openai_errors import classify, retry_after

REQUEST = SimpleNamespace(method="POST", url="http://server/v1/chat/completions")


def classified(status, message="busy", *, headers=None, **fields):
    """Return the error of this package for an HTTP status with a message of the server."""
    response = SimpleNamespace(request=REQUEST, status_code=status, headers=headers or {})
    error = openai.APIStatusError(message, response=response, body={"message": message, **fields})
    return classify(error, where="openai:m", timeout=5.0)


@pytest.mark.parametrize("status", [408, 409, 423, 425, 429, 500, 502, 503, 529])
def test_a_status_that_may_pass_is_tried_again(status):
    error = classified(status, headers={"retry-after": "7"})
    assert isinstance(error, TransientError)
    assert error.retry_after == 7.0
    assert error.overloaded == (status in (429, 503, 529))
    assert str(error) == f"openai:m: HTTP {status}, busy"


@pytest.mark.parametrize(
    ("status", "message", "remedy"),
    [
        (401, "bad key", "set OPENAI_API_KEY"),
        (404, "no such model", "check the model's name"),
        (400, "max_tokens is too large", "--promptse-max-tokens"),
        (418, "teapot", "change the setting that the server names"),
    ],
)
def test_an_error_that_every_request_will_meet_is_fatal_and_names_a_remedy(status, message, remedy):
    error = classified(status, message)
    assert isinstance(error, FatalError)
    assert message in str(error)
    assert remedy in str(error)


def test_an_account_without_credit_gets_no_further_request():
    assert isinstance(classified(429, code="insufficient_quota"), FatalError)


def test_a_prompt_that_is_too_long_concerns_this_prompt_alone():
    error = classified(400, "the maximum context length is 4096 tokens")
    assert type(error) is ModelError


def test_a_message_has_one_line_without_keys():
    error = classified(400, "Incorrect\nAPI key: sk-abcdefghijklmnopqrstuvwxyz012345")
    assert "\n" not in str(error)
    assert "abcdefghijklmnop" not in str(error)


def test_a_connection_that_fails_and_one_that_is_slow_may_both_pass():
    refused = openai.APIConnectionError(request=REQUEST)
    refused.__cause__ = ConnectionRefusedError("refused")
    slow = openai.APITimeoutError(request=REQUEST)
    slow.__cause__ = TimeoutError()
    found = [classify(error, where="openai:m", timeout=5.0) for error in (refused, slow)]
    assert [type(error) for error in found] == [TransientError, TransientError]
    assert [str(error) for error in found] == [
        "openai:m: refused; is the server up at that address?",
        "openai:m: no answer within 5 s",
    ]


@pytest.mark.parametrize("closed", [BrokenPipeError(32, "closed"), ConnectionResetError(104, "")])
def test_a_server_that_closes_the_connection_may_want_a_certificate(closed):
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = closed
    without = classify(error, where="openai:m", timeout=5.0)
    shown = classify(
        error, where="openai:m", timeout=5.0, gateway=Gateway(client_certificate="client.pem")
    )
    assert "--promptse-client-certificate" in str(without)
    assert "--promptse-client-certificate" not in str(shown)
    assert type(without) is type(shown) is TransientError


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_pause_that_a_server_requests_is_in_seconds(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_pause_can_be_a_date():
    now = datetime.now(UTC)
    later = retry_after({"retry-after": format_datetime(now + timedelta(hours=1))})
    assert 3000 < later <= 3600
    assert retry_after({"retry-after": format_datetime(now - timedelta(hours=1))}) == 0.0
