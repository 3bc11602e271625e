from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._robustness import robustness, task_robustness
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite

law = settings(deadline=None, max_examples=60)
rate = st.floats(0, 1)


def test_two_variants_by_hand():
    # All solved: 0.5 * 0.8 = 0.4; none solved: 0.5 * 0.2 = 0.1.
    found = robustness([0.9], [[0.5, 0.8]], s=2)
    assert found is not None
    assert found.rp == pytest.approx(0.4)
    assert found.rd == pytest.approx((0.9 - 0.4) / 0.9)
    assert found.rr == pytest.approx(0.9 * 0.6 + 0.1 * 0.9)


@law
@given(rate, st.lists(rate, min_size=1, max_size=7), st.data())
def test_the_worst_case_is_the_mean_over_all_subsets(p, v, data):
    s = data.draw(st.integers(1, len(v)))
    found = robustness([p], [v], s=s)
    assert found is not None
    subsets = list(combinations(v, s))
    assert found.rp == pytest.approx(np.mean([np.prod(c) for c in subsets]), abs=1e-9)
    none_solved = np.mean([np.prod([1 - q for q in c]) for c in subsets])
    assert found.rr == pytest.approx(p * (1 - found.rp) + (1 - p) * (1 - none_solved), abs=1e-9)
    assert 0.0 <= found.rp <= max(v) + 1e-9
    assert 0.0 <= found.rr <= 1.0 + 1e-9


def test_a_stable_model_loses_nothing_and_a_hopeless_one_has_no_relative_drop():
    perfect = robustness([1.0, 1.0], [[1.0] * 5] * 2)
    assert perfect is not None
    assert (perfect.rp, perfect.rd, perfect.rr) == (1.0, 0.0, 0.0)
    hopeless = robustness([0.04], [[0.0] * 5])
    assert hopeless is not None
    assert hopeless.rd is None
    hardly = robustness([0.05], [[0.0] * 5])
    assert hardly is not None
    assert hardly.rd == 1.0


def test_tasks_with_fewer_than_s_variants_do_not_count():
    found = robustness([1.0, 0.5], [[1.0] * 5, [0.5] * 4])
    assert found is not None
    assert found.n_tasks == 1
    assert robustness([0.5], [[0.5] * 4]) is None


def test_the_variants_of_all_distances_count():
    flags = Samples([True, False])
    task = TaskSamples("t", flags, {0.1: [flags], 0.2: [flags, Samples([True, True])]})
    score = score_suite([task], distances=(0.1, 0.2), mode="light", interval=False)
    found = task_robustness(score.tasks, s=3)
    assert found is not None
    assert found.rp == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (([0.5], [[0.5]], 0), "at least one"),
        (([0.5, 0.5], [[0.5]], 1), "for 1 tasks"),
        (([1.5], [[0.5]], 1), "pass rates"),
        (([-0.5], [[0.5]], 1), "pass rates"),
        (([0.5], [[-0.5]], 1), "pass rates"),
        (([0.5], [[np.nan]], 1), "pass rates"),
    ],
)
def test_rates_that_are_none_are_refused(args, said):
    with pytest.raises(ValueError, match=said):
        robustness(args[0], args[1], s=args[2])
