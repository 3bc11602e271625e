"""How vLLM's engine is loaded, with a stand-in for vLLM: the real one has tests of its own."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest

from pytest_promptse.models.base import FatalError
from pytest_promptse.models.vllm import VllmBackend


class Engine:
    """An engine that is loaded once it is allowed to."""

    def __init__(self):
        self.begun, self.allowed = threading.Event(), threading.Event()
        self.failure = None
        self.made = self.ended = 0

    def from_engine_args(self, _arguments):
        self.begun.set()
        assert self.allowed.wait(20)
        if self.failure is not None:
            raise self.failure
        self.made += 1
        return self

    def get_tokenizer(self):
        return SimpleNamespace(chat_template="{{ messages }}")

    def shutdown(self):
        self.ended += 1


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
    module("vllm", __version__="0")
    module("vllm.exceptions", VLLMError=type("VLLMError", (Exception,), {}))
    module("vllm.v1")
    module("vllm.v1.engine")
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
