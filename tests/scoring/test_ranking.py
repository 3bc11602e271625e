"""A ranking compares every pair over their common tasks and marks significant differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.scoring._pairing import RecordedPrompt, RecordedTask
from pytest_promptse.scoring._ranking import pareto, rank

DISTANCES = (0.1, 0.2, 0.3)


def task(name, original, variant, *, distances=DISTANCES):
    def prompt(rate, distance=0.0):
        return RecordedPrompt(distance=distance, n=8, pass_rate=rate, score=rate, excess=0.0)

    return RecordedTask(
        task_id=name,
        original=prompt(original),
        variants={f"d{d}-0": prompt(variant, d) for d in distances},
    )


def run(rates, *, variants=None):
    return [
        task(f"t{i:02}", rate, rate if variants is None else variants[i])
        for i, rate in enumerate(rates)
    ]


def ranking(runs, prices=None):
    found = rank(
        runs, mode="promptse", distances=DISTANCES, prices=prices or dict.fromkeys(runs), seed=0
    )
    assert found is not None
    return found


def difference(found, metric, name, other):
    [one] = [
        d for d in found.differences if (d.metric, {d.name, d.other}) == (metric, {name, other})
    ]
    return one


def test_templates_are_ordered_by_what_they_solve():
    found = ranking({"low": run([0.2] * 12), "high": run([0.9] * 12), "mid": run([0.5] * 12)})
    assert [one.name for one in found.ranked] == ["high", "mid", "low"]
    assert found.ranked[0].figures["pass_at_1"] == pytest.approx(0.9)


def test_what_always_differs_is_real_and_what_goes_both_ways_is_not():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.3, 0.7, 14)
    other = base + np.resize([0.1, -0.1], 14)
    found = ranking({"a": run(base), "b": run(base - 0.25), "c": run(other)})
    assert difference(found, "pass_at_1", "a", "b").significant
    assert difference(found, "pass_at_1", "a", "b").better == "a"
    assert not difference(found, "pass_at_1", "a", "c").significant
    low, high = difference(found, "pass_at_1", "a", "c").ci95
    assert low < 0 < high


def test_of_excess_less_is_better():
    rates = [0.9] * 12
    steady, shaky = run(rates), run(rates, variants=[0.1 + i / 100 for i in range(12)])
    found = ranking({"steady": steady, "shaky": shaky})
    assert difference(found, "auc_e", "steady", "shaky").better == "steady"
    assert difference(found, "auc_e", "steady", "shaky").significant


def test_the_p_value_is_exact_where_the_flips_can_be_counted():
    a, b = [0.9, 0.8, 0.5, 0.7, 0.6], [0.5, 0.6, 0.6, 0.3, 0.4]
    found = ranking({"a": run(a), "b": run(b)})
    gaps = np.array(a) - np.array(b)
    flipped = [abs(np.mean(gaps * signs)) for signs in product((-1, 1), repeat=5)]
    exact = np.mean(np.array(flipped) >= abs(gaps.mean()) - 1e-12)
    assert difference(found, "pass_at_1", "a", "b").p_value == pytest.approx(exact)


@pytest.mark.parametrize(("n", "real"), [(6, False), (7, True)])
def test_so_many_tasks_are_needed_before_anything_is_real(n, real):
    # Two templates: three differences, of which two are none.
    found = ranking({"a": run([1.0] * n), "b": run([0.125] * n)})
    assert found.fewest == 7
    assert any(one.significant for one in found.differences) is real


def test_one_task_has_an_interval_and_no_test():
    found = ranking({"a": run([1.0]), "b": run([0.5])})
    one = difference(found, "pass_at_1", "a", "b")
    assert one.ci95 is not None
    assert one.p_value is None
    assert not one.significant


def test_only_what_all_have_is_compared():
    whole = run([1.0, 0.0])
    found = ranking({"a": whole, "b": whole[:1], "c": whole})
    assert found.n_tasks == 1
    assert all(one.figures["pass_at_1"] == 1.0 for one in found.ranked)


def test_without_a_common_task_there_is_no_ranking():
    runs = {"a": [task("x", 1, 1)], "b": [task("y", 1, 1)]}
    assert rank(runs, mode="light", distances=DISTANCES, prices=dict.fromkeys(runs)) is None


def test_a_price_takes_part_where_all_have_one():
    runs = {"dear": run([1.0] * 3), "cheap": run([0.5] * 3)}
    assert [one.pareto for one in ranking(runs).ranked] == [True, False]
    prices = {"dear": 3.0, "cheap": 1.0}
    assert [one.pareto for one in ranking(runs, prices).ranked] == [True, True]
    assert [one.pareto for one in ranking(runs, {**prices, "cheap": None}).ranked] == [True, False]


POINTS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=6)


@given(POINTS)
def test_someone_is_always_in_the_pareto_set_and_it_dominates_the_rest(points):
    best = pareto(points)
    kept = [point for point, own in zip(points, best, strict=True) if own]
    assert kept
    for point, own in zip(points, best, strict=True):
        if not own:
            assert any(
                all(a >= b for a, b in zip(other, point, strict=True)) and other != point
                for other in kept
            )
