"""The odds ratio of the mixed model, against closed forms and known truths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import t

from pytest_promptse.scoring._odds_ratio import count, estimate, fit
from pytest_promptse.scoring._samples import Samples, TaskSamples
from pytest_promptse.scoring._suite import score_suite

D = (0.1, 0.2, 0.3)


def test_one_task_has_the_odds_ratio_of_its_two_by_two_table():
    found = estimate(count([[(300, 400), (100, 200), (100, 200)]], emotions=None))
    assert found.value == pytest.approx((200 / 200) / (300 / 100), rel=1e-2)
    error = math.sqrt(1 / 300 + 1 / 100 + 1 / 200 + 1 / 200)
    assert math.log(found.ci95[1] / found.ci95[0]) == pytest.approx(2 * 1.96 * error, rel=1e-2)
    assert found.exact is None


def test_with_many_samples_it_is_students_interval_of_the_tasks_own_log_odds_ratios():
    rng = np.random.default_rng(3)
    base, shift = rng.normal(1.0, 1.0, 12), rng.normal(-0.5, 0.8, 12)
    m = 10**6
    rates = np.column_stack([expit(base), expit(base + shift)])
    prompts = [[(round(m * p), m) for p in row] for row in rates]
    found = estimate(count(prompts, emotions=None))
    expected = t.interval(0.95, 11, shift.mean(), shift.std(ddof=1) / math.sqrt(12))
    assert math.log(found.value) == pytest.approx(shift.mean(), abs=0.02)
    assert np.log(found.ci95) == pytest.approx(expected, abs=0.05)
    assert found.exact == (0.0, pytest.approx(found.ci95[1], rel=0.01))


def test_easy_tasks_hardly_show_their_odds_so_they_do_not_count_as_harmed():
    """Only the harder half loses, but the model takes the easier half for harmed as well."""
    ease = ndtri((np.arange(40) + 0.5) / 40)
    shift = np.where(ease < 0.0, -1.6, 0.0)
    prompts = [
        [(round(32 * before), 32), (round(96 * after), 96)]
        for before, after in zip(expit(4.0 + ease), expit(4.0 + ease + shift), strict=True)
    ]
    found = estimate(count(prompts, emotions=None))
    assert found.ci95[1] < math.exp(shift.mean()) < found.exact[1]


def test_the_degrees_of_freedom_are_the_tasks_less_one():
    counts = count([[(30, 32), (6, 8)], [(20, 32), (5, 8)], [(32, 32), (7, 8)]], emotions=None)
    low, high = estimate(counts).ci95
    half = t.ppf(0.975, 2) * fit(counts).error
    assert math.log(high / low) == pytest.approx(2 * half)


def test_variants_that_a_task_lacks_change_nothing():
    prompts = [[(30, 32), (6, 8), (7, 8)], [(20, 32), (5, 8), (2, 8)], [(32, 32), (8, 8), (6, 8)]]
    padded = [*prompts, [(10, 32), (3, 8)]]
    first = count(padded, emotions=None)
    assert first.samples[3].tolist() == [32, 8, 0]
    wider = count([*padded[:3], [(10, 32), (3, 8), (0, 0)]], emotions=None)
    assert fit(wider) == fit(first)
    turned = fit(count(padded[::-1], emotions=None))
    assert turned.log_odds_ratio == pytest.approx(fit(first).log_odds_ratio, abs=1e-6)


def test_it_finds_the_truth_and_its_interval_covers_it():
    rng, truth, missed, found = np.random.default_rng(5), -0.6, 0, []
    for _ in range(20):
        base, own = rng.normal(1.0, 1.2, 15), rng.normal(truth, 0.7, 15)
        effects = 0.4 * rng.normal(size=(15, 12))
        rates = expit(np.column_stack([base, (base + own)[:, None] + effects]))
        sizes = np.array([32] + [8] * 12)
        passes = rng.binomial(sizes, rates)
        prompts = [list(zip(row, sizes, strict=True)) for row in passes]
        one = estimate(count(prompts, emotions=None))
        missed += not one.ci95[0] <= math.exp(truth) <= one.ci95[1]
        found.append(math.log(one.value))
    assert np.mean(found) == pytest.approx(truth, abs=0.1)
    assert missed <= 3  # at 5 % more has a probability of 2 %


@pytest.mark.parametrize("passed", [0, 1])
def test_where_nothing_varies_it_says_1_and_that_it_does_not_know(passed):
    found = estimate(count([[(32 * passed, 32), *[(8 * passed, 8)] * 4]] * 8, emotions=None))
    assert found.value == 1.0
    assert found.ci95[0] < 0.1
    assert found.ci95[1] > 10.0


def suite(rates: dict[str, float], n: int = 24) -> list[TaskSamples]:
    """Tasks whose variants' pass rates depend on their emotion."""
    rng = np.random.default_rng(1)

    def samples(rate: float, m: int) -> Samples:
        return Samples(rng.random(m) < rate)

    tasks = []
    for number in range(n):
        emotions = {d: [str(e) for e in rng.choice(list(rates), 4)] for d in D}
        variants = {d: [samples(rates[e], 8) for e in own] for d, own in emotions.items()}
        tasks.append(TaskSamples(f"t{number}", samples(0.8, 32), variants, emotions))
    return tasks


@pytest.mark.parametrize(("tired", "wider"), [(0.1, 2.0), (0.8, 0.99)])
def test_an_interval_over_emotions_is_wide_where_one_of_them_breaks_the_model(tired, wider):
    rates = dict.fromkeys(("calm", "excited", "focused", "stressed", "anxious"), 0.8)
    tasks = suite(rates | {"tired": tired})
    width = []
    for speaks_for in ("tasks", "tasks+emotions"):
        score = score_suite(
            tasks,
            distances=D,
            mode="light",
            permutations=1,
            resamples=100,
            speaks_for=speaks_for,
        )
        low, high = score.estimates["odds_ratio"].ci95
        assert low < score.estimates["odds_ratio"].value < high
        width.append(math.log(high / low))
    assert width[1] > wider * width[0]


def test_tasks_are_of_different_difficulty_and_that_is_no_effect_of_the_variants():
    prompts = [[(round(32 * p), 32), *[(round(8 * p), 8)] * 12] for p in (0.25, 0.5, 0.75, 1.0)]
    model = fit(count(prompts, emotions=None))
    assert model.task > 0.5
    assert model.sensitivity < 0.2
    assert model.log_odds_ratio == pytest.approx(0.0, abs=0.15)


def test_scores_without_an_original_or_variants_are_left_out():
    lone = TaskSamples("a", Samples([True] * 4), {})
    lost = TaskSamples("b", None, {d: [Samples([True] * 4)] for d in D})
    score = score_suite([lone, lost], distances=D, mode="light", permutations=1, resamples=100)
    assert score.estimates["odds_ratio"].value is None


def test_the_model_is_that_of_the_logits():
    """A shift of all logits by one amount is that amount, however tasks differ."""
    base = logit(np.linspace(0.2, 0.8, 10))
    m = 10**5
    prompts = [[(round(m * expit(x)), m), (round(m * expit(x - 1.0)), m)] for x in base]
    assert fit(count(prompts, emotions=None)).log_odds_ratio == pytest.approx(-1.0, abs=1e-2)
