"""A ranking orders entries by drop, and separates what its simultaneous intervals separate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from pytest_promptse.config._metrics import METRICS, compared_metrics
from pytest_promptse.scoring._pairing import RecordedPrompt, RecordedTask
from pytest_promptse.scoring._ranking import Gaps, Price, pareto, rank
from pytest_promptse.scoring._task_drop import rate_variance

DISTANCES = (0.1, 0.2, 0.3)


def task(name, original, variant, *, n=64):
    def prompt(rate, distance=0.0):
        return RecordedPrompt(distance=distance, n=n, pass_rate=rate, score=rate, excess=0.0)

    return RecordedTask(
        task_id=name,
        original=prompt(original),
        variants={f"d{d}-0": prompt(variant, d) for d in DISTANCES},
    )


def run(rates, *, drops=None):
    drops = np.zeros(len(rates)) if drops is None else drops
    return [
        task(f"t{i:02}", rate, rate - drop)
        for i, (rate, drop) in enumerate(zip(rates, drops, strict=True))
    ]


def ranking(runs, prices=None):
    return rank(runs, mode="promptse", distances=DISTANCES, prices=prices, seed=0)


def difference(found, metric, name, other):
    [pair] = [
        d for d in found.differences if (d.metric, {d.name, d.other}) == (metric, {name, other})
    ]
    return pair


def around(mean, n, spread=0.01):
    return mean + np.resize([spread, -spread], n)


def test_the_lowest_drop_is_first_and_taken():
    base = np.linspace(0.6, 0.9, 20)
    found = ranking(
        {
            "shaky": run(base, drops=around(0.3, 20)),
            "steady": run(base, drops=around(0.0, 20)),
            "middling": run(base, drops=around(0.15, 20)),
        }
    )
    assert [entry.name for entry in found.entries] == ["steady", "middling", "shaky"]
    # The others solve fewer variants as well, since they solve as many originals.
    assert [entry.standing for entry in found.entries] == ["first", "solves fewer", "solves fewer"]
    assert found.choice == "steady"
    assert difference(found, "drop", "steady", "shaky").better == "steady"


def test_who_solves_nothing_loses_nothing_and_is_not_first():
    found = ranking(
        {"idle": run(np.zeros(20)), "good": run(np.full(20, 0.9), drops=around(0.05, 20))}
    )
    assert [entry.name for entry in found.entries] == ["good", "idle"]
    assert found.entries[1].standing == "solves fewer"
    assert found.choice == "good"
    assert difference(found, "drop", "good", "idle").better == "idle"


def test_entries_that_are_not_first_follow_by_the_same_rule():
    found = ranking(
        {
            "idle": run(np.zeros(20)),
            "second": run(np.full(20, 0.9), drops=around(0.2, 20)),
            "first": run(np.full(20, 0.9), drops=around(0.05, 20)),
        }
    )
    assert [entry.name for entry in found.entries] == ["first", "second", "idle"]


def test_equal_variants_are_decided_by_the_drop():
    # Both solve 0.7 of the variants; one loses 0.2 from a better original.
    found = ranking(
        {
            "better original": run(np.full(20, 0.9), drops=around(0.2, 20)),
            "as good reworded": run(np.full(20, 0.72), drops=around(0.02, 20)),
        }
    )
    assert [entry.standing for entry in found.entries] == ["first", "drops more"]
    assert found.choice == "as good reworded"


def test_what_the_intervals_do_not_separate_is_undecided_with_the_tasks_that_would_decide():
    base = np.full(14, 0.8)
    found = ranking(
        {"a": run(base, drops=around(0.10, 14, 0.2)), "b": run(base, drops=around(0.15, 14, -0.2))}
    )
    assert [entry.standing for entry in found.entries] == ["first", "undecided"]
    assert found.choice is None
    assert found.tasks_to_decide > 14
    gap = difference(found, "drop", "a", "b")
    assert gap.better is None
    assert gap.ci95[0] < 0.0 < gap.ci95[1]


def test_intervals_of_many_tasks_are_students_at_a_level_shared_by_all_pairs_and_both_figures():
    drops = {"a": around(0.1, 200, 0.2), "b": around(0.1, 200, 0.0), "c": around(0.3, 200, -0.3)}
    found = ranking({name: run(np.full(200, 0.7), drops=lost) for name, lost in drops.items()})
    gaps = drops["a"] - drops["c"]
    half = t.isf(0.025 / (3 * 2), 199) * gaps.std(ddof=1) / np.sqrt(200)
    pair = difference(found, "drop", "a", "c")
    assert pair.difference == pytest.approx(gaps.mean())
    assert pair.ci95 == pytest.approx((gaps.mean() - half, gaps.mean() + half))
    assert pair.turned().ci95 == pytest.approx((-gaps.mean() - half, half - gaps.mean()))


@pytest.mark.parametrize(("n", "better"), [(8, None), (20, "a")])
def test_few_tasks_that_agree_do_not_separate_entries_that_unseen_tasks_may_turn(n, better):
    """Eight tasks may all miss 37 % of the tasks. Drops of these tasks differ by up to 0.4."""
    drops = {"a": around(0.1, n, 0.1), "b": around(0.3, n, 0.1)}
    found = ranking({name: run(np.full(n, 0.9), drops=lost) for name, lost in drops.items()})
    assert difference(found, "drop", "a", "b").better == better
    assert found.choice == better
    if better is None:
        assert 8 < found.tasks_to_decide <= 20


@pytest.mark.parametrize(
    ("tasks", "named"), [(9, 9), (9_999, 9_999), (10_000, 10_000), (10_001, None)]
)
def test_up_to_ten_thousand_tasks_that_would_decide_are_named(tasks, named):
    quantiles = norm.isf(0.025 / 6) + norm.isf(0.2)
    gaps = Gaps(
        gaps=np.array([0.1, 0.3]),
        sampling=(tasks - 0.5) * 0.2**2 / 2 / quantiles**2,
        less_is_better=True,
        widest=2.0,
        unseen=0.0,
    )
    assert gaps.variance == pytest.approx(max(gaps.sampling, 0.01))
    assert gaps.tasks_to_decide(6) == named


def test_equal_figures_without_noise_are_not_separated_and_no_tasks_would_decide():
    gaps = Gaps(gaps=np.zeros(3), sampling=0.0, less_is_better=True, widest=2.0, unseen=0.0)
    equal = gaps.difference("drop", "a", "b", 2)
    assert (equal.difference, equal.ci95, equal.better) == (0.0, (0.0, 0.0), None)
    assert gaps.tasks_to_decide(2) is None


@pytest.mark.parametrize(("less_is_better", "better"), [(True, "b"), (False, "a")])
def test_the_separated_entry_with_the_better_figure_is_better(less_is_better, better):
    gaps = Gaps(
        gaps=np.full(40, 0.5), sampling=0.0, less_is_better=less_is_better, widest=2.0, unseen=0.5
    )
    found = gaps.difference("drop", "a", "b", 2)
    # Unseen tasks may turn the difference.
    assert found.ci95 == pytest.approx((0.5 - (1.0 - 0.025 ** (1 / 40)), 0.5))
    assert found.better == better


def test_tasks_that_agree_leave_the_noise_of_their_samples():
    prompt = RecordedPrompt(n=8, pass_rate=1.0, score=1.0)
    assert rate_variance(prompt) == pytest.approx((8.5 / 9) * (0.5 / 9) / 8)
    three = {"a": run([1.0] * 3, drops=[0.0] * 3), "b": run([1.0] * 3, drops=[0.015625] * 3)}
    assert difference(ranking(three), "drop", "a", "b").better is None


def test_one_task_has_intervals_over_reruns():
    found = ranking({"a": run([1.0]), "b": run([1.0], drops=[0.9]), "c": run([0.0])})
    low, high = difference(found, "drop", "a", "b").ci95
    assert -1.2 < low < -0.9 < high < -0.6
    assert [entry.name for entry in found.entries] == ["a", "b", "c"]
    assert found.tasks_to_decide is None


def test_an_entry_has_every_metric_of_the_table_that_is_compared():
    found = ranking({"a": run([0.9, 0.8]), "b": run([0.5, 0.6])})
    expected = [metric.name for metric in compared_metrics() if not metric.by_distance]
    assert sorted(found.entries[0].figures) == sorted(expected)
    assert list(found.entries[0].figures)[:2] == ["reworded_pass", "drop"]
    assert {"auc_e", "pass_at_1"} <= set(expected)
    assert METRICS["reworded_pass"].figure is not None


def test_without_a_solved_original_there_is_no_elasticity():
    found = ranking({"a": run([0.0, 0.0]), "b": run([0.5, 0.6])})
    figures = {entry.name: entry.figures for entry in found.entries}
    assert figures["a"]["auc_e"] is None
    assert figures["a"]["drop"] == 0.0


def test_runs_of_other_tasks_are_refused():
    with pytest.raises(ValueError, match="different tasks"):
        ranking({"a": run([1.0]), "b": run([1.0, 0.5])})
    with pytest.raises(ValueError, match="1 run: a ranking compares at least two"):
        ranking({"a": run([1.0])})


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(0, 32)] * 4), min_size=2, max_size=12),
    st.permutations(["a", "b", "c"]),
)
def test_the_order_of_the_input_changes_nothing(counts, order):
    runs = {
        "a": [task(f"t{i}", p / 32, v / 32) for i, (p, v, *_) in enumerate(counts)],
        "b": [task(f"t{i}", q / 32, w / 32) for i, (*_, q, w) in enumerate(counts)],
        "c": [task(f"t{i}", p / 32, w / 32) for i, (p, *_, w) in enumerate(counts)],
    }
    first, second = ranking(runs), ranking({name: runs[name] for name in order})
    assert {e.name: e.standing == "solves fewer" for e in first.entries} == {
        e.name: e.standing == "solves fewer" for e in second.entries
    }
    assert [e.figures["drop"] for e in first.entries] == [e.figures["drop"] for e in second.entries]
    if first.choice is not None:
        assert second.choice == first.choice


def test_a_price_takes_part_in_the_pareto_set():
    runs = {"dear": run([1.0] * 3), "cheap": run([0.5] * 3)}

    def best(prices=None):
        return {entry.name: entry.pareto for entry in ranking(runs, prices).entries}

    assert best() == {"dear": True, "cheap": False}
    prices = {"dear": Price(3.0, None), "cheap": Price(1.0, None)}
    assert best(prices) == {"dear": True, "cheap": True}
    assert best({**prices, "cheap": Price(None, None)}) == {"dear": True, "cheap": False}


POINTS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=6)


@given(POINTS)
def test_someone_is_always_in_the_pareto_set_and_it_dominates_the_rest(points):
    best = pareto(points)
    kept = [point for point, is_best in zip(points, best, strict=True) if is_best]
    assert kept
    for point, is_best in zip(points, best, strict=True):
        if not is_best:
            assert any(
                all(a >= b for a, b in zip(other, point, strict=True)) and other != point
                for other in kept
            )
