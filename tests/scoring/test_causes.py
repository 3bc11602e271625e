from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._causes import (
    CauseShare,
    failure_shares,
    mean_split,
    split_by_cause,
)
from pytest_promptse.scoring._elasticity import elasticity, light_elasticity

law = settings(deadline=None, max_examples=60)
NAMES = ("exception", "no_code", "wrong_answer")
failures = st.tuples(*[st.integers(0, 4)] * 4).map(
    lambda counts: {
        name: count / max(1, sum(counts))
        for name, count in zip(("passed", *NAMES), counts, strict=True)
        if name != "passed" and count
    }
)


def score(shares):
    return max(0.0, 1 - sum(shares.values()))


def test_shares_add_up_the_weights_of_each_cause():
    shares = failure_shares(["", "timeout", "no_code", "timeout"], [0.4, 0.3, 0.2, 0.1])
    assert shares == pytest.approx({"timeout": 0.4, "no_code": 0.2})


def test_chattiness_is_distinguished_from_wrong_code():
    original = {"wrong_answer": 0.25}
    variants = [{"wrong_answer": 0.25, "no_code": 0.5}, {"wrong_answer": 0.25, "no_code": 0.25}]
    split = split_by_cause(original, variants)
    assert list(split) == ["no_code", "wrong_answer"]
    assert split["no_code"] == CauseShare(loss=0.375, drop=0.375)
    assert split["wrong_answer"] == CauseShare(loss=0.0, drop=0.0)


def test_a_cause_that_softens_the_change_has_a_negative_loss():
    split = split_by_cause({"exception": 0.25}, [{"no_code": 0.75}])
    assert split["no_code"].loss == pytest.approx(0.75)
    assert split["exception"].loss == pytest.approx(-0.25)


def test_variants_that_go_opposite_ways_both_lose_but_their_drops_cancel():
    split = split_by_cause({"no_code": 0.5}, [{"no_code": 1.0}, {}])
    assert split["no_code"] == CauseShare(loss=0.5, drop=0.0)
    assert split_by_cause({"no_code": 0.5}, [{"no_code": 1.0}, {}], light=True)[
        "no_code"
    ] == CauseShare(loss=0.0, drop=0.0)


def test_where_nothing_failed_there_is_nothing_to_split():
    assert split_by_cause({}, [{}, {}]) == {}


def test_a_split_needs_variants():
    with pytest.raises(ValueError, match="at least one variant"):
        split_by_cause({}, [])


@law
@given(failures, st.lists(failures, min_size=1, max_size=5))
def test_losses_add_up_to_what_elasticity_lacks_to_one(original, variants):
    p, v = score(original), [score(shares) for shares in variants]
    full = split_by_cause(original, variants).values()
    light = split_by_cause(original, variants, light=True).values()
    assert sum(c.loss for c in full) == pytest.approx(1 - float(elasticity(p, v)), abs=1e-8)
    assert sum(c.loss for c in light) == pytest.approx(1 - float(light_elasticity(p, v)), abs=1e-8)
    assert sum(c.drop for c in full) == pytest.approx(p - sum(v) / len(v), abs=1e-8)


def test_a_task_without_a_cause_counts_as_zero_in_the_mean():
    splits = [{"timeout": CauseShare(loss=0.4, drop=0.2)}, {}]
    assert mean_split(splits) == {"timeout": CauseShare(loss=0.2, drop=0.1)}
    assert mean_split([]) == {}
