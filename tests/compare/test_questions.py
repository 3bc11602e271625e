from __future__ import annotations

import sys

import numpy as np
import pytest
from msgspec.structs import replace
from record_builders import falling, flat, make_run

from pytest_promptse.compare._emotion import term_density
from pytest_promptse.compare._study import study_of
from pytest_promptse.record._figures import CalibrationRecord
from pytest_promptse.record._schema import SubgroupsRecord


def models(*figures):
    """Return runs of models with the given pass rates and AUC-E."""
    return [
        make_run(f"m{number}", {"one": (rate, {d: [rate - 1 + area] for d in (0.1, 0.2, 0.3)})})
        for number, (rate, area) in enumerate(figures)
    ]


def test_rq1_correlates_performance_and_stability_over_models():
    # pass@1 and squared sensitivity have the same order, so each rank coefficient is 1. Of the
    # 3! = 6 orders, the same and the opposite one are as extreme: p = 1/3.
    found = study_of(models((1.0, 0.5), (0.8, 0.7), (0.6, 0.9))).trade_off
    assert found.missing == ()
    values = {c.coefficient: (c.value, c.p_value) for c in found.correlations}
    assert values["Spearman"] == pytest.approx((1.0, 1 / 3))
    assert values["Kendall"] == pytest.approx((1.0, 1 / 3))


@pytest.mark.parametrize(
    ("runs", "missing"),
    [
        (models((1.0, 0.5), (0.8, 0.7)), "needs 3 models, there are 2"),
        (models((1.0, 0.5), (1.0, 0.7), (1.0, 0.6)), "needs models that differ in pass@1"),
    ],
)
def test_rq1_says_what_is_missing(runs, missing):
    found = study_of(runs).trade_off
    assert found.correlations == ()
    assert missing in found.missing[0]


def test_rq2_groups_sensitivity_by_distance_size_and_family():
    # Task one falls by 0, 0.5 and 1 at the three distances, in the larger model not at all.
    runs = [
        make_run("qwen-1.5b", {"one": falling(1.0, 0.5, 0.0)}),
        make_run("llama-34b", {"one": flat(1.0)}),
    ]
    found = study_of(runs).moderation
    groups = {(g.factor, g.value, g.distance): g for g in found.groups}
    far = groups["distance", "0.3", None]
    # |ΔPass| 1 and 0: mean 0.5, standard deviation sqrt(0.5), one of two a loss.
    assert (far.n, far.sensitivity, far.losses) == (2, 0.5, 0.5)
    assert far.spread == pytest.approx(0.5**0.5)
    assert (far.elasticity, far.soft) == (0.5, -0.5)
    tiny = groups["size", "tiny", None]
    assert (tiny.n, tiny.sensitivity) == (3, 0.5)
    assert groups["size", "tiny", 0.2].spread is None
    assert groups["family", "llama", 0.3].sensitivity == 0.0
    # Squared sensitivity is 0, 0.5² less the noise of 8 samples at 0.5, and 1, by Simpson's rule.
    squares = (0.0, 0.25 - 0.25 / 7, 1.0)
    assert (tiny.squared, tiny.drop) == pytest.approx((sum(squares) / 3, 0.5))
    area = (squares[0] + 4 * squares[1] + squares[2]) / 6
    assert found.cells == pytest.approx({("tiny", "qwen"): area, ("large", "llama"): 0.0})
    assert found.missing == ()


def test_rq2_tests_each_factor_together_and_by_pairs():
    # The models are the units: mean drops 0.4 and 0.2 of the two tiny ones, 0 of the large one.
    # Ranks 3, 2 and 1: H = 12 / (3 * 4) * (25 / 2 + 1) - 12 = 1.5. Cliff's delta is 1.
    runs = [
        make_run("qwen-1.5b", {n: falling(0.8, 0.6, 0.4) for n in ("one", "two")}),
        make_run("llama-1b", {n: falling(0.9, 0.8, 0.7) for n in ("one", "two")}),
        make_run("qwen-34b", {n: flat(1.0) for n in ("one", "two")}),
    ]
    tests = {(t.factor, t.figure, t.overall.test): t for t in study_of(runs).moderation.tests}
    assert {figure for _, figure, _ in tests} == {"squared sensitivity", "drop"}
    found = tests["size", "drop", "Kruskal-Wallis"]
    assert found.overall.n == 3
    assert found.overall.statistic == pytest.approx(1.5)
    [pair] = found.pairs
    assert (pair.one, pair.other, pair.effect) == ("tiny", "large", 1.0)
    # The tasks are the units, averaged over models: both rank the distances 1 2 3, so that
    # Q = 12 / (2 * 3 * 4) * (2^2 + 4^2 + 6^2) - 3 * 2 * 4 = 4.
    within = tests["distance", "drop", "Friedman"].overall
    assert (within.n, within.statistic) == (2, pytest.approx(4.0))
    assert ("distance", "drop", "Kruskal-Wallis") not in tests


def test_rq2_finds_no_effect_of_the_noise_of_stable_models():
    """Rates near one half vary most, so |ΔPass| is larger for the family that solves less."""
    rng = np.random.default_rng(2)

    def stable(rate):
        variants = {d: (rng.binomial(8, rate, 4) / 8).tolist() for d in (0.1, 0.2, 0.3)}
        return float(rng.binomial(8, rate) / 8), variants

    runs = [
        make_run(f"{family}-{size}b", {f"t{n}": stable(rate) for n in range(20)})
        for family, rate in (("qwen", 0.97), ("llama", 0.6))
        for size in (1, 5, 13, 34)
    ]
    found = study_of(runs).moderation
    tests = {(t.factor, t.figure): t.overall.p_value for t in found.tests}
    assert tests["family", "squared sensitivity"] > 0.05
    assert tests["family", "drop"] > 0.05
    by_family = {g.value: g for g in found.groups if (g.factor, g.distance) == ("family", None)}
    assert by_family["llama"].sensitivity > 2.5 * by_family["qwen"].sensitivity
    assert max(abs(group.squared) for group in by_family.values()) < 0.01


def test_rq2_says_which_sizes_and_families_are_missing_and_takes_them():
    runs = [make_run("alpha", {"one": falling(1, 0.5, 0)}), make_run("beta", {"one": flat(1.0)})]
    missing = study_of(runs).moderation.missing
    assert "the size of alpha, beta is not in its name; give --size MODEL=7" in missing
    assert "an effect of family needs models of two families; found 0" in missing
    known = study_of(
        runs, sizes={"alpha": 1.0, "beta": 70.0}, families={"alpha": "a", "beta": "b"}
    ).moderation
    assert known.missing == ()
    assert {g.value for g in known.groups if g.factor == "size"} == {"tiny", "large"}


def test_rq3_says_how_far_light_is_off_over_models_and_over_tasks():
    # SoftExec is the pass rate squared. The task falls to 0.5 at every distance: light 0.5, full
    # 0.25. So in every task: MAE 0.25.
    halved = {name: falling(0.5, 0.5, 0.5) for name in ("one", "two", "three")}
    runs = [make_run(name, halved, soft=lambda rate: rate**2) for name in ("a", "b", "c")]
    found = study_of(runs).screening
    assert [a.units for a in found.approximations] == [
        "models",
        "tasks of a",
        "tasks of b",
        "tasks of c",
    ]
    for one in found.approximations:
        assert (one.agreement.n, one.agreement.mae) == (3, pytest.approx(0.25))
        # 0.5 for 0.25: 2 * 0.25 / 0.75.
        assert one.agreement.smape == pytest.approx(2 / 3)
    assert [(d.full, d.light) for d in found.drifts] == [pytest.approx((0.25, 0.5))] * 3
    assert [d.full_rank for d in found.drifts] == [2.0] * 3


def test_rq3_ranks_the_most_stable_first():
    found = study_of(models((1.0, 0.5), (0.8, 0.7), (0.6, 0.9))).screening
    assert [(d.entry.label, d.full_rank, d.light_rank) for d in found.drifts] == [
        ("m0", 3.0, 3.0),
        ("m1", 2.0, 2.0),
        ("m2", 1.0, 1.0),
    ]
    assert found.missing == ("agreement over tasks needs 3, there are 1",)


def calibration(ece):
    return CalibrationRecord(
        n=8, ece=ece, threshold=0.9, overconfident=0.1, underconfident=0.2, bins=[]
    )


def with_calibration(run):
    subgroups = SubgroupsRecord(
        model=run.record.suites[0].model,
        template=None,
        subgroups=[],
        calibration={"positive-active": calibration(0.3)},
        emotions={"excited": calibration(0.3)},
    )
    return replace_record(run, subgroups=[subgroups])


def replace_record(run, **changed):
    return type(run)(path=run.path, name=run.name, record=replace(run.record, **changed))


def test_rq4_says_how_each_mood_does():
    # In order of distance the emotions are excited, calm and anxious.
    run = with_calibration(make_run("a", {"one": falling(0.9, 0.5, 0.2)}))
    found = study_of([run, make_run("b", {"one": flat(1.0)})]).emotions
    emotions = {(m.entry.label, m.value): m for m in found.emotions}
    excited = emotions["a", "excited"]
    assert (excited.n, excited.pass_rate) == (1, 0.9)
    assert (excited.change, excited.elasticity) == pytest.approx((-0.1, 0.9))
    assert (excited.ece, excited.overconfident, excited.underconfident) == (0.3, 0.1, 0.2)
    assert emotions["a", "positive-active"].ece == 0.3
    assert emotions["a", "negative-active"].pass_rate == 0.2
    assert emotions["a", "calm"].ece is None
    assert emotions["b", "calm"].change == 0.0


def test_rq4_compares_distributions_of_quadrants():
    # Each distance has other emotions. All changes of one are below all of another: D = 1.
    tasks = {f"t{n}": falling(0.9, 0.5, 0.2) for n in range(4)}
    [changes, sure] = [
        d
        for d in study_of([make_run("a", tasks), make_run("b", tasks)]).emotions.distributions
        if d.entry.label == "a"
    ]
    assert changes.figure == "change of the pass rate"
    assert [p.statistic for p in changes.pairs] == [1.0] * 3
    # 4 against 4: 2 of C(8, 4) = 70 orders are as extreme, for each of three pairs: 3 / 3 times
    # that.
    assert [p.p_adjusted for p in changes.pairs] == pytest.approx([2 / 70] * 3)
    assert (sure.figure, [p.statistic for p in sure.pairs]) == ("confidence", [0.0] * 3)


def test_rq4_regresses_on_emotion_where_tasks_suffice():
    pytest.importorskip("statsmodels")
    tasks = {
        f"t{n}": (1.0, {d: [(n * k + k) % 8 / 8 for k in (1, 3, 4, 6)] for d in (0.1, 0.2, 0.3)})
        for n in range(36)
    }
    found = study_of([make_run("a", tasks), make_run("b", tasks)]).emotions
    assert [(e.entry.label, e.figure) for e in found.explained] == [
        ("a", "change of the pass rate"),
        ("b", "change of the pass rate"),
    ]
    one = found.explained[0].increment
    assert (one.n, one.clusters) == (432, 36)
    assert 0 <= one.r2_controls <= one.r2 <= 1
    assert [term.name for term in one.terms][-3:] == ["valence", "arousal", "valence by arousal"]


def test_rq4_says_what_is_missing(monkeypatch):
    runs = [make_run(name, {"one": flat(1.0)}, confidence=None) for name in ("a", "b")]
    missing = study_of(runs).emotions.missing
    assert "confidence and calibration need log-probabilities: a, b has none" in missing
    assert any(line.startswith("the regression needs 30 tasks") for line in missing)
    plain = [replace_record(run, emotions={}) for run in runs]
    assert study_of(plain).emotions.missing == ("no variants in a known emotion: a, b",)
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    assert (
        "the regression needs statsmodels; pip install 'pytest-promptse[statistics]'"
        in study_of(runs).emotions.missing
    )


def test_term_density_counts_words_that_hold_code():
    assert term_density("Write `add(a, b)` that returns 5 now") == 3 / 7
    assert term_density("") == 0.0
