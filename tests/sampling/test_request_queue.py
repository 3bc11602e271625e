"""Jobs leave the queue in the order of the plan, leased, and split into requests."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from scripted_backend import make_job, put

from pytest_promptse.models._base import derive_seed
from pytest_promptse.sampling._request_queue import ActiveJob, BatchQueue, RequestQueue
from pytest_promptse.store._leases import Leases
from pytest_promptse.store._writer import Writer

SAMPLES = st.sets(st.integers(0, 30), min_size=1).map(sorted)


def with_queue(store, scenario):
    """Run `scenario` with a queue; return its result and the jobs reported as complete."""
    complete, failed = [], []

    async def main():
        writer = Writer(store, written=lambda: None, failed=failed.append)
        queue = RequestQueue(
            leases=Leases(store, "run"),
            writer=writer,
            stored=lambda key, n: complete.append((key, n)),
        )
        try:
            return await scenario(queue)
        finally:
            await queue.close()
            await writer.close()

    result = asyncio.run(main())
    assert failed == []
    return result, complete


async def take_all(queue, *, ahead=3):
    taken = []
    while (following := await queue.take(ahead=ahead)) is not None:
        taken.append(following)
    return taken


# -- jobs --------------------------------------------------------------------------------------


def test_jobs_are_taken_in_the_order_in_which_they_were_added(store):
    jobs = [make_job(number) for number in range(7)]

    async def scenario(queue):
        queue.add(jobs[:4], first=False)
        queue.add(jobs[4:], first=False)
        return await take_all(queue)

    taken, _ = with_queue(store, scenario)
    assert taken == [(job, [0, 1]) for job in jobs]


def test_jobs_added_at_the_front_come_first_and_keep_their_own_order(store):
    jobs = [make_job(number) for number in range(6)]

    async def scenario(queue):
        queue.add(jobs, first=False)
        queue.add(jobs[3:5], first=True)
        return await take_all(queue)

    taken, _ = with_queue(store, scenario)
    assert [job for job, _ in taken] == [jobs[number] for number in (3, 4, 0, 1, 2, 5)]


def test_a_job_added_twice_is_taken_once_with_the_larger_number_of_samples(store):
    async def scenario(queue):
        queue.add([make_job(1, n=2), make_job(1, n=4), make_job(1, n=3)], first=False)
        return await take_all(queue)

    taken, _ = with_queue(store, scenario)
    assert taken == [(make_job(1, n=4), [0, 1, 2, 3])]


def test_only_the_samples_that_the_store_lacks_are_taken(store):
    put(store, make_job(1), [1, 3])

    async def scenario(queue):
        queue.add([make_job(1, n=5)], first=False)
        return await take_all(queue)

    [(_, missing)], complete = with_queue(store, scenario)
    assert missing == [0, 2, 4]
    assert complete == []


def test_a_complete_job_is_reported_as_stored_and_not_taken(store):
    done = make_job(1)
    put(store, done, [0, 1])

    async def scenario(queue):
        queue.add([done, make_job(2)], first=False)
        return await take_all(queue)

    taken, complete = with_queue(store, scenario)
    assert [job for job, _ in taken] == [make_job(2)]
    assert complete == [(done.key, 2)]


def test_a_job_that_another_run_has_leased_is_set_aside_until_it_is_retried(store):
    job, other = make_job(1), Leases(store, "another run")
    other.take({job.key: job.n})

    async def scenario(queue):
        queue.add([job], first=False)
        before = await take_all(queue)
        queue.retry_leased()
        still = await take_all(queue)
        other.release([job.key])
        queue.retry_leased()
        return before, still, await take_all(queue)

    (before, still, after), _ = with_queue(store, scenario)
    assert (before, still) == ([], [])
    assert after == [(job, [0, 1])]


def test_more_samples_of_an_active_job_wait_until_it_is_finished(store):
    few, more = make_job(1, n=2), make_job(1, n=5)

    async def scenario(queue):
        queue.add([few], first=False)
        await queue.take(ahead=1)
        queue.add([more], first=False)
        early = await take_all(queue)
        put(store, few, [0, 1])
        queue.finish(few)
        queue.retry_leased()
        return early, await take_all(queue)

    (early, later), _ = with_queue(store, scenario)
    assert early == []
    assert later == [(more, [2, 3, 4])]


def test_an_active_job_is_not_queued_again_for_samples_that_it_already_covers(store):
    async def scenario(queue):
        queue.add([make_job(1, n=5)], first=False)
        await queue.take(ahead=1)
        queue.add([make_job(1, n=3), make_job(1, n=5)], first=True)
        return len(queue)

    assert with_queue(store, scenario)[0] == 0


def test_jobs_far_down_the_queue_are_left_to_other_runs(store):
    jobs = [make_job(number) for number in range(20)]

    async def scenario(queue):
        queue.add(jobs, first=False)
        await queue.take(ahead=2)
        return Leases(store, "another run").take({job.key: job.n for job in jobs})

    leased, _ = with_queue(store, scenario)
    assert jobs[0].key not in leased
    assert jobs[1].key not in leased
    assert {job.key for job in jobs[10:]} <= leased.keys()


def test_dropping_keeps_the_active_job_and_gives_the_other_leases_back(store):
    jobs = [make_job(number) for number in range(4)]

    async def scenario(queue):
        queue.add(jobs, first=False)
        active, _ = await queue.take(ahead=4)
        queue.drop()
        left = await queue.take(ahead=4)
        held = queue.holds_leases
        queue.finish(active)
        return left, held, queue.holds_leases

    (left, held, held_at_the_end), _ = with_queue(store, scenario)
    assert left is None
    assert (held, held_at_the_end) == (True, False)
    keys = {job.key: job.n for job in jobs}
    assert Leases(store, "another run").take(keys).keys() == {job.key for job in jobs[1:]}


# -- batches -----------------------------------------------------------------------------------


def drain(queue):
    batches = []
    while queue:
        batches.append(queue.next())
    return batches


@given(SAMPLES)
def test_adjacent_samples_are_requested_together_and_each_once(samples):
    queue = BatchQueue()
    queue.add(ActiveJob(make_job(1), samples), samples)
    batches = drain(queue)
    assert [sample for batch in batches for sample in batch.samples] == samples
    for before, after in pairwise(batches):
        assert after.first > before.first + before.n, "neighbours belong into one batch"


@given(SAMPLES, st.integers(0, 5))
def test_one_by_one_may_be_set_between_any_two_requests(samples, together):
    queue = BatchQueue()
    queue.add(ActiveJob(make_job(1), samples), samples)
    batches = [queue.next() for _ in range(min(together, len(queue)))]
    queue.one_by_one = True
    single = drain(queue)
    assert all(batch.n == 1 for batch in single)
    assert [sample for batch in [*batches, *single] for sample in batch.samples] == samples


@given(SAMPLES, SAMPLES)
def test_samples_at_the_front_come_before_all_others(samples, urgent):
    queue, active = BatchQueue(), ActiveJob(make_job(1), samples)
    queue.add(active, samples)
    queue.add(active, urgent, first=True)
    assert [sample for batch in drain(queue) for sample in batch.samples] == [*urgent, *samples]


@given(SAMPLES, SAMPLES)
def test_dropping_removes_the_batches_of_the_unwanted_job_only(samples, unwanted):
    queue = BatchQueue()
    kept, dropped = ActiveJob(make_job(1), samples), ActiveJob(make_job(2), unwanted)
    queue.add(kept, samples)
    queue.add(dropped, unwanted)
    found = queue.drop(lambda active: active is dropped)
    assert [sample for batch in found for sample in batch.samples] == unwanted
    assert [sample for batch in drain(queue) for sample in batch.samples] == samples


@given(SAMPLES)
def test_a_sample_requested_by_itself_always_has_the_same_seed(samples):
    job, queue = make_job(5), BatchQueue()
    queue.one_by_one = True
    queue.add(ActiveJob(job, samples), samples)
    for batch in drain(queue):
        request = batch.request
        assert (request.prompt, request.task_id) == (job.prompt, job.task_id)
        assert request.seed == derive_seed(job.seed, batch.first)
