from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_promptse.scoring._change_points import change_points

values = st.lists(st.floats(0.0, 1.0), min_size=0, max_size=30)


def test_a_lasting_change_is_one_change_point():
    course = [0.90, 0.92, 0.91, 0.89, 0.90, 0.91, 0.90, 0.92, 0.70, 0.71, 0.69, 0.70]
    [point] = change_points(course, [0.02] * len(course), alpha=0.05)
    assert point.start == 8
    assert point.detected >= 8
    assert point.before == pytest.approx(0.906, abs=0.001)
    assert point.after == pytest.approx(0.70, abs=0.02)


def test_two_changes_are_two_change_points():
    course = [0.9, 0.91] * 8 + [0.6, 0.61] * 8 + [0.9, 0.91] * 8
    points = change_points(course, [0.02] * len(course), alpha=0.05)
    assert [point.start for point in points] == [16, 32]


def test_a_change_within_the_sampling_error_is_none():
    course = [0.9] * 8 + [0.85] * 8
    assert not change_points(course, [0.2] * len(course), alpha=0.05)


def test_a_change_within_the_scatter_of_the_runs_is_none():
    course = [0.9, 0.6] * 6 + [0.85, 0.55] * 6
    assert not change_points(course, [0.001] * len(course), alpha=0.05)


def test_the_first_test_is_that_of_the_eighth_run():
    courses = [[0.9] * n + [0.1] for n in (6, 7)]
    first, second = (change_points(course, [0.01] * len(course), alpha=0.05) for course in courses)
    assert first == []
    assert [(point.start, point.detected) for point in second] == [(7, 7)]
    # Runs that were tested earlier count.
    assert change_points(courses[0], [0.01] * 7, alpha=0.05, earlier=1)


@pytest.mark.parametrize(("n", "n_splits"), [(8, 3), (11, 4)])
def test_the_level_is_shared_by_runs_splits_and_sides(n, n_splits):
    """After n >= 8 runs, the last 1, 2, 4, … of them are tested at alpha * 7 / (n * (n - 1))."""
    course = [0.5] * (n - 1) + [0.6]
    tail = 0.05 * 7 / (n * (n - 1)) / n_splits / 2
    at_limit = 0.1 / stats.norm.isf(tail) / (1 / (n - 1) + 1) ** 0.5
    for factor, detected in ((0.999, 1), (1.001, 0)):
        found = change_points(course, [factor * at_limit] * n, alpha=0.05)
        assert len(found) == detected


@pytest.mark.parametrize("recent", [1, 2])
def test_the_scatter_of_the_runs_is_that_of_students_test(recent):
    n = 8
    before = [0.5, 0.52] * ((n - recent) // 2) + [0.51] * (recent % 2)
    tail = 0.05 * 7 / (n * (n - 1)) / 3 / 2
    squares = sum((value - sum(before) / len(before)) ** 2 for value in before)
    scatter = (squares / (n - 2) * (1 / len(before) + 1 / recent)) ** 0.5
    gap = stats.t.isf(tail, n - 2) * scatter
    for factor, detected in ((1.01, True), (0.99, False)):
        course = before + [sum(before) / len(before) + factor * gap] * recent
        assert bool(change_points(course, [1e-4] * n, alpha=0.05)) == detected


def test_runs_that_were_tested_before_leave_a_smaller_part_of_the_error():
    course, errors = [0.90, 0.91] * 6 + [0.84, 0.85], [0.01] * 14
    assert change_points(course, errors, alpha=0.05)
    assert not change_points(course, errors, alpha=0.05, earlier=100_000)


@given(values, st.floats(0.001, 0.2))
def test_a_constant_course_has_no_change_point(course, error):
    same = [0.5] * len(course)
    assert not change_points(same, [error] * len(same), alpha=0.05)


@given(values, st.floats(0.001, 0.2), st.integers(0, 30))
def test_later_runs_never_remove_a_change_point(course, error, cut):
    errors = [error] * len(course)
    every = change_points(course, errors, alpha=0.05)
    early = change_points(course[:cut], errors[:cut], alpha=0.05)
    assert early == [point for point in every if point.detected < cut]


@given(values, st.floats(0.001, 0.2))
def test_a_mirrored_course_changes_at_the_same_runs(course, error):
    errors = [error] * len(course)
    mirrored = change_points([-value for value in course], errors, alpha=0.05)
    assert [(p.start, p.detected) for p in mirrored] == [
        (p.start, p.detected) for p in change_points(course, errors, alpha=0.05)
    ]
