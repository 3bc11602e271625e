from __future__ import annotations

import asyncio

import pytest

from pytest_promptse.models._base import (
    Capabilities,
    Completion,
    Decoding,
    Prompt,
    Response,
    Usage,
    completion_key,
)
from pytest_promptse.sampling._sampler import Job, RetryPolicy, Sampler
from pytest_promptse.store._store import Store

QUICK = RetryPolicy(attempts=4, first=0.01, longest=0.02, longest_retry_after=1.0)


class ScriptedBackend:
    """Answers after `latency` seconds. `script` may raise, or answer differently for a request."""

    concurrency = 64

    def __init__(self, script=None, *, latency=0.0, spec="fake:model", start=None, **honoured):
        self.spec = spec
        self.identity = {"model": spec}
        self.script = script
        self.latency = latency
        self.honoured = {"form": "chat"} | honoured
        self.start_script = start
        self.asks = []
        self.started = self.closed = self.under_way = self.most_under_way = 0

    async def start(self):
        self.started += 1
        if self.start_script is not None:
            self.start_script(self.started)
        return Capabilities(**self.honoured)

    async def complete(self, ask):
        self.asks.append(ask)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.script is not None:
                answer = self.script(ask, len(self.asks))
                if answer is not None:
                    return answer
            await asyncio.sleep(self.latency)
        finally:
            self.under_way -= 1
        return answer_to(ask)

    async def close(self):
        self.closed += 1


def answer_to(ask):
    numbers = range(ask.first, ask.first + ask.n)
    return Response(
        completions=tuple(Completion(index=i, text=f"{ask.prompt.user} #{i}") for i in numbers),
        usage=Usage(requests=1, prompt_tokens=10, completion_tokens=2 * ask.n),
    )


def make_job(number, n=2, *, model="fake:model", max_tokens=10):
    prompt = Prompt(user=f"prompt {number}")
    decoding = Decoding(max_tokens=max_tokens)
    return Job(
        key=completion_key({"model": model}, prompt, decoding, number),
        model=model,
        prompt=prompt,
        decoding=decoding,
        n=n,
        seed=number,
        task_id=f"task{number}",
        variant_id="original",
    )


def put(store, job, samples):
    """Store completions of a job, as an earlier run would have."""
    store.add_completions(
        job.key,
        [Completion(index=index, text="x") for index in samples],
        usage=Usage(),
        model=job.model,
        prompt=Prompt(user="x"),
        decoding=Decoding(),
        task_id=job.task_id,
        variant_id=job.variant_id,
        seed=job.seed,
        form="chat",
        template=None,
    )


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / ".promptse")
    yield store
    store.close()


@pytest.fixture
def backend():
    return ScriptedBackend


@pytest.fixture
def job():
    return make_job


@pytest.fixture
def answer():
    return answer_to


@pytest.fixture
def sample(store):
    """Start a sampler for jobs and backends, and close it after the test."""
    started = []

    def sample(jobs, *backends, run="run", retry_policy=QUICK, start=True, on=None, **options):
        makers = {each.spec: (lambda each=each: each) for each in backends}
        sampler = Sampler(on or store, jobs, makers, run=run, retry_policy=retry_policy, **options)
        started.append(sampler)
        if start:
            sampler.start()
        return sampler

    yield sample
    for sampler in started:
        sampler.close()
