from __future__ import annotations

import asyncio
import math
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from faulty_server import ANSWER, FaultyServer, tokens_of

from pytest_promptse.errors import ModelError, SettingsError
from pytest_promptse.models._base import (
    Decoding,
    FatalError,
    OneByOneError,
    Prompt,
    Request,
    TransientError,
)
from pytest_promptse.models._openai import OpenAIBackend

KEY = "sk-secret0123456789"
PROMPT = Prompt(user="Write one().")
DECODING = Decoding(temperature=0.7, top_p=0.9, max_tokens=99)


@pytest.fixture
def server():
    with FaultyServer() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return KEY


def backend_for(server, *, api=None, model="m", timeout=5.0):
    return OpenAIBackend(
        f"openai:{model}", model, base_url=server.base_url, api=api, timeout=timeout
    )


def converse(backend, *asks, before=lambda: None):
    """Start, answer `asks` after calling `before`, and close. Errors are raised."""

    async def talk():
        try:
            capabilities = await backend.start()
            before()
            return capabilities, [await backend.complete(ask) for ask in asks]
        finally:
            await backend.close()

    return asyncio.run(talk())


def ask(n=2, **more):
    return Request(prompt=PROMPT, decoding=DECODING, n=n, seed=1234, **more)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_every_decoding_field_is_sent_explicitly(server, api):
    converse(backend_for(server, api=api), ask(n=3))
    sent = server.requests[-1]
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.7, 0.9, 99)
    assert (sent["n"], sent["seed"]) == (3, 1234)
    assert sent["logprobs"]


def test_the_responses_api_gets_what_it_has_names_for_and_the_rest_counts_as_refused(server):
    capabilities, (answer,) = converse(backend_for(server, api="responses"), ask(n=2))
    sent = server.requests[-1]
    assert (sent["temperature"], sent["top_p"], sent["max_output_tokens"]) == (0.7, 0.9, 99)
    assert sent["store"] is False
    assert capabilities.refused == ("n", "seed")
    assert not capabilities.seeded
    assert len(answer.completions) == answer.usage.requests == 1


@pytest.mark.parametrize(
    ("api", "form"), [("chat", "chat"), ("completions", "completion"), ("responses", "chat")]
)
def test_every_api_gives_text_finish_reason_token_count_log_probability_and_usage(
    server, api, form
):
    capabilities, (answer,) = converse(backend_for(server, api=api), ask(n=2, first=4))
    assert capabilities.form == form
    assert capabilities.logprobs == "unknown"
    # The responses API has no n, so callers must request the other samples one by one.
    came = 1 if api == "responses" else 2
    assert [completion.index for completion in answer.completions] == [4, 5][:came]
    for completion in answer.completions:
        assert completion.text == ANSWER
        assert completion.finish_reason == "stop"
        assert completion.n_tokens == len(tokens_of(ANSWER))
        assert completion.logprob == pytest.approx(sum(tokens_of(ANSWER)))
    assert answer.usage.completion_tokens == came * len(tokens_of(ANSWER))


@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
def test_an_answer_cut_by_the_token_limit_says_so(server, api):
    server.behaviour.finish_reason = "length"
    _, (answer,) = converse(backend_for(server, api=api), ask())
    assert {completion.finish_reason for completion in answer.completions} == {"length"}


def test_a_system_part_is_sent_as_one(server):
    request = Request(prompt=Prompt(user="u", system="s"), decoding=DECODING, n=1)
    converse(backend_for(server), request)
    assert server.requests[-1]["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]


@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
def test_the_api_is_found_out_by_asking(server, api):
    server.behaviour.apis = (api,)
    capabilities, _ = converse(backend_for(server), ask())
    assert capabilities.details["api"] == api


def test_a_model_that_tells_no_log_probabilities_is_found_out_by_asking(server):
    server.behaviour.logprobs = False
    capabilities, (answer,) = converse(backend_for(server), ask())
    assert capabilities.logprobs is None
    assert {completion.logprob for completion in answer.completions} == {None}


@pytest.mark.parametrize("names_the_parameter", [True, False])
@pytest.mark.parametrize("refused", ["temperature", "top_p", "n", "seed", "logprobs"])
def test_what_a_model_refuses_is_left_out_from_then_on_and_reported(
    server, refused, names_the_parameter
):
    server.behaviour.refuses = {refused: f"Unsupported value: '{refused}' is not supported here."}
    server.behaviour.names_the_parameter = names_the_parameter
    capabilities, (answer,) = converse(backend_for(server), ask(n=2))
    assert capabilities.refused == (refused,)
    assert len(answer.completions) == (1 if refused == "n" else 2)
    requested_with = [refused in sent for sent in server.requests]
    assert requested_with[0]
    assert not any(requested_with[1:])


def test_several_refusals_are_conceded_one_after_the_other(server):
    server.behaviour.refuses = dict.fromkeys(("seed", "temperature", "logprobs"), "unsupported")
    capabilities, _ = converse(backend_for(server), ask())
    assert capabilities.refused == ("temperature", "seed", "logprobs")


def test_a_model_that_wants_the_newer_name_of_the_token_limit_gets_it(server):
    server.behaviour.refuses = {"max_tokens": "Use 'max_completion_tokens' instead."}
    capabilities, _ = converse(backend_for(server), ask())
    assert capabilities.refused == ()
    assert server.requests[-1]["max_completion_tokens"] == 99


def test_a_server_that_ignores_n_is_found_out_by_asking(server):
    server.behaviour.ignores_n = True
    capabilities, (answer,) = converse(backend_for(server), ask(n=3, first=5))
    assert capabilities.refused == ("n",)
    assert [completion.index for completion in answer.completions] == [5]
    assert "n" not in server.requests[-1]


def test_a_server_that_takes_n_only_up_to_some_most_says_so_when_it_is_met(server):
    server.behaviour.most_n = 4
    backend = backend_for(server)
    with pytest.raises(OneByOneError, match="n must be at most 4"):
        converse(backend, ask(n=6))
    _, (answer,) = converse(backend, ask(n=1))
    assert len(answer.completions) == 1


@pytest.mark.parametrize(
    "fault",
    ["500", "drop", "broken_json", "wrong_shape", "empty_choices", "null_content"],
)
@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
def test_what_may_pass_is_a_transient_error_that_asks_for_no_fewer_requests(server, api, fault):
    with pytest.raises(TransientError, match=r"openai:m at http://127\.0\.0\.1") as caught:
        converse(
            backend_for(server, api=api),
            ask(),
            before=lambda: server.behaviour.faults.append(fault),
        )
    assert not caught.value.overloaded
    assert caught.value.retry_after is None


@pytest.mark.parametrize("fault", ["429", "503"])
@pytest.mark.parametrize("retry_after", [None, "7", "0.5"])
def test_overload_is_transient_and_has_the_requested_pause(server, fault, retry_after):
    server.behaviour.retry_after = retry_after
    with pytest.raises(TransientError) as caught:
        converse(backend_for(server), ask(), before=lambda: server.behaviour.faults.append(fault))
    assert caught.value.overloaded
    assert caught.value.retry_after == (None if retry_after is None else float(retry_after))


def test_a_pause_may_be_requested_by_date(server):
    server.behaviour.retry_after = format_datetime(
        datetime.now(UTC) + timedelta(seconds=60), usegmt=True
    )
    with pytest.raises(TransientError) as caught:
        converse(backend_for(server), ask(), before=lambda: server.behaviour.faults.append("429"))
    assert 50 < caught.value.retry_after <= 60


def test_a_server_that_hangs_is_given_up_after_the_time_out(server):
    with pytest.raises(TransientError, match=r"no answer within 0\.3 s"):
        converse(
            backend_for(server, timeout=0.3),
            ask(),
            before=lambda: server.behaviour.faults.append("hang"),
        )


def test_a_server_that_is_not_there_is_transient_and_named():
    backend = OpenAIBackend("openai:m", "m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(TransientError, match=r"127\.0\.0\.1:9/v1.*is the server up"):
        converse(backend)


def test_a_fault_is_met_by_one_without_preamble_since_retrying_is_not_the_backends_business(server):
    def arm():
        server.requests.clear()
        server.behaviour.faults.append("500")

    with pytest.raises(TransientError):
        converse(backend_for(server), ask(), before=arm)
    assert len(server.requests) == 1


class Unlistable(dict):
    """An environment of which every list may be out of date, as it is while pytest runs tests."""

    def __iter__(self):
        raise AssertionError("the environment is listed in the thread of the sampler")

    keys = items = values = copy = __iter__


def test_a_start_after_the_check_lists_no_environment(server, monkeypatch):
    backend = backend_for(server)
    backend.check()
    monkeypatch.setattr("os.environ", Unlistable(os.environ))
    _, (answer,) = converse(backend, ask())
    assert answer.completions


def test_a_wrong_key_is_fatal_and_its_text_keeps_the_key_to_itself(server):
    server.behaviour.key = "another"
    with pytest.raises(FatalError, match=r"HTTP 401.*set OPENAI_API_KEY") as caught:
        converse(backend_for(server))
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(server.requests) == 1


def test_an_unknown_model_is_fatal_at_once(server):
    with pytest.raises(FatalError, match=r"no model nope; check the model's name"):
        converse(backend_for(server, model="nope"))
    assert len(server.requests) == 1


def test_a_server_without_any_of_the_apis_is_fatal_and_the_tried_ones_are_named(server):
    server.behaviour.apis = ()
    with pytest.raises(FatalError, match=r"HTTP 404.*tried the APIs chat, completions, responses"):
        converse(backend_for(server))


def test_a_used_up_quota_is_fatal_although_it_comes_as_429(server):
    with pytest.raises(FatalError, match="no credit"):
        converse(backend_for(server), ask(), before=lambda: server.behaviour.faults.append("quota"))


def test_a_prompt_that_is_too_long_fails_alone(server):
    with pytest.raises(ModelError, match="lower max_tokens by --promptse-max-tokens") as caught:
        converse(
            backend_for(server), ask(), before=lambda: server.behaviour.faults.append("context")
        )
    assert not isinstance(caught.value, FatalError | TransientError)


@pytest.mark.parametrize("names_the_parameter", [True, False])
def test_a_max_tokens_that_the_server_refuses_is_fatal_with_the_remedy(server, names_the_parameter):
    said = "max_tokens is too large: 99. This model supports at most 64 completion tokens"

    def limit():
        server.behaviour.names_the_parameter = names_the_parameter
        server.behaviour.refuses = {"max_tokens": said}

    with pytest.raises(FatalError) as caught:
        converse(backend_for(server), ask(), before=limit)
    assert f"HTTP 400, {said}; " in str(caught.value)
    assert "set a lower one by --promptse-max-tokens" in str(caught.value)


def test_what_the_server_honoured_at_the_start_and_refuses_later_is_fatal(server):
    def turn():
        server.behaviour.refuses = {"temperature": "temperature must be 1"}

    with pytest.raises(FatalError, match="temperature must be 1"):
        converse(backend_for(server), ask(), before=turn)


def test_without_key_and_server_the_error_names_the_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(FatalError, match="OPENAI_API_KEY is not set"):
        converse(OpenAIBackend("openai:m", "m"))
    with pytest.raises(SettingsError, match="OPENAI_API_KEY is not set"):
        OpenAIBackend("openai:m", "m").check()


def test_an_address_that_is_none_is_refused_at_once():
    with pytest.raises(SettingsError, match=r"'localhost:8000' is not the address"):
        OpenAIBackend("openai:m", "m", base_url="localhost:8000")


def test_a_server_of_ones_own_needs_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    _, (answer,) = converse(backend_for(server), ask(n=1))
    assert len(answer.completions) == 1


def test_identity_tells_models_servers_and_apis_apart_but_never_holds_credentials(server):
    secret = OpenAIBackend(
        "openai:m", "m", base_url="http://user:hunter2@host/v1/?api_key=hunter3", api="chat"
    )
    assert secret.identity == {
        "backend": "openai",
        "model": "m",
        "server": "http://host/v1",
        "api": "chat",
    }
    assert "hunter" not in repr(secret)


def test_a_log_probability_is_the_exact_sum_of_many_tokens(server):
    server.behaviour.answer = lambda _body, _number: "word " * 2000
    _, (answer,) = converse(backend_for(server), ask(n=1))
    assert answer.completions[0].logprob == math.fsum(tokens_of("word " * 2000))


@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
@pytest.mark.parametrize("logprob", [0.5, math.nan, "high"])
def test_a_completion_counts_without_its_log_probability_if_that_is_none(
    server, monkeypatch, api, logprob
):
    monkeypatch.setattr("faulty_server.tokens_of", lambda _text: [-0.5, logprob])
    _, (answer,) = converse(backend_for(server, api=api), ask(n=1))
    assert [(one.text, one.logprob) for one in answer.completions] == [(ANSWER, None)]


@pytest.mark.parametrize("usage", ["much", [], {"prompt_tokens": -1}])
def test_a_completion_counts_without_its_usage_if_that_is_none(server, monkeypatch, usage):
    monkeypatch.setattr("faulty_server._usage", lambda _texts: usage)
    _, (answer,) = converse(backend_for(server), ask(n=1))
    assert answer.completions[0].text == ANSWER
    assert answer.usage.requests == 1
