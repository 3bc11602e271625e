"""Loading of vLLM's engine, with a replacement for vLLM. The real vLLM has its own tests."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from pytest_promptse.models._base import Decoding, FatalError, Prompt, Request, TransientError
from pytest_promptse.models._vllm import VllmBackend


class Engine:
    """An engine that is loaded once it is allowed to."""

    def __init__(self):
        self.begun, self.allowed = threading.Event(), threading.Event()
        self.failure = None
        self.made = self.ended = 0
        self.deaths = 0
        self.seeds = []

    def from_engine_args(self, _arguments):
        self.begun.set()
        assert self.allowed.wait(20)
        if self.failure is not None:
            raise self.failure
        self.made += 1
        return Started(self)


class Started:
    """One start of the engine. The first `deaths` engines end at their first request."""

    def __init__(self, engine):
        self.engine = engine
        self.dies = engine.made <= engine.deaths

    def get_tokenizer(self):
        return SimpleNamespace(
            chat_template="{{ messages }}",
            apply_chat_template=lambda *_, **__: "text",
            encode=lambda *_, **__: [1],
        )

    def shutdown(self):
        self.engine.ended += 1

    async def generate(self, _prompt, parameters, _name):
        if self.dies:
            raise EngineDeadError("EngineCore encountered an issue.")
        self.engine.seeds.append(parameters.seed)
        output = SimpleNamespace(
            index=0, text="x = 1", finish_reason="stop", token_ids=[1], cumulative_logprob=-1.0
        )
        yield SimpleNamespace(outputs=[output], prompt_token_ids=[1])


class VLLMError(Exception):
    pass


class EngineDeadError(VLLMError):
    pass


class ModelConfig(BaseModel):
    """Refuses a length as vLLM's class of this name does."""

    max_model_len: int

    @field_validator("max_model_len")
    @classmethod
    def check(cls, length):
        raise ValueError(f"{length} is more than the model's 2048 positions;\nlower it")


PLATFORM = SimpleNamespace(is_cpu=lambda: False)
REQUEST = Request(prompt=Prompt(user="Write f."), decoding=Decoding(), n=1, seed=7)


@pytest.fixture
def engine(monkeypatch):
    engine = Engine()

    def module(name, **members):
        made = ModuleType(name)
        vars(made).update(members)
        monkeypatch.setitem(sys.modules, name, made)

    arguments = SimpleNamespace(
        add_cli_args=lambda parser: parser,
        from_cli_args=lambda _: SimpleNamespace(logprobs_mode="raw_logprobs"),
    )
    parser = type("Parser", (), {"__init__": lambda *_, **__: None, "parse_args": lambda *_: None})
    module("vllm", __version__="0", SamplingParams=SimpleNamespace)
    module("vllm.exceptions", VLLMError=VLLMError)
    module("vllm.platforms", current_platform=PLATFORM)
    module("vllm.sampling_params", RequestOutputKind=SimpleNamespace(FINAL_ONLY=0))
    module("vllm.v1")
    module("vllm.v1.engine")
    module("vllm.v1.engine.exceptions", EngineDeadError=EngineDeadError)
    module("vllm.v1.engine.async_llm", AsyncLLM=engine)
    module("vllm.engine")
    module("vllm.engine.arg_utils", AsyncEngineArgs=arguments)
    module("vllm.utils")
    module("vllm.utils.argparse_utils", FlexibleArgumentParser=parser)
    return engine


@pytest.fixture
def backend():
    return VllmBackend("vllm:m", "m")


def test_other_work_goes_on_while_the_engine_is_loaded(engine, backend):
    async def run():
        loading = asyncio.create_task(backend.start())
        assert await asyncio.to_thread(engine.begun.wait, 20)
        engine.allowed.set()
        capabilities = await loading
        await backend.close()
        return capabilities

    assert asyncio.run(run()).form == "chat"
    assert (engine.made, engine.ended) == (1, 1)


def test_a_run_that_is_ended_while_the_engine_is_loaded_leaves_no_engine_behind(engine, backend):
    async def run():
        loading = asyncio.create_task(backend.start())
        assert await asyncio.to_thread(engine.begun.wait, 20)
        loading.cancel()
        closing = asyncio.create_task(backend.close())
        await asyncio.sleep(0)
        engine.allowed.set()
        await closing
        with pytest.raises(asyncio.CancelledError):
            await loading

    asyncio.run(run())
    assert (engine.made, engine.ended) == (1, 1)


def test_an_engine_that_cannot_be_loaded_is_an_error_that_names_the_remedy(engine, backend):
    engine.failure = RuntimeError("no room\nand more")
    engine.allowed.set()

    async def run():
        try:
            await backend.start()
        finally:
            await backend.close()

    with pytest.raises(FatalError, match=r"vllm:m: vLLM cannot load the model \(no room\); check"):
        asyncio.run(run())
    assert engine.ended == 0


def complete(backend, requests):
    async def run():
        capabilities = await backend.start()
        try:
            return capabilities, await asyncio.gather(
                *(backend.complete(REQUEST) for _ in range(requests)), return_exceptions=True
            )
        finally:
            await backend.close()

    return asyncio.run(run())


def test_an_engine_that_died_is_started_anew_and_its_requests_are_tried_again(engine, backend):
    engine.allowed.set()
    engine.deaths = 1
    _, failures = complete(backend, requests=3)
    assert [type(failure) for failure in failures] == [TransientError] * 3
    assert "the engine was restarted" in str(failures[0])
    assert (engine.made, engine.ended) == (2, 2)


def test_an_engine_that_dies_twice_is_given_up(engine, backend):
    engine.allowed.set()
    engine.deaths = 2

    async def run():
        await backend.start()
        try:
            with pytest.raises(TransientError):
                await backend.complete(REQUEST)
            with pytest.raises(FatalError, match="ended a second time"):
                await backend.complete(REQUEST)
        finally:
            await backend.close()

    asyncio.run(run())
    assert engine.made == 2


@pytest.mark.parametrize(("is_cpu", "seed"), [(False, 7), (True, None)])
def test_a_request_has_a_seed_where_the_engine_can_take_one(
    engine, backend, monkeypatch, is_cpu, seed
):
    monkeypatch.setattr(PLATFORM, "is_cpu", lambda: is_cpu)
    engine.allowed.set()
    capabilities, _ = complete(backend, requests=1)
    assert capabilities.seeded is not is_cpu
    assert engine.seeds == [seed]


def test_a_validation_error_says_what_is_wrong_and_not_how_many(engine, backend):
    with pytest.raises(ValidationError) as wrong:
        ModelConfig(max_model_len=100000)
    engine.failure = wrong.value
    engine.allowed.set()
    with pytest.raises(FatalError) as caught:
        asyncio.run(backend.start())
    said = str(caught.value)
    assert "max_model_len: 100000 is more than the model's 2048 positions" in said
    assert "validation error" not in said
    assert "\n" not in said
