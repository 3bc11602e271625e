from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pytest_promptse.scoring._gate import (
    judge_gate,
    judge_pass_rate,
    pass_rate_limits,
    samples_needed,
)

law = settings(deadline=None, max_examples=60)


def test_a_point_gate_says_what_it_compared():
    gate = judge_gate("auc-e", 0.71, 0.85)
    assert (gate.verdict, gate.message) == ("fail", "AUC-E 0.71 < 0.85")
    gate = judge_gate("elasticity-d0.3", 0.9, 0.85)
    assert (gate.verdict, gate.message) == ("pass", "E(0.3) 0.90 > 0.85")


@pytest.mark.parametrize("direction", ["at least", "at most"])
@pytest.mark.parametrize(("value", "threshold"), [(0.85, 0.85), (0.1 + 0.7, 0.8), (0.1 + 0.2, 0.3)])
def test_meeting_the_threshold_passes_even_where_floats_round(value, threshold, direction):
    gate = judge_gate("auc-e", value, threshold, direction=direction)
    assert (gate.verdict, gate.message) == ("pass", f"AUC-E {threshold:.2f} = {threshold:.2f}")


def test_a_figure_below_one_is_not_shown_as_one_nor_zero_with_a_minus():
    shown = {
        value: judge_gate("auc-e", value, 0.85).message
        for value in (0.999, 0.999999, 0.9999999, 1.0)
    }
    assert shown == {
        0.999: "AUC-E 0.999 > 0.85",
        0.999999: "AUC-E 0.999999 > 0.85",
        0.9999999: "AUC-E 1.000000 > 0.85",
        1.0: "AUC-E 1.00 > 0.85",
    }
    assert judge_gate("excess", -1e-16, 0.05, direction="at most").message == (
        "excess sensitivity 0.00 < 0.05"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.84, "0.84 < 0.85"),
        (0.8496, "0.8496 < 0.8500"),
        (0.850001, "0.850001 > 0.850000"),
        (0.8500001, "0.85 = 0.85"),
        (999.996, "1000.00 > 0.85"),
        (1000.0, "1e+03 > 0.85"),
    ],
)
def test_a_difference_is_shown_with_up_to_six_decimals(value, shown):
    assert judge_gate("auc-e", value, 0.85).message == f"AUC-E {shown}"


def test_excess_has_a_ceiling_instead_of_a_floor():
    gate = judge_gate("excess", 0.08, 0.05, direction="at most")
    assert (gate.verdict, gate.message) == ("fail", "excess sensitivity 0.08 > 0.05")
    assert judge_gate("excess", 0.01, 0.05, direction="at most").verdict == "pass"


@pytest.mark.parametrize(
    ("ci95", "direction", "verdict"),
    [
        ((0.70, 0.80), "at least", "fail"),
        ((0.86, 0.95), "at least", "pass"),
        ((0.85, 0.95), "at least", "pass"),
        ((0.80, 0.85), "at least", "inconclusive"),
        ((0.80, 0.90), "at least", "inconclusive"),
        ((0.70, 0.80), "at most", "pass"),
        ((0.86, 0.95), "at most", "fail"),
        ((0.80, 0.90), "at most", "inconclusive"),
    ],
)
def test_a_confident_gate_decides_only_with_its_whole_interval(ci95, direction, verdict):
    gate = judge_gate("auc-e", 0.85, 0.85, ci95=ci95, kind="confident", direction=direction)
    assert gate.verdict == verdict


def test_confident_messages_show_the_interval():
    failing = judge_gate("auc-e", 0.71, 0.85, ci95=(0.65, 0.78), kind="confident")
    assert failing.message == "AUC-E 0.71 < 0.85, 95 % interval 0.65 to 0.78"
    open_ = judge_gate("auc-e", 0.84, 0.85, ci95=(0.78, 0.9), kind="confident")
    assert open_.message == (
        "AUC-E 0.84, but its 95 % interval (0.78 to 0.90) contains the threshold 0.85. "
        "More samples or tasks would narrow it"
    )


def test_without_an_interval_a_confident_gate_does_not_decide():
    gate = judge_gate("auc-e", 0.2, 0.85, kind="confident")
    assert gate.verdict == "inconclusive"
    assert "no interval" in gate.message


def test_what_was_not_measured_is_not_judged():
    gate = judge_gate("auc-e", None, 0.85)
    assert gate.verdict is None
    assert gate.message == "AUC-E was not measured, so 0.85 could not be checked"
    assert judge_gate("auc-e", 0.9, None).verdict is None


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        judge_gate("auc-e", 0.9, float("nan"))


@law
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.3), st.floats(0, 0.3))
def test_confident_verdicts_never_contradict_point_verdicts(value, threshold, below, above):
    point = judge_gate("auc-e", value, threshold).verdict
    confident = judge_gate(
        "auc-e", value, threshold, ci95=(value - below, value + above), kind="confident"
    ).verdict
    assert confident in (point, "inconclusive")


def test_a_threshold_above_the_noise_ceiling_is_warned_of_with_the_samples_it_needs():
    gate = judge_gate("auc-e", 0.88, 0.95, null=0.9, samples=8, original_samples=16)
    assert gate.verdict == "fail"
    assert gate.warnings[0] == (
        "the threshold 0.95 for AUC-E is above the noise ceiling 0.90: a model on which variants "
        "have no effect would score 0.90; it takes about 32 samples per variant instead of 8 and "
        "64 of the original instead of 16"
    )
    [warning] = judge_gate("auc-e", 0.88, 0.95, null=0.9, samples=8).warnings
    assert warning.endswith("it takes about 32 samples per variant instead of 8")


def test_the_warning_counts_in_multiples_where_the_plan_is_not_known():
    [warning] = judge_gate("auc-e", 0.88, 0.95, null=0.9).warnings
    assert "about 4.0 times the samples" in warning


def test_no_number_of_samples_lifts_the_ceiling_to_one():
    [warning] = judge_gate("auc-e", 0.88, 1.0, null=0.9, samples=8).warnings
    assert "no number of samples" in warning
    assert samples_needed(0.9, 1.0, 8) is None


@pytest.mark.parametrize(
    "options", [{"null": 0.9}, {"null": None}, {"null": 0.5, "direction": "at most"}]
)
def test_other_thresholds_get_no_warning(options):
    assert judge_gate("auc-e", 0.88, 0.85, **options).warnings == []


def test_a_plan_that_reaches_the_threshold_needs_no_more_samples():
    assert samples_needed(0.9, 0.9, 8) == 8


def test_a_plan_without_samples_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        samples_needed(0.9, 0.95, 0)


def ceiling(q: float, m: int) -> float:
    counts = np.arange(m + 1)
    weight = binom.pmf(counts, m, q)
    return 1 - float((np.outer(weight, weight) * np.abs(counts[:, None] - counts) / m).sum())


@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
def test_the_samples_named_lift_the_ceiling_to_the_threshold(q):
    needed = samples_needed(ceiling(q, 16), 0.93, 16)
    assert needed is not None
    assert ceiling(q, needed) == pytest.approx(0.93, abs=0.004)


def test_a_confident_gate_needs_both_intervals_on_one_side():
    def gate(exact, threshold=0.85):
        return judge_gate("auc-e", 0.93, threshold, ci95=(0.9, 0.95), exact=exact, kind="confident")

    assert gate((0.86, 0.96)).verdict == "pass"
    open_ = gate((0.77, 0.96))
    assert open_.verdict == "inconclusive"
    assert open_.message == (
        "AUC-E 0.93, 95 % interval 0.90 to 0.95 for tasks like these; for tasks outside the suite "
        "as well, the interval 0.77 to 0.96 contains the threshold 0.85. More tasks would narrow it"
    )
    assert gate((0.77, 0.96), threshold=0.97).verdict == "fail"
    assert gate((0.77, 0.98), threshold=0.97).verdict == "inconclusive"


def test_pass_rates_judged_together_fail_falsely_no_more_often_than_one():
    """By summing over all numbers of passes: every prompt truly passes in the floor's share."""
    floor, n, together = 0.75, 8, 240
    fails = [
        judge_pass_rate(k, n, floor, kind="confident", comparisons=together).verdict == "fail"
        for k in range(n + 1)
    ]
    one = sum(binom.pmf(k, n, floor) for k, fail in enumerate(fails) if fail)
    assert 1 - (1 - one) ** together <= 0.025
    assert fails[0]
    assert judge_pass_rate(5, 8, floor).verdict == "fail"
    assert judge_pass_rate(5, 8, floor, kind="confident").verdict == "inconclusive"
    assert "5 of 8 samples pass" in judge_pass_rate(5, 8, floor).message


@pytest.mark.parametrize("n", [1, 8, 16])
@pytest.mark.parametrize("together", [1, 13, 2132])
def test_the_limits_of_pass_rates_are_where_the_best_and_the_worst_outcome_change(n, together):
    def verdict(passes, floor):
        return judge_pass_rate(passes, n, floor, kind="confident", comparisons=together).verdict

    fails_above, passes_up_to = pass_rate_limits(n, comparisons=together)
    q = (0.025 / together) ** (1 / n)
    assert (fails_above, passes_up_to) == pytest.approx((1 - q, q))
    assert verdict(0, fails_above - 1e-6) != "fail" == verdict(0, fails_above + 1e-6)
    assert verdict(n, passes_up_to - 1e-6) == "pass" != verdict(n, passes_up_to + 1e-6)


@pytest.mark.parametrize(("noiseless", "verdict"), [(1.02, "inconclusive"), (0.84, "fail")])
def test_an_elasticity_that_noise_lowers_below_the_threshold_does_not_fail(noiseless, verdict):
    gate = judge_gate(
        "auc-e",
        0.77,
        0.85,
        ci95=(0.75, 0.79),
        kind="confident",
        null=0.77,
        samples=8,
        noiseless=noiseless,
    )
    assert gate.verdict == verdict
    assert ("with about 19 samples per variant instead of 8" in gate.message) == (verdict != "fail")


def test_a_gate_below_the_ceiling_that_noise_leaves_open_needs_more_samples_or_tasks():
    gate = judge_gate(
        "auc-e",
        0.7,
        0.8,
        ci95=(0.65, 0.75),
        kind="confident",
        null=0.9,
        samples=8,
        noiseless=0.85,
    )
    assert gate.verdict == "inconclusive"
    assert "sampling noise alone may cause that: without noise, it may be 0.85" in gate.message
    assert gate.message.endswith("More samples or tasks would decide")
