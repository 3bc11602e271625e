from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._compare import compare_runs, with_itself
from pytest_promptse.scoring._noise_floor import null_gap
from pytest_promptse.scoring._pairing import RecordedPrompt, RecordedTask

law = settings(deadline=None, max_examples=25)
D = (0.1, 0.2, 0.3)
OPTIONS = {"mode": "promptse", "distances": D, "resamples": 500}


def variant(rate: float, distance: float = 0.0, **extra) -> RecordedPrompt:
    return RecordedPrompt(distance=distance, n=8, pass_rate=rate, score=rate, ess=8.0, **extra)


def task(name: str, original: float, variants: dict[float, list[float]]) -> RecordedTask:
    return RecordedTask(
        task_id=name,
        original=variant(original),
        variants={
            f"d{d:g}-{i}": variant(rate, d, excess=abs(rate - original) - 0.05)
            for d, rates in variants.items()
            for i, rate in enumerate(rates)
        },
    )


def run(n: int, loss: float, *, seed: int = 0) -> list[RecordedTask]:
    """Tasks whose variants solve `loss` less often than the original, give or take."""
    rng = np.random.default_rng(seed)
    return [
        task(
            f"t{i}",
            0.9,
            {d: list(np.clip(0.9 - loss + rng.uniform(-0.05, 0.05, 2), 0, 1)) for d in D},
        )
        for i in range(n)
    ]


def test_a_run_against_itself_differs_by_nothing():
    same = compare_runs(run(20, 0.1), run(20, 0.1), "auc_e", margin=0.02, **OPTIONS)
    assert same.difference == 0.0
    # Tasks not seen may still have lost something.
    unseen = 1 - 0.025 ** (1 / 20)
    assert same.ci95 == (0.0, 0.0)
    assert same.exact == pytest.approx((-unseen, unseen))
    assert same.verdict == "inconclusive"
    assert same.message.endswith("tasks not seen leave [-0.168, +0.168]")
    many = compare_runs(run(200, 0.1), run(200, 0.1), "auc_e", margin=0.02, **OPTIONS)
    assert many.verdict == "pass"


def test_a_loss_beyond_the_margin_fails():
    worse = compare_runs(run(20, 0.3), run(20, 0.1, seed=1), "auc_e", margin=0.02, **OPTIONS)
    assert worse.difference == pytest.approx(-0.2, abs=0.02)
    assert worse.verdict == "fail"
    assert worse.message.endswith("worse by 0.020 or more")
    assert worse.n_tasks == 20


def steady(rate, *, n=8, names="abcdefgh"):
    """Return tasks that always pass, and whose variants all have one pass rate."""
    tasks = [task(name, 1.0, {d: [rate] for d in D}) for name in names]
    return [replace(one, original=replace(one.original, n=n)) for one in tasks]


@pytest.mark.parametrize(
    ("margin", "verdict", "message"),
    [
        (None, None, "drop 0.500, baseline 0.250: +0.250 [+0.250, +0.250]"),
        (
            0.25,
            "fail",
            "drop 0.500, baseline 0.250: +0.250 [+0.250, +0.250], worse by 0.250 or more",
        ),
        (
            0.26,
            "inconclusive",
            (
                "drop 0.500, baseline 0.250: +0.250 [+0.250, +0.250], does not decide whether it "
                "is worse by 0.260; tasks not seen leave [-0.212, +0.527]"
            ),
        ),
        (
            0.6,
            "pass",
            "drop 0.500, baseline 0.250: +0.250 [+0.250, +0.250], no worse by 0.600",
        ),
    ],
)
def test_a_loss_of_the_margin_fails_and_a_smaller_one_may_still_be_larger(margin, verdict, message):
    found = compare_runs(steady(0.5), steady(0.75), "drop", margin=margin, **OPTIONS)
    assert (found.verdict, found.message) == (verdict, message)


@pytest.mark.parametrize("metric", ["auc_e", "drop"])
def test_other_numbers_of_samples_are_compared_only_if_these_do_not_matter(metric):
    found = compare_runs(steady(0.5), steady(0.75, n=16), metric, margin=0.9, **OPTIONS)
    not_compared = (
        "AUC-E 0.500, baseline 0.750: -0.250 [-0.250, -0.250], not comparable between 8 and 16 "
        "samples; compare drop or squared sensitivity"
    )
    assert found.verdict == ("pass" if metric == "drop" else "inconclusive")
    assert (found.message == not_compared) == (metric == "auc_e")


def test_runs_without_a_solved_original_have_nothing_to_lose():
    def unsolved(name):
        return [task(name, 0.0, {d: [0.0] for d in D})]

    found = compare_runs(unsolved("a"), steady(0.5, names="a"), "auc_e", margin=0.1, **OPTIONS)
    assert found.message == "AUC-E: this run solved no original, so there is nothing to lose"
    both = compare_runs(unsolved("a"), unsolved("a"), "auc_e", **OPTIONS)
    assert both.message.startswith("AUC-E: this run and the baseline solved no original")
    assert compare_runs(unsolved("a"), unsolved("a"), "drop", **OPTIONS).difference == 0.0


@pytest.mark.parametrize(("margin", "verdict"), [(0.1, "pass"), (None, None)])
def test_equal_completions_differ_by_nothing(margin, verdict):
    found = compare_runs(steady(0.5), steady(0.5), "drop", margin=margin, **OPTIONS)
    same = with_itself(found)
    assert (same.ci95, same.exact, same.verdict) == ((0.0, 0.0), (0.0, 0.0), verdict)
    assert same.message == "drop 0.500, baseline 0.500: +0.000, the same completions"
    nothing = compare_runs([], [], "drop", margin=margin, **OPTIONS)
    assert with_itself(nothing) is nothing


def test_no_significant_difference_is_not_mistaken_for_no_worse():
    noisy = [task(f"t{i}", 0.9, {d: [0.9 - 0.6 * (i % 2)] for d in D}) for i in range(10)]
    other = [task(f"t{i}", 0.9, {d: [0.9 - 0.6 * (i % 3 == 0)] for d in D}) for i in range(10)]
    found = compare_runs(noisy, other, "auc_e", margin=0.02, **OPTIONS)
    assert found.ci95[0] < 0.0 < found.ci95[1]
    assert found.verdict == "inconclusive"
    assert "does not decide" in found.message


def test_of_excess_less_is_better():
    calm, nervous = run(20, 0.1), run(20, 0.4)
    options = OPTIONS | {"margin": 0.05}
    assert compare_runs(nervous, calm, "excess", **options).verdict == "fail"
    assert compare_runs(calm, nervous, "excess", **options).verdict == "pass"


def test_a_margin_may_be_a_share_of_the_baseline():
    found = compare_runs(
        run(60, 0.12), run(60, 0.1, seed=1), "auc_e", margin=0.10, relative=True, **OPTIONS
    )
    assert found.margin == pytest.approx(0.10 * found.baseline)
    assert found.verdict == "pass"


def test_elasticity_is_compared_at_one_distance_and_pass_rates_on_originals():
    now = [task("a", 1.0, {0.1: [1.0], 0.3: [0.5]}), task("b", 0.5, {0.1: [0.5], 0.3: [0.5]})]
    then = [task("a", 1.0, {0.1: [1.0], 0.3: [1.0]}), task("b", 1.0, {0.1: [0.5], 0.3: [1.0]})]
    found = compare_runs(now, then, "elasticity", distance=0.3, **OPTIONS)
    assert (found.current, found.baseline) == (pytest.approx(0.75), pytest.approx(1.0))
    found = compare_runs(now, then, "pass_at_1", **OPTIONS)
    assert found.difference == pytest.approx(-0.25)
    assert found.verdict is None


def test_only_shared_tasks_and_variants_count_and_the_rest_is_listed():
    now = [task("a", 1.0, {0.1: [1.0, 0.0]}), task("new", 0.0, {0.1: [1.0]})]
    then = [task("a", 1.0, {0.1: [1.0]}), task("gone", 1.0, {0.1: [1.0]})]
    then[0] = replace(then[0], variants={**then[0].variants, "d0.1-old": variant(0.0, 0.1)})
    found = compare_runs(now, then, "elasticity", distance=0.1, **OPTIONS)
    assert (found.current, found.baseline, found.n_tasks) == (1.0, 1.0, 1)
    assert found.tasks_only_current == ("new",)
    assert found.tasks_only_baseline == ("gone",)
    assert found.variants_only_current == (("a", "d0.1-1"),)
    assert found.variants_only_baseline == (("a", "d0.1-old"),)


def test_runs_that_share_nothing_say_so():
    found = compare_runs(run(2, 0.1), [], "auc_e", margin=0.02, **OPTIONS)
    assert (found.difference, found.verdict, found.n_tasks) == (None, None, 0)
    assert "nothing in common" in found.message


def test_light_runs_average_the_variants_first_and_know_their_exact_noise():
    options = OPTIONS | {"mode": "light"}
    now = [task("a", 0.5, {0.1: [0.25, 0.75]}), task("b", 1.0, {0.1: [0.5, 0.5]})]
    then = [task("a", 0.5, {0.1: [0.5, 0.5]}), task("b", 1.0, {0.1: [1.0, 1.0]})]
    found = compare_runs(now, then, "elasticity", distance=0.1, **options)
    assert (found.current, found.baseline) == (pytest.approx(0.75), pytest.approx(1.0))
    found = compare_runs(now, then, "excess", **options | {"distances": (0.1,)})
    floor_now = (null_gap(8, 16, 12) + null_gap(8, 16, 16)) / 2
    floor_then = (null_gap(8, 16, 12) + null_gap(8, 16, 24)) / 2
    assert found.difference == pytest.approx((0.25 - floor_now) - (0.0 - floor_then))


@pytest.mark.parametrize("mode", ["promptse", "light"])
@pytest.mark.parametrize("metric", ["auc_e", "pass_at_1", "excess"])
def test_a_single_task_gets_an_interval_from_its_variants(metric, mode):
    found = compare_runs(
        run(1, 0.1), run(1, 0.12, seed=1), metric, margin=0.6, **OPTIONS | {"mode": mode}
    )
    low, high = found.ci95
    assert low < found.difference < high
    assert found.verdict == "pass"


def test_a_variant_without_an_excess_leaves_the_runs_excess_open():
    now = run(1, 0.1)
    bare = {name: replace(w, excess=None) for name, w in now[0].variants.items()}
    found = compare_runs([replace(now[0], variants=bare)], now, "excess", **OPTIONS)
    assert found.difference is None


@law
@given(st.integers(0, 10_000), st.floats(0.01, 0.3))
def test_swapping_the_runs_turns_the_sign_and_order_of_tasks_does_not_matter(seed, margin):
    a, b = run(6, 0.1, seed=seed), run(6, 0.2, seed=seed + 1)
    options = OPTIONS | {"margin": margin, "resamples": 100}
    one, swapped = compare_runs(a, b, "auc_e", **options), compare_runs(b, a, "auc_e", **options)
    assert one.difference == pytest.approx(-swapped.difference)
    assert asdict(compare_runs(a[::-1], b, "auc_e", **options)) == asdict(one)


@pytest.mark.parametrize(
    ("metric", "options", "said"),
    [
        ("auc_e", {"margin": 0.0}, "greater than 0"),
        ("elasticity", {}, "give a distance"),
        ("auc_e", {"distance": 0.1}, "give a distance"),
        ("elasticity", {"distance": 0.5}, "not among"),
    ],
)
def test_questions_that_make_no_sense_are_refused(metric, options, said):
    with pytest.raises(ValueError, match=said):
        compare_runs(run(2, 0.1), run(2, 0.1), metric, **OPTIONS | options)
