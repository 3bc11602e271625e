from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from pathlib import Path

import pytest

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Decoding, Prompt, Request
from pytest_promptse.models._replay import ReplayBackend

PROMPT = Prompt(user="def one():\n")


def written(path, lines):
    content = "".join(
        (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
    )
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def replayed(path, *asks):
    async def talk():
        backend = ReplayBackend(f"replay:{path}", path)
        try:
            return await backend.start(), [await backend.complete(ask) for ask in asks]
        finally:
            await backend.close()

    return asyncio.run(talk())


def ask(n=1, first=0, task_id="HumanEval/0", variant_id="original"):
    return Request(
        prompt=PROMPT,
        decoding=Decoding(),
        n=n,
        first=first,
        task_id=task_id,
        variant_id=variant_id,
    )


def human_eval(*completions, task_id="HumanEval/0"):
    return [{"task_id": task_id, "completion": completion} for completion in completions]


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_lines_in_the_format_of_humaneval_answer_the_original_variant_in_their_order(
    tmp_path, name
):
    lines = [*human_eval("a", "b"), *human_eval("x", task_id="HumanEval/1"), *human_eval("ç")]
    path = written(tmp_path / name, lines)
    capabilities, (some, rest) = replayed(path, ask(n=2), ask(n=1, first=2))
    assert capabilities.form == "completion"
    assert capabilities.logprobs is None
    assert [(each.index, each.text) for each in some.completions] == [(0, "a"), (1, "b")]
    assert [(each.index, each.text) for each in rest.completions] == [(2, "ç")]
    assert some.usage.requests == 0


def test_our_lines_keep_everything_that_is_known_of_a_completion(tmp_path):
    line = {
        "task_id": "t",
        "variant_id": "d0.1-calm-0",
        "index": 3,
        "text": "```python\n```",
        "finish_reason": "length",
        "n_tokens": 7,
        "logprob": -1.5,
        "form": "chat",
        "prompt_sha256": hashlib.sha256(PROMPT.user.encode()).hexdigest(),
        "something": "else",
    }
    path = written(tmp_path / "ours.jsonl", ["", line])
    request = ask(first=3, task_id="t", variant_id="d0.1-calm-0")
    capabilities, (answer,) = replayed(path, request)
    assert (capabilities.form, capabilities.logprobs) == ("chat", "unknown")
    (completion,) = answer.completions
    assert completion.index == 3
    assert completion.finish_reason == "length"
    assert (completion.n_tokens, completion.logprob) == (7, -1.5)


def test_a_variant_without_enough_completions_is_an_error_that_says_how_many_are_missing(tmp_path):
    path = written(tmp_path / "s.jsonl", human_eval("a", "b"))
    with pytest.raises(ModelError, match=r"lacks 3 of the samples 0…4 of HumanEval/0\[original\]"):
        replayed(path, ask(n=5))
    with pytest.raises(ModelError, match=r"lacks 1 .* of HumanEval/0\[d0.1-x-0\]"):
        replayed(path, ask(variant_id="d0.1-x-0"))


def test_completions_made_for_another_variant_are_refused(tmp_path):
    line = {"task_id": "HumanEval/0", "text": "x", "prompt_sha256": "0" * 64}
    with pytest.raises(ModelError, match="answer a different prompt"):
        replayed(written(tmp_path / "s.jsonl", [line]), ask())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*human_eval("a"), "{"], r"line 2: "),
        (["[]"], r"line 1: .*'task_id' and 'completion' or 'text'"),
        ([{"completion": "x"}], r"line 1: .*task_id"),
        ([{"task_id": "t"}], r"line 1: give either 'completion' or 'text'"),
        ([{"task_id": "t", "text": "a", "completion": "b"}], r"give either"),
        ([{"task_id": "t", "text": "a", "finish_reason": "tired"}], r"line 1: .*tired"),
        ([{"task_id": "t", "text": "a", "index": 1}] * 2, r"a sample of t\[original\] comes twice"),
        ([*human_eval("a"), {"task_id": "t", "text": "a"}], r"both forms, completion in line 1"),
        ([], "no completions"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_line_at_fault(tmp_path, lines, message):
    path = written(tmp_path / "s.jsonl", lines)
    with pytest.raises(ModelError, match=message) as caught:
        replayed(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named():
    with pytest.raises(ModelError, match=r"cannot read nowhere\.jsonl \(No such file"):
        replayed(Path("nowhere.jsonl"))


def test_half_a_gzip_file_is_an_error_and_not_half_a_run(tmp_path):
    path = written(tmp_path / "s.jsonl.gz", human_eval(*map(str, range(999))))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelError, match="not a whole gzip file"):
        replayed(path)


def test_a_file_is_another_model_when_its_content_changes_and_not_when_it_moves(tmp_path):
    def identity(name, *completions):
        path = written(tmp_path / name, human_eval(*completions))
        return ReplayBackend("replay:x", path).identity

    assert identity("a.jsonl", "x") == identity("b.jsonl", "x")
    assert identity("a.jsonl", "x") != identity("a.jsonl", "y")
