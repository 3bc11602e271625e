from __future__ import annotations

import re
import signal
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_promptse.errors import BudgetError, ModelError, StoreError
from pytest_promptse.models._base import (
    Capabilities,
    FatalError,
    Response,
    TransientError,
    Usage,
    derive_seed,
)
from pytest_promptse.sampling._sampler import Budget, RetryPolicy


def collect(sampler, jobs):
    """Wait for all jobs. Missing completions are counted by the message of their error."""
    had, failed = [], []
    for job in jobs:
        try:
            had.append(sampler.completions(job))
        except (ModelError, BudgetError) as error:
            failed.append(str(error))
    return had, failed


# -- requesting --------------------------------------------------------------------------------


def test_every_variant_gets_its_samples_for_one_request_each(sample, backend, job):
    model, jobs = backend(), [job(i, n=3) for i in range(50)]
    sampler = sample(jobs, model)
    for each in jobs:
        assert [c.index for c in sampler.completions(each)] == [0, 1, 2]
        assert sampler.completions(each)[0].text == f"{each.prompt.user} #0"
    assert len(model.asks) == 50
    assert {ask.seed for ask in model.asks} == {derive_seed(each.seed, 0) for each in jobs}


def test_requests_leave_in_plan_order(sample, backend, job):
    model, jobs = backend(latency=0.002), [job(i) for i in range(40)]
    collect(sample(jobs, model, concurrency=4), jobs[-1:])
    numbers = [int(ask.prompt.user.split()[1]) for ask in model.asks if ask.n]
    # The awaited job goes first from when it is awaited; all others keep their order.
    assert [n for n in numbers if n != 39] == sorted(n for n in numbers if n != 39)


def test_an_awaited_job_is_requested_next(sample, backend, job):
    model, jobs = backend(latency=0.02), [job(i) for i in range(200)]
    sampler = sample(jobs, model, concurrency=2)
    sampler.wait(jobs[-1])
    assert len(model.asks) < 30


def test_the_same_variant_in_two_suites_is_requested_once_with_the_larger_number(
    sample, backend, job
):
    model = backend()
    sampler = sample([job(1, n=2), job(1, n=5), job(1, n=3)], model)
    assert len(sampler.completions(job(1, n=5))) == 5
    assert len(sampler.completions(job(1, n=2))) == 2
    assert [(ask.first, ask.n) for ask in model.asks] == [(0, 5)]


def test_a_second_run_asks_nothing_and_does_not_start_the_model(sample, backend, job):
    jobs = [job(i) for i in range(5)]
    first = sample(jobs, backend(logprobs="raw"))
    collect(first, jobs)
    first.close()
    model = backend()
    again = sample(jobs, model, run="again")
    assert len(collect(again, jobs)[0]) == 5
    assert again.capabilities(model.spec) == Capabilities(form="chat", logprobs="raw")
    assert model.started == 0
    assert again.progress().cached == 10


def test_more_samples_ask_only_for_the_missing_ones(sample, backend, job):
    collect(sample([job(1, n=4)], backend()), [job(1, n=4)])
    model = backend()
    sampler = sample([job(1, n=10)], model, run="again")
    assert [c.index for c in sampler.completions(job(1, n=10))] == list(range(10))
    (ask,) = model.asks
    assert (ask.first, ask.n, ask.seed) == (4, 6, derive_seed(1, 4))


def test_gaps_become_one_request_each(sample, backend, job, store, answer):
    wanted = job(1, n=8)

    def only_some(ask, _):
        full = answer(ask)
        kept = tuple(each for each in full.completions if each.index in {1, 2, 5})
        return Response(completions=kept, usage=full.usage)

    _, (failed,) = collect(sample([wanted], backend(only_some)), [wanted])
    assert "none of the 1 requested samples of task1[original]" in failed
    model = backend()
    assert len(sample([wanted], model, run="again").completions(wanted)) == 8
    assert [(ask.first, ask.n) for ask in model.asks] == [(0, 1), (3, 2), (6, 2)]


def test_samples_that_a_response_lacks_are_requested_one_by_one(sample, backend, job, answer):
    def one_at_most(ask, _):
        full = answer(ask)
        return Response(completions=full.completions[:1], usage=full.usage)

    model, jobs = backend(one_at_most), [job(i, n=4) for i in range(3)]
    sampler = sample(jobs, model, concurrency=1)
    for each in jobs:
        assert [c.index for c in sampler.completions(each)] == [0, 1, 2, 3]
    assert [ask.n for ask in model.asks] == [4] + [1] * 11


def test_jobs_beyond_the_plan_can_be_requested_and_awaited(sample, backend, job):
    model = backend()
    sampler = sample([job(1)], model)
    sampler.wait(job(1))
    sampler.request([job(2), job(3)])
    assert len(sampler.completions(job(2))) == 2
    assert len(sampler.completions(job(4))) == 2
    assert len(sampler.completions(job(1), 5)) == 5
    assert sampler.completions(job(3))
    sampler.close()
    progress = sampler.progress()
    assert (progress.done, progress.total, progress.cached) == (11, 11, 0)


def test_several_models_get_requests_concurrently(sample, backend, job):
    models = [backend(spec=f"fake:{i}", latency=0.01) for i in range(3)]
    jobs = [job(i, model=f"fake:{i % 3}") for i in range(30)]
    had, failed = collect(sample(jobs, *models), jobs)
    assert (len(had), failed) == (30, [])
    assert [len(model.asks) for model in models] == [10, 10, 10]


def test_the_form_of_a_model_without_requests_starts_it_once(sample, backend):
    model = backend()
    sampler = sample([], model)
    assert sampler.capabilities(model.spec).form == "chat"
    assert sampler.capabilities(model.spec).form == "chat"
    assert model.started == 1
    sampler.close()
    assert model.closed == 1


def test_progress_counts_what_is_there_and_what_was_paid(sample, backend, job):
    jobs = [job(i, n=4) for i in range(10)]
    sampler = sample(jobs, backend())
    collect(sampler, jobs)
    sampler.close()
    progress = sampler.progress()
    assert (progress.done, progress.total, progress.cached) == (40, 40, 0)
    assert progress.eta == 0
    assert progress.rate > 0
    assert progress.usage == Usage(requests=10, prompt_tokens=100, completion_tokens=80)


def test_closing_ends_what_is_under_way_and_keeps_what_came(sample, backend, job, store):
    model, jobs = backend(latency=0.05), [job(i) for i in range(500)]
    sampler = sample(jobs, model, concurrency=8)
    sampler.wait(jobs[0])
    sampler.close()
    assert model.closed == 1
    with pytest.raises(ModelError, match="sampling ended"):
        sampler.wait(jobs[-1])
    kept = sum(not gaps for gaps in store.missing({each.key: 2 for each in jobs}).values())
    assert 0 < kept < 500
    assert len(model.asks) <= kept + 8
    assert sampler._thread is not None
    assert not sampler._thread.is_alive()


def test_closing_with_grace_keeps_what_is_under_way(sample, backend, job, store):
    model, jobs = backend(latency=0.1), [job(i) for i in range(100)]
    sampler = sample(jobs, model, concurrency=8)
    sampler.wait(jobs[0])
    sampler.close(grace=5)
    kept = sum(not gaps for gaps in store.missing({each.key: 2 for each in jobs}).values())
    assert kept == len(model.asks) < 100


def test_ctrl_c_gets_through_while_waiting(sample, backend, job):
    armed = []

    def arm():
        # From the kernel, as Ctrl-C is, and again until the interpreter sees it: a signal that
        # comes while one thread hands the interpreter to another can wait for the next one.
        if not armed:
            armed.append(signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2))

    def interrupt(*_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    sampler = sample([job(1)], backend(latency=60))
    before = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            sampler.wait(job(1), tick=arm)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 30


# -- failing -----------------------------------------------------------------------------------


def test_what_may_pass_is_tried_again_until_it_passes(sample, backend, job):
    tried = {}

    def flaky(ask, _):
        tried[ask.prompt.user] = tried.get(ask.prompt.user, 0) + 1
        if tried[ask.prompt.user] < 3:
            raise TransientError("dropped")

    jobs = [job(i) for i in range(20)]
    sampler = sample(jobs, backend(flaky))
    assert len(collect(sampler, jobs)[0]) == 20
    assert set(tried.values()) == {3}
    assert sampler.progress().usage.requests == 60


def test_one_variant_that_never_passes_fails_alone(sample, backend, job):
    def poisoned(ask, _):
        if ask.prompt.user == "prompt 3":
            raise TransientError("HTTP 500")

    model, jobs = backend(poisoned, latency=0.01), [job(i) for i in range(200)]
    had, failed = collect(sample(jobs, model, concurrency=4), jobs)
    assert len(had) == 199
    assert failed == ["HTTP 500 (tried 4 times)"]


def test_a_variant_that_fails_in_each_of_its_requests_fails_alone(sample, backend, job):
    def poisoned(ask, _):
        if ask.prompt.user == "prompt 0":
            raise TransientError("HTTP 500")

    model, jobs = backend(poisoned, refused=("n",)), [job(i, n=16) for i in range(4)]
    had, failed = collect(sample(jobs, model, concurrency=16), jobs)
    assert len(had) == 3
    assert failed == ["HTTP 500 (tried 4 times)"]


def test_a_request_that_cannot_be_answered_is_not_tried_again(sample, backend, job):
    def refused(ask, _):
        if int(ask.prompt.user.split()[1]) % 2:
            raise ModelError("no completion for this variant")

    model, jobs = backend(refused), [job(i) for i in range(20)]
    had, failed = collect(sample(jobs, model), jobs)
    assert (len(had), len(failed), len(model.asks)) == (10, 10, 20)


def test_a_fatal_error_stops_the_model_before_the_rest_is_wasted(sample, backend, job):
    def refuse(_ask, _number):
        raise FatalError("HTTP 401: bad key; set OPENAI_API_KEY")

    model = backend(refuse, latency=0.01)
    other = backend(spec="fake:other")
    jobs = [job(i) for i in range(500)]
    others = [job(i, model="fake:other") for i in range(20)]
    sampler = sample([*jobs, *others], model, other)
    had, failed = collect(sampler, [*jobs, *others])
    assert set(failed) == {"HTTP 401: bad key; set OPENAI_API_KEY"}
    assert (len(had), len(failed)) == (20, 500)
    assert len(model.asks) <= 64
    sampler.request([job(1000)])
    with pytest.raises(ModelError, match="HTTP 401"):
        sampler.wait(job(1000))


def test_a_model_that_does_not_start_fails_its_jobs(sample, backend, job):
    def refuse(_times):
        raise ModelError("cannot reach http://localhost:1; is the server up?")

    sampler = sample([job(1)], backend(start=refuse))
    for ask in (lambda: sampler.wait(job(1)), lambda: sampler.capabilities("fake:model")):
        with pytest.raises(ModelError, match="is the server up"):
            ask()


def test_a_server_that_is_still_booting_is_waited_for(sample, backend, job):
    def booting(times):
        if times < 3:
            raise TransientError("HTTP 503")

    model = backend(start=booting)
    assert sample([job(1)], model).completions(job(1))
    assert model.started == 3


def test_a_completion_that_arrived_just_before_a_failure_counts(
    sample, store, backend, job, answer
):
    model, one = backend(), job(1)
    sampler = sample([one], model, start=False)

    def both_arrive(**_):
        response = answer(SimpleNamespace(prompt=one.prompt, first=0, n=one.n))
        store.add_completions(
            one.key,
            response.completions,
            usage=response.usage,
            form="chat",
            **{
                name: getattr(one, name)
                for name in ("model", "prompt", "decoding", "task_id", "variant_id", "seed")
            },
        )
        return ModelError("the server is down")

    sampler._failures.find = both_arrive
    assert len(sampler.completions(one)) == one.n


def test_a_dead_server_opens_the_circuit(sample, backend, job):
    def dead(_ask, number):
        if number > 40:
            raise TransientError("connection refused")

    model, jobs = backend(dead, latency=0.005), [job(i) for i in range(1000)]
    had, failed = collect(sample(jobs, model, concurrency=8), jobs)
    assert len(had) == 40
    assert len(failed) == 960
    assert "3 variants in a row failed" in failed[-1]
    assert len(model.asks) < 40 + 8 * 4 + 8 * 4


def test_an_overloaded_server_gets_fewer_concurrent_requests(sample, backend, job):
    refused = 0

    def small(_ask, _number):
        nonlocal refused
        if model.under_way > 4:
            refused += 1
            raise TransientError("HTTP 429", retry_after=0.01, overloaded=True)

    model = backend(small, latency=0.005)
    jobs = [job(i) for i in range(300)]
    retry_policy = RetryPolicy(attempts=6, first=0.01, longest=0.05)
    had, failed = collect(sample(jobs, model, retry_policy=retry_policy), jobs)
    assert (len(had), failed) == (300, [])
    assert refused < 300


def test_nothing_is_sent_before_a_server_wants_it(sample, backend, job):
    times = []

    def limited(_ask, number):
        times.append(time.monotonic())
        if number == 1:
            raise TransientError("HTTP 429", retry_after=0.3, overloaded=True)

    jobs = [job(i) for i in range(10)]
    collect(sample(jobs, backend(limited, latency=0.01), concurrency=1), jobs)
    assert min(times[1:]) - times[0] >= 0.3


def test_a_server_that_asks_for_too_long_a_pause_is_given_up(sample, backend, job):
    def tomorrow(_ask, _number):
        raise TransientError("HTTP 429", retry_after=86_400, overloaded=True)

    model, jobs = backend(tomorrow), [job(i) for i in range(20)]
    had, failed = collect(sample(jobs, model, concurrency=2), jobs)
    assert had == []
    assert set(failed) == {"HTTP 429 (tried once, server asks to wait 86400 s)"}
    assert len(model.asks) <= 2


def test_a_defect_of_a_backend_is_an_error_and_not_a_hang(sample, backend, job):
    def broken(_ask, _number):
        raise KeyError("choices")

    with pytest.raises(ModelError, match=r"fake:model: unexpected error in the backend: KeyError"):
        sample([job(1)], backend(broken)).wait(job(1))


def test_failed_samples_are_requested_again_on_the_next_run(sample, backend, job):
    def down(_ask, _number):
        raise FatalError("down")

    jobs = [job(i) for i in range(3)]
    first = sample(jobs, backend(down))
    assert len(collect(first, jobs)[1]) == 3
    first.close()
    assert len(collect(sample(jobs, backend(), run="again"), jobs)[0]) == 3


# -- the budget --------------------------------------------------------------------------------


def test_no_request_beyond_max_requests_is_sent(sample, backend, job):
    model, jobs = backend(latency=0.002), [job(i) for i in range(50)]
    had, failed = collect(sample(jobs, model, budget=Budget(max_requests=20)), jobs)
    assert (len(had), len(model.asks)) == (20, 20)
    # The number of missing samples is counted when the error is raised, while responses may still
    # arrive.
    said = re.compile(
        r"max_requests=20: 20 were sent, and the next one would exceed the limit; raise "
        r"--promptse-max-requests; (\d+) samples are missing, the others are stored"
    )
    counts = [int(said.fullmatch(message)[1]) for message in failed]
    assert len(counts) == 30
    assert all(60 <= count <= 100 for count in counts)


def test_retries_count_as_requests(sample, backend, job):
    def flaky(_ask, number):
        if number % 2:
            raise TransientError("dropped")

    model, jobs = backend(flaky), [job(i) for i in range(50)]
    _, failed = collect(sample(jobs, model, budget=Budget(max_requests=21)), jobs)
    assert len(model.asks) == 21
    assert failed


def test_the_cost_stays_under_max_cost_whatever_the_answers_are(sample, backend, job, store):
    budget = Budget(max_cost=0.01, price=(1.0, 10.0))
    model, jobs = backend(latency=0.002), [job(i, max_tokens=50) for i in range(500)]
    had, failed = collect(sample(jobs, model, budget=budget), jobs)
    assert failed[0].startswith("max_cost=0.01: ")
    spent = budget.cost(store.usage("run"))
    assert len(had) * 50e-6 == pytest.approx(spent)
    assert 0.0085 < spent <= 0.01


def test_each_request_of_a_model_that_takes_one_sample_at_a_time_counts(sample, backend, job):
    model, jobs = backend(refused=("n",)), [job(i, n=4) for i in range(10)]
    sampler = sample(jobs, model, concurrency=1, budget=Budget(max_requests=10))
    had, _ = collect(sampler, jobs)
    assert [ask.n for ask in model.asks] == [1] * 10
    assert len(had) == 2
    assert sampler.progress().usage.requests == 10


# -- the store ---------------------------------------------------------------------------------


def test_answers_that_cannot_be_kept_end_the_run_with_the_stores_error(sample, backend, job, store):
    with store.database.write() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON completion "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    model = backend(latency=0.01)
    sampler = sample([job(i) for i in range(500)], model)
    with pytest.raises(StoreError, match=r"no room; name another folder with --promptse-store"):
        sampler.wait(job(0))
    sampler.close()
    assert model.closed == 1
    assert len(model.asks) < 500


def test_progress_names_the_error_of_the_last_failed_attempt(sample, backend, job):
    def fails_once(ask, count):
        if count == 1:
            raise TransientError("HTTP 503: overloaded")

    sampler = sample([job(0)], backend(fails_once))
    sampler.wait(job(0))
    assert sampler.progress().last_error == "HTTP 503: overloaded"


# -- completions that are too old --------------------------------------------------------------


def test_a_failing_renewal_replaces_what_arrives_and_loses_nothing(
    sample, store, backend, answer, job
):
    jobs = [job(i, n=2) for i in range(6)]
    collect(sample(jobs, backend()), jobs)
    renewed = [replace(each, since=time.time()) for each in jobs]

    def dies_after_three(ask, count):
        if count > 3:
            raise FatalError("the server is gone")
        texts = (replace(each, text="renewed") for each in answer(ask).completions)
        return Response(completions=tuple(texts), usage=Usage(requests=1))

    had, failed = collect(sample(renewed, backend(dies_after_three), concurrency=1), renewed)
    assert (len(had), len(failed)) == (3, 3)
    assert {each.text for answers in had for each in answers} == {"renewed"}
    # The next run without an age limit has all of them, old and new, and requests none.
    model = backend()
    had, _ = collect(sample(jobs, model), jobs)
    assert model.asks == []
    assert sum(each.text == "renewed" for answers in had for each in answers) == 6
    assert [len(store.completions(each.key, 2)) for each in jobs] == [2] * 6
