"""The work of a cluster's workers, without a cluster."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pytest_promptse.errors import SettingsError
from pytest_promptse.models._base import FatalError
from pytest_promptse.models._openai_wire import APIS
from pytest_promptse.run import _ray_shards
from pytest_promptse.sampling import _ray_batch
from pytest_promptse.sampling._batch_files import BatchHeader
from pytest_promptse.store._store import Store
from pytest_promptse.store._transfer import export_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.ray.conftest import ChatServer

STAGE = _ray_batch.VllmStage(gpus=2, engine_args={"max-model-len": "1024", "enforce-eager": ""})
BODY = {"model": "m", "messages": [{"role": "user", "content": "add"}], "max_tokens": 4}


def header(api: str = "chat") -> BatchHeader:
    return BatchHeader(format="", model="openai:m", identity={}, api=api, omitted=[])


class Lines:
    """Replaces the handle of a `ResultFile` and keeps the added lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.add = self

    async def remote(self, lines: list[bytes]) -> None:
        self.lines += lines


def send(server: ChatServer, *prompts: str) -> list[dict[str, Any]]:
    requests = [
        {"custom_id": f"{place}-0-1", "body": BODY | {"messages": [{"content": prompt}]}}
        for place, prompt in enumerate(prompts)
    ]
    stage = _ray_batch.ServerStage(base_url=server.url, api_key="k", concurrency=2)
    lines = Lines()
    asyncio.run(
        _ray_batch._send_all(
            *(requests,), stage=stage, path="/chat/completions", where="m", at_once=2, file=lines
        )
    )
    return sorted(map(json.loads, lines.lines), key=lambda line: line["custom_id"])


def test_a_task_sends_its_requests_and_keeps_failures_of_single_prompts(server: ChatServer) -> None:
    server.refusal = (400, "maximum context length")
    answered, failed = send(server, "short", "maximum context length")
    assert answered["response"]["status_code"] == 200
    assert APIS["chat"].read(json.dumps(answered["response"]["body"]).encode()).samples
    assert failed["response"] is None
    assert "shorten the prompt" in failed["error"]["message"]
    server.refusal = (401, "short")
    with pytest.raises(FatalError, match="set OPENAI_API_KEY"):
        send(server, "short", "longer")


def test_a_request_for_a_replica_is_one_for_each_sample_with_the_seeds_of_vllm() -> None:
    line = json.dumps({"custom_id": "abc-2-3", "body": BODY | {"n": 3, "seed": 7}}).encode()
    split = _ray_batch._split(STAGE, line)
    assert [custom_id for custom_id, _ in split] == ["abc-2-1", "abc-3-1", "abc-4-1"]
    bodies = [json.loads(text)["body"] for _, text in split]
    assert [(body["n"], body["seed"]) for body in bodies] == [(1, 7), (1, 8), (1, 9)]
    server = _ray_batch.ServerStage(base_url="http://x", api_key="k")
    assert _ray_batch._split(server, line) == [("abc-2-3", line)]


class Words:
    """A tokenizer: one token for each word."""

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return " ".join(["<user>", *(message["content"] for message in messages), "<model>"])

    def encode(self, text: str, **_: Any) -> list[int]:
        return [len(word) for word in text.split()]


@pytest.mark.parametrize(
    ("body", "tokens"), [(BODY, [6, 3, 7]), ({"prompt": "write add", "max_tokens": 4}, [5, 3])]
)
def test_a_replica_gets_tokens_and_sampling_parameters(
    body: dict[str, Any], tokens: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ray_batch, "_tokenizer", lambda _: (Words(), [0]))
    row = {"request": json.dumps({"body": body | {"seed": 5, "temperature": 0.5}}).encode()}
    encoded = _ray_batch._Encoder(weights="w", seeded=True).encode(row)
    assert encoded["tokenized_prompt"] == tokens
    assert encoded["sampling_params"] == {
        "max_tokens": 4,
        "logprobs": 0,
        "temperature": 0.5,
        "seed": 5,
    }
    unseeded = _ray_batch._Encoder(weights="w", seeded=False).encode(row)
    assert "seed" not in unseeded["sampling_params"]


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_rows_of_a_replica_become_result_lines(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[bytes] = []
    monkeypatch.setattr(_ray_batch.ray, "get", lambda value: value)

    handle = SimpleNamespace(add=SimpleNamespace(remote=added.extend))

    common: dict[str, Any] = {
        "request": json.dumps({"custom_id": "a-0-1"}).encode(),
        "limit": 2,
        "end_tokens": [9],
    }
    rows = [
        common | {"generated_tokens": tokens, "generated_text": "ok", "num_input_tokens": 3}
        for tokens in ([5], [5, 6], [5, 9])
    ]
    for row in rows:
        row["__inference_error__"] = ""
        row["logprobs"] = [{token: {"logprob": -0.5}} for token in row["generated_tokens"]]
    lines = [_ray_batch._vllm_line(row, header(api)) for row in rows]
    replies = [
        APIS[api].read(json.dumps(json.loads(line)["response"]["body"]).encode()) for line in lines
    ]
    assert [reply.samples[0].finish_reason for reply in replies] == ["stop", "length", "stop"]
    assert [reply.samples[0].logprobs for reply in replies] == [(-0.5,), (-0.5,) * 2, (-0.5,) * 2]
    assert replies[1].usage.completion_tokens == 2
    failed = {"request": [common["request"]], "__inference_error__": ["too long"]}
    found = _ray_batch._write_part(pa.table(failed), header=header(api), results=handle)
    assert list(found["requests"]) == [1]
    assert json.loads(added[0])["error"] == {"message": "too long"}


def test_engine_arguments_have_types() -> None:
    values = [_ray_batch._typed(text) for text in ("", "1024", "0.9", "float32")]
    assert values == [True, 1024, 0.9, "float32"]


def test_a_shard_returns_its_record_and_what_it_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "sums.promptse.yaml").write_text(
        "promptse: 1\ntasks:\n  - id: add\n    prompt: Write `add(a, b)`.\n"
        "    reference: |\n      def add(a, b):\n          return a + b\n"
        "    examples: [{call: 'add(3, 2)', expect: 5}]\n"
    )
    with closing(Store(tmp_path / "store")) as store:
        export_store(store, tmp_path / "paid.jsonl.gz")
    paid = (tmp_path / "paid.jsonl.gz").read_bytes()
    small = ("--promptse-samples=1", "--promptse-original-samples=1", "--promptse-variants=1")
    result = _ray_shards._run_shard(
        *(1, paid), count=1, arguments=("--promptse-model=reference", *small), environment={}
    )
    assert json.loads(result.record)["shard"]["index"] == 1
    assert len(result.added) > len(paid)
    again = _ray_shards._run_shard(
        *(1, result.added),
        count=1,
        arguments=("--promptse-model=reference", *small),
        environment={},
    )
    assert len(again.added) < len(result.added)
    with pytest.raises(SettingsError, match=r"pytest ended shard 2/2 with code 4: .*no-such"):
        _ray_shards._run_shard(2, paid, count=2, arguments=("--no-such",), environment={})


def test_options_of_single_shards_are_refused() -> None:
    shards = _ray_shards.run_shards(["--promptse-store=x"], count=1, paid=b"")
    with pytest.raises(SettingsError, match="--promptse-store is set for each shard"):
        next(shards)
