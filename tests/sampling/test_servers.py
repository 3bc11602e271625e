"""Sampling from a real server: unsupported parameters, the cost of the start, losses by a fault."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from faulty_server import FaultyServer

from pytest_promptse.errors import BudgetError, SettingsError
from pytest_promptse.models._base import Usage, derive_seed
from pytest_promptse.models._openai import OpenAIBackend
from pytest_promptse.sampling._request_queue import ActiveJob, Batch
from pytest_promptse.sampling._sampler import Budget

SPEC = "openai:m"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with FaultyServer() as running:
        # The seed identifies the requested sample.
        running.behaviour.answer = lambda body, number: f"{body['seed']} {number}"
        yield running


@pytest.fixture
def model(server):
    return lambda: OpenAIBackend(SPEC, "m", base_url=server.base_url, timeout=30.0)


@pytest.fixture
def ask(job):
    return lambda number, n: job(number, n=n, model=SPEC)


def variant_requests(server):
    """The requests for variants, without those of the start."""
    return [
        body for body in server.requests if body["messages"][-1]["content"].startswith("prompt ")
    ]


def texts(sampler, job):
    return [completion.text for completion in sampler.completions(job)]


def test_a_server_that_takes_n_gets_one_request_for_each_variant(sample, model, server, ask):
    jobs = [ask(number, 8) for number in range(3)]
    sampler = sample(jobs, model())
    for job in jobs:
        assert texts(sampler, job) == [f"{derive_seed(job.seed, 0)} {i}" for i in range(8)]
    assert [body["n"] for body in variant_requests(server)] == [8, 8, 8]


def test_a_server_that_ignores_n_gets_the_requests_for_all_samples_at_once(
    sample, model, server, ask
):
    """The server answers none before it has received the requests for all of them."""
    server.behaviour.ignores_n = True
    everybody = threading.Barrier(8)

    def together(body, _number):
        if "n" not in body:
            everybody.wait(20)
        return str(body["seed"])

    server.behaviour.answer = together
    job = ask(1, 8)
    assert texts(sample([job], model()), job) == [str(derive_seed(job.seed, i)) for i in range(8)]
    assert len(variant_requests(server)) == 8


def test_samples_are_the_same_in_one_run_and_after_a_crash(sample, model, server, ask):
    server.behaviour.ignores_n = True
    few, all_of_them = ask(1, 3), ask(1, 8)
    first = sample([few], model())
    first.wait(few)
    first.close()
    again = sample([all_of_them], model(), run="again")
    assert texts(again, all_of_them) == [f"{derive_seed(few.seed, i)} 0" for i in range(8)]
    assert len(variant_requests(server)) == 8


def test_a_crash_loses_only_open_requests_of_a_variant_requested_one_by_one(
    sample, model, server, ask, store
):
    server.behaviour.ignores_n = True
    job = ask(1, 8)
    stuck = derive_seed(job.seed, 3)
    released = threading.Event()

    def answer(body, _number):
        if body["seed"] == stuck:
            released.wait(20)
        return str(body["seed"])

    server.behaviour.answer = answer
    sampler = sample([job], model())
    while store.missing({job.key: 8})[job.key] != [3]:
        time.sleep(0.005)
    sampler.close()
    released.set()
    again = sample([job], model(), run="again")
    assert texts(again, job) == [str(derive_seed(job.seed, i)) for i in range(8)]
    assert [body["seed"] for body in variant_requests(server)].count(stuck) == 2
    assert len(variant_requests(server)) == 9


def test_a_server_with_a_limit_on_n_gets_single_requests_after_its_refusal(
    sample, model, server, ask
):
    server.behaviour.most_n = 4
    jobs = [ask(number, 6) for number in range(2)]
    sampler = sample(jobs, model(), concurrency=1)
    for job in jobs:
        assert texts(sampler, job) == [f"{derive_seed(job.seed, i)} 0" for i in range(6)]
    assert [body.get("n") for body in variant_requests(server)] == [6] + [None] * 12
    sampler.close()
    assert sampler.progress().usage.requests == len(server.requests)


@pytest.mark.parametrize("refused", [(), ("seed", "logprobs")])
def test_what_the_start_asks_is_counted(sample, model, server, ask, refused):
    server.behaviour.refuses = dict.fromkeys(refused, "unsupported")
    server.behaviour.answer = lambda _body, _number: "two words"
    job = ask(1, 4)
    sampler = sample([job], model())
    sampler.wait(job)
    sampler.close()
    usage = sampler.progress().usage
    # The server reports 7 prompt tokens, and one completion token per word: 2 samples, then 4.
    assert usage.requests == len(server.requests) == 2 + len(refused)
    assert (usage.prompt_tokens, usage.completion_tokens) == (14, 12)


def test_each_request_counts_against_max_requests_those_of_the_start_too(
    sample, model, server, ask
):
    server.behaviour.ignores_n = True
    jobs = [ask(number, 4) for number in range(3)]
    sampler = sample(jobs, model(), budget=Budget(max_requests=6))
    with pytest.raises(BudgetError, match=r"max_requests=6: 6 were sent"):  # noqa: PT012
        for job in jobs:
            sampler.wait(job)
    sampler.close()
    assert sampler.progress().usage.requests == len(server.requests) == 6
    assert sampler.progress().done == 5


def test_a_start_that_would_exceed_the_budget_stops_the_run(sample, model, server, ask):
    server.behaviour.refuses = {"seed": "unsupported"}
    job = ask(1, 4)
    sampler = sample([job], model(), budget=Budget(max_requests=1))
    with pytest.raises(BudgetError, match=r"max_requests=1: 1 were sent.*4 samples are missing"):
        sampler.wait(job)
    assert len(server.requests) == 1


def test_what_the_start_asks_stays_under_max_cost(sample, model, server, ask):
    job = ask(1, 4)
    sampler = sample([job], model(), budget=Budget(max_cost=1e-6, price=(1.0, 1.0)))
    with pytest.raises(BudgetError, match=r"max_cost=1e-06"):
        sampler.wait(job)
    assert server.requests == []


def test_a_server_gets_requests_while_another_model_is_loaded(sample, backend, model, ask, job):
    loaded = threading.Event()

    class Slow(backend):  # type: ignore[valid-type]
        async def start(self):
            await asyncio.to_thread(loaded.wait, 20)
            return await super().start()

    slow, quick = job(1), ask(1, 4)
    sampler = sample([slow, quick], Slow(), model())
    assert len(sampler.completions(quick)) == 4
    assert not loaded.is_set()
    loaded.set()
    assert len(sampler.completions(slow)) == 2


def test_a_key_is_needed_only_for_requests(sample, ask, store, answer, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    known, unknown = ask(1, 2), ask(2, 2)
    store.add_completions(
        known.key,
        answer(Batch(ActiveJob(known, range(2)), 0, 2).request).completions,
        usage=Usage(),
        model=SPEC,
        prompt=known.prompt,
        decoding=known.decoding,
        task_id=known.task_id,
        variant_id=known.variant_id,
        seed=known.seed,
        form="chat",
    )
    assert len(sample([known], OpenAIBackend(SPEC, "m")).completions(known)) == 2
    with pytest.raises(SettingsError, match=r"openai:m: OPENAI_API_KEY is not set"):
        sample([known, unknown], OpenAIBackend(SPEC, "m"), run="again")
