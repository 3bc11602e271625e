"""Variants in files: written, read, frozen and refused."""

from __future__ import annotations

import dataclasses
import json

import msgspec
import pytest

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._audit import audit
from pytest_promptse.variants._distance import compare
from pytest_promptse.variants._files import folder_of, load_frozen, write
from pytest_promptse.variants._generate import Selection, generate, rewriter_named
from pytest_promptse.variants._library_files import load_library

TASK = Task(
    id="Shop/total", prompt="Write `total(cart)`. It returns the sum of all the prices in the cart."
)


@pytest.fixture(scope="module")
def variants():
    return generate(TASK, Selection(per_distance=2)).variants


def test_variants_come_back_as_they_were_written(tmp_path, variants):
    write(tmp_path, TASK, variants)
    assert load_frozen(tmp_path, TASK) == variants


def test_files_lie_by_data_set_task_and_distance_and_are_plain_json_lines(tmp_path, variants):
    paths = write(tmp_path, TASK, variants)
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "Shop/total/original.json",
        "Shop/total/d0.1.jsonl",
        "Shop/total/d0.2.jsonl",
        "Shop/total/d0.3.jsonl",
    ]
    first = json.loads(paths[1].read_text().splitlines()[0])
    assert first["id"] == variants[0].id
    assert first["text"] == variants[0].text
    assert {"emotion", "personality", "context", "measured_distance", "seed"} <= first.keys()
    assert json.loads(paths[0].read_text())["prompt"] == TASK.prompt


def test_ids_that_a_path_cannot_hold_stay_apart(tmp_path):
    folders = {folder_of(tmp_path, task_id) for task_id in ("a b", "a-b", "a?b", "../a", "x/../a")}
    assert len(folders) == 5
    assert all(tmp_path in folder.resolve().parents for folder in folders)


def test_a_frozen_file_whose_original_has_changed_is_refused_by_name(tmp_path, variants):
    write(tmp_path, TASK, variants)
    changed = dataclasses.replace(TASK, prompt=TASK.prompt + " It rounds.")
    with pytest.raises(
        VariantError, match=r"d0\.1\.jsonl:1: the original of task 'Shop/total' has changed"
    ):
        load_frozen(tmp_path, changed)


def test_a_task_that_was_not_frozen_is_named(tmp_path):
    with pytest.raises(VariantError, match="'Shop/total': no variants in"):
        load_frozen(tmp_path, TASK)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not a variant: .*truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"text": "x"}', "required field `task_id`"),
        (
            '{"task_id": 1, "text": "x", "distance": 0.1, "index": 0}',
            r"Expected `str`, got `int` - at `\$.task_id`",
        ),
    ],
)
def test_a_line_that_is_no_variant_is_named_by_file_and_line(tmp_path, variants, line, message):
    path = write(tmp_path, TASK, variants)[1]
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(VariantError, match=rf"d0\.1\.jsonl:3: .*{message}"):
        load_frozen(tmp_path, TASK)


def problems(root):
    return [problem for _, problem in audit(root, load_library()) if problem]


def test_an_audit_of_what_was_made_finds_nothing(tmp_path, variants):
    write(tmp_path, TASK, variants)
    write(tmp_path, dataclasses.replace(TASK, id="Shop/other"), variants)
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    "control", ["original", "typos", "case", "whitespace", "polite", "neutral"]
)
def test_an_audit_of_a_control_condition_knows_what_that_condition_breaks_by_design(
    tmp_path, control
):
    write(
        tmp_path,
        TASK,
        generate(TASK, Selection(per_distance=2), rewriter=rewriter_named(control)).variants,
    )
    assert problems(tmp_path) == []


def test_an_audit_finds_what_was_edited_by_hand(tmp_path, variants):
    path = write(tmp_path, TASK, variants)[1]
    path.write_text(path.read_text().replace("total(cart)", "total(basket)", 1))
    (problem,) = problems(tmp_path)
    assert "total(cart)" in problem


def test_an_audit_accepts_the_librarys_sentences_in_files_by_hand(tmp_path):
    task = Task(id="ticket", prompt="Write `total(cart)`. It returns the sum of all the prices.")
    talk = "I've run the support desk for years."
    text = f"{talk} {task.prompt}"
    made = generate(task, Selection(per_distance=1)).variants[0]
    by_hand = msgspec.structs.replace(
        made, text=text, rewriter="hand", measured_distance=compare(task.prompt, text).distance
    )
    write(tmp_path, task, [by_hand])
    assert problems(tmp_path) == []


def test_an_audit_takes_a_file_by_another_tool_with_the_least_a_line_needs(tmp_path):
    write(tmp_path, TASK, ())
    record = {"task_id": TASK.id, "text": "Hello there, dear friends! " + TASK.prompt,
              "distance": 0.1, "index": 0, "measured_distance": 0.05}  # fmt: skip
    (folder_of(tmp_path, TASK.id) / "d0.1.jsonl").write_text(json.dumps(record) + "\n")
    assert problems(tmp_path) == []
