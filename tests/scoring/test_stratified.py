from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from pytest_promptse.scoring.stratified import Stratum, stratified_p_value


@st.composite
def strata(draw):
    m_p, m_v = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    return Stratum(
        m_p=m_p,
        passed_p=draw(st.integers(0, m_p)),
        m_v=m_v,
        passed_v=draw(st.integers(0, m_v)),
    )


def test_one_task_agrees_with_the_corrected_test_of_a_2_by_2_table():
    # Pearson's statistic has n where Mantel and Haenszel have n - 1; for 10 000 it is the same.
    table = [[2500, 2500], [2400, 2600]]
    one = Stratum(m_p=5000, passed_p=2500, m_v=5000, passed_v=2400)
    assert stratified_p_value([one]) == pytest.approx(chi2_contingency(table).pvalue, rel=1e-3)


@settings(deadline=None, max_examples=50)
@given(st.lists(strata(), max_size=5), st.randoms())
def test_it_is_a_probability_and_the_order_of_tasks_does_not_matter(tasks, random):
    p = stratified_p_value(tasks)
    assert 0.0 <= p <= 1.0
    random.shuffle(tasks)
    assert stratified_p_value(tasks) == pytest.approx(p)


@settings(deadline=None, max_examples=50)
@given(st.lists(strata(), max_size=5))
def test_passing_and_failing_can_be_swapped(tasks):
    swapped = [
        Stratum(m_p=t.m_p, passed_p=t.m_p - t.passed_p, m_v=t.m_v, passed_v=t.m_v - t.passed_v)
        for t in tasks
    ]
    assert stratified_p_value(swapped) == pytest.approx(stratified_p_value(tasks))


def test_tasks_that_always_or_never_pass_say_nothing():
    always = Stratum(m_p=8, passed_p=8, m_v=8, passed_v=8)
    never = Stratum(m_p=8, passed_p=0, m_v=8, passed_v=0)
    assert stratified_p_value([always, never]) == 1.0
    assert stratified_p_value([]) == 1.0


def test_tasks_of_unlike_difficulty_do_not_pretend_a_difference():
    # Pooled, 60 of 80 originals pass against 30 of 80 variants, all because of the tasks.
    easy = Stratum(m_p=60, passed_p=57, m_v=20, passed_v=19)
    hard = Stratum(m_p=20, passed_p=1, m_v=60, passed_v=3)
    assert stratified_p_value([easy, hard]) > 0.9


def test_the_same_small_loss_in_many_tasks_is_found():
    task = Stratum(m_p=8, passed_p=8, m_v=8, passed_v=6)
    assert stratified_p_value([task]) > 0.05
    assert stratified_p_value([task] * 10) < 1e-4


def test_a_count_beyond_its_samples_is_refused():
    with pytest.raises(ValueError, match="counts lie between 0 and m"):
        stratified_p_value([Stratum(m_p=8, passed_p=9, m_v=8, passed_v=8)])
