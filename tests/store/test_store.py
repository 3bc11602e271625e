from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import StoreError
from pytest_promptse.models._base import Capabilities, Completion, Decoding, Prompt, Usage
from pytest_promptse.sandbox.guest import unpatched
from pytest_promptse.store._store import Store, StoredVerdict

VARIANT = {
    "usage": Usage(requests=1, prompt_tokens=7, completion_tokens=5),
    "model": "fake:model",
    "prompt": Prompt(user="Write `f(x)`.", system="Be brief."),
    "decoding": Decoding(),
    "task_id": "f",
    "variant_id": "original",
    "seed": 1,
    "form": "chat",
}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / ".promptse")
    yield store
    store.close()


def samples(*indices, text="pass"):
    return [Completion(index=index, text=text) for index in indices]


# -- the folder and the file -------------------------------------------------------------------


def test_git_ignores_everything_in_the_folder_but_baselines(store):
    baseline = store.folder / "baselines" / "main.json"
    baseline.parent.mkdir()
    baseline.write_text("{}")
    subprocess.run(["git", "init", "-q", store.folder.parent], check=True)
    seen = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=store.folder.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    assert seen.stdout.split() == [".promptse/baselines/main.json"]


def test_backup_tools_can_see_that_the_folder_is_a_cache(store):
    tag = (store.folder / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def test_a_gitignore_that_the_user_changed_stays(store):
    store.close()
    (store.folder / ".gitignore").write_text("!promptse.db\n")
    Store(store.folder).close()
    assert (store.folder / ".gitignore").read_text() == "!promptse.db\n"


def test_a_folder_that_cannot_be_made_is_named_with_the_option(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/store' cannot be written .*--promptse-store"):
        Store(tmp_path / "file" / "store")


def test_a_file_that_cannot_be_opened_is_named_with_the_option(tmp_path):
    (tmp_path / "promptse.db").mkdir()
    with pytest.raises(StoreError, match=r"promptse\.db'.*--promptse-store"):
        Store(tmp_path)


def test_a_full_disk_is_named_and_leaves_what_was_there(store):
    store.add_completions("key", samples(0), **VARIANT)
    with store.database.read() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="full; name another folder with --promptse-store"):
        store.add_completions("key", samples(1, text="x" * 1_000_000), **VARIANT)
    assert store.completions("key", 2) == tuple(samples(0))


@pytest.mark.parametrize("version", [0, 99])
def test_a_file_of_another_version_is_refused_and_left_alone(store, version):
    store.close()
    with sqlite3.connect(store.database.path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = store.database.path.read_bytes()
    with pytest.raises(StoreError, match=rf"has schema {version}, .* uses 1; name another folder"):
        Store(store.folder)
    assert store.database.path.read_bytes() == before


def overwrite_head(path):
    path.write_bytes(b"this is no database" + path.read_bytes()[19:])


def overwrite_middle(path):
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 4096] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)


def cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("damage", [overwrite_head, overwrite_middle, cut_in_half])
def test_a_damaged_file_is_set_aside_whole_with_a_warning(store, damage):
    store.add_completions("key", samples(*range(50), text="x" * 500), **VARIANT)
    store.close()
    damage(store.database.path)
    content = store.database.path.read_bytes()

    again = Store(store.folder)
    (warning,) = again.warnings
    (aside,) = store.folder.glob("promptse.db.corrupt-*")
    assert aside.read_bytes() == content
    assert aside.name in warning
    assert again.completions("key", 50) == ()
    again.add_completions("key", samples(0), **VARIANT)
    again.close()
    healthy = Store(store.folder)
    assert healthy.warnings == ()
    assert healthy.completions("key", 50) == tuple(samples(0))
    healthy.close()


def test_processes_that_open_a_damaged_file_together_set_it_aside_once(tmp_path):
    (tmp_path / "promptse.db").write_bytes(b"no database" * 1000)
    program = """
        import sys, pathlib
        from pytest_promptse.store._store import Store
        store = Store(pathlib.Path(sys.argv[1]))
        store.put("run", "kind", sys.argv[2], b"here")
        store.close()
    """
    opened = [spawn(program, tmp_path, number) for number in range(4)]
    for process in opened:
        process.communicate(timeout=30)
    assert [process.returncode for process in opened] == [0] * 4
    assert len(list(tmp_path.glob("promptse.db.corrupt-*"))) == 1
    store = Store(tmp_path)
    assert sorted(name for name, _ in store.scan("run", "kind")) == ["0", "1", "2", "3"]
    store.close()


# -- completions -------------------------------------------------------------------------------

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False, max_value=0)
answers = st.lists(
    st.builds(
        Completion,
        index=st.integers(0, 20),
        text=texts,
        finish_reason=st.sampled_from(["stop", "length", "content_filter", "unknown"]),
        n_tokens=st.none() | st.integers(0, 10_000),
        logprob=numbers,
    ),
    unique_by=lambda each: each.index,
    max_size=8,
)


@settings(deadline=None, max_examples=25)
@given(st.lists(answers, max_size=4), st.integers(0, 22))
def test_what_is_kept_comes_back_as_it_was_and_the_first_of_a_sample_stays(written, n):
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        first = {}
        for answer in written:
            store.add_completions("key", answer, **VARIANT)
            for each in answer:
                first.setdefault(each.index, each)
        expected = tuple(first[index] for index in sorted(first) if index < n)
        assert store.completions("key", n) == expected
        assert store.missing({"key": n}) == {"key": [i for i in range(n) if i not in first]}
        store.close()


def test_missing_tells_of_every_key_even_thousands(store):
    store.add_completions("some", samples(0, 1, 3, 9), **VARIANT)
    store.add_completions("all", samples(0, 1), **VARIANT)
    keys = {"some": 5, "all": 2, "more": 1} | {f"none{i}": 2 for i in range(5000)}
    missing = store.missing(keys)
    assert missing.keys() == keys.keys()
    assert missing["some"] == [2, 4]
    assert missing["all"] == []
    assert missing["none4999"] == [0, 1]


def test_half_an_emoji_is_kept_as_the_replacement_character(store):
    store.add_completions("key", samples(0, text="ok \ud83d"), **VARIANT)
    assert store.completions("key", 1)[0].text == "ok \ufffd"


def test_a_transaction_that_fails_leaves_nothing(store):
    def interrupted():
        with store.transaction():
            store.add_completions("key", samples(0), **VARIANT)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.completions("key", 1) == ()


def test_threads_write_and_read_at_once(store):
    def write(number):
        for index in range(20):
            store.add_completions(f"key{number}", samples(index), **VARIANT)
            assert store.completions(f"key{number}", index + 1)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(store.missing({f"key{number}": 20 for number in range(4)}).values())


def spawn(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_writer_killed_at_any_moment_leaves_whole_answers(tmp_path):
    program = """
        import sys, pathlib
        from itertools import count
        from pytest_promptse.models._base import *
        from pytest_promptse.store._store import Store
        store = Store(pathlib.Path(sys.argv[1]))
        answer = [Completion(index=i, text="x" * 2000) for i in range(16)]
        for number in count():
            store.add_completions(f"key{number}", answer, usage=Usage(), model="m",
                prompt=Prompt(user="p"), decoding=Decoding(), task_id="t", variant_id="v",
                seed=0, form="chat")
            print(number, flush=True)
    """
    for pause in (0.01, 0.037, 0.1):
        folder = tmp_path / str(pause)
        writer = spawn(program, folder)
        writer.stdout.readline()
        time.sleep(pause)
        os.kill(writer.pid, signal.SIGKILL)
        reported = [0, *(int(line) for line in writer.communicate()[0].split())]
        store = Store(folder)
        assert store.warnings == ()
        missing = store.missing({f"key{number}": 16 for number in range(reported[-1] + 2)})
        assert not any(missing[f"key{number}"] for number in reported)
        assert len(missing[f"key{reported[-1] + 1}"]) in (0, 16)
        store.close()


# -- capabilities and verdicts -----------------------------------------------------------------


def test_capabilities_are_kept_by_identity(store):
    honoured = Capabilities(
        form="completion", logprobs="raw", seeded=False, refused=("n",), details={"api": "x"}
    )
    store.set_capabilities({"model": "a", "url": "b"}, honoured)
    assert store.capabilities({"url": "b", "model": "a"}) == honoured
    assert store.capabilities({"url": "b", "model": "c"}) is None


def test_verdicts_are_kept_by_check_and_program(store):
    passed = StoredVerdict(cause="", detail="", seconds=0.25)
    failed = StoredVerdict(cause="wrong_answer", detail="1 != 2", seconds=0.5)
    store.add_verdict("check", "a", passed)
    store.add_verdict("check", "b", failed)
    store.add_verdict("check", "b", passed)
    store.add_verdict("other", "c", passed)
    programs = ["a", "b", "c", *map(str, range(3000))]
    assert store.verdicts("check", programs) == {"a": passed, "b": failed}


# -- a run's meeting point ---------------------------------------------------------------------


def test_notes_come_back_in_the_order_first_put_with_their_last_value(store):
    other = Store(store.folder)
    store.put("run", "score", "b", b"1")
    other.put("run", "score", "a", b"2")
    other.put("run", "score", "b", b"3")
    store.put("run", "other kind", "b", b"4")
    store.put("other run", "score", "b", b"5")
    assert list(store.scan("run", "score")) == [("b", b"3"), ("a", b"2")]
    assert store.get("run", "score", "a") == b"2"
    assert store.get("run", "score", "c") is None
    other.close()


def test_notes_are_found_and_counted_by_what_their_names_begin_with(store):
    for name in ("sum\x1fb", "sums\x1fa", "sum\x1fa", "sum\x1f\U0010fffe", "SUM\x1fa"):
        store.put("run", "score", name, name.encode())
    store.put("other run", "score", "sum\x1fa", b"")
    found = [name for name, _ in store.scan("run", "score", prefix="sum\x1f")]
    assert found == ["sum\x1fb", "sum\x1fa", "sum\x1f\U0010fffe"]
    assert store.count("run", "score", prefix="sum\x1f") == 3
    assert store.count("run", "score") == 5
    assert store.count("run", "other kind") == 0


def test_what_several_processes_settle_is_what_the_first_said(store):
    other = Store(store.folder)
    assert store.put_if_absent("run", "look", "a", b"1") == b"1"
    assert other.put_if_absent("run", "look", "a", b"2") == b"1"
    assert store.put_if_absent("other run", "look", "a", b"3") == b"3"
    assert other.get("run", "look", "a") == b"1"
    other.close()


def test_a_run_can_put_while_it_scans(store):
    for name in "abc":
        store.put("run", "score", name, b"")
    for name, _ in store.scan("run", "score"):
        store.put("run", "seen", name, b"")
    assert [name for name, _ in store.scan("run", "seen")] == ["a", "b", "c"]


def test_usage_adds_up_until_the_run_is_finished(store):
    store.add_usage("run", Usage(requests=1, prompt_tokens=2, completion_tokens=3))
    store.add_usage("run", Usage(requests=1))
    store.put("run", "score", "a", b"")
    assert store.usage("run") == Usage(requests=2, prompt_tokens=2, completion_tokens=3)
    store.finish_run("run")
    assert store.usage("run") == Usage()
    assert list(store.scan("run", "score")) == []


def test_runs_that_never_finished_are_forgotten_after_a_week(tmp_path, monkeypatch):
    def reopened():
        store = Store(tmp_path)
        found = store.get("killed", "score", "a")
        store.put("killed", "score", "a", b"here")
        store.close()
        return found

    assert [reopened(), reopened()] == [None, b"here"]
    now = time.time()
    monkeypatch.setattr(unpatched.time, "time", lambda: now + 7 * 24 * 3600 + 60)
    assert reopened() is None


def test_samples_that_are_too_old_are_missing_until_others_replace_them(store):
    store.add_completions("key", samples(0, 1, 2), **VARIANT)
    began = time.time()
    since = {"key": began}
    assert store.missing({"key": 3, "other": 1}, since=since) == {"key": [0, 1, 2], "other": [0]}
    assert store.missing({"key": 3}) == {"key": []}
    store.add_completions("key", [replace(samples(1)[0], text="new")], since=began, **VARIANT)
    assert store.missing({"key": 3}, since=since) == {"key": [0, 2]}
    assert [each.text for each in store.completions("key", 3, since=began)] == ["new"]
    texts = [each.text for each in store.completions("key", 3)]
    assert (len(texts), texts[1]) == (3, "new")
    assert store.oldest(["key"], since=began) >= began > store.oldest(["key"])
