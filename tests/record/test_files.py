from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from pytest_promptse.errors import RecordError
from pytest_promptse.record._files import CompressedTasks, baseline_command, is_path, write
from pytest_promptse.record._schema import Record
from pytest_promptse.reports._escaping import escaped


def test_tasks_come_out_as_they_went_in(record):
    tasks = [*record.tasks, replace(record.tasks[0], id="é ⚑", auc_e=0.1 + 0.2)]
    packed = CompressedTasks(tasks[:1])
    for task in tasks[1:]:
        packed.append(task)
    assert list(packed) == tasks
    assert list(packed) == tasks, "a second time too"
    assert len(packed) == len(tasks)
    assert packed[-1] == tasks[-1]
    assert packed[1:] == tasks[1:]
    assert math.isclose(packed[-1].auc_e, 0.3)


def test_a_place_that_there_is_not_is_refused(record):
    with pytest.raises(IndexError):
        CompressedTasks(record.tasks)[len(record.tasks)]


def test_what_acts_is_written_out_in_packed_tasks_too(record):
    acting = replace(record.tasks[0], id="\x1b[31m")
    shown = escaped(replace(record, tasks=CompressedTasks([acting, *record.tasks])))
    assert [task.id for task in shown.tasks] == ["\\x1b[31m", *(t.id for t in record.tasks)]


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("main", "pytest … --promptse-save main"),
        ("runs/main", "pytest … --promptse-report json:runs/main"),
        ("main.json", "pytest … --promptse-report json:main.json"),
    ],
)
def test_a_baseline_is_a_path_if_it_has_a_slash_or_the_suffix(given, command):
    assert baseline_command(given) == command
    assert is_path(given) == ("report" in command)


def test_a_record_is_written_into_new_folders_and_replaces_a_file(record, tmp_path):
    path = tmp_path / "new/folder/run.json"
    write(replace(record, tasks=[]), path)
    write(record, path)
    write(record, path)
    assert Record.load(path) == record


def test_a_record_that_cannot_be_written_is_one_line(record, tmp_path):
    with pytest.raises(RecordError, match=r"^report json:.*: Is a directory$"):
        write(record, tmp_path)
