from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pytest_promptse.scoring._robustness import (
    majority_flips,
    one_sided_drop,
    squared_sensitivity,
    subset_size,
    worst_case,
)
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite

law = settings(deadline=None, max_examples=40)
D = (0.1, 0.2, 0.3)
FAST = {"permutations": 49, "resamples": 400}
EMOTIONS = ("calm", "tired", "excited", "anxious", "stressed", "focused", "confident", "frustrated")
# scipy cannot evaluate the binomial distribution at rates near the smallest floats.
rate = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)


def passes(k: int, m: int) -> Samples:
    return Samples([True] * k + [False] * (m - k))


@law
@given(rate, rate, st.integers(2, 5), st.integers(2, 5))
def test_squared_sensitivity_is_unbiased_for_any_number_of_samples(p, v, m_p, m_v):
    """By summing over every outcome of both prompts, which can be done exactly."""
    chances_p, chances_v = binom.pmf(range(m_p + 1), m_p, p), binom.pmf(range(m_v + 1), m_v, v)
    found = 0.0
    for a, b in product(range(m_p + 1), range(m_v + 1)):
        chance = chances_p[a] * chances_v[b]
        found += chance * float(squared_sensitivity(a / m_p, [b / m_v], m_p=m_p, m_v=[m_v]))
    assert found == pytest.approx((p - v) ** 2, abs=1e-9)


def test_squared_sensitivity_of_a_single_sample_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        squared_sensitivity(0.5, [1.0], m_p=8, m_v=[1])


@law
@given(st.lists(rate, min_size=1, max_size=5), st.integers(2, 3))
def test_the_worst_case_is_unbiased_since_variants_are_sampled_apart(rates, m):
    s = min(2, len(rates))
    chances = [binom.pmf(range(m + 1), m, rate) for rate in rates]
    found = 0.0
    for counts in product(range(m + 1), repeat=len(rates)):
        chance = np.prod([each[k] for k, each in zip(counts, chances, strict=True)])
        found += chance * float(worst_case(np.array(counts) / m, s))
    assert found == pytest.approx(float(worst_case(rates, s)), abs=1e-9)


def test_a_worst_case_needs_as_many_variants():
    with pytest.raises(ValueError, match="needs as many"):
        worst_case([0.5, 0.5], 3)


def test_a_change_for_the_better_is_no_loss():
    assert one_sided_drop(0.5, [1.0, 0.25]) == pytest.approx(0.125)
    assert one_sided_drop(0.5, [1.0, 0.9]) == 0.0


def test_a_task_flips_where_the_majority_does():
    assert majority_flips(0.9, [0.4, 0.4]) == 1.0
    assert majority_flips(0.9, [0.4, 0.6]) == 0.0
    assert majority_flips(0.1, [0.9, 0.6]) == 1.0


def suite(broken: int, n: int = 60, *, better: bool = False) -> list[TaskSamples]:
    """`n` tasks; in the first `broken` every variant drops from 8 to 0 of 8, or rises."""
    first, then = (0, 8) if better else (8, 0)
    return [
        TaskSamples(
            f"t{i:03}",
            passes(first if i < broken else 8, 8),
            {d: [passes(then if i < broken else 8, 8)] * 2 for d in D},
        )
        for i in range(n)
    ]


def score(tasks: list[TaskSamples], **options):
    return score_suite(tasks, distances=D, mode="promptse", weighting="uniform", **FAST, **options)


def test_the_figures_of_a_suite_in_which_some_tasks_break():
    found = score(suite(6))
    # 1 minus half of the noise floor that 8 of 16 passes have.
    broken = found.tasks[0]
    noise = 1.0 - broken.elasticity[0.1] - broken.elasticity_excess[0.1]
    lost = 1.0 - noise / 2.0
    assert found.estimates["drop"].value == pytest.approx(0.1)
    assert found.estimates["shortfall"].value == pytest.approx(lost)
    assert found.estimates["flips"].value == pytest.approx(0.1)
    assert found.estimates["flips"].ci95 == pytest.approx((0.0376, 0.2051), abs=1e-3)
    assert found.estimates["robust_pass"].value == pytest.approx(0.9)
    assert found.estimates["robust_pass"].note == "worst of 5"
    assert found.estimates["squared_sensitivity"].value == pytest.approx(0.1)
    for one in (
        found.estimates["drop"],
        found.estimates["robust_pass"],
        found.estimates["squared_sensitivity"],
    ):
        assert one.exact[0] < one.value < one.exact[1]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.integers(0, 8), min_size=6, max_size=6), min_size=1, max_size=3))
def test_the_drop_is_the_difference_of_the_counts_that_the_summary_shows(by_task):
    tasks = [
        TaskSamples(
            f"t{i}",
            passes(7, 8),
            {d: [passes(k, 8) for k in row[2 * n : 2 * n + 2]] for n, d in enumerate(D)},
        )
        for i, row in enumerate(by_task)
    ]
    found = score(tasks, interval=False)
    assert found.estimates["drop"].value == pytest.approx(7 / 8 - np.mean(by_task) / 8)


def test_gains_lower_the_drop_and_elasticity():
    found = score(suite(6, better=True))
    assert found.estimates["drop"].value == pytest.approx(-0.1)
    assert found.auc_e == pytest.approx(0.9)
    assert found.estimates["squared_sensitivity"].value == pytest.approx(0.1)


def test_one_task_gets_the_figures_and_their_intervals_from_its_samples():
    task = TaskSamples("t", passes(28, 32), {d: [passes(6, 8)] * 4 for d in D})
    found = score([task])
    for one in (
        found.estimates["drop"],
        found.estimates["squared_sensitivity"],
        found.estimates["robust_pass"],
        found.estimates["shortfall"],
    ):
        assert one.ci95[0] < one.value < one.ci95[1]
        assert one.exact is None
    assert found.estimates["flips"].ci95 == (0.0, 1.0)
    assert found.speaks_for == "reruns"


def test_one_measured_task_of_two_has_no_interval_over_tasks():
    measured = TaskSamples("t", passes(28, 32), {d: [passes(6, 8)] * 4 for d in D})
    found = score([measured, TaskSamples("u", passes(8, 8), {})])
    for name in ("drop", "flips", "robust_pass", "shortfall", "squared_sensitivity"):
        assert found.estimates[name].value is not None
        assert found.estimates[name].ci95 is None


def with_emotions(breaking: tuple[str, ...], n: int = 30, seed: int = 0) -> list[TaskSamples]:
    rng = np.random.default_rng(seed)
    tasks = []
    for i in range(n):
        names = {d: tuple(rng.choice(EMOTIONS, 4)) for d in D}
        variants = {d: [passes(0 if e in breaking else 8, 8) for e in names[d]] for d in D}
        tasks.append(TaskSamples(f"t{i}", passes(8, 8), variants, names))
    return tasks


def test_an_emotion_that_breaks_every_task_widens_only_the_interval_over_emotions():
    tasks = with_emotions(("tired",))
    plain, both = score(tasks), score(tasks, speaks_for="tasks+emotions")
    assert (plain.speaks_for, both.speaks_for) == ("tasks", "tasks+emotions")
    assert both.auc_e == plain.auc_e
    widths = [one.ci95[1] - one.ci95[0] for one in (plain, both)]
    assert widths[1] > 2 * widths[0]
    assert both.exact[0] < plain.exact[0]
    assert both.estimates["pass_at_1"].ci95 == plain.estimates["pass_at_1"].ci95


def test_the_interval_over_emotions_depends_on_the_mean_of_an_emotion_and_not_on_its_variants():
    def ci95(times):
        tasks = [
            TaskSamples(
                one.task_id,
                one.original,
                {d: [each for each in one.variants[d] for _ in range(times)] for d in D},
                {d: [name for name in one.emotions[d] for _ in range(times)] for d in D},
            )
            for one in with_emotions(("tired",))
        ]
        return score(tasks, speaks_for="tasks+emotions").ci95

    assert ci95(2) == pytest.approx(ci95(1), abs=1e-3)
    # Eight emotions, one of which scores 0 and the others 1: about 0.92 - 2.36 * 0.28 / sqrt(8).
    assert ci95(1)[0] == pytest.approx(0.70, abs=0.03)


def test_a_worst_case_has_as_many_variants_as_every_task_and_at_most_five():
    def task(*sizes, original=True):
        variants = {d: [None] * size for d, size in zip(D, sizes, strict=False)}
        return SimpleNamespace(original=original or None, variants=variants)

    assert subset_size([task(1, 2), task(4)]) == 3
    assert subset_size([task(2, 2, 2), task(9)]) == 5
    assert subset_size([task(4), task(0), task(1, original=False)]) == 4
    assert subset_size([task(0)]) == 5
    assert subset_size([task(1)]) == 1


def test_intervals_over_emotions_need_their_names():
    with pytest.raises(ValueError, match="names no emotions"):
        score(suite(1), speaks_for="tasks+emotions")
    with pytest.raises(ValueError, match="give one for each"):
        TaskSamples("t", passes(8, 8), {0.1: [passes(8, 8)] * 2}, {0.1: ["calm"]})


def test_one_emotion_alone_has_no_interval_over_emotions():
    tasks = [
        TaskSamples(one.task_id, one.original, one.variants, dict.fromkeys(D, ("calm",) * 4))
        for one in with_emotions(())
    ]
    found = score(tasks, speaks_for="tasks+emotions")
    assert found.ci95 is None
    assert any("one emotion" in line for line in found.warnings)


def test_emotions_at_a_distance_without_weight_do_not_count():
    """Simpson's rule gives the first of (0.1, 0.2, 0.4) no weight."""

    def ci95(name: str) -> tuple[float, float]:
        tasks = [
            TaskSamples(
                one.task_id,
                one.original,
                {d: one.variants[old] for d, old in zip((0.1, 0.2, 0.4), D, strict=True)},
                {0.1: (name,) * 4, 0.2: one.emotions[0.2], 0.4: one.emotions[0.3]},
            )
            for one in with_emotions(("tired",), n=6)
        ]
        options = {"mode": "light", "speaks_for": "tasks+emotions", **FAST}
        return score_suite(tasks, distances=(0.1, 0.2, 0.4), **options).ci95

    assert ci95("only here") == ci95("calm")


def test_a_model_that_solves_nothing_is_warned_of():
    tasks = [TaskSamples(f"t{i}", passes(0, 8), {d: [passes(0, 8)] for d in D}) for i in range(60)]
    [warning] = score(tasks).warnings
    assert warning.startswith("no sample of an original passes")


def test_distances_that_simpson_cannot_weigh_are_said():
    tasks = [
        TaskSamples(f"t{i}", passes(8, 8), {d: [passes(8, 8)] for d in (0.1, 0.2, 0.5)})
        for i in range(60)
    ]
    found = score_suite(tasks, distances=(0.1, 0.2, 0.5), mode="light", **FAST)
    assert "trapezoid" in found.warnings[0]
