"""The loss that remains after subtracting the effect of length, for known true values."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite

D = (0.1, 0.2, 0.3)
FAST = {"permutations": 9, "resamples": 199}
law = settings(deadline=None, max_examples=20)
counts = st.lists(st.integers(0, 4), min_size=1, max_size=3)


def passes(k: int, m: int = 4) -> Samples:
    return Samples([True] * k + [False] * (m - k))


def task(name, original, variants, controls):
    """Return a task with counts of passes of 4 for each variant and control at each distance."""
    return TaskSamples(
        task_id=name,
        original=passes(original),
        variants={d: [passes(k) for k in variants] for d in D},
        controls={d: [passes(k) for k in controls] for d in D},
        emotions={d: ["calm", "tired", "excited"][: len(variants)] for d in D},
    )


def control_of(tasks, **changed):
    options = {"distances": D, "mode": "light", **FAST} | changed
    return score_suite(tasks, **options).length_control


@law
@given(st.lists(st.tuples(st.integers(0, 4), counts, counts), min_size=1, max_size=4))
def test_what_is_left_is_the_loss_minus_that_of_the_control_and_the_original_cancels(rows):
    tasks = [task(f"t{number}", *row) for number, row in enumerate(rows)]
    found = control_of(tasks, interval=False)
    expected = np.mean([np.mean(c) - np.mean(v) for _, v, c in rows]) / 4
    loss = np.mean([p - np.mean(v) for p, v, _ in rows]) / 4
    for one in (found, *found.levels.values()):
        assert one.excess_loss.value == pytest.approx(expected, abs=1e-9)
        assert one.loss == pytest.approx(loss, abs=1e-9)
        assert one.loss - one.control_loss == pytest.approx(expected, abs=1e-9)
    other = [replace(one, original=passes(1)) for one in tasks]
    assert control_of(other, interval=False).excess_loss.value == pytest.approx(expected, abs=1e-9)


@law
@given(st.lists(st.tuples(st.integers(0, 4), counts), min_size=1, max_size=4))
def test_nothing_is_left_where_the_control_does_what_the_variants_do(rows):
    found = control_of([task(f"t{n}", p, v, v) for n, (p, v) in enumerate(rows)])
    assert found.excess_loss.value == pytest.approx(0, abs=1e-9)
    low, high = found.excess_loss.ci95
    assert low <= 1e-9
    assert high >= -1e-9


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 2))
def test_what_is_left_has_no_bias_for_any_number_of_samples(v, c, m):
    """By summing over every outcome of a variant and a control, which can be done exactly."""
    v, c = v / 8, c / 8
    found = 0.0
    for a, b in product(range(m + 1), repeat=2):
        one = TaskSamples(
            task_id="t",
            original=passes(2),
            variants={0.3: [passes(a, m)]},
            controls={0.3: [passes(b, m)]},
        )
        chance = binom.pmf(a, m, v) * binom.pmf(b, m, c)
        left = control_of([one], distances=(0.3,), interval=False).excess_loss.value
        found += chance * left
    assert found == pytest.approx(c - v, abs=1e-9)


def simulated(rng, *, n, length, emotion):
    """Return tasks that lose `length` with any added text, and also `emotion` with an emotion."""
    tasks = []
    for number in range(n):
        able = rng.uniform(0.6, 1.0)
        lost = length * rng.uniform(0.5, 1.5)
        more = emotion * rng.uniform(0.0, 2.0)

        def drawn(rate, k, m=8):
            return [Samples(rng.random(m) < max(rate, 0.0)) for _ in range(k)]

        tasks.append(
            TaskSamples(
                task_id=f"t{number}",
                original=drawn(able, 1, 32)[0],
                variants={0.3: drawn(able - lost - more, 4)},
                controls={0.3: drawn(able - lost, 4)},
            )
        )
    return tasks


def test_length_and_emotion_are_separated_in_simulations():
    """The estimate has no bias, and its interval covers the true value at its nominal rate."""
    rng = np.random.default_rng(12)
    emotion, values, held = 0.15, [], 0
    for _ in range(15):
        tasks = simulated(rng, n=20, length=0.15, emotion=emotion)
        found = control_of(tasks, distances=(0.3,))
        values.append(found.excess_loss.value)
        low, high = found.excess_loss.ci95
        held += low <= emotion <= high
    assert np.mean(values) == pytest.approx(emotion, abs=0.02)
    # Fewer than 12 of 15 have a probability of 0.5 % at a coverage of 95 %.
    assert held >= 12


def test_a_control_changes_no_other_figure():
    tasks = [task("a", 4, [2, 3], [3, 3]), task("b", 3, [3, 0], [1, 4])]
    without = [replace(one, controls={}) for one in tasks]
    options = {"distances": D, "mode": "light", **FAST}
    with_control = score_suite(tasks, **options)
    plain = score_suite(without, **options)
    assert plain.length_control is None
    stripped = replace(
        with_control,
        length_control=None,
        tasks=tuple(replace(one, controls={}) for one in with_control.tasks),
    )
    assert stripped == plain


def test_a_suite_of_one_task_speaks_for_another_run_of_its_prompts():
    found = control_of([task("a", 4, [1, 1, 2], [4, 4, 4])])
    assert found.excess_loss.exact is None
    low, high = found.excess_loss.ci95
    assert 0 < low < found.excess_loss.value < high <= 1


def test_a_task_counts_only_where_both_kinds_were_measured():
    whole = task("a", 4, [2], [4])
    part = replace(task("b", 4, [0], [4]), controls={0.1: [passes(4)]})
    found = control_of([whole, part])
    assert {d: level.n_tasks for d, level in found.levels.items()} == {0.1: 2, 0.2: 1, 0.3: 1}
    none = [replace(one, controls={0.1: [passes(4)]}) for one in (whole, part)]
    partly = control_of(none)
    assert list(partly.levels) == [0.1]
    assert partly.loss is partly.excess_loss.value is None


def test_scores_by_soft_exec_are_compared_where_the_suite_has_them():
    def soft(flags, logprobs):
        return Samples(flags, logprob=logprobs, n_tokens=[4] * len(flags))

    one = TaskSamples(
        task_id="a",
        original=soft([True, True], [-1.0, -1.0]),
        # The sample that fails has nearly all of the weight.
        variants={0.3: [soft([True, False], [-9.0, -1.0])]},
        controls={0.3: [soft([True, False], [-1.0, -9.0])]},
    )
    found = control_of([one], distances=(0.3,), mode="promptse")
    assert found.excess_loss.value > 0.99
    assert control_of([one], distances=(0.3,)).excess_loss.value == 0.0


def test_intervals_cover_other_emotions_where_the_suite_wants_that():
    tasks = [task(f"t{n}", 4, [0, 4, 4], [4, 4, 4]) for n in range(8)]
    plain = control_of(tasks).excess_loss
    wide = control_of(tasks, speaks_for="tasks+emotions").excess_loss
    assert wide.value == plain.value
    assert wide.ci95[0] < plain.ci95[0]
