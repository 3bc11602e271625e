"""Tasks of a copy of MultiPL-E are read, and bad ones are named by their line."""

from __future__ import annotations

import json

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks import multipl_e

LINE = {
    "name": "Mine_0_add",
    "language": "rs",
    "prompt": "/// Add two numbers.\nfn add(a: isize, b: isize) -> isize {\n",
    "doctests": "keep",
    "tests": "}\n\nfn main() {\n    assert_eq!(add(1, 2), 3);\n}\n",
    "stop_tokens": ["\n}"],
}


@pytest.fixture
def write(tmp_path):
    def write_lines(*lines, text=None):
        path = tmp_path / "copy.jsonl"
        path.write_text(text or "\n".join(map(json.dumps, lines)), encoding="utf-8")
        return path

    return write_lines


def test_a_task_has_the_name_of_its_function_and_the_language(write):
    (task,) = multipl_e.tasks(write(LINE))
    assert (task.id, task.entry_point, task.language) == ("Mine_0_add", "add", "rust")
    assert task.reference is None
    assert task.reached_by("program") == "tests"


def test_an_array_is_read_as_lines_are(write):
    path = write(text=json.dumps([LINE, LINE | {"name": "other"}], indent=2))
    assert [task.id for task in multipl_e.tasks(path)] == ["Mine_0_add", "other"]
    assert [task.id for task in multipl_e.tasks(path, only=["other"])] == ["other"]


@pytest.mark.parametrize(
    "answer",
    [
        "    a + b\n",
        "    a + b\n}\n\nfn other() {\n}\n",
        "fn add(a: isize, b: isize) -> isize {\n    a + b\n}\n\nfn main() {}\n",
        "// fn add(\nfn add(a: isize, b: isize) -> isize {\n    a + b\n}\n",
    ],
)
def test_the_whole_program_has_one_function_and_the_tests(write, answer):
    (task,) = multipl_e.tasks(write(LINE))
    whole = task.whole(answer)
    assert whole.startswith("/// Add two numbers.\n")
    assert whole.endswith(f"{{\n    a + b\n{LINE['tests']}")
    assert whole.count("fn main") == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"language": "java"}, "'java' is not one of sh, cpp"),
        ({"language": "py"}, "'py' is not one of"),
        ({"prompt": "Add two numbers."}, "not a signature"),
        ({"stop_tokens": "}"}, "'stop_tokens' must be a list of texts"),
        ({"tests": None}, "'tests' must be text, not NoneType"),
    ],
)
def test_a_bad_line_is_named_by_number(write, changes, message):
    with pytest.raises(TaskError, match=rf"copy.jsonl:1: .*{message}"):
        list(multipl_e.tasks(write(LINE | changes)))


def test_the_digest_of_the_check_depends_on_the_tests(write):
    (task,) = multipl_e.tasks(write(LINE))
    (other,) = multipl_e.tasks(write(LINE | {"tests": LINE["tests"] + "\n"}))
    assert task.check_digest != other.check_digest
