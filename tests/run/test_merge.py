"""Why a merged run fails: the same reasons, in the same words, as in a single run."""

from __future__ import annotations

import pytest
from record_builders import make_record, make_suite, make_task

from pytest_promptse.record._outcomes import run_failures
from pytest_promptse.scoring._gate import judge_pass_rate


@pytest.mark.parametrize(
    ("kind", "inconclusive", "n_failures"),
    [("point", "pass", 1), ("confident", "pass", 0), ("confident", "fail", 2)],
)
def test_a_pass_rate_is_judged_and_shown_as_by_its_item(kind, inconclusive, n_failures):
    task = make_task("one", 1.0, {0.3: [0.5]})
    suite = make_suite([task], min_pass_rate=0.6, gate=kind, inconclusive=inconclusive)
    found = run_failures(make_record((suite, [task])))
    assert len(found) == n_failures
    [variant] = task.variants
    gate = judge_pass_rate(variant.n // 2, variant.n, 0.6, kind=kind, comparisons=2)
    assert ("0.50 < 0.60" in gate.message) is (kind == "point")
    assert [line for line in found if line.endswith(gate.message)] == found[-1:]
