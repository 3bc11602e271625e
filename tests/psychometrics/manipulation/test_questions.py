from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_promptse.psychometrics.manipulation._questions import (
    OWN_PROMPTS,
    affect_prompt,
    affect_scale,
    label_prompt,
    paired_shift,
    read_label,
    recognition,
)

LABELS = ("calm", "tired", "neutral")


@pytest.mark.parametrize(
    ("response", "label", "problem"),
    [
        ("tired", "tired", None),
        ("**Tired.**", "tired", None),
        ("\x1b[1mcalm\x1b[0m", "calm", None),
        ("The writer sounds calm.", "calm", None),
        ("calm or tired", None, "several_labels"),
        ("cheerful", None, "no_label"),
        ("retired", None, "no_label"),
        ("As an AI, I cannot tell.", None, "refusal"),
        ("", None, "empty"),
    ],
)
def test_a_label_is_read_or_the_problem_named(response, label, problem):
    assert read_label(response, LABELS) == (label, problem)


def test_a_shift_is_paired_by_prompt():
    before, after = [20.0, 30.0, 40.0], [22.0, 33.0, 46.0]
    found = paired_shift(before, after)
    expected = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert found.delta == pytest.approx(11 / 3)
    assert found.ci95 == pytest.approx((expected.low, expected.high))
    assert paired_shift([20.0], [25.0]).ci95 is None
    assert paired_shift([], []).delta is None


def test_a_label_is_recognised_only_above_chance():
    random = np.random.default_rng(1)
    chosen = [("calm", "calm")] * 11 + [("calm", "tired")]
    chosen += [("tired", LABELS[i]) for i in random.integers(0, 3, size=12)]
    calm, tired, neutral = recognition(chosen, LABELS)
    assert calm.is_recognised
    assert calm.p_value == pytest.approx(
        stats.binomtest(11, 12, 1 / 3, alternative="greater").pvalue
    )
    assert calm.mistaken_for == "tired"
    assert not tired.is_recognised
    assert (neutral.n, neutral.share, neutral.is_recognised) == (0, None, False)


def test_guessing_is_seldom_called_recognition():
    random = np.random.default_rng(5)
    recognised = 0
    for _ in range(200):
        chosen = [(label, LABELS[i]) for label in LABELS for i in random.integers(0, 3, size=12)]
        recognised += any(each.is_recognised for each in recognition(chosen, LABELS))
    assert recognised <= 20


def test_prompts_hold_the_message_and_ask_for_own_or_the_writers_affect():
    order = tuple(range(1, 21))
    own = affect_prompt("Fix it!", "own", order)
    writer = affect_prompt("Fix it!", "writer", order)
    assert own != writer
    for prompt in (own, writer, label_prompt("Fix it!", LABELS)):
        assert "<message>\nFix it!\n</message>" in prompt
    assert "20. Afraid" in own
    assert affect_scale("own").items == affect_scale("writer").items


def test_own_prompts_are_neutral_requests():
    assert len(set(OWN_PROMPTS)) == len(OWN_PROMPTS) >= 4
    assert all(prompt.startswith("Write `") and "!" not in prompt for prompt in OWN_PROMPTS)
