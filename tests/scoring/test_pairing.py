"""Runs are compared over the tasks and prompts that all of them have."""

from __future__ import annotations

from pytest_promptse.scoring._pairing import Pairs, RecordedPrompt, RecordedTask, is_solved, shared


def prompt(rate=1.0):
    return RecordedPrompt(n=8, pass_rate=rate, score=rate)


def task(name, *variants, original=True, rate=1.0):
    return RecordedTask(
        task_id=name,
        original=prompt(rate) if original else None,
        variants={variant: prompt() for variant in variants},
    )


def outline(tasks):
    return {one.task_id: list(one.variants) for one in tasks}


def test_a_pair_is_reduced_to_common_prompts_and_lists_the_others():
    pairs = Pairs.of(
        [task("b", "v2", "v1", "v3"), task("c"), task("a")],
        [task("d"), task("a", "v9"), task("b", "v1", "v4", "v2")],
    )
    assert [outline(pair) for pair in pairs.tasks] == [{"a": []}, {"b": ["v1", "v2"]}]
    assert [[list(one.variants) for one in pair] for pair in pairs.tasks] == [
        [[], []],
        [["v1", "v2"]] * 2,
    ]
    assert (pairs.tasks_only_current, pairs.tasks_only_baseline) == (("c",), ("d",))
    assert pairs.variants_only_current == (("b", "v3"),)
    assert pairs.variants_only_baseline == (("a", "v9"), ("b", "v4"))


def test_several_runs_share_the_tasks_with_an_original_in_each():
    runs = [
        [task("b", "v1", "v2"), task("a", "v1"), task("c")],
        [task("a"), task("b", "v2", "v3"), task("c", original=False)],
        [task("b", "v2", "v1"), task("a", "v1"), task("c"), task("d")],
    ]
    assert [outline(run) for run in shared(runs)] == [{"a": [], "b": ["v2"]}] * 3
    assert [list(outline(run)) for run in shared(runs)] == [["a", "b"]] * 3


def test_a_run_is_solved_if_a_sample_of_any_original_passes():
    assert is_solved([task("a", rate=0.0), task("b", rate=0.125)])
    assert not is_solved([task("a", "v1", rate=0.0), task("b", original=False)])
