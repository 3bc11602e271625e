"""Gates on the figures of a suite, decided from what the run log holds."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from planned_suites import measure, plan, row_of

from pytest_promptse.run._gates import Scores
from pytest_promptse.store._run_log import RunLog

TASKS = [f"t{number}" for number in range(8)]
HALF = ("",) * 4 + ("wrong_answer",) * 4
FEW = ("",) + ("wrong_answer",) * 7


@pytest.fixture
def decide(store):
    """Decide the last gate of a suite whose variants all end with `causes`."""

    def decide(*, original=HALF, variant=HALF, **options):
        run_log = RunLog(store, "run")
        suite = plan(TASKS, distances="0.3", variants=2, samples=8, original_samples=8, **options)
        measure(run_log, suite, original=original, variant=variant)
        return Scores(run_log).decide(suite.row, suite.gates[-1])

    return decide


@pytest.mark.parametrize("fewer", [0, 1, 2, 4])
def test_the_drop_is_the_difference_of_the_pass_rates(decide, fewer):
    variant = ("",) * (4 - fewer) + ("wrong_answer",) * (4 + fewer)
    gate = decide(variant=variant, max_drop=0.25, gate="point")
    assert gate.value == pytest.approx(fewer / 8)
    assert gate.verdict == ("fail" if fewer / 8 > 0.25 else "pass")


@pytest.mark.parametrize(("variant", "verdict"), [(HALF, "pass"), (FEW, "fail")])
def test_the_odds_ratio_has_a_floor(decide, variant, verdict):
    gate = decide(variant=variant, min_odds_ratio=0.5, gate="point")
    assert (gate.name, gate.verdict) == ("odds-ratio", verdict)
    assert gate.message.startswith("odds ratio ")


def test_a_confident_gate_on_the_odds_ratio_fails_but_never_passes(decide):
    assert decide(variant=FEW, min_odds_ratio=0.5, gate="confident").verdict == "fail"
    gate = decide(min_odds_ratio=0.01, gate="confident")
    assert gate.verdict == "inconclusive"
    assert "the interval 0.00 to" in gate.message
    assert "No number of tasks excludes 0" in gate.message


def test_the_odds_ratio_fails_no_model_whose_variants_pass_as_often(store):
    # Nearly perfect tasks lose 2 % of their passes, which are 1.2 logits; the others gain 3 %, 0.1.
    def causes(passes):
        return ("",) * passes + ("wrong_answer",) * (64 - passes)

    run_log = RunLog(store, "run")
    tasks = [f"t{number}" for number in range(40)]
    sizes = {"samples": 64, "original_samples": 64, "variants": 4, "distances": "0.3"}
    suite = plan(tasks, min_odds_ratio=1.0, gate="confident", **sizes)
    run_log.add(suite.row)
    for planned in suite.variants:
        is_easy = int(planned.task.id[1:]) % 2 == 0
        passes = {True: (64, 62), False: (32, 35)}[is_easy][planned.variant.distance > 0.0]
        run_log.add(row_of(suite, planned, causes(passes)))
    scores = Scores(run_log)
    assert scores.of(suite.row).estimates["odds_ratio"].ci95[1] < 1.0
    gate = scores.decide(suite.row, suite.gates[-1])
    assert gate.verdict == "inconclusive"
    assert "without noise, it may be 1.00" in gate.message


def test_what_a_suite_without_rounds_could_not_measure_widens_no_interval(store):
    """Only variants of later rounds are still to come."""
    estimates = []
    for variants in (2, 4):
        run_log = RunLog(store, f"run {variants}")
        suite = plan(TASKS, distances="0.3", variants=variants, samples=8, original_samples=8)
        run_log.add(suite.row)
        for planned in suite.variants:
            if planned.index < 2:
                failed = TASKS.index(planned.task.id) % 3 + planned.index
                causes = ("",) * (8 - failed) + ("wrong_answer",) * failed
                run_log.add(row_of(suite, planned, causes))
        estimates.append(Scores(run_log).of(suite.row).estimates["drop"].ci95)
    assert estimates[0] == estimates[1] is not None


def test_variants_of_all_later_rounds_widen_the_intervals(store):
    run_log = RunLog(store, "run")
    suite = plan(TASKS, distances="0.3", variants=2, samples=8, original_samples=8)
    measure(run_log, suite, variant=("",) * 6 + ("wrong_answer",) * 2, original=("",) * 8)

    def ci95(*looks):
        row = replace(suite.row, looks=[*looks])
        return Scores(run_log).of(row).estimates["drop"].ci95

    assert ci95(1, 2, 12) == ci95(1, 3, 12)
    assert ci95(1, 2, 12)[1] > ci95(1, 3, 2)[1]


@pytest.mark.parametrize("options", [{"min_odds_ratio": 0.5}, {"min_robust_pass": 0.01}])
def test_figures_that_a_loss_brings_to_0_can_always_fail(decide, options):
    """So their gates pass although the originals solve little."""
    assert decide(original=HALF, variant=HALF, gate="point", **options).verdict == "pass"
    assert decide(original=HALF, variant=HALF, gate="point", max_drop=0.9).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"max_drop": 0.5}, "inconclusive"),
        ({"max_drop": 0.49}, "pass"),
        ({"min_auc_e": 0.5}, "inconclusive"),
        ({"min_auc_e": 0.51}, "pass"),
    ],
)
def test_a_gate_that_the_loss_of_everything_would_just_pass_is_open(decide, options, verdict):
    gate = decide(gate="point", **options)
    assert gate.verdict == verdict
    said = "but the originals score only 0.50, so even the loss of all of it would pass"
    assert gate.message.endswith(said) == (verdict == "inconclusive")


@pytest.mark.parametrize(("interval", "verdict"), [("tasks", "inconclusive"), ("reruns", "pass")])
def test_intervals_over_reruns_decide_where_other_tasks_might_differ(decide, interval, verdict):
    solved = ("",) * 8
    gate = decide(original=solved, variant=solved, max_drop=0.2, interval=interval)
    assert gate.verdict == verdict


def gate_of(store, rates, gate, *, mode="light", others=0):
    """Return the decided gate of 20 tasks whose original and variants have these rates.

    `rates` has the rate of the original, then those that the variants have in turn. The run has
    `others` gates in another suite.
    """
    rng = random.Random(5)
    run_log = RunLog(store, "run")
    suite = plan(
        [f"t{number}" for number in range(20)],
        distances="0.3",
        variants=4,
        samples=8,
        original_samples=32,
        mode=mode,
        **gate,
    )
    run_log.add(suite.row)
    run_log.add(replace(suite.row, id="another", n_gates=others))
    for planned in suite.variants:
        of_variants = rates[1:]
        rate = of_variants[planned.outline.index % len(of_variants)]
        if planned.outline.distance == 0.0:
            rate = rates[0]
        causes = ["" if rng.random() < rate else "wrong_answer" for _ in range(planned.n)]
        run_log.add(row_of(suite, planned, causes))
    [row] = [one for one in suite.gates if one.threshold is not None]
    return Scores(run_log).decide(suite.row, row)


def suite_of(store, rates, gate, *, mode="light"):
    """Return the verdict of `gate_of`."""
    return gate_of(store, rates, gate, mode=mode).verdict


@pytest.mark.parametrize(("others", "verdict"), [(0, "fail"), (9, "fail"), (399, "inconclusive")])
def test_with_a_level_for_the_run_many_gates_fail_only_together(store, others, verdict):
    gate = gate_of(store, (0.9, 0.8), {"max_drop": 0.02, "family_level": 0.05}, others=others)
    assert gate.verdict == verdict
    reason = "it fails alone, but not together with all 400 gates of this run"
    assert (reason in gate.message) == (verdict == "inconclusive")


def test_with_a_level_for_the_run_a_clear_loss_fails_among_any_number_of_gates(store):
    gate = {"max_drop": 0.02, "family_level": 0.01}
    assert gate_of(store, (0.9, 0.3), gate, others=999).verdict == "fail"
    assert gate_of(store, (0.9, 0.9), gate, others=0).verdict == "inconclusive"


@pytest.mark.parametrize("name", ["min_auc_e", "min_elasticity"])
def test_a_stable_model_does_not_fail_for_its_noise(store, name):
    assert suite_of(store, (0.6, 0.6), {name: 0.99}) == "inconclusive"


@pytest.mark.parametrize(
    ("rates", "options", "fails"),
    [
        ((0.6, 0.6), {"max_flips": 0.02}, False),
        ((0.5, 0.5), {"max_flips": 0.3}, False),
        ((0.9, 0.1), {"max_flips": 0.3}, True),
        ((0.1, 0.9), {"max_flips": 0.3}, True),
        ((0.6, 0.6), {"max_shortfall": 0.02}, False),
        ((0.6, 0.9), {"max_shortfall": 0.0}, False),
        ((0.9, 0.3), {"max_shortfall": 0.3}, True),
        ((0.9, 0.7), {"max_shortfall": 0.1}, True),
    ],
)
def test_shortfall_and_flips_fail_for_a_real_effect_and_not_for_noise(store, rates, options, fails):
    assert (suite_of(store, rates, options) == "fail") == fails


def test_variants_that_balance_each_other_do_not_fail_a_gate_of_promptselight(store):
    """Squared sensitivity is large, but PromptSELight averages the variants first."""
    assert suite_of(store, (0.5, 1.0, 0.0), {"min_auc_e": 0.99}) == "inconclusive"


@pytest.mark.parametrize("name", ["min_auc_e", "min_elasticity"])
@pytest.mark.parametrize(
    ("rates", "threshold"), [((0.9, 0.6), 0.85), ((0.6, 0.9), 0.85), ((0.6, 0.0), 0.99)]
)
def test_a_model_that_changes_more_than_allowed_fails(store, name, rates, threshold):
    assert suite_of(store, rates, {name: threshold}) == "fail"


@pytest.mark.parametrize(
    ("rates", "fails"),
    [((0.9, 0.7), True), ((0.9, 0.9), False), ((0.6, 0.6), False), ((0.6, 0.9), False)],
)
def test_a_gate_on_the_drop_fails_for_a_loss_and_for_no_gain(store, rates, fails):
    assert (suite_of(store, rates, {"max_drop": 0.05}) == "fail") == fails


@pytest.mark.parametrize(("n", "verdict"), [(3, "inconclusive"), (9, "fail")])
def test_a_few_tasks_that_lose_do_not_show_that_other_tasks_lose_too(store, n, verdict):
    run_log = RunLog(store, "run")
    names = [f"t{number}" for number in range(n)]
    suite = plan(names, distances="0.3", variants=2, samples=16, original_samples=16, max_drop=0.1)
    run_log.add(suite.row)
    for planned in suite.variants:
        lost = 4 + names.index(planned.variant.task_id) % 3 if planned.variant.distance else 0
        run_log.add(row_of(suite, planned, ("wrong_answer",) * lost + ("",) * (16 - lost)))
    [gate] = [gate for gate in suite.gates if gate.threshold is not None]
    assert Scores(run_log).decide(suite.row, gate).verdict == verdict


@pytest.mark.parametrize(
    ("gate", "rate", "verdict"),
    [
        ({"min_auc_e": 1.0}, 0.96, "inconclusive"),
        ({"max_excess": 0.0}, 0.96, "inconclusive"),
        ({"max_excess": 0.05}, 0.7, "fail"),
    ],
)
def test_one_task_at_0_96_whose_original_happens_to_pass_always_is_stable(
    store, gate, rate, verdict
):
    """All differences have one sign then, and so have those of resampled samples."""
    run_log = RunLog(store, "run")
    suite = plan(
        ["t"],
        distances="0.1,0.2,0.3",
        variants=30,
        samples=16,
        original_samples=64,
        mode="promptse",
        weighting="uniform",
        **gate,
    )
    run_log.add(suite.row)
    rng = random.Random(3)
    for planned in suite.variants:
        failed = sum(rng.random() > rate for _ in range(planned.n * bool(planned.variant.distance)))
        causes = ("wrong_answer",) * failed + ("",) * (planned.n - failed)
        run_log.add(row_of(suite, planned, causes))
    [planned_gate] = [gate for gate in suite.gates if gate.threshold is not None]
    assert Scores(run_log).decide(suite.row, planned_gate).verdict == verdict


@pytest.mark.parametrize(
    ("n", "options", "verdict"),
    [
        (20, {"min_auc_e": 1.0}, "inconclusive"),
        (20, {"min_elasticity": 1.0}, "inconclusive"),
        (20, {"max_squared_sensitivity": 0.0}, "inconclusive"),
        (20, {"max_excess": 0.0}, "inconclusive"),
        (1, {"max_drop": 0.2}, "inconclusive"),
        (1, {"min_task_auc_e": 0.9}, "inconclusive"),
        (1, {"max_drop": 0.2, "gate": "point"}, "fail"),
    ],
)
def test_copied_answers_fail_no_gate_that_takes_them_for_independent(store, n, options, verdict):
    """Every second prompt is answered by 8 copies of a wrong program, whatever its wording."""
    gates = {
        copied: copied_suite(store, n, options, copied=copied, wrong=lambda at, _: at % 2)
        for copied in (True, False)
    }
    assert gates[True].verdict == verdict
    assert gates[False].verdict == "fail"
    assert ("too many answers are equal" in gates[True].message) <= (verdict == "inconclusive")


@pytest.mark.parametrize(("copied", "verdict"), [(True, "inconclusive"), (False, "pass")])
def test_copies_that_pass_together_pass_no_gate_on_several_attempts(store, copied, verdict):
    options = {"min_pass_hat_4": 0.5}
    gate = copied_suite(store, 20, options, copied=copied, wrong=lambda _, __: False)
    assert gate.verdict == verdict


@pytest.mark.parametrize("options", [{"min_auc_e": 0.9}, {"max_drop": 0.2}])
def test_copied_answers_of_many_tasks_still_show_a_loss(store, options):
    gate = copied_suite(store, 20, options, copied=True, wrong=lambda _, distance: distance)
    assert gate.verdict == "fail"


def copied_suite(store, n, options, *, copied, wrong):
    """Return the gate of a suite of `n` tasks in which all answers to a prompt are of one kind."""
    run_log = RunLog(store, f"run {copied}")
    suite = plan(
        [f"t{number}" for number in range(n)],
        distances="0.3",
        variants=4,
        samples=8,
        original_samples=8,
        temperature=0.8,
        **options,
    )
    run_log.add(suite.row)
    for at, planned in enumerate(suite.variants):
        causes = ("wrong_answer" if wrong(at, planned.variant.distance) else "",) * 8
        answers = [0] * 8 if copied else range(8)
        run_log.add(row_of(suite, planned, causes, logprob=-40.0, answers=answers))
    [gate] = [gate for gate in suite.gates if gate.threshold is not None]
    return Scores(run_log).decide(suite.row, gate)
