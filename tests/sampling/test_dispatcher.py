"""One model's requests: what is sent, stored and retried, and what ends the sending."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from scripted_backend import QUICK, ScriptedBackend, answer_to, make_job

from pytest_promptse.errors import BudgetError, ModelError
from pytest_promptse.models._base import (
    Capabilities,
    Decoding,
    FatalError,
    OneByOneError,
    Prompt,
    Request,
    Response,
    TransientError,
    Usage,
)
from pytest_promptse.sampling._budget import Account, Budget
from pytest_promptse.sampling._dispatcher import STARTED, Dispatcher, DispatcherContext
from pytest_promptse.sampling._failures import FailureLog
from pytest_promptse.sampling._retry import RetryPolicy
from pytest_promptse.store._leases import Leases
from pytest_promptse.store._store import capabilities_from_json
from pytest_promptse.store._writer import Writer

ONCE = RetryPolicy(attempts=1, first=0.01, longest=0.02, longest_retry_after=1.0)


@dataclass
class Heard:
    """The events that the dispatcher reported while it ran."""

    stored: list = field(default_factory=list)
    stops: list = field(default_factory=list)
    crashes: list = field(default_factory=list)


def dispatch(
    store, backend, jobs, *, scenario=None, budget=None, concurrency=None, retry_policy=QUICK
):
    """Dispatch jobs until none is open, or run `scenario` with the dispatcher instead."""
    heard = Heard()

    async def until_idle(dispatcher):
        dispatcher.add(jobs, first=False)
        await idle(dispatcher)

    async def main():
        writer = Writer(store, written=lambda: None, failed=heard.crashes.append)

        def stop(error):
            heard.stops.append(error)
            dispatcher.drop()

        context = DispatcherContext(
            store=store,
            run="run",
            writer=writer,
            account=Account(budget or Budget(), spent=Usage()),
            leases=Leases(store, "run"),
            failures=FailureLog(store, "run"),
            retry_policy=retry_policy,
            starting=asyncio.Lock(),
            stored=lambda key, n: heard.stored.append((key, n)),
            stop=stop,
            crash=heard.crashes.append,
        )
        dispatcher = Dispatcher(backend, context=context, concurrency=concurrency)
        try:
            async with asyncio.timeout(30):
                await (scenario or until_idle)(dispatcher)
        finally:
            await dispatcher.close(grace=5.0)
            await writer.close()

    asyncio.run(main())
    assert heard.crashes == []
    return heard


async def idle(dispatcher):
    """Wait until the dispatcher has no open work: the event loop has only this task left."""
    own = asyncio.current_task()
    while others := asyncio.all_tasks() - {own}:
        await asyncio.wait(others)
    assert not dispatcher.holds_leases


def sent(backend):
    return [(ask.first, ask.n) for ask in backend.asks]


def failure(store, backend, job=None):
    return FailureLog(store, "run").find(key=job.key if job else "", model=backend.spec)


# -- sending -----------------------------------------------------------------------------------


def test_every_sample_is_stored_and_every_lease_is_given_back(store):
    backend, jobs = ScriptedBackend(), [make_job(number, n=3) for number in range(12)]
    heard = dispatch(store, backend, jobs)
    assert sorted(heard.stored) == sorted((job.key, 3) for job in jobs)
    assert not any(store.missing({job.key: 3 for job in jobs}).values())
    assert store.usage("run") == Usage(requests=12, prompt_tokens=120, completion_tokens=72)
    free = make_job(99)
    assert free.key in Leases(store, "another run").take({free.key: 1, jobs[0].key: 9})
    assert jobs[0].key in Leases(store, "another run").take({jobs[0].key: 9})


def test_no_more_requests_are_open_than_allowed(store):
    backend = ScriptedBackend(latency=0.001)
    dispatch(store, backend, [make_job(number) for number in range(20)], concurrency=3)
    assert len(backend.asks) == 20
    assert backend.most_under_way <= 3


def test_the_capabilities_of_a_started_model_are_kept(store):
    backend = ScriptedBackend(logprobs="raw")
    dispatch(store, backend, [make_job(1)])
    expected = Capabilities(form="chat", logprobs="raw")
    assert store.capabilities(backend.identity) == expected
    assert capabilities_from_json(store.get("run", STARTED, backend.spec)) == expected
    assert (backend.started, backend.closed) == (1, 1)


def test_a_model_without_work_is_neither_started_nor_closed(store):
    backend = ScriptedBackend()
    dispatch(store, backend, [])
    assert (backend.started, backend.closed) == (0, 0)


def test_samples_that_a_response_lacks_are_requested_one_by_one(store):
    def first_only(ask, _count):
        return answer_to(replace(ask, n=1))

    backend, job = ScriptedBackend(first_only), make_job(1, n=3)
    dispatch(store, backend, [job], concurrency=1)
    assert sent(backend) == [(0, 3), (1, 1), (2, 1)]
    assert len(store.completions(job.key, 3)) == 3


def test_samples_that_were_not_requested_are_not_stored(store):
    def too_many(ask, _count):
        return answer_to(replace(ask, n=ask.n + 2))

    backend, job = ScriptedBackend(too_many), make_job(1, n=2)
    heard = dispatch(store, backend, [job])
    assert heard.stored == [(job.key, 2)]
    assert store.missing({job.key: 4}) == {job.key: [2, 3]}


def test_a_server_that_refuses_n_gets_single_requests_from_then_on(store):
    def only_one(ask, _count):
        if ask.n > 1:
            raise OneByOneError("n must be 1")

    backend, jobs = ScriptedBackend(only_one), [make_job(1, n=2), make_job(2, n=2)]
    dispatch(store, backend, jobs, concurrency=1)
    assert sent(backend) == [(0, 2), (0, 1), (1, 1), (0, 1), (1, 1)]


def test_a_model_known_to_refuse_n_gets_single_requests_at_once(store):
    backend = ScriptedBackend(refused=("n",))
    dispatch(store, backend, [make_job(1, n=3)], concurrency=1)
    assert sent(backend) == [(0, 1), (1, 1), (2, 1)]


def test_a_transient_error_is_followed_by_the_same_request(store):
    def second_time_lucky(_ask, count):
        if count == 1:
            raise TransientError("connection lost")

    backend, job = ScriptedBackend(second_time_lucky), make_job(1)
    dispatch(store, backend, [job])
    assert backend.asks == [backend.asks[0]] * 2
    assert failure(store, backend, job) is None


# -- failing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ModelError("no weights"), ValueError("no weights")])
def test_a_model_that_cannot_be_started_fails_as_a_whole(store, error):
    def start(_count):
        raise error

    backend = ScriptedBackend(start=start)
    dispatch(store, backend, [make_job(1), make_job(2)])
    assert backend.asks == []
    assert "no weights" in str(failure(store, backend))


def test_an_unexpected_error_of_a_backend_is_named_as_such(store):
    def broken(_ask, _count):
        raise ZeroDivisionError("oops")

    backend = ScriptedBackend(broken)
    dispatch(store, backend, [make_job(1)])
    found = failure(store, backend)
    assert str(found) == "fake:model: unexpected error in the backend: ZeroDivisionError('oops')"
    [trace] = found.__notes__
    assert trace.splitlines()[-1] == "ZeroDivisionError: oops"


def test_a_response_without_any_requested_sample_fails_this_variant_only(store):
    def empty(ask, _count):
        return Response(completions=()) if ask.task_id == "task1" else None

    backend, bad, good = ScriptedBackend(empty), make_job(1), make_job(2)
    dispatch(store, backend, [bad, good], concurrency=1)
    assert "none of the 2 requested samples of task1[original]" in str(failure(store, backend, bad))
    assert failure(store, backend, good) is None
    assert len(store.completions(good.key, 2)) == 2


def test_a_fatal_error_ends_the_sending_to_the_model(store):
    def wrong_key(_ask, _count):
        raise FatalError("wrong key")

    backend = ScriptedBackend(wrong_key)

    async def scenario(dispatcher):
        dispatcher.add([make_job(number) for number in range(50)], first=False)
        await idle(dispatcher)
        dispatcher.add([make_job(100)], first=True)
        await idle(dispatcher)

    dispatch(store, backend, [], scenario=scenario, concurrency=1)
    assert len(backend.asks) == 1
    assert str(failure(store, backend)) == "wrong key"


def down(*tasks):
    def script(ask, _count):
        if ask.task_id in tasks:
            raise TransientError("no answer")

    return script


def test_a_model_is_given_up_after_three_failed_variants_in_a_row(store):
    backend = ScriptedBackend(down(*(f"task{number}" for number in range(50))))
    jobs = [make_job(number) for number in range(50)]
    dispatch(store, backend, jobs, concurrency=1, retry_policy=ONCE)
    assert len(backend.asks) == 3
    assert "3 variants in a row failed, the last with: no answer" in str(failure(store, backend))


def test_an_answer_between_failed_variants_keeps_the_model(store):
    backend = ScriptedBackend(down("task0", "task1", "task3", "task4"))
    jobs = [make_job(number) for number in range(6)]
    dispatch(store, backend, jobs, concurrency=1, retry_policy=ONCE)
    assert failure(store, backend) is None
    assert len(store.completions(jobs[5].key, 2)) == 2


def test_a_variant_that_has_failed_is_not_sent_again_in_this_run(store):
    backend, job = ScriptedBackend(down("task1")), make_job(1)

    async def scenario(dispatcher):
        for _ in range(2):
            dispatcher.add([job], first=False)
            await idle(dispatcher)

    dispatch(store, backend, [], scenario=scenario, retry_policy=ONCE)
    assert len(backend.asks) == 1


# -- budget and end ----------------------------------------------------------------------------


def test_the_budget_is_never_exceeded(store):
    backend = ScriptedBackend()
    jobs = [make_job(number) for number in range(9)]
    heard = dispatch(store, backend, jobs, budget=Budget(max_requests=4))
    assert len(backend.asks) == 4
    assert heard.stops
    assert all(isinstance(error, BudgetError) for error in heard.stops)
    assert store.usage("run").requests == 4


class RemoteBackend(ScriptedBackend):
    """A server that is probed with a paid request before the first job."""

    def check(self):
        pass

    async def reach(self, guard):
        probe = Request(prompt=Prompt(user="hello"), decoding=Decoding(max_tokens=1), n=1)
        async with guard(probe) as usage:
            usage.paid = Usage(requests=1, prompt_tokens=5, completion_tokens=1)
        return await self.start()


def test_a_probe_at_the_start_is_booked(store):
    backend = RemoteBackend()
    dispatch(store, backend, [make_job(1)])
    assert store.usage("run") == Usage(requests=2, prompt_tokens=15, completion_tokens=5)


def test_a_budget_without_room_for_the_probe_stops_before_it(store):
    backend = RemoteBackend()
    heard = dispatch(store, backend, [make_job(1)], budget=Budget(max_requests=0))
    assert [type(error) for error in heard.stops] == [BudgetError]
    assert (backend.started, backend.asks) == (0, [])
    assert store.usage("run") == Usage()


def test_after_closing_nothing_is_sent_and_the_model_is_closed(store):
    backend = ScriptedBackend()

    async def scenario(dispatcher):
        dispatcher.add([make_job(1)], first=False)
        await idle(dispatcher)
        await dispatcher.close(grace=0.0)
        dispatcher.add([make_job(2)], first=True)
        dispatcher.retry_leased()
        await idle(dispatcher)

    dispatch(store, backend, [], scenario=scenario)
    assert [ask.task_id for ask in backend.asks] == ["task1"]
    assert backend.closed


def test_a_job_leased_by_another_run_is_sent_once_that_run_gave_it_back(store):
    backend, job, other = ScriptedBackend(), make_job(1), Leases(store, "another run")
    other.take({job.key: job.n})

    async def scenario(dispatcher):
        dispatcher.add([job], first=False)
        await idle(dispatcher)
        assert backend.asks == []
        other.release([job.key])
        dispatcher.retry_leased()
        await idle(dispatcher)

    dispatch(store, backend, [], scenario=scenario)
    assert sent(backend) == [(0, 2)]
