"""Several processes on one store: the workers of one run, and two runs at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

PROCESS = textwrap.dedent(
    """
    import asyncio, json, sys
    from pathlib import Path
    from pytest_promptse.errors import NotScoredError
    from pytest_promptse.models._base import *
    from pytest_promptse.sampling._sampler import Job, Sampler
    from pytest_promptse.store._store import Store

    options = json.loads(sys.argv[1])

    class Logged:
        spec, identity, concurrency = "fake:model", {"model": "x"}, 8

        async def start(self):
            return Capabilities(form="chat", logprobs="raw")

        async def complete(self, ask):
            with open(options["log"], "a") as log:
                log.write(f"{options['name']} {ask.task_id}\\n")
            await asyncio.sleep(options["latency"])
            if ask.task_id in options["fatal"]:
                raise FatalError(f"HTTP 401 for {ask.task_id}")
            numbers = range(ask.first, ask.first + ask.n)
            return Response(
                completions=tuple(Completion(index=i, text=str(i)) for i in numbers),
                usage=Usage(requests=1),
            )

        async def close(self):
            pass

    def job(number):
        prompt, decoding = Prompt(user=str(number)), Decoding()
        return Job(key=completion_key(Logged.identity, prompt, decoding, 0), model="fake:model",
                   prompt=prompt, decoding=decoding, n=4, seed=0, task_id=str(number),
                   variant_id="original")

    store = Store(Path(options["folder"]))
    lock = Path(options["folder"], options["run"] + ".lock") if options["lock"] else None
    sampler = Sampler(store, [job(number) for number in range(options["jobs"])],
                      {"fake:model": Logged}, run=options["run"], leader_lock=lock)
    print("ready", flush=True)
    sys.stdin.readline()
    sampler.start()
    sampler.request([job(number) for number in options["requested"]])
    outcome = []
    for number in options["awaited"]:
        try:
            outcome.append(len(sampler.completions(job(number))))
        except NotScoredError as error:
            outcome.append(f"{type(error).__name__}: {error}")
    if options["form"]:
        outcome.append(sampler.capabilities("fake:model").logprobs)
    print(json.dumps(outcome), flush=True)
    sys.stdin.readline()
    sampler.close(grace=5)
    store.close()
    """
)


class Process:
    def __init__(self, name, options):
        self.name = name
        self.popen = subprocess.Popen(
            [sys.executable, "-c", PROCESS, json.dumps(options | {"name": name})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self):
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()

    def hear(self):
        return self.popen.stdout.readline().strip()

    def outcome(self):
        return json.loads(self.hear())

    def kill(self):
        os.kill(self.popen.pid, signal.SIGKILL)
        self.popen.wait(10)

    def end(self):
        if self.popen.poll() is None:
            self.tell()
        self.popen.communicate(timeout=20)
        return self.popen.returncode


@pytest.fixture
def launch(tmp_path):
    """Launch a process that is ready to sample; `tell` starts it and later ends it."""
    launched = []
    log = tmp_path / "log"
    log.touch()
    defaults = {
        "folder": str(tmp_path / "store"),
        "log": str(log),
        "run": "run",
        "lock": True,
        "jobs": 40,
        "requested": [],
        "awaited": list(range(40)),
        "latency": 0.02,
        "fatal": [],
        "form": False,
    }

    def launch(name, **options):
        process = Process(name, defaults | options)
        launched.append(process)
        assert process.hear() == "ready"
        return process

    yield launch
    for process in launched:
        if process.popen.poll() is None:
            process.popen.kill()
        process.popen.communicate()


@pytest.fixture
def requests(tmp_path):
    """Return the process and the task of each request so far."""
    return lambda: [tuple(line.split()) for line in (tmp_path / "log").read_text().splitlines()]


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)


def test_of_a_runs_workers_one_asks_and_all_are_served(launch, requests):
    workers = [
        launch("a", awaited=list(range(0, 40, 2)), form=True),
        launch("b", awaited=list(range(1, 40, 2)), form=True),
    ]
    for worker in workers:
        worker.tell()
    assert [worker.outcome() for worker in workers] == [[4] * 20 + ["raw"]] * 2
    assert [worker.end() for worker in workers] == [0, 0]
    assert len({name for name, _ in requests()}) == 1
    assert sorted(int(task) for _, task in requests()) == list(range(40))


def test_additional_jobs_of_a_worker_are_requested_by_the_leader(launch, requests):
    leader = launch("leader", jobs=2, awaited=[0, 1])
    leader.tell()
    assert leader.outcome() == [4, 4]
    follower = launch("follower", jobs=2, requested=list(range(2, 40)), awaited=[39])
    follower.tell()
    assert follower.outcome() == [4]
    wait_until(lambda: len(requests()) == 40)
    assert {name for name, _ in requests()} == {"leader"}
    assert [follower.end(), leader.end()] == [0, 0]


def test_a_killed_leader_is_succeeded_and_only_open_requests_are_repeated(launch, requests):
    leader = launch("leader", latency=0.1, jobs=60, awaited=[59])
    leader.tell()
    wait_until(lambda: len(requests()) > 20)
    heir = launch("heir", jobs=60, awaited=list(range(60)))
    heir.tell()
    time.sleep(0.2)
    assert {name for name, _ in requests()} == {"leader"}
    leader.kill()
    assert heir.outcome() == [4] * 60
    assert heir.end() == 0
    requested = [task for _, task in requests()]
    assert set(requested) == {str(number) for number in range(60)}
    assert len(requested) - 60 <= 8


def test_a_leader_that_ends_first_hands_over_without_asking_twice(launch, requests):
    first = launch("first", latency=0.1, jobs=60, awaited=[0])
    second = launch("second", latency=0.01, jobs=60, awaited=list(range(60)))
    first.tell()
    first.outcome()
    second.tell()
    assert first.end() == 0
    assert second.outcome() == [4] * 60
    assert second.end() == 0
    assert sorted(int(task) for _, task in requests()) == list(range(60))


def test_what_stops_the_leader_reaches_the_others(launch, requests):
    leader = launch("leader", fatal=["0"])
    follower = launch("follower")
    leader.tell()
    leader.outcome()
    follower.tell()
    outcome = follower.outcome()
    assert "ModelError: HTTP 401 for 0" in outcome
    assert [follower.end(), leader.end()] == [0, 0]
    assert {name for name, _ in requests()} == {"leader"}


def test_a_follower_can_want_what_the_leaders_plan_lacks(launch, requests):
    leader = launch("leader", jobs=3, awaited=[0, 1, 2])
    leader.tell()
    leader.outcome()
    follower = launch("follower", jobs=5, awaited=[4, 3])
    follower.tell()
    assert follower.outcome() == [4, 4]
    assert [follower.end(), leader.end()] == [0, 0]
    assert [name for name, _ in requests()] == ["leader"] * 5


def test_two_runs_on_one_store_pay_for_nothing_twice(launch, requests):
    runs = [
        launch(name, run=name, lock=False, latency=latency)
        for name, latency in (("one", 0.5), ("two", 0.02))
    ]
    runs[0].tell()
    wait_until(lambda: len(requests()) == 8)
    runs[1].tell()
    assert [run.outcome() for run in runs] == [[4] * 40] * 2
    assert [run.end() for run in runs] == [0, 0]
    assert sorted(int(task) for _, task in requests()) == list(range(40))
    assert {name for name, _ in requests()} == {"one", "two"}


def test_a_run_after_a_killed_one_asks_only_for_what_was_under_way(launch, requests):
    killed = launch("killed", run="killed", lock=False, latency=0.1, jobs=60, awaited=[59])
    killed.tell()
    wait_until(lambda: len(requests()) > 20)
    killed.kill()
    before = len(requests())
    after = launch("after", run="after", lock=False, jobs=60, awaited=list(range(60)))
    after.tell()
    assert after.outcome() == [4] * 60
    assert after.end() == 0
    assert len(requests()) - before <= 60 - (before - 8)


def test_a_run_beside_one_that_is_killed_takes_over_what_it_had_under_way(launch, requests):
    killed = launch("killed", run="killed", lock=False, latency=60)
    beside = launch("beside", run="beside", lock=False, awaited=list(range(40)))
    killed.tell()
    wait_until(lambda: len(requests()) == 8)
    killed.kill()
    beside.tell()
    assert beside.outcome() == [4] * 40
    assert beside.end() == 0
