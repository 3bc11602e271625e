from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import binom, false_discovery_control

from pytest_promptse.scoring._noise_floor import gap_p_value, null_gap
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._softexec import softexec, weights
from pytest_promptse.scoring._suite import score_suite

D = (0.1, 0.2, 0.3)
FAST = {"permutations": 49, "resamples": 100}


def passes(k: int, m: int) -> Samples:
    return Samples([True] * k + [False] * (m - k))


def drawn(rng, rate: float, m: int) -> Samples:
    passed = rng.random(m) < rate
    causes = np.where(rng.random(m) < 0.5, "wrong_answer", "no_code")
    return Samples(
        passed,
        logprob=-rng.gamma(9, 1 / 3, m),
        n_tokens=rng.integers(5, 20, m),
        causes=tuple("" if ok else str(c) for ok, c in zip(passed, causes, strict=True)),
    )


def suite(n: int = 4, *, drop: float = 0.0, seed: int = 0, variants: int = 3) -> list[TaskSamples]:
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.6, 1.0, n)
    return [
        TaskSamples(
            f"task-{i}",
            drawn(rng, q, 16),
            {d: [drawn(rng, q - drop, 8) for _ in range(variants)] for d in D},
        )
        for i, q in enumerate(rates)
    ]


# Two tasks, two variants at each of two distances, all computed by hand.
HAND = [
    TaskSamples("a", passes(4, 4), {0.1: [passes(4, 4), passes(2, 4)], 0.2: [passes(0, 4)] * 2}),
    TaskSamples("b", passes(2, 4), {0.1: [passes(4, 4), passes(0, 4)], 0.2: [passes(2, 4)] * 2}),
]


def test_the_full_metric_by_hand():
    score = score_suite(HAND, distances=(0.1, 0.2), mode="promptse", weighting="uniform", **FAST)
    a, b = score.tasks
    assert a.elasticity == {0.1: pytest.approx(0.75), 0.2: pytest.approx(0.0)}
    assert b.elasticity == {0.1: pytest.approx(0.5), 0.2: pytest.approx(1.0)}
    assert score.elasticity == {0.1: pytest.approx(0.625), 0.2: pytest.approx(0.5)}
    assert score.auc_e == pytest.approx((0.625 + 0.5) / 2)
    assert score.pass_at_1 == pytest.approx(0.75)
    assert score.ess_median == pytest.approx(4.0)


def test_the_light_metric_by_hand_stands_beside_the_full_one():
    full = score_suite(HAND, distances=(0.1, 0.2), mode="promptse", weighting="uniform", **FAST)
    light = score_suite(HAND, distances=(0.1, 0.2), mode="light", **FAST)
    assert light.elasticity == {0.1: pytest.approx((0.75 + 1.0) / 2), 0.2: pytest.approx(0.5)}
    assert asdict(full.light) == asdict(light.light)
    assert light.auc_e == light.light.auc_e
    assert light.tasks[0].original.soft_exec is None
    assert light.ess_median is None


def test_the_noise_floor_by_hand():
    score = score_suite(HAND, distances=(0.1, 0.2), mode="promptse", weighting="uniform", **FAST)
    a = score.tasks[0]
    floor = (null_gap(4, 4, 8) + null_gap(4, 4, 6)) / 2
    assert a.elasticity_null == {0.1: 1.0, 0.2: 1.0}
    assert a.elasticity_excess[0.1] == pytest.approx((1 - floor) - 0.75)
    worst = a.variants[0.2][0]
    assert worst.delta == -1.0
    assert worst.excess == pytest.approx(1.0 - null_gap(4, 4, 4))
    assert worst.p_value == pytest.approx(gap_p_value(4, 4, 4, 0))
    assert a.light.elasticity_excess[0.2] == pytest.approx(1 - null_gap(4, 8, 4))
    assert a.light.elasticity_p_value[0.2] == pytest.approx(gap_p_value(4, 4, 8, 0))


@pytest.mark.parametrize("weighting", ["sum", "mean"])
def test_the_score_is_softexec_of_each_variant(weighting):
    [task] = suite(1)
    score = score_suite([task], distances=D, mode="promptse", weighting=weighting, **FAST)
    for d in D:
        for samples, variant in zip(task.variants[d], score.tasks[0].variants[d], strict=True):
            w = weights(samples.logprob, n_tokens=samples.n_tokens, weighting=weighting)
            assert variant.score == variant.soft_exec == pytest.approx(softexec(samples.passed, w))
            assert variant.ess == pytest.approx(1 / np.sum(w**2))
            assert variant.delta == pytest.approx(variant.score - score.tasks[0].original.score)


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_the_excess_of_a_suite_is_that_of_its_tasks_and_variants(mode):
    score = score_suite(suite(drop=0.3), distances=D, mode=mode, **FAST)
    for figures in ([score, *score.tasks], [score.light, *(t.light for t in score.tasks)]):
        whole, *tasks = figures
        assert whole.excess == pytest.approx(np.mean([task.excess for task in tasks]))
        for d in D:
            by_task = [task.elasticity_excess[d] for task in tasks]
            assert whole.elasticity_excess[d] == pytest.approx(np.mean(by_task))
    if mode == "promptse":
        for task in score.tasks:
            for d in D:
                by_variant = np.mean([v.excess for v in task.variants[d]])
                assert task.elasticity_excess[d] == pytest.approx(by_variant)


@pytest.mark.parametrize(("mode", "weighting"), [("promptse", "sum"), ("light", "sum")])
def test_the_ceiling_is_that_of_a_stable_model_and_does_not_depend_on_the_variants(mode, weighting):
    options = {"distances": D, "mode": mode, "weighting": weighting, **FAST}
    tasks, rng = suite(), np.random.default_rng(1)
    other = [
        TaskSamples(task.task_id, task.original, {d: [drawn(rng, 0.2, 8)] * 3 for d in D})
        for task in tasks
    ]
    same, broken = score_suite(tasks, **options), score_suite(other, **options)
    assert same.auc_e_null == broken.auc_e_null < 1.0
    solved = [TaskSamples("t", drawn(rng, 1.0, 32), {d: [drawn(rng, 0.0, 8)] * 3 for d in D})]
    assert score_suite(solved, **options).auc_e_null == 1.0


def test_the_same_input_gives_the_same_output_whatever_the_order_of_tasks():
    tasks = suite(12)
    one = asdict(score_suite(tasks, distances=D, mode="promptse", **FAST))
    again = asdict(score_suite(tasks, distances=D, mode="promptse", **FAST))
    turned = asdict(score_suite(tasks[::-1], distances=D, mode="promptse", **FAST))
    assert again == one
    assert turned.pop("tasks") == one.pop("tasks")[::-1]
    assert turned == one


def test_another_seed_moves_draws_but_no_estimate():
    tasks = suite(12)
    one = score_suite(tasks, distances=D, mode="promptse", seed=1, **FAST)
    two = score_suite(tasks, distances=D, mode="promptse", seed=2, **FAST)
    assert (one.auc_e, one.elasticity) == (two.auc_e, two.elasticity)
    assert one.auc_e_null != two.auc_e_null


def test_light_and_full_agree_for_one_variant_under_uniform_weights():
    score = score_suite(
        suite(variants=1), distances=D, mode="promptse", weighting="uniform", **FAST
    )
    assert score.elasticity == pytest.approx(score.light.elasticity)
    assert score.elasticity_null == pytest.approx(score.light.elasticity_null)


def test_what_was_not_measured_is_none_and_left_out_of_means():
    tasks = [
        TaskSamples("a", passes(4, 4), {0.1: [passes(2, 4)], 0.2: []}),
        TaskSamples("b", passes(4, 4), {0.1: [passes(4, 4)]}),
        TaskSamples("c", None, {0.1: [passes(4, 4)]}),
    ]
    score = score_suite(tasks, distances=(0.1, 0.2), mode="light", **FAST)
    assert score.elasticity == {0.1: pytest.approx(0.75), 0.2: None}
    assert score.elasticity_ci95[0.2] is None
    assert (score.auc_e, score.ci95, score.excess, score.p_value) == (None,) * 4
    assert score.tasks[2].elasticity == {0.1: None, 0.2: None}
    assert score.tasks[2].variants[0.1][0].delta is None
    assert score.pass_at_1 == 1.0
    assert "1 of 3 tasks have no E(0.1): they do not count in it" in score.warnings
    assert "3 of 3 tasks have no E(0.2): they do not count in it" in score.warnings


def test_a_suite_whose_tasks_lack_different_distances_still_has_an_area():
    tasks = suite(12)
    tasks[0], tasks[1] = (
        replace(task, variants={d: group for d, group in task.variants.items() if d != missing})
        for task, missing in zip(tasks[:2], (0.3, 0.1), strict=True)
    )
    score = score_suite(tasks, distances=D, mode="promptse", **FAST)
    assert score.tasks[0].auc_e is None
    e = score.elasticity
    assert score.auc_e == pytest.approx((e[0.1] + 4 * e[0.2] + e[0.3]) / 6)
    assert score.ci95[0] < score.auc_e < score.ci95[1]
    assert score.p_value is not None


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_all_passed_is_perfectly_stable(mode):
    tasks = [
        TaskSamples(f"t{i}", passes(8, 8), {d: [passes(8, 8)] * 2 for d in D}) for i in range(12)
    ]
    score = score_suite(tasks, distances=D, mode=mode, weighting="uniform", **FAST)
    assert (score.auc_e, score.auc_e_null, score.p_value) == (1.0, 1.0, 1.0)
    assert score.excess == pytest.approx(0.0)
    # All tasks agree, but 1 - 0.025^(1/12) of the unseen tasks may still break.
    assert score.ci95 == score.exact == pytest.approx((0.025 ** (1 / 12), 1.0))


def test_unseen_tasks_may_lose_everything_and_are_no_noisier_than_the_measured_ones():
    tasks = [
        TaskSamples(f"t{i}", passes(6, 8), {d: [passes(6, 8)] * 2 for d in D}) for i in range(12)
    ]
    score = score_suite(tasks, distances=D, mode="light", **FAST)
    # Without a difference, the excess is that of sampling alone, and so the least possible.
    assert score.excess < -0.1
    unseen = 1.0 - 0.025 ** (1 / 12)
    limits = pytest.approx((score.excess, score.excess + (1.0 - score.excess) * unseen))
    assert score.excess_exact == score.excess_ci95 == limits


@pytest.mark.parametrize("mode", ["promptse", "light"])
@pytest.mark.parametrize("rate", [0, 3])
def test_without_a_solved_original_there_is_nothing_to_lose(mode, rate):
    tasks = [
        TaskSamples(f"t{i}", passes(0, 8), {d: [passes(rate, 8)] * 2 for d in D}) for i in range(12)
    ]
    score = score_suite(tasks, distances=D, mode=mode, weighting="uniform", **FAST)
    for figures in (score, score.light, *score.tasks):
        assert (figures.auc_e, figures.auc_e_null, figures.excess, figures.p_value) == (None,) * 4
        assert set(figures.elasticity.values()) == {None}
    assert (score.ci95, score.exact) == (None, None)
    assert score.pass_at_1 == 0.0


def test_one_sample_of_one_variant_of_one_task_is_scored():
    task = TaskSamples("t", passes(1, 1), {0.3: [passes(0, 1)]})
    score = score_suite([task], distances=(0.3,), mode="light", **FAST)
    assert (score.auc_e, score.auc_e_null, score.excess) == (0.0, 1.0, 0.0)
    assert score.p_value == 1.0


def test_a_single_task_gets_its_interval_from_its_samples():
    task = TaskSamples("t", passes(28, 32), {d: [passes(6, 8)] * 4 for d in D})
    score = score_suite([task], distances=D, mode="promptse", weighting="uniform")
    low, high = score.ci95
    assert low < score.auc_e < high
    expected = score.auc_e + score.excess
    assert score.excess_ci95 == pytest.approx((expected - high, expected - low))
    assert score.light.ci95 is not None
    assert score.elasticity_ci95[0.3] is not None
    assert score.estimates["pass_at_1"].ci95[0] < 28 / 32 < score.estimates["pass_at_1"].ci95[1]
    assert score.warnings == ()


def test_a_single_task_that_always_passed_is_not_certain():
    task = TaskSamples("t", passes(8, 8), {d: [passes(4, 4)] for d in D})
    low, high = score_suite([task], distances=D, mode="light").ci95
    assert low < 0.95
    assert high == 1.0


@pytest.mark.parametrize("rate", [0.97, 0.9, 0.5, 0.03])
def test_the_pass_rate_of_a_single_task_is_missed_in_at_most_2_5_percent_on_either_side(rate):
    def limits(k: int) -> tuple[float, float]:
        task = TaskSamples("t", passes(k, 32), {0.1: [passes(k, 32)]})
        score = score_suite([task], distances=(0.1,), mode="light", permutations=1, resamples=100)
        return score.estimates["pass_at_1"].ci95

    chance = binom.pmf(np.arange(33), 32, rate)
    low, high = np.array([limits(k) for k in range(33)]).T
    assert chance[high < rate].sum() <= 0.025
    assert chance[low > rate].sum() <= 0.025


def test_pass_hat_of_one_task_that_never_passes_allows_rates_above_zero():
    # Eight samples fail in one of six cases at a rate of 0.2, at which pass^4 is 0.0016.
    task = TaskSamples("t", passes(0, 32), {d: [passes(0, 8)] * 4 for d in D})
    score = score_suite([task], distances=D, mode="light", weighting="uniform", **FAST)
    low, high = score.estimates["pass_hat_4"].ci95
    assert (low, score.estimates["pass_hat_4"].value) == (0.0, 0.0)
    assert 0.0016 < high < 0.05


def test_a_single_task_is_resampled_under_softexec_too():
    score = score_suite(suite(1), distances=D, mode="promptse", weighting="mean", **FAST)
    low, high = score.ci95
    assert 0.0 <= low < score.auc_e < high <= 1.0


def test_intervals_over_reruns_hold_the_tasks_fixed():
    # Half of the tasks lose everything. Other tasks may differ, but a rerun repeats these.
    tasks = [
        TaskSamples(f"t{i}", passes(32, 32), {d: [passes(8 * (i % 2), 8)] * 4 for d in D})
        for i in range(8)
    ]
    options = {"distances": D, "mode": "promptse", "weighting": "uniform", **FAST}
    over_tasks = score_suite(tasks, **options)
    reruns = score_suite(tasks, speaks_for="reruns", **options)
    assert (over_tasks.speaks_for, reruns.speaks_for) == ("tasks", "reruns")
    assert reruns.estimates["drop"].value == over_tasks.estimates["drop"].value == 0.5
    assert over_tasks.estimates["drop"].ci95[0] < 0.2
    assert reruns.estimates["drop"].ci95[0] > 0.45
    assert reruns.estimates["drop"].ci95[1] < 0.55
    assert 0.45 < reruns.ci95[0] < 0.5 < reruns.ci95[1] < 0.55
    assert all(
        one is None for one in (reruns.exact, reruns.estimates["drop"].exact, reruns.excess_exact)
    )
    assert not any("tasks are few" in line for line in reruns.warnings)


def test_a_rerun_of_a_light_suite_may_lose_more_rather_than_less():
    """A loss that is near 0 can only grow, so the interval is longer on this side."""
    tasks = [TaskSamples("t", passes(6, 8), {d: [passes(4, 8)] * 4 for d in D})]
    options = FAST | {"resamples": 4000}
    found = score_suite(
        tasks, distances=D, mode="light", weighting="uniform", speaks_for="reruns", **options
    )
    for low, _ in found.elasticity_ci95.values():
        assert low == pytest.approx(0.37, abs=0.05)


def test_the_order_of_the_tasks_does_not_change_intervals_over_reruns():
    tasks = suite(5)
    options = {"distances": D, "mode": "promptse", "speaks_for": "reruns", **FAST}
    forth, back = score_suite(tasks, **options), score_suite(tasks[::-1], **options)
    assert forth.ci95 == back.ci95
    assert forth.estimates["shortfall"] == back.estimates["shortfall"]


def test_a_single_task_does_not_cover_variants_that_were_not_sampled():
    def score(k: int, passing: int, mode: str = "promptse"):
        task = TaskSamples("t", passes(32, 32), {d: [passes(passing, 8)] * k for d in D})
        plan = {"mode": mode, "weighting": "uniform", "looks": 3, "planned": 4}
        return score_suite([task], distances=D, **plan, **FAST)

    for mode in ("promptse", "light"):
        early, late = score(1, 8, mode), score(4, 8, mode)
        assert early.auc_e == late.auc_e == 1.0
        assert early.ci95[0] <= 0.25
        assert late.ci95[0] > 0.8
        assert early.elasticity_ci95[0.2][0] <= 0.25
        assert early.estimates["drop"].ci95[1] > 0.7
        assert late.estimates["drop"].ci95[1] < 0.2
    # With any result of the other three, a variant that never passes costs a quarter.
    assert 0.75 <= score(1, 0).ci95[1] < 0.95


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_many_variants_that_agree_say_more_than_that_the_others_may_all_fail(mode):
    task = TaskSamples("t", passes(32, 32), {d: [passes(8, 8)] * 16 for d in D})
    plan = {"mode": mode, "weighting": "uniform", "looks": 6, "planned": 30}
    found = score_suite([task], distances=D, **plan, **FAST)
    assert min(found.ci95[0], found.elasticity_ci95[0.1][0]) > 16 / 30


def test_few_tasks_that_agree_do_not_either_but_many_do():
    def interval(n: int, k: int):
        variants = {d: [passes(8, 8)] * k for d in D}
        tasks = [TaskSamples(f"t{i}", passes(32, 32), variants) for i in range(n)]
        plan = {"mode": "promptse", "weighting": "uniform", "looks": 3, "planned": 4}
        return score_suite(tasks, distances=D, **plan, **FAST).ci95

    unseen = 0.025 / 3
    assert interval(3, 1) == pytest.approx((0.25 * unseen ** (1 / 3), 1.0))
    assert interval(3, 4) == pytest.approx((unseen ** (1 / 3), 1.0))
    assert interval(10, 1) == pytest.approx((unseen ** (1 / 10), 1.0))


def test_variants_may_have_different_numbers_of_samples():
    task = TaskSamples(
        "t",
        drawn(np.random.default_rng(0), 0.7, 16),
        {0.1: [drawn(np.random.default_rng(i), 0.7, m) for i, m in enumerate((3, 8, 5, 8))]},
    )
    for mode in ("promptse", "light"):
        score = score_suite([task], distances=(0.1,), mode=mode, **FAST)
        assert 0.0 < score.elasticity_null[0.1] < 1.0
        assert 0.0 < score.p_value <= 1.0
        assert all(0.0 < v.p_value <= 1.0 for v in score.tasks[0].variants[0.1])


@pytest.mark.parametrize(("mode", "weighting"), [("promptse", "mean"), ("light", "sum")])
def test_an_effect_of_variant_is_found_and_its_absence_is_not(mode, weighting):
    options = {"distances": D, "mode": mode, "weighting": weighting, "interval": False}
    harmed = score_suite(suite(10, drop=0.4), **options)
    assert harmed.excess > 0.1
    assert harmed.p_value < 1e-9
    assert max(harmed.elasticity_p_value.values()) < 1e-9
    unharmed = [score_suite(suite(2, seed=s), permutations=49, **options) for s in range(20)]
    assert abs(np.mean([score.excess for score in unharmed])) < 0.025
    assert np.mean([score.p_value <= 0.2 for score in unharmed]) < 0.4


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_a_loss_that_all_variants_of_a_task_share_is_significant_beyond_the_shuffles(mode):
    task = TaskSamples("t", passes(32, 32), {d: [passes(4, 8)] * 4 for d in D})
    samples = {"distances": D, "mode": mode, "weighting": "uniform", "permutations": 49}
    score = score_suite([task], interval=False, **samples)
    assert score.p_value == score.tasks[0].p_value < 1e-5
    assert min(v.p_value for group in score.tasks[0].variants.values() for v in group) > 1e-4


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_one_broken_variant_among_many_is_significant_after_all_adjustments(mode):
    tasks = suite(40, drop=0.0)
    rng = np.random.default_rng(0)
    always, never = drawn(rng, 1.0, 32), drawn(rng, 0.0, 8)
    tasks.append(TaskSamples("broken", always, {d: [always, never, always] for d in D}))
    score = score_suite(tasks, distances=D, mode=mode, permutations=49, interval=False)
    assert score.tasks[-1].variants[D[0]][1].p_adjusted < 1e-4
    assert score.tasks[-1].p_adjusted < 1e-3
    assert score.p_value < 1e-3


def test_p_values_are_adjusted_over_all_variants_and_over_all_tasks():
    score = score_suite(suite(4, drop=0.3), distances=D, mode="light", **FAST)
    variants = [v for t in score.tasks for group in t.variants.values() for v in group]
    adjusted = false_discovery_control([v.p_value for v in variants])
    assert [v.p_adjusted for v in variants] == pytest.approx(list(adjusted))
    adjusted = false_discovery_control([t.p_value for t in score.tasks])
    assert [t.p_adjusted for t in score.tasks] == pytest.approx(list(adjusted))


@pytest.mark.parametrize("mode", ["promptse", "light"])
def test_causes_add_up_to_what_the_elasticity_lacks(mode):
    score = score_suite(suite(5, drop=0.3), distances=D, mode=mode, **FAST)
    assert set(score.causes[0.3]) == {"wrong_answer", "no_code"}
    splits = [(score.causes, score.elasticity)]
    splits += [(task.causes, task.elasticity) for task in score.tasks]
    for causes, elasticity in splits:
        for d in D:
            lost = sum(c.loss for c in causes[d].values())
            assert lost == pytest.approx(1 - elasticity[d])


def test_without_causes_there_is_no_split():
    score = score_suite(HAND, distances=(0.1, 0.2), mode="light", **FAST)
    assert score.causes == {}
    assert score.tasks[0].causes == {}


def test_collapsed_weights_are_warned_of():
    rng = np.random.default_rng(0)

    def collapsed(m: int) -> Samples:
        return Samples(rng.random(m) < 0.5, logprob=np.minimum(0, rng.normal(-300, 80, m)))

    tasks = [TaskSamples(f"t{i}", collapsed(16), {d: [collapsed(8)] for d in D}) for i in range(12)]
    score = score_suite(tasks, distances=D, mode="promptse", **FAST)
    assert score.ess_median < 1.5
    warning = score.warnings[0]
    assert "collapsed" in warning
    assert "'mean' or 'uniform'" in warning


@pytest.mark.parametrize(
    ("solved", "said"), [(0, "no sample of an original passes"), (1, "pass@1 is 0.04"), (2, "")]
)
def test_a_model_that_solves_hardly_anything_is_warned_of(solved, said):
    tasks = [
        TaskSamples(f"t{i}", passes(i < solved, 1), {d: [passes(0, 1)] for d in D})
        for i in range(25 if solved == 1 else 40)
    ]
    lines = score_suite(tasks, distances=D, mode="light", **FAST).warnings
    found = [line for line in lines if "tasks are few" not in line]
    assert [line.startswith(said) for line in found] == [True] * bool(said)


@pytest.mark.parametrize(("n", "warned"), [(1, False), (2, True), (49, True), (50, False)])
def test_from_two_to_forty_nine_tasks_are_few(n, warned):
    tasks = [TaskSamples(f"t{i}", passes(8, 8), {0.1: [passes(8, 8)]}) for i in range(n)]
    lines = score_suite(tasks, distances=(0.1,), mode="light", **FAST).warnings
    assert any("tasks are few" in line for line in lines) == warned


def test_few_tasks_are_warned_of_and_enough_are_not():
    few = score_suite(suite(4), distances=D, mode="light", **FAST)
    [warning] = few.warnings
    assert warning.startswith("4 tasks are few: up to 60 % of other tasks may behave in another")
    assert score_suite(suite(50), distances=D, mode="light", **FAST).warnings == ()


def test_intervals_can_be_left_out():
    score = score_suite(suite(12), distances=D, mode="promptse", interval=False)
    assert (score.ci95, score.excess_ci95, score.estimates["pass_at_1"].ci95) == (None,) * 3
    assert set(score.elasticity_ci95.values()) == {None}


def test_log_probabilities_of_minus_infinity_are_scored_and_missing_ones_are_named():
    never = Samples([True, False, True], logprob=[-np.inf, -np.inf, -1.0])
    score = score_suite(
        [TaskSamples("t", never, {0.1: [never]})], distances=(0.1,), mode="promptse", **FAST
    )
    assert score.tasks[0].original.score == 1.0
    task = TaskSamples("t", never, {0.1: [never, passes(1, 2)]})
    with pytest.raises(ValueError, match=r"task 't', d0\.1 variant 1: .*mode='light'"):
        score_suite([task], distances=(0.1,), mode="promptse", **FAST)
    score_suite([task], distances=(0.1,), mode="promptse", weighting="uniform", **FAST)
    score_suite([task], distances=(0.1,), mode="light", **FAST)


@pytest.mark.parametrize(
    ("tasks", "options", "said"),
    [
        ([], {}, "at least one"),
        ([HAND[0], HAND[0]], {}, "2 tasks have the id 'a'"),
        (HAND, {"distances": (0.2, 0.1)}, "increase"),
        (HAND, {"distances": (0.1,)}, "variants at distance 0.2"),
        (HAND, {"permutations": 0}, "permutations is 0"),
        (HAND, {"resamples": 99}, "resamples is 99"),
        (HAND, {"looks": 0}, "looks is 0: give at least 1, 100 and 1"),
    ],
)
def test_input_that_cannot_be_scored_is_refused(tasks, options, said):
    with pytest.raises(ValueError, match=said):
        score_suite(tasks, **{"distances": (0.1, 0.2), "mode": "light", **FAST, **options})
