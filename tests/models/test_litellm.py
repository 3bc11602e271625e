"""The backend over LiteLLM, against the library's own mock."""

from __future__ import annotations

import asyncio

import pytest

from pytest_promptse.errors import ModelError, SettingsError
from pytest_promptse.models._base import (
    Decoding,
    FatalError,
    Prompt,
    Remote,
    Request,
    TransientError,
    unlimited,
)
from pytest_promptse.models._registry import create_backend

pytestmark = pytest.mark.filterwarnings("ignore")
pytest.importorskip("litellm")
litellm_backend = pytest.importorskip("pytest_promptse.models._litellm")


@pytest.fixture
def library(monkeypatch):
    """Answer without a network, as LiteLLM's ``mock_response`` does."""
    litellm = litellm_backend.litellm
    sent = []
    real = litellm.acompletion

    def mocked(answer):
        async def acompletion(**arguments):
            sent.append(arguments)
            return await real(**arguments, mock_response=answer)

        monkeypatch.setattr(litellm, "acompletion", acompletion)
        return sent

    return mocked


def ask(backend, **changed):
    async def run():
        await backend.reach(unlimited)
        request = {"prompt": Prompt(user="Write f.", system="Be brief."), "decoding": Decoding()}
        return await backend.complete(
            Request(**request | {"n": 1, "first": 3, "seed": 7} | changed)
        )

    return asyncio.run(run())


def test_a_completion_comes_with_its_usage_and_our_decoding(library):
    sent = library("```python\ndef f(): pass\n```")
    response = ask(create_backend("litellm:openai/gpt-4o-mini"), n=2)
    assert [each.index for each in response.completions] == [3, 4]
    assert response.completions[0].text.startswith("```python")
    assert response.completions[0].finish_reason == "stop"
    assert response.usage.requests == 1
    assert response.usage.completion_tokens > 0
    [arguments] = sent
    assert [each["role"] for each in arguments["messages"]] == ["system", "user"]
    assert (arguments["seed"], arguments["max_tokens"], arguments["n"]) == (7, 512, 2)
    assert (arguments["num_retries"], arguments["max_retries"]) == (0, 0)
    assert arguments["logprobs"] is True


def test_what_a_provider_does_not_take_is_not_sent(library):
    sent = library("text")
    backend = create_backend("litellm:anthropic/claude-3-haiku-20240307")
    assert ask(backend).completions[0].text == "text"
    assert not {"n", "seed", "logprobs"} & set(sent[0])
    capabilities = asyncio.run(backend.start())
    assert set(capabilities.refused) == {"seed", "n"}
    assert (capabilities.logprobs, capabilities.seeded) == (None, False)


@pytest.mark.parametrize(
    ("answer", "kind", "overloaded"),
    [
        ("litellm.RateLimitError", TransientError, True),
        ("litellm.InternalServerError", TransientError, False),
        ("litellm.ContextWindowExceededError", ModelError, None),
    ],
)
def test_errors_of_providers_are_distinguished(library, answer, kind, overloaded):
    library(answer)
    with pytest.raises(ModelError) as error:
        ask(create_backend("litellm:openai/gpt-4o-mini"))
    assert type(error.value) is kind
    assert getattr(error.value, "overloaded", None) is overloaded
    assert "\n" not in str(error.value)


def test_a_wrong_key_ends_the_requests(library):
    litellm = litellm_backend.litellm
    refused = litellm.exceptions.AuthenticationError(
        message="wrong key", llm_provider="openai", model="gpt-4o-mini"
    )
    library(refused)
    with pytest.raises(FatalError, match="wrong key"):
        ask(create_backend("litellm:openai/gpt-4o-mini"))


@pytest.mark.parametrize(
    ("said", "kind", "remedy"),
    [
        ("max_tokens is too large: 4096", FatalError, "set a lower one by --promptse-max-tokens"),
        ("temperature must be 1", FatalError, "change the setting that the server names"),
        ("maximum context length is 10", ModelError, "shorten the prompt"),
    ],
)
def test_what_a_provider_refuses_has_a_remedy(library, said, kind, remedy):
    refused = litellm_backend.litellm.exceptions.BadRequestError(
        message=said, llm_provider="openai", model="gpt-4o-mini"
    )
    library(refused)
    with pytest.raises(ModelError, match=remedy) as error:
        ask(create_backend("litellm:openai/gpt-4o-mini"))
    assert type(error.value) is kind
    assert said in str(error.value)


def test_a_missing_key_and_an_unknown_provider_are_named_before_any_request(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    backend = create_backend("litellm:anthropic/claude-3-haiku-20240307")
    assert isinstance(backend, Remote)
    with pytest.raises(SettingsError, match="ANTHROPIC_API_KEY is not set"):
        backend.check()
    with pytest.raises(SettingsError, match="litellm:PROVIDER/MODEL"):
        create_backend("litellm:nothing/of-this").check()  # type: ignore[attr-defined]
