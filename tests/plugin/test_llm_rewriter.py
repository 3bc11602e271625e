"""A model as rewriter in a run: it shares queue, retries, budget and store with everything else."""

from __future__ import annotations

import json
import zlib

import pytest
from faulty_server import FaultyServer

PROMPT = "Write `twice(x: int) -> int`: return twice x. Never print anything."
TEST = f"""
import pytest

@pytest.mark.promptse(
    {PROMPT!r}, variants=1, samples=2, original_samples=2, min_auc_e=0.5, gate="point"
)
def test_twice(candidate):
    assert candidate(3) == 6
"""
RIGHT = "```python\ndef twice(x):\n    return 2 * x\n```"
MOOD = "Phew, long day, I am half asleep."


def is_rewriting(body):
    return "as another developer would send them" in body["messages"][0]["content"]


def lunch(prompt):
    """Return a sentence that differs between variants."""
    number = zlib.crc32(prompt.encode())
    return f"I have been up since {number % 100_000}."


def writes(body, *, bad=()):
    """Write a faithful text, except for the requests whose numbers are in `bad`."""
    prompt = body["messages"][-1]["content"]
    tries = prompt.count("was rejected")
    if tries in bad:
        return PROMPT.replace("Never print", "Always print")
    return f"{MOOD} {lunch(prompt)} {'Really. ' * tries}\n\n{PROMPT}"


@pytest.fixture
def server(monkeypatch, pytester):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makepyfile(test_twice=TEST)
    with FaultyServer() as running:
        running.behaviour.models = ("m", "writer")
        running.behaviour.answer = lambda body, _: writes(body) if is_rewriting(body) else RIGHT
        yield running


@pytest.fixture
def options(server):
    return (
        *("--promptse-model", "openai:m", "--promptse-rewriter", "llm:openai:writer"),
        *("--promptse-base-url", server.base_url, "-v"),
    )


def rewriting_requests(server):
    # The first request to a model finds out what its server can do.
    return [b for b in server.requests if b["model"] == "writer" and is_rewriting(b)]


def sampled_prompts(server):
    bodies = [body for body in server.requests if body["model"] == "m"]
    return {body["messages"][-1]["content"] for body in bodies}


def test_variants_have_their_ids_before_and_their_texts_after_the_model_has_answered(
    run, server, options, pytester
):
    found = run(*options, "--promptse-report", "json:run.json")
    found.assert_outcomes(passed=4 + 4)
    texts = [prompt for prompt in sampled_prompts(server) if MOOD in prompt]
    assert texts
    assert all(PROMPT in text for text in texts)
    record = json.loads((pytester.path / "run.json").read_text())
    [rewriting] = record["rewriting"]
    assert rewriting["model"] == "openai:writer"
    assert rewriting["rewriter"].startswith("llm:openai:writer/")
    assert "{prompt}" in rewriting["instruction"]
    assert (rewriting["variants"], rewriting["texts"], rewriting["accepted"]) == (3, 3, 3)
    assert record["usage"]["requests"] == len(server.requests)


def test_neither_collection_nor_a_dry_run_sends_a_request(run, server, options):
    listed = run(*options, "--collect-only", "-q")
    assert sum("d0." in line for line in listed.outlines) >= 3
    assert server.requests == []
    dry = run(*options, "--promptse-dry-run")
    assert server.requests == []
    [writer] = [
        line for line in dry.outlines if "openai:writer" in line and "would request" in line
    ]
    assert "at most 12 " in writer
    [model] = [line for line in dry.outlines if "openai:m" in line and "variants" in line]
    assert "4 variants, 8 completions" in model


def test_a_second_run_takes_texts_and_completions_from_the_store(run, server, options):
    run(*options).assert_outcomes(passed=8)
    before = len(server.requests)
    again = run(*options)
    again.assert_outcomes(passed=8)
    assert len(server.requests) == before


def test_a_rejected_text_is_requested_again_with_the_findings(run, server, options, pytester):
    server.behaviour.answer = lambda body, _: (
        writes(body, bad=(0,)) if is_rewriting(body) else RIGHT
    )
    found = run(*options, "-v", "--promptse-report", "json:run.json")
    found.assert_outcomes(passed=8)
    shown = " ".join(found.stdout.str().split())
    assert shown.count("rejected text for test_twice[") == 3
    assert "Always print anything." in shown
    assert "negation: 'Never' was lost" in shown
    prompts = [body["messages"][-1]["content"] for body in rewriting_requests(server)]
    again = [text for text in prompts if "was rejected" in text]
    assert len(again) == 3
    assert all("'Never' was lost" in text and "Always print" in text for text in again)
    [rewriting] = json.loads((pytester.path / "run.json").read_text())["rewriting"]
    assert (rewriting["texts"], rewriting["accepted"]) == (6, 3)
    assert rewriting["rules"]["negation"] == 3
    assert len(rewriting["rejected"]) == 3
    assert "Always print" in rewriting["rejected"][0]["text"]


def test_four_rejected_texts_are_an_error_of_the_item_and_not_a_failure(run, server, options):
    server.behaviour.answer = lambda body, _: (
        writes(body, bad=range(9)) if is_rewriting(body) else RIGHT
    )
    found = run(*options)
    outcomes = found.parseoutcomes()
    assert outcomes["passed"] == 1
    assert outcomes["errors"] == 7
    assert "failed" not in outcomes
    assert any("none of 4 texts for" in line for line in found.outlines)
    assert len(rewriting_requests(server)) == 3 * 4


def test_the_budget_counts_the_requests_for_texts(run, server, options):
    found = run(*options, "--promptse-max-requests", "3")
    assert len(server.requests) == 3
    assert found.parseoutcomes()["errors"] >= 3


def test_a_context_that_is_too_short_for_the_instruction_is_explained(run, server, options):
    message = "This model's maximum context length is 1024 tokens; your request has 1352."
    server.behaviour.refuses = dict.fromkeys(("max_tokens", "max_completion_tokens"), message)
    found = run(*options, "--promptse-api", "chat")
    text = " ".join(found.stdout.str().split())
    assert "use a model with a longer context to write or judge variants" in text
    assert "Traceback" not in text
    assert "failed" not in found.parseoutcomes()


def test_a_control_beside_texts_of_a_model_has_their_length_and_asks_no_writer(
    run, server, options, pytester
):
    control = ("--promptse-control", "neutral", "--promptse-report", "json:run.json")
    dry = run(*options, *control, "--promptse-dry-run")
    [model] = [line for line in dry.outlines if "openai:m" in line and "variants" in line]
    assert "7 variants, 14 completions" in model
    assert server.requests == []
    run(*options, *control).assert_outcomes(passed=4 + 3 + 4)
    assert len(rewriting_requests(server)) == 3
    [suite] = json.loads((pytester.path / "run.json").read_text())["suites"]
    assert (suite["control"]["n_planned"], suite["control"]["n_measured"]) == (3, 3)
    levels = suite["control"]["levels"].values()
    assert len(levels) == 3
    for level in levels:
        assert level["words_added"] > 0
        assert level["control_words_added"] == pytest.approx(level["words_added"], abs=0.1)


def test_workers_request_every_text_once(run, server, options, two_workers):
    found = run(*options, "-p", "xdist", *two_workers)
    found.assert_outcomes(passed=8)
    assert len(rewriting_requests(server)) == 3


def test_one_text_is_not_accepted_for_several_variants(run, server, options, pytester):
    def answer(body, _):
        prompt = body["messages"][-1]["content"]
        if not is_rewriting(body):
            return RIGHT
        return writes(body) if "another variant has this text" in prompt else f"{MOOD}\n\n{PROMPT}"

    server.behaviour.answer = answer
    run(*options, "--promptse-report", "json:run.json").assert_outcomes(passed=8)
    [rewriting] = json.loads((pytester.path / "run.json").read_text())["rewriting"]
    assert (rewriting["texts"], rewriting["accepted"]) == (5, 3)
    assert rewriting["rules"] == {"duplicate": 2}
    assert len({prompt for prompt in sampled_prompts(server) if PROMPT in prompt}) == 4


def test_a_refusal_is_called_a_refusal(run, server, options):
    server.behaviour.answer = lambda body, _: (
        "I'm sorry, but I can't help with that." if is_rewriting(body) else RIGHT
    )
    found = run(*options)
    assert found.parseoutcomes()["errors"] == 7
    shown = " ".join(found.stdout.str().split())
    assert "llm:openai:writer: the model refuses to write: \"I'm sorry" in shown
    assert "use another model" in shown
    assert "asks for the same thing" not in shown


CRITIC = """
from pytest_promptse.variants import Rewriter, WritingModel, ask


class Weather(Rewriter):
    name, version = "weather", "1"
    model = WritingModel(spec="openai:writer", max_requests=3, instruction="Speak of the weather.")

    def candidates(self, request):
        while True:
            answer = yield from ask(f"{request.emotion.name} weather, try {request.seed}")
            findings = yield f"{answer}\\n\\n{request.task.prompt}"


class Stubborn(Weather):
    name = "stubborn"

    def candidates(self, request):
        answer = yield from ask(f"{request.emotion.name} weather, try {request.seed}")
        while True:
            yield f"{answer}\\n\\n{request.task.prompt}"


def pytest_promptse_rewriter(spec):
    return {"weather": Weather, "stubborn": Stubborn}.get(spec, lambda: None)()
"""


@pytest.fixture
def weather(server, pytester):
    """The options for a rewriter of another package that asks a model."""
    pytester.makeconftest(CRITIC)
    return (
        *("--promptse-model", "openai:m", "--promptse-rewriter", "weather"),
        *("--promptse-base-url", server.base_url),
    )


def speaks_of_the_weather(body):
    return "weather, try" in body["messages"][-1]["content"]


def test_a_rewriter_of_another_package_asks_a_model_as_the_run_asks_its_own(
    run, server, weather, pytester
):
    def answer(body, _):
        prompt = body["messages"][-1]["content"]
        return f"It is raining, and {lunch(prompt)}" if speaks_of_the_weather(body) else RIGHT

    server.behaviour.answer = answer
    run(*weather, "--promptse-report", "json:run.json").assert_outcomes(passed=8)
    record = json.loads((pytester.path / "run.json").read_text())
    [rewriting] = record["rewriting"]
    assert (rewriting["rewriter"], rewriting["model"]) == ("weather/1", "openai:writer")
    assert rewriting["instruction"] == "Speak of the weather."
    assert (rewriting["texts"], rewriting["accepted"]) == (3, 3)
    assert record["usage"]["requests"] == len(server.requests)
    variants = [prompt for prompt in sampled_prompts(server) if f"\n{PROMPT}" in prompt]
    assert len(variants) == sum("raining" in prompt for prompt in variants) == 3
    before = len(server.requests)
    run(*weather).assert_outcomes(passed=8)
    assert len(server.requests) == before
    run(*weather, "--promptse-fresh", "--promptse-max-requests", "2")
    assert len(server.requests) == before + 2


def test_the_requests_of_a_rewriter_end_at_the_number_that_it_names(run, server, weather):
    server.behaviour.answer = lambda body, _: (
        "Log every call." if speaks_of_the_weather(body) else RIGHT
    )
    dry = run(*weather, "--promptse-dry-run")
    assert any("openai:writer" in line and "at most 9 " in line for line in dry.outlines)
    assert server.requests == []
    run(*weather)
    assert sum(map(speaks_of_the_weather, server.requests)) == 9


def test_a_rewriter_may_write_as_many_drafts_as_it_may_send_requests(
    run, server, weather, pytester
):
    server.behaviour.answer = lambda *_: "Log every call."
    run(
        *(*weather, "--promptse-rewriter", "stubborn", "-k", "d0.1 and not elasticity"),
        *("--promptse-report", "json:run.json"),
    )
    [rewriting] = json.loads((pytester.path / "run.json").read_text())["rewriting"]
    assert (rewriting["texts"], rewriting["accepted"]) == (3, 0)
    assert sum(map(speaks_of_the_weather, server.requests)) == 1
