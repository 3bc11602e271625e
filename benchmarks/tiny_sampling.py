"""Speed of the embedded model: one request, and as many requests as the quickstart sends.

CPU seconds are the cost. Wall-clock seconds depend on other processes on the machine.

python benchmarks/tiny_sampling.py
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median

from pytest_promptse.models._base import Decoding, Prompt, Request
from pytest_promptse.models._ct2 import tiny_backend
from pytest_promptse.tasks._suitefile import load_suite

SUITE = Path(__file__).resolve().parent.parent / "example_suites/quickstart/strings.promptse.yaml"
QUICKSTART_TASKS, VARIANTS, SAMPLES, ORIGINAL_SAMPLES = 20, 12, 8, 32


async def main() -> None:
    """Measure and print."""
    prompts = [task.prompt for task in load_suite(SUITE).tasks]
    backend = tiny_backend()
    began = time.perf_counter()
    await backend.start()
    print(f"start: {(time.perf_counter() - began) * 1000:.0f} ms")

    async def seconds(prompt: str, *, n: int, seed: int) -> tuple[float, float]:
        ask = Request(prompt=Prompt(user=prompt), decoding=Decoding(max_tokens=60), n=n, seed=seed)
        began, used = time.perf_counter(), time.process_time()
        await backend.complete(ask)
        return time.perf_counter() - began, time.process_time() - used

    medians = {}
    for n in (SAMPLES, 16, ORIGINAL_SAMPLES):
        drawn = [await seconds(prompt, n=n, seed=seed) for seed in range(5) for prompt in prompts]
        medians[n] = wall, cpu = tuple(map(median, zip(*drawn, strict=True)))
        print(f"{n:2d} samples of up to 60 tokens: {wall * 1000:.0f} ms, CPU {cpu * 1000:.0f} ms")
    wall, cpu = (
        QUICKSTART_TASKS * (original + VARIANTS * variant)
        for original, variant in zip(medians[ORIGINAL_SAMPLES], medians[SAMPLES], strict=True)
    )
    print(f"{QUICKSTART_TASKS} tasks x (1 + {VARIANTS}) variants: {wall:.1f} s, CPU {cpu:.1f} s")
    await backend.close()


if __name__ == "__main__":
    asyncio.run(main())
