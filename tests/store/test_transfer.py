"""Stores are merged without loss, in any order, and importing twice changes nothing."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import StoreError
from pytest_promptse.models import Capabilities, Completion, Decoding, Prompt, Usage
from pytest_promptse.store import _transfer
from pytest_promptse.store._store import Store, StoredVerdict
from pytest_promptse.store._transfer import contents, export_store, import_store

KEYS = ("a", "b", "c")
SAMPLES = st.dictionaries(st.sampled_from(KEYS), st.sets(st.integers(0, 5), min_size=1))
IDENTITY = {"backend": "tiny"}


def fill(store: Store, samples: dict[str, set[int]]) -> None:
    for key, indices in samples.items():
        completions = [
            Completion(index=index, text=f"{key} {index} ☃", n_tokens=3, logprob=-0.1 * index)
            for index in sorted(indices)
        ]
        store.add_completions(
            key,
            completions,
            usage=Usage(requests=len(indices), prompt_tokens=7 * len(indices), completion_tokens=3),
            model="tiny",
            prompt=Prompt(user="Write it."),
            decoding=Decoding(),
            task_id="task",
            variant_id=key,
            seed=1,
            form="chat",
            batch_cost=0.5,
        )
        store.add_verdict("check", key, StoredVerdict(cause="", detail="", seconds=0.5))
    store.set_capabilities(IDENTITY, Capabilities(form="chat"))


def samples_of(store: Store) -> dict[str, set[int]]:
    found = {key: {each.index for each in store.completions(key, 10)} for key in KEYS}
    return {key: indices for key, indices in found.items() if indices}


@given(SAMPLES, SAMPLES)
@settings(max_examples=20, deadline=None)
def test_two_stores_become_their_union_on_both_sides(
    left: dict[str, set[int]], right: dict[str, set[int]]
) -> None:
    union = {
        key: left.get(key, set()) | right.get(key, set()) for key in left.keys() | right.keys()
    }
    with (
        TemporaryDirectory() as name,
        closing(Store(Path(name) / "l")) as ours,
        closing(Store(Path(name) / "r")) as theirs,
    ):
        fill(ours, left)
        fill(theirs, right)
        export_store(ours, Path(name) / "l.jsonl")
        export_store(theirs, Path(name) / "r.jsonl.gz")
        added = import_store(ours, Path(name) / "r.jsonl.gz")
        import_store(theirs, Path(name) / "l.jsonl")
        assert samples_of(ours) == samples_of(theirs) == union
        assert added.completions == sum(map(len, union.values())) - sum(map(len, left.values()))
        assert set(ours.verdicts("check", list(KEYS))) == set(union)
        usage = {key: ours.tokens(key) for key in KEYS}
        again = import_store(ours, Path(name) / "r.jsonl.gz")
        assert (again.completions, again.variants, again.verdicts) == (0, 0, 0)
        assert {key: ours.tokens(key) for key in KEYS} == usage


IMPORT = """
import sys
from pathlib import Path
from pytest_promptse.cli._main import main

ready, go, folder, *files = sys.argv[1:]
Path(ready).touch()
while not Path(go).exists():
    pass
sys.exit(main(["store", "import", *files, "--store", folder]))
"""


def test_processes_that_import_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    # Each export has 40 variants of its own, and 40 of its neighbour, with one more sample.
    files = []
    for number in range(4):
        samples = {f"v{number * 40 + i}": {0, 1} for i in range(40)}
        samples |= {f"v{(number * 40 + 40 + i) % 160}": {1, 2} for i in range(40)}
        with closing(Store(tmp_path / f"s{number}")) as store:
            fill(store, samples)
            files.append(tmp_path / f"{number}.jsonl.gz")
            export_store(store, files[-1])
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", IMPORT, tmp_path / f"ready{number}", tmp_path / "go"),
                *(tmp_path / "all", *files[number:], *files[:number]),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    while len(list(tmp_path.glob("ready*"))) < len(processes):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    # Every completion and verdict was added by one import alone.
    added = [
        [int(number) for number in re.findall(r"(\d+) (?:completions|new variants|verdicts)", line)]
        for output in outputs
        for line in output.splitlines()
    ]
    assert [sum(numbers) for numbers in zip(*added, strict=True)] == [480, 160, 160]
    with closing(Store(tmp_path / "all")) as store:
        for number in range(160):
            assert [c.index for c in store.completions(f"v{number}", 9)] == [0, 1, 2]
        assert len(store.verdicts("check", [f"v{number}" for number in range(160)])) == 160


def test_later_additions_are_exported_alone(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "a")) as store, closing(Store(tmp_path / "b")) as other:
        fill(store, {"a": {0}, "b": {0}})
        before = contents(store)
        fill(store, {"b": {1}, "c": {2}})
        count = export_store(store, tmp_path / "x.jsonl", beyond=before)
        assert (count.variants, count.completions, count.verdicts) == (2, 3, 1)
        import_store(other, tmp_path / "x.jsonl")
        assert samples_of(other) == {"b": {0, 1}, "c": {2}}


def test_completions_arrive_as_they_were(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "a")) as store, closing(Store(tmp_path / "b")) as other:
        fill(store, {"a": {0, 3}})
        export_store(store, tmp_path / "a.jsonl.gz")
        import_store(other, tmp_path / "a.jsonl.gz")
        assert other.completions("a", 5) == store.completions("a", 5)
        assert other.capabilities(IDENTITY) == Capabilities(form="chat")
        assert other.verdicts("check", ["a"]) == store.verdicts("check", ["a"])
        assert other.tokens("a") == store.tokens("a")
        assert other.batch_cost(["a", "b"]) == 0.5
        assert other.batch_cost(["b"]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty, not a store export"),
        (b'{"task_id": "a", "text": "b"}\n', "not a store export"),
        (b'{"format":"promptse.store/9"}\n', r"has format promptse\.store/9, this version reads"),
        (b'{"format":"promptse.store/1"}\n{"kind":"verdict"}\n', "line 2: .*export it again"),
        (b'{"format":"promptse.store/1"}\n{"kind":"verd', "line 2: the file is cut off"),
    ],
)
def test_what_is_no_whole_export_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with closing(Store(tmp_path / "s")) as store, pytest.raises(StoreError, match=message):
        import_store(store, tmp_path / "x.jsonl")


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"format":"promptse.store/1"}\n' * 100)
    (tmp_path / "x.jsonl.gz").write_bytes(packed[:-9])
    with closing(Store(tmp_path / "s")) as store, pytest.raises(StoreError):
        import_store(store, tmp_path / "x.jsonl.gz")


def test_a_log_probability_above_0_is_left_out(tmp_path: Path) -> None:
    exported = tmp_path / "x.jsonl"
    with closing(Store(tmp_path / "a")) as store:
        fill(store, {"a": {0, 1}})
        export_store(store, exported)
    exported.write_bytes(exported.read_bytes().replace(b"-0.1", b"0.5"))
    with closing(Store(tmp_path / "b")) as store:
        import_store(store, exported)
        assert [completion.logprob for completion in store.completions("a", 2)] == [0.0, None]


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transfer, "_LONGEST_LINE", 2**20)
    archive = tmp_path / "x.jsonl.gz"
    archive.write_bytes(gzip.compress(b'{"format": "' + b"x" * 2**24))
    message = "longer than 1 MiB"
    with closing(Store(tmp_path / "b")) as store, pytest.raises(StoreError, match=message):
        import_store(store, archive)
