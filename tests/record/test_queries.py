"""Queries over a record, which the summary and all reports use."""

from __future__ import annotations

from record_builders import make_task

from pytest_promptse.record._queries import causes, losses


def test_every_template_has_its_worst_variant_among_the_most_harmful():
    tasks = [
        make_task("one", 1.0, {0.1: [0.0, 0.0, 0.1]}, template="terse"),
        make_task("two", 1.0, {0.1: [0.0, 0.2]}, template="terse"),
        make_task("one", 1.0, {0.1: [0.9, 0.8]}, template="friendly"),
        make_task("one", 1.0, {0.1: [1.0]}, template="stable"),
    ]
    found = losses(tasks, most=3)
    assert found.n == 7
    assert [(loss.task.template, loss.task.id, loss.change) for loss in found.worst] == [
        ("terse", "one", -1.0),
        ("terse", "two", -1.0),
        ("friendly", "one", 0.8 - 1.0),
    ]
    assert [loss.place for loss in losses(tasks, most=1).worst] == [0, 2]


def test_all_samples_of_a_distance_are_counted():
    tasks = [make_task(name, 1.0, {0.1: [0.0, 0.5], 0.3: [1.0]}, n=8) for name in ("one", "two")]
    assert [(at.distance, at.n) for at in causes(tasks)] == [(0.0, 16), (0.1, 32), (0.3, 16)]
