"""What items are named after, and which of them are made."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from planned_suites import plan

from pytest_promptse.errors import TaskError
from pytest_promptse.plugin._checks import TASK
from pytest_promptse.plugin._targets import (
    TARGET,
    IdParts,
    ItemTarget,
    NodeIds,
    needed_by,
    targets_of,
    task_of,
    unselected,
)

ALL = NodeIds(None)
PLAIN = IdParts(model=False, template=False, task=False)


def targets(*suites, parts=PLAIN, given=ALL):
    return [target for suite in suites for target in targets_of(suite, parts, given)]


def small(**values):
    return plan(**{"variants": 1, "distances": "0.1,0.3", "samples": 2} | values)


@pytest.mark.parametrize(
    ("suites", "expected"),
    [
        ([{}], (False, False)),
        ([{}, {"planned_model": "fake:other"}], (True, False)),
        ([{}, {"planned_template": "polite"}], (False, True)),
    ],
)
def test_an_id_has_the_parts_that_tell_items_apart(suites, expected):
    keys = [
        SimpleNamespace(
            key=SimpleNamespace(
                model=one.get("planned_model", "m"), template=one.get("planned_template")
            )
        )
        for one in suites
    ]
    for task in (True, False):
        assert IdParts.needed_for(keys, task=task) == (*expected, task)


def test_an_id_joins_the_needed_parts_and_the_name():
    suite = small(min_auc_e=0.9)
    [variant] = [one for one in suite.variants if one.distance == 0.1]
    gate = suite.gates[-1]
    parts = IdParts(model=True, template=True, task=True)
    assert PLAIN.id_of(suite, variant) == variant.outline.id
    assert parts.id_of(suite, variant) == f"fake:model-inc-{variant.outline.id}"
    assert PLAIN.id_of(suite, gate) == gate.name
    assert parts.id_of(suite, gate) == f"fake:model-{gate.name}"
    of_task = small(min_task_auc_e=0.5).gates[0]
    assert PLAIN.id_of(suite, of_task) == f"inc-{of_task.name}"


def test_a_suite_has_items_for_variants_controls_gates_and_its_comparison():
    suite = small(control="neutral", compare="main")
    found = targets(suite)
    n_gates = len(suite.gates)
    assert [target.subject for target in found[:3]] == list(suite.variants)
    assert [target.subject for target in found[3:5]] == list(suite.controls)
    assert [target.subject for target in found[5 : 5 + n_gates]] == list(suite.gates)
    assert [target.subject for target in found[5 + n_gates :]] == [suite.comparison]
    assert [target.task.id for target in found[:5]] == ["inc"] * 5
    assert {target.task for target in found[5:]} == {None}


def test_the_gate_of_a_task_has_its_task_and_an_item_needs_its_variants():
    suite = small(tasks=["inc", "dec"], min_task_auc_e=0.5)
    gate = next(target for target in targets(suite) if getattr(target.subject, "task", "") == "dec")
    assert isinstance(gate, ItemTarget)
    assert gate.task is suite.tasks[1]
    assert {variant.task.id for variant in gate.needed()} == {"dec"}
    original = targets(suite)[0]
    assert original.needed() == (original.subject,)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["test_a.py::test_a[x]"], "test_a.py::test_a[x]"),
        (["test_a.py::test_a[x]", "test_b.py::t[y]"], "test_a.py::test_a[x]\ntest_b.py::t[y]"),
        (["test_a.py::test_a"], None),
        (["test_a.py::test_a[x]", "test_b.py"], None),
        (["folder[x]"], None),
    ],
)
def test_only_ids_of_single_items_limit_what_is_made(arguments, text):
    assert NodeIds.given_to(SimpleNamespace(args=arguments)).text == text


@pytest.mark.parametrize(
    ("part", "contained"),
    [("test_a", True), ("other", False), ("ü", True), ("a\\b", True), ("a\nb", True)],
)
def test_a_part_that_pytest_may_escape_can_be_in_any_id(part, contained):
    assert NodeIds("test_a.py::test_a[x]").may_contain(part) == contained
    assert ALL.may_contain(part)


def test_items_that_are_not_given_are_not_made():
    suite = small(tasks=["inc", "dec"], min_auc_e=0.9)
    [variant] = [p for p in suite.variants if p.task.id == "dec" and p.distance == 0.3]
    given = NodeIds(f"test_a.py::test_a[dec-{variant.outline.id}]")
    assert [target.subject for target in targets(suite, given=given)] == [variant]
    given = NodeIds("test_a.py::test_a[auc-e]")
    assert [target.id for target in targets(suite, given=given)] == ["auc-e"]


def test_each_needed_variant_is_listed_once_and_the_others_are_counted():
    suite, other = small(control="neutral"), small(suite_id="other")
    found = targets(suite, other)
    originals = [target for target in found if getattr(target.subject, "distance", None) == 0.0]
    controls = [target for target in found if getattr(target.subject, "control", False)]
    assert [variant for _, variant in needed_by([*originals, *originals])] == [
        target.subject for target in originals
    ]
    assert unselected(found) == (0, 6)
    # Controls are no variants of a suite.
    assert unselected([originals[0], *controls]) == (2, 3)


def test_the_task_of_an_item_is_that_of_the_program_that_it_judges():
    item = SimpleNamespace(nodeid="test_a.py::test_a", stash=pytest.Stash())
    with pytest.raises(TaskError, match=r"^test_a\.py::test_a: takes 'task' but has no"):
        task_of(item)
    suite = small(tasks=["one", "two"], min_auc_e=0.9)
    subjects = (suite.variants[-1], suite.gates[-1])
    variant, gate = (
        next(target for target in targets(suite) if target.subject is subject)
        for subject in subjects
    )
    item.stash[TARGET] = variant
    assert task_of(item) is suite.tasks[1]
    # A gate judges the programs of several tasks, one after the other.
    item.stash[TARGET] = gate
    assert task_of(item) is suite.tasks[0]
    item.stash[TASK] = suite.tasks[1]
    assert task_of(item) is suite.tasks[1]
