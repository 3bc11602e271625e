"""Batch files: what is missing is written, and every result line is checked."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from batch_server import batch_server, error_of, result_of

from pytest_promptse.errors import ModelError, SettingsError, StoreError
from pytest_promptse.models import Completion, Decoding, Prompt, Usage
from pytest_promptse.sampling._batch_files import (
    BatchOptions,
    export_batch,
    import_batch,
    read_manifest,
)
from pytest_promptse.sampling._batch_service import BatchService
from pytest_promptse.sampling._job import Job
from pytest_promptse.store._store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from batch_server import BatchServer

MODEL = "openai:gpt-4.1-mini"
IDENTITY = {"backend": "openai", "model": "gpt-4.1-mini"}


def job(number: int, n: int = 4) -> Job:
    return Job(
        key=f"{number:064x}",
        model=MODEL,
        prompt=Prompt(user=f"Write add number {number} ☃."),
        decoding=Decoding(max_tokens=64),
        n=n,
        seed=number,
        task_id="add",
        variant_id=f"d0.1-tired-{number}",
    )


JOBS = [job(number) for number in range(3)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "store")) as store:
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "batch"


def export(store: Store, folder: Path, **options: Any) -> list[dict[str, Any]]:
    found = export_batch(
        JOBS, store, folder, model=MODEL, identity=IDENTITY, options=BatchOptions(**options)
    )
    return [json.loads(line) for path in found.files for line in path.read_bytes().splitlines()]


def write(folder: Path, lines: list[Any]) -> Path:
    path = folder / "results-001.jsonl"
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path


def store_sample(store: Store, of: Job, index: int) -> None:
    store.add_completions(
        of.key,
        [Completion(index=index, text="kept")],
        usage=Usage(),
        model=MODEL,
        prompt=of.prompt,
        decoding=of.decoding,
        task_id=of.task_id,
        variant_id=of.variant_id,
        seed=of.seed,
        form="chat",
    )


def test_only_missing_samples_are_requested_and_come_into_the_store(
    store: Store, folder: Path
) -> None:
    for index in range(4):
        store_sample(store, JOBS[0], index)
    store_sample(store, JOBS[1], 2)
    requests = export(store, folder)
    requested = [(r["custom_id"][-7:], r["body"]["n"]) for r in requests]
    assert requested == [("001-0-2", 2), ("001-3-1", 1), ("002-0-4", 4)]
    assert requests[0]["url"] == "/v1/chat/completions"
    assert requests[0]["body"]["model"] == "gpt-4.1-mini"
    results = write(folder, [result_of(request) for request in reversed(requests)])
    report = import_batch(folder, [results], store)
    assert (report.completions, report.missing, report.problems) == (7, 0, {})
    for each in JOBS:
        assert [c.index for c in store.completions(each.key, 4)] == [0, 1, 2, 3]
    assert store.completions(JOBS[1].key, 4)[2].text == "kept"
    assert store.completions(JOBS[2].key, 4)[0].logprob == -0.75
    capabilities = store.capabilities(IDENTITY)
    assert capabilities is not None
    assert capabilities.form == "chat"
    usage = {each.key: store.tokens(each.key) for each in JOBS}
    again = import_batch(folder, [results], store)
    assert (again.completions, again.missing) == (0, 0)
    assert {each.key: store.tokens(each.key) for each in JOBS} == usage


def test_lines_that_cannot_be_used_are_counted_by_reason(store: Store, folder: Path) -> None:
    first, second, third = export(store, folder)
    other = result_of(second)
    other["response"]["body"]["model"] = "gpt-4o"
    lines = [
        result_of(first),
        result_of(first),
        {**result_of(first), "custom_id": "f" * 64 + "-0-4"},
        other,
        error_of(third),
        json.dumps(result_of(third))[:80],
    ]
    report = import_batch(folder, [write(folder, lines)], store)
    assert (report.completions, report.missing) == (4, 8)
    assert [reason.partition(" (first in ")[0] for reason in report.problems] == [
        "duplicate custom_id",
        "unknown custom_id",
        "answered by model 'gpt-4o' instead of 'gpt-4.1-mini'",
        "request failed: This request could not be executed in time.",
        "not a result line, or cut off",
    ]
    assert all("results-001.jsonl, line " in reason for reason in report.problems)


def test_files_are_split_at_the_limits_of_the_service(store: Store, folder: Path) -> None:
    requests = export(store, folder, omit=("n", "seed"), max_requests=5)
    assert len(list(folder.glob("requests-*.jsonl"))) == 3
    assert len({request["custom_id"] for request in requests}) == 12
    assert all(not {"n", "seed"} & request["body"].keys() for request in requests)
    with pytest.raises(StoreError, match="contains a batch already"):
        export(store, folder)


def test_the_manifest_and_the_options_are_checked(store: Store, folder: Path) -> None:
    with pytest.raises(StoreError, match="name the folder of promptse batch export"):
        read_manifest(folder)
    with pytest.raises(SettingsError, match="not a decoding field"):
        BatchOptions(omit=("top_k",))
    with pytest.raises(SettingsError, match="max_tokens, max_completion_tokens"):
        BatchOptions(length_name="max_length")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with batch_server() as server:
        yield server


def test_a_batch_is_submitted_followed_and_fetched(
    store: Store, folder: Path, server: BatchServer
) -> None:
    export(store, folder, max_requests=2)
    service = BatchService(folder, base_url=server.url)
    assert service.submit() == ["requests-001.jsonl", "requests-002.jsonl"]
    assert service.fetch() == []
    server.end()
    # Another process continues from the state in the folder, and submits nothing twice.
    service = BatchService(folder, base_url=server.url)
    assert service.submit() == []
    results = service.fetch()
    assert [path.name for path in results] == ["results-001.jsonl", "results-002.jsonl"]
    assert service.fetch() == results
    assert len(server.batches) == 2
    assert import_batch(folder, results, store).missing == 0


def test_an_expired_batch_gives_what_was_finished_and_the_rest_is_exported(
    store: Store, folder: Path, server: BatchServer
) -> None:
    export(store, folder)
    service = BatchService(folder, base_url=server.url)
    service.submit()
    server.end("expired", answered=1)
    results = service.fetch()
    assert [path.name for path in results] == ["results-001.jsonl", "errors-001.jsonl"]
    report = import_batch(folder, results, store)
    assert (report.completions, report.missing) == (4, 8)
    assert len(export(store, folder.with_name("rest"))) == 2


def test_a_batch_whose_creation_was_not_heard_of_is_not_paid_for_twice(
    store: Store, folder: Path, server: BatchServer
) -> None:
    export(store, folder)
    server.fail_creation = True
    service = BatchService(folder, base_url=server.url)
    service._client.max_retries = 0
    with pytest.raises(ModelError, match="run the command again to continue"):
        service.submit()
    server.fail_creation = False
    assert BatchService(folder, base_url=server.url).submit() == ["requests-001.jsonl"]
    assert len(server.batches) == len(server.files) == 1


def test_a_cancelled_batch_gives_what_was_finished(
    store: Store, folder: Path, server: BatchServer
) -> None:
    export(store, folder)
    service = BatchService(folder, base_url=server.url)
    service.submit()
    service.cancel()
    assert service.files["requests-001.jsonl"].status == "cancelling"
    server.end("cancelled", answered=2)
    assert import_batch(folder, service.fetch(), store).completions == 8
