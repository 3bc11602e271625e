from __future__ import annotations

import json
import stat
import subprocess

import pytest

from pytest_promptse.compare._baseline import Baselines
from pytest_promptse.errors import NoBaselineError, RecordError
from pytest_promptse.record._files import encode
from pytest_promptse.record._schema import (
    SCHEMA,
    Record,
    UsageRecord,
)
from pytest_promptse.store._store import Store


@pytest.fixture
def record() -> Record:
    return Record(
        schema=SCHEMA,
        tool={"name": "pytest-promptse", "version": "1"},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        environment={},
        git=None,
        settings={"price": (0.4, 1.6)},
        models=[],
        suites=[],
        tasks=[],
        usage=UsageRecord(requests=5, prompt_tokens=10, completion_tokens=20, cost=None, cached=3),
        errors=[],
    )


@pytest.fixture
def baselines(tmp_path) -> Baselines:
    return Baselines(tmp_path, here=tmp_path / "here")


def test_what_was_saved_under_a_name_is_found_under_it(baselines, record, tmp_path):
    path = baselines.save("main", record)
    assert path == tmp_path / ".promptse" / "baselines" / "main.json"
    assert list(encode(baselines.load("main"))) == list(encode(record))


@pytest.mark.parametrize("path", ["../run.json", "./../run.json", "run.json", "sub/run"])
def test_a_slash_or_json_makes_it_a_path(baselines, record, tmp_path, path):
    file = (tmp_path / "here" / path).resolve()
    (tmp_path / "here" / "sub").mkdir(parents=True)
    file.write_bytes(b"".join(encode(record)))
    assert baselines.load(path).finished == record.finished
    assert baselines.load(str(file)).finished == record.finished


def test_saving_replaces_and_leaves_nothing_else_behind(baselines, record, tmp_path):
    baselines.save("main", record)
    path = baselines.save("main", record)
    assert list(path.parent.iterdir()) == [path]


def test_a_baseline_may_be_read_by_whoever_may_read_the_project(baselines, record, tmp_path):
    (tmp_path / "any").write_text("")
    allowed = stat.S_IMODE((tmp_path / "any").stat().st_mode)
    assert stat.S_IMODE(baselines.save("main", record).stat().st_mode) == allowed


def test_a_failed_save_keeps_the_old_baseline(baselines, record, monkeypatch):
    path = baselines.save("main", record)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RecordError, match=r"--promptse-save main: .*main\.json: No space left"):
        baselines.save("main", record)
    assert [found.read_bytes() for found in path.parent.iterdir()] == [before]


def test_a_missing_baseline_names_the_command_that_makes_it(baselines):
    with pytest.raises(NoBaselineError, match=r"pytest … --promptse-save main$"):
        baselines.load("main")
    with pytest.raises(NoBaselineError, match=r"pytest … --promptse-report json:old/run\.json$"):
        baselines.load("old/run.json")


def test_a_misspelt_name_gets_the_nearest_one(baselines, record):
    baselines.save("release", record)
    with pytest.raises(NoBaselineError, match="did you mean 'release'"):
        baselines.load("relaese")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a result record"),
        ("[]", "is not a result record"),
        ('{"a": 1}', "is not a result record"),
        ('{"schema": 1}', "is not a result record"),
        ('{"schema": "coverage/2"}', "is not a result record but 'coverage/2'"),
        (
            '{"schema": "promptse.run/9"}',
            r"is a record of schema version 9, and this version .* reads 1",
        ),
        (json.dumps({"schema": SCHEMA}), "is a damaged result record: .*missing"),
    ],
)
def test_a_file_that_cannot_be_compared_is_named_with_the_remedy(baselines, record, text, said):
    path = baselines.save("main", record)
    path.write_text(text)
    with pytest.raises(RecordError, match=rf"main\.json {said}.*--promptse-save main$") as caught:
        baselines.load("main")
    assert not isinstance(caught.value, NoBaselineError)


def test_a_baseline_that_is_a_folder_is_refused(baselines, tmp_path):
    (tmp_path / ".promptse" / "baselines" / "main.json").mkdir(parents=True)
    with pytest.raises(RecordError, match=r"main\.json: Is a directory"):
        baselines.load("main")


def test_git_takes_baselines_and_nothing_else_of_the_store(baselines, record, tmp_path):
    Store(tmp_path / ".promptse").close()
    baselines.save("main", record)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = subprocess.run(
        ["git", "-C", tmp_path, "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert listed.stdout.split() == [".promptse/baselines/main.json"]
