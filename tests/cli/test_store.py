from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import closing

import pytest

from pytest_promptse.cli._store import add_parser
from pytest_promptse.errors import SettingsError, StoreError
from pytest_promptse.models._base import Completion, Decoding, Prompt, Request, Usage
from pytest_promptse.models._replay import ReplayBackend
from pytest_promptse.sandbox.guest import unpatched
from pytest_promptse.store._store import Store, StoredVerdict

DAY = 24 * 3600


@pytest.fixture
def promptse():
    """Run ``promptse`` with the store's commands."""
    parser = argparse.ArgumentParser(prog="promptse")
    add_parser(parser.add_subparsers(required=True))

    def run(*arguments):
        chosen = parser.parse_args([str(argument) for argument in arguments])
        return chosen.func(chosen)

    return run


def add(store, key, *, model="openai:new", task="task", text="return 1", **changed):
    completions = [
        Completion(index=index, text=f"{text} # {index}", n_tokens=5, logprob=-1.5)
        for index in range(3)
    ]
    variant = {
        "usage": Usage(requests=1, prompt_tokens=1000, completion_tokens=15),
        "model": model,
        "prompt": Prompt(user=f"Write `{task}()`.", system="Be brief."),
        "decoding": Decoding(),
        "task_id": task,
        "variant_id": "original",
        "seed": 1,
        "form": "chat",
    }
    store.add_completions(key, completions, **variant | changed)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store with answers and verdicts of an old model and a new one."""
    folder = tmp_path / "kept"
    now = time.time()
    with closing(Store(folder)) as store, monkeypatch.context() as patched:
        patched.setattr(unpatched.time, "time", lambda: now - 40 * DAY)
        add(store, "old", model="openai:old")
        store.add_verdict("check", "old", StoredVerdict(cause="", detail="", seconds=0.1))
        patched.setattr(unpatched.time, "time", lambda: now)
        add(store, "new")
        add(store, "newer", task="other")
        store.add_verdict("check", "new", StoredVerdict(cause="", detail="", seconds=0.1))
    return folder


def left(folder):
    with closing(Store(folder)) as store:
        missing = store.missing({"old": 3, "new": 3, "newer": 3})
        return [key for key, gaps in missing.items() if not gaps], list(
            store.verdicts("check", ["old", "new"])
        )


def test_info_tells_what_each_model_answered_and_what_it_cost(promptse, folder, capsys):
    assert promptse("store", "info", "--store", folder) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "promptse.db: " in shown[0]
    rows = {line.split()[0]: line.split()[1:6] for line in shown[2:4]}
    assert rows == {
        "openai:new": ["2", "6", "2", "2,000", "30"],
        "openai:old": ["1", "3", "1", "1,000", "15"],
    }
    assert shown[4] == "2 verdicts"


def test_prune_by_age_throws_away_old_completions_and_verdicts(promptse, folder, capsys):
    assert promptse("store", "prune", "--store", folder, "--older-than", 30) == 0
    assert capsys.readouterr().out == "removed 3 completions of 1 variants and 1 verdicts\n"
    assert left(folder) == (["new", "newer"], ["new"])


def test_prune_by_model_keeps_verdicts(promptse, folder):
    assert promptse("store", "prune", "--store", folder, "--model", "openai:new") == 0
    kept, verdicts = left(folder)
    assert kept == ["old"]
    assert set(verdicts) == {"old", "new"}


def test_a_dry_run_only_says_what_would_go(promptse, folder, capsys):
    promptse("store", "prune", "--store", folder, "--older-than", 0, "--dry-run")
    shown = capsys.readouterr().out
    assert shown == "would remove 9 completions of 3 variants and 2 verdicts\n"
    assert left(folder)[0] == ["old", "new", "newer"]


def test_prune_gives_the_space_back(promptse, folder):
    with closing(Store(folder)) as store:
        add(store, "big", text="x" * 1_000_000)
    before = (folder / "promptse.db").stat().st_size
    promptse("store", "prune", "--store", folder, "--older-than", 0)
    assert (folder / "promptse.db").stat().st_size < before / 10


def test_prune_without_a_criterion_is_refused(promptse, folder):
    with pytest.raises(SettingsError, match="--older-than DAYS, --model NAME or --verdicts"):
        promptse("store", "prune", "--store", folder)
    with pytest.raises(SettingsError, match="--older-than -1: give days from 0 up"):
        promptse("store", "prune", "--store", folder, "--older-than", -1)
    assert left(folder)[0] == ["old", "new", "newer"]


def test_prune_leaves_a_store_alone_that_a_run_is_using(promptse, folder):
    with (
        closing(Store(folder)) as store,
        pytest.raises(StoreError, match="is in use by a run; prune it when that has ended"),
    ):
        promptse("store", "prune", "--store", folder, "--older-than", 0)
    assert store.folder == folder
    assert left(folder)[0] == ["old", "new", "newer"]


@pytest.mark.parametrize("command", [["info"], ["prune", "--older-than", "1"], ["export"]])
def test_where_there_is_no_store_none_is_made(promptse, tmp_path, command):
    with pytest.raises(StoreError, match=r"there is no store in .*name its folder with --store"):
        promptse("store", *command, "--store", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_an_export_can_be_replayed(promptse, folder, tmp_path):
    output = tmp_path / "samples.jsonl"
    arguments = ("--store", folder, "--model", "openai:new", "--output", output)
    assert promptse("store", "export", *arguments) == 0

    async def replay():
        backend = ReplayBackend(f"replay:{output}", output)
        capabilities = await backend.start()
        ask = Request(
            prompt=Prompt(user="Write `other()`."),
            decoding=Decoding(),
            n=2,
            first=1,
            task_id="other",
        )
        answer = await backend.complete(ask)
        await backend.close()
        return capabilities.form, answer.completions

    with closing(Store(folder)) as store:
        assert asyncio.run(replay()) == ("chat", store.completions("newer", 3)[1:])


@pytest.mark.parametrize("form", ["replay", "store"])
def test_an_export_of_a_model_that_the_store_lacks_is_refused(promptse, folder, tmp_path, form):
    output = tmp_path / "kept.jsonl"
    with pytest.raises(StoreError, match=r"--model 'openai:odl' .*did you mean 'openai:old'.*info"):
        promptse(
            *("store", "export", "--store", folder, "--model", "openai:odl"),
            *("--format", form, "--output", output),
        )
    assert not output.exists()


def test_an_export_says_where_each_completion_came_from(promptse, folder, capsys):
    promptse("store", "export", "--store", folder, "--model", "openai:old")
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["model"] == "openai:old"
    assert first["prompt"] == "Write `task()`."
    assert (first["temperature"], first["max_tokens"], first["seed"]) == (0.2, 512, 1)


def test_an_export_that_cannot_be_replayed_says_so(promptse, folder, capsys):
    assert promptse("store", "export", "--store", folder) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 9
    assert "1 variants occur several times" in shown.err
    assert "--model" in shown.err


def test_an_output_that_cannot_be_written_is_named(promptse, folder, tmp_path):
    with pytest.raises(StoreError, match=r"no/where' cannot be written"):
        promptse("store", "export", "--store", folder, "--output", tmp_path / "no" / "where")


def test_prune_can_forget_verdicts_and_keep_what_was_paid_for(promptse, folder, capsys):
    assert promptse("store", "prune", "--store", folder, "--verdicts") == 0
    assert capsys.readouterr().out == "removed 2 verdicts\n"
    assert left(folder) == (["old", "new", "newer"], [])


def test_forgetting_verdicts_goes_with_no_other_criterion(promptse, folder):
    with pytest.raises(SettingsError, match="use it alone"):
        promptse("store", "prune", "--store", folder, "--verdicts", "--older-than", 1)
