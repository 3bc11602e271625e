"""The model of --promptse-variant-judge judges reworded sentences, as requests of the run."""

from __future__ import annotations

import json
import re
import zlib

import pytest
from faulty_server import FaultyServer
from msgspec.structs import replace

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import compare
from pytest_promptse.variants._files import write
from pytest_promptse.variants._generate import Selection, generate, measured
from pytest_promptse.variants._library_files import load_library

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
DOUBTFUL = PROMPT.replace("return twice x", "return twice the pineapple x")
WRONG = PROMPT.replace("Never print", "Always print")
MOOD = "Phew, long day, I am half asleep."


@pytest.fixture
def server(monkeypatch, pytester):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makepyfile(test_twice=TEST)
    with FaultyServer() as running:
        running.behaviour.models = ("m", "writer", "arbiter")
        yield running


def lunch(prompt):
    """Return a sentence that differs between variants."""
    number = zlib.crc32(prompt.encode())
    return f"I have been up since {number % 100_000}."


def answers(server, *, verdict, texts, gullible=False):
    """Have the writer write `texts` one after the other, and the arbiter give its verdict.

    A gullible arbiter gives it about any two requests.
    """

    def answer(body, _):
        if body["model"] == "arbiter":
            question = body["messages"][-1]["content"]
            return verdict if PROMPT.split(":", maxsplit=1)[0] in question or gullible else "no"
        if body["model"] == "writer":
            prompt = body["messages"][-1]["content"]
            tries = prompt.count("was rejected")
            return f"{MOOD} {lunch(prompt)}\n\n{texts[min(tries, len(texts) - 1)]}"
        return RIGHT

    server.behaviour.answer = answer


def questions(server):
    # The first request to a model finds out what its server can do.
    return [
        body
        for body in server.requests
        if body["model"] == "arbiter" and "Request A" in body["messages"][-1]["content"]
    ]


@pytest.fixture
def options(server):
    return ("--promptse-model", "openai:m", "--promptse-base-url", server.base_url, "-v")


CONTROLS = len(load_library().instruction["entailment_controls"].splitlines())
JUDGE = ("--promptse-variant-judge", "openai:arbiter")
WRITER = ("--promptse-rewriter", "llm:openai:writer")


def test_a_text_that_the_model_confirms_in_both_directions_is_accepted_once(
    run, server, options, pytester
):
    answers(server, verdict="Yes.", texts=[DOUBTFUL])
    record = ("--promptse-report", "json:run.json")
    run(*options, *JUDGE, *WRITER, *record).assert_outcomes(passed=8)
    assert len(questions(server)) == CONTROLS + 2  # the three texts have the same sentence
    found = json.loads((pytester.path / "run.json").read_text())
    [entailment] = found["entailment"]
    assert entailment["model"] == "openai:arbiter"
    assert len(entailment["instruction"]) == 8
    assert [entailment[each] for each in ("texts", "questions", "cleared")] == [3, 6, 3]
    assert found["rewriting"][0]["texts"] == 3
    assert found["usage"]["requests"] == len(server.requests)
    before = len(server.requests)
    run(*options, *JUDGE, *WRITER).assert_outcomes(passed=8)
    assert len(server.requests) == before


def test_a_text_that_it_does_not_confirm_is_requested_again(run, server, options, pytester):
    answers(server, verdict="No, B adds a pineapple.", texts=[DOUBTFUL, PROMPT])
    record = ("--promptse-report", "json:run.json")
    run(*options, *JUDGE, *WRITER, *record).assert_outcomes(passed=8)
    [entailment] = json.loads((pytester.path / "run.json").read_text())["entailment"]
    assert [entailment[each] for each in ("texts", "questions", "cleared")] == [3, 3, 0]


def test_it_never_gets_a_change_that_the_rules_are_sure_of(run, server, options):
    answers(server, verdict="Yes.", texts=[WRONG])
    found = run(*options, *JUDGE, *WRITER)
    assert found.parseoutcomes()["errors"] == 7
    assert questions(server) == []


def test_one_that_says_yes_to_everything_clears_nothing(run, server, options):
    answers(server, verdict="Yes.", texts=[DOUBTFUL], gullible=True)
    found = run(*options, *JUDGE, *WRITER)
    assert found.parseoutcomes()["errors"] == 7
    assert len(questions(server)) == 1
    assert any("so it cannot judge" in line for line in found.outlines)


def test_a_dry_run_bounds_all_requests_for_texts_and_about_them(run, server, options):
    answers(server, verdict="no", texts=[DOUBTFUL])
    dry = run(*options, *JUDGE, *WRITER, "--promptse-dry-run")
    bound = sum(
        int(re.search(r"would request at most (\d+)", line)[1])
        for line in dry.outlines
        if "openai:writer" in line or "openai:arbiter" in line
    )
    run(*options, *JUDGE, *WRITER)
    sent = [b for b in server.requests if b["model"] == "writer" or b in questions(server)]
    assert len(sent) > 3 * 4
    assert len(sent) <= bound


@pytest.fixture
def edited(pytester):
    """Freeze variants whose texts were edited by hand."""
    task = Task(id="test_twice", prompt=PROMPT)
    variants = []
    for variant in generate(task, Selection(per_distance=1)).variants:
        text = variant.text.replace("return twice x", "return twice the pineapple x")
        variants.append(
            replace(variant, text=text, rewriter="hand", **measured(compare(PROMPT, text)))
        )
    write(pytester.path / "frozen", task, variants)
    return ("--promptse-variants-dir", "frozen")


def test_it_decides_about_texts_that_were_edited_by_hand(run, server, options, edited):
    refused = run(*options, *edited)
    assert refused.ret != 0
    assert "pineapple" in refused.stdout.str() + refused.stderr.str()
    answers(server, verdict="yes", texts=[])
    dry = run(*options, *edited, *JUDGE, "--promptse-dry-run")
    [line] = [each for each in dry.outlines if "openai:arbiter" in each and "request" in each]
    assert f"at most {CONTROLS + 4} " in line
    assert server.requests == []
    run(*options, *edited, *JUDGE).assert_outcomes(passed=8)
    assert len(questions(server)) == CONTROLS + 4


def test_a_text_of_a_file_that_it_does_not_confirm_is_an_error(run, server, options, edited):
    answers(server, verdict="no", texts=[])
    found = run(*options, *edited, *JUDGE)
    assert found.parseoutcomes()["errors"] == 7
    assert any("openai:arbiter does not say that it is" in line for line in found.outlines)
