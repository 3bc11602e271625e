"""Sampling time compared with the ideal, and memory use.

The server is simulated in the event loop, with 200 ms latency and room for 64 requests at once. So
only the sampler with its store is measured. The first figure is the time from the first request to
the last completion read back, beside the ideal ``requests * latency / room``. The second is the
peak memory for a small and a large plan, each in its own process.

Run ``python benchmarks/sampling.py``. It takes about a minute and a half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_promptse.models._base import (
    Capabilities,
    Completion,
    Decoding,
    Prompt,
    Request,
    Response,
    Usage,
    completion_key,
    derive_seed,
)
from pytest_promptse.sampling._sampler import Job, Sampler
from pytest_promptse.store._store import Store

LATENCY = 0.2
ROOM = 64
SAMPLES = 16
PROMPT_BYTES = 600
COMPLETION_BYTES = 500
SPEC = "simulated:server"


class SimulatedServer:
    """Answer requests after the latency, as many at once as there is room for."""

    spec = SPEC
    identity = {"model": SPEC}  # noqa: RUF012 - never written to
    concurrency = ROOM

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._room = asyncio.Semaphore(ROOM)

    async def start(self) -> Capabilities:
        """Return the capabilities without any start-up work."""
        return Capabilities(form="chat", logprobs="raw")

    async def complete(self, ask: Request) -> Response:
        """Return completions of the usual size, each with a different text."""
        async with self._room:
            await asyncio.sleep(self._latency)
        numbers = range(ask.first, ask.first + ask.n)
        return Response(
            completions=tuple(
                Completion(
                    index=number,
                    text=f"{ask.seed} {number} ".ljust(COMPLETION_BYTES, "x"),
                    n_tokens=120,
                    logprob=-12.5,
                )
                for number in numbers
            ),
            usage=Usage(requests=1, prompt_tokens=150, completion_tokens=120 * ask.n),
        )

    async def close(self) -> None:
        """Do nothing, since there is nothing to release."""


def plan(size: int) -> list[Job]:
    """Return jobs for `size` variants."""
    jobs = []
    for number in range(size):
        prompt = Prompt(user=f"variant {number} ".ljust(PROMPT_BYTES, "y"))
        seed = derive_seed("benchmark", number)
        jobs.append(
            Job(
                key=completion_key(SimulatedServer.identity, prompt, Decoding(), seed),
                model=SPEC,
                prompt=prompt,
                decoding=Decoding(),
                n=SAMPLES,
                seed=seed,
                task_id=f"task{number // 91}",
                variant_id=f"variant{number % 91}",
            )
        )
    return jobs


def measure(size: int, latency: float) -> dict[str, float]:
    """Sample and read back a plan. Return seconds, and MiB before and at the peak."""
    jobs = plan(size)
    with TemporaryDirectory() as folder, closing(Store(Path(folder))) as store:
        before = resident()
        began = time.perf_counter()
        sampler = Sampler(store, jobs, {SPEC: lambda: SimulatedServer(latency)}, run="benchmark")
        sampler.start()
        for job in jobs:
            assert len(sampler.completions(job)) == SAMPLES
        seconds = time.perf_counter() - began
        sampler.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu = time.process_time()
    return {"seconds": seconds, "before": before, "peak": peak, "cpu": cpu}


def resident() -> float:
    """Return the present memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measured_apart(size: int, latency: float) -> dict[str, float]:
    """Measure in a new process, so that the peak belongs to this measurement alone."""
    command = [sys.executable, __file__, "--measure", str(size), str(latency)]
    result: dict[str, float] = json.loads(subprocess.check_output(command, text=True))
    return result


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, metavar=("SIZE", "LATENCY"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(int(chosen.measure[0]), float(chosen.measure[1]))))
        return

    print(f"{LATENCY * 1000:.0f} ms latency, room for {ROOM}, {SAMPLES} samples a variant")
    print(f"{'variants':>9} {'seconds':>8} {'ideal':>7} {'ratio':>6} {'CPU s':>6}")
    for size in (1_000, 4_000, 15_000):
        found = measured_apart(size, LATENCY)
        ideal = size * LATENCY / ROOM
        print(
            f"{size:>9,} {found['seconds']:>8.2f} {ideal:>7.2f} {found['seconds'] / ideal:>6.3f} "
            f"{found['cpu']:>6.1f}"
        )

    print("\nmemory: MiB with the plan made, at the peak, and the sampler's share")
    for size in (1_000, 15_000):
        found = measured_apart(size, 0.02)
        print(
            f"{size:>9,} {found['before']:>8.1f} {found['peak']:>8.1f} "
            f"{found['peak'] - found['before']:>8.1f}"
        )


if __name__ == "__main__":
    main()
