from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
