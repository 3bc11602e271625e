from __future__ import annotations

import json

import msgspec
import pytest
from scipy import stats
from survey_backend import SurveyBackend

from pytest_promptse.cli._main import main
from pytest_promptse.instruments import SuitePlace
from pytest_promptse.models._base import Completion
from pytest_promptse.psychometrics._plugin import EmotionBench
from pytest_promptse.psychometrics.emotionbench._factors import EMOTIONS, NEGATIVE, PANAS, POSITIVE
from pytest_promptse.psychometrics.emotionbench._importer import EMOTION_SCALES
from pytest_promptse.psychometrics.emotionbench._scoring import AffectChange
from pytest_promptse.psychometrics.emotionbench._suite import (
    EmotionBenchSettings,
    plan_emotionbench,
)


def planned(folder, **settings):
    return plan_emotionbench(
        EmotionBenchSettings(**settings),
        instrument=EmotionBench(),
        place=SuitePlace(
            id="s",
            model="survey:even",
            path=folder / "s.emotionbench.yaml",
            line=1,
            identity_of=lambda model: {"model": model},
        ),
    )


def answered(suite, backend=None):
    backend = backend or SurveyBackend()
    return {
        probe.job.key: Completion(
            index=0, text=backend._answer(probe.job.prompt.user, probe.job.seed), n_tokens=1
        )
        for probe in suite.probes
    }


@pytest.fixture
def imported(tmp_path):
    """A folder of the layout of the authors' repository, with texts of this project, imported."""
    clone = tmp_path / "clone"
    clone.mkdir()
    questionnaires = [
        {
            "name": scale,
            "questions": {str(n): f"I have felt {emotion.lower()} {n} times." for n in range(1, 5)},
            "prompt": "You can only reply the numbers from 0 to 3. SCENARIO Score all statements:",
            "compute_mode": "SUM*2" if scale == "DASS-21" else "SUM",
            "reverse": [2],
            "categories": [{"cat_name": "First half", "cat_questions": [1, 2]}],
        }
        for emotion, scale in EMOTION_SCALES.items()
    ]
    (clone / "questionnaires.json").write_text(json.dumps(questionnaires), encoding="utf-8")
    situations = {
        "emotions": [
            {
                "name": emotion,
                "factors": [
                    {
                        "name": factor,
                        "scenarios": [f"You meet {emotion.lower()} {n}." for n in "ab"],
                    }
                    for factor in factors
                ],
            }
            for emotion, factors in EMOTIONS.items()
        ]
    }
    (clone / "situations.json").write_text(json.dumps(situations), encoding="utf-8")
    assert main(["emotionbench", "import", str(clone), "--into", str(tmp_path / "in")]) == 0
    return tmp_path / "in"


def test_each_emotion_has_its_own_imported_scale(imported):
    suite = planned(
        imported,
        situations="situations.json",
        scales="scales.json",
        scale="specific",
        per_factor=1,
        runs=1,
        default_runs=3,
    )
    found = suite.result(answered(suite))
    assert found.data["n_scored"] == found.n_planned == 3 * 8 + 36
    scales = found.data["scales"]
    assert [scale["scale"] for scale in scales] == list(EMOTION_SCALES.values())
    for scale, (emotion, factors) in zip(scales, EMOTIONS.items(), strict=True):
        assert scale["default"]["Overall"]["n"] == 3
        names = [change["name"] for change in scale["changes"]["Overall"]]
        assert names == [f"{emotion}-{n}" for n in range(len(factors))] + [emotion, "Overall"]
        assert not any(change["human"] for change in scale["changes"]["Overall"])
        assert set(scale["changes"]) == {"Overall", "First half"}


def test_the_papers_method_scores_imported_scales_as_plain_sums(imported):
    totals = {}
    for method in ("paper", "cluster"):
        suite = planned(
            imported, scales="scales.json", scale="DASS-21", emotions=("Anxiety",), method=method
        )
        answers = {
            probe.job.key: Completion(index=0, text="1: 3\n2: 3\n3: 3\n4: 3", n_tokens=1)
            for probe in suite.probes
        }
        totals[method] = suite.result(answers).data["scales"][0]["default"]["Overall"]["mean"]
    # One of four ratings of 3 is turned round, and the total is doubled, by the scale's own key.
    assert totals == {"paper": 12.0, "cluster": 2 * 9.0}


@pytest.mark.parametrize("method", ["paper", "cluster"])
def test_counterparts_are_compared_with_their_situations(tmp_path, method):
    suite = planned(
        tmp_path, emotions=("Guilt",), runs=3, default_runs=3, counterparts=True, method=method
    )
    answers = answered(suite)
    negative, positive = {}, {}
    for probe, measure in suite._planned:
        scale = suite.scales[measure.scale]
        if measure.factor is not None:
            ratings = suite._ratings(measure, answers[probe.job.key]).ratings
            into = positive if measure.is_counterpart else negative
            place = (measure.factor, measure.situation)
            into.setdefault(place, []).append(scale.totals(ratings)[NEGATIVE])
    (scale,) = suite.result(answers).data["scales"]
    rows = {
        change["name"]: msgspec.convert(change, AffectChange)
        for change in scale["contrasts"][NEGATIVE]
    }
    assert list(rows) == ["Guilt-0", "Guilt-1", "Guilt-2", "Guilt-3", "Guilt", "Overall"]
    found = rows["Guilt"]
    assert (found.n_situations, found.n_runs) == (20, 60)
    if method == "cluster":
        before, after = (
            [sum(runs[place]) / 3 for place in negative] for runs in (negative, positive)
        )
        expected = stats.ttest_rel(after, before)
        assert found.test == "paired"
    else:
        before, after = (
            [total for place in negative for total in runs[place]] for runs in (negative, positive)
        )
        expected = stats.ttest_ind(after, before, equal_var=found.test == "student")
    assert found.p_value == pytest.approx(float(expected.pvalue), rel=1e-4)
    assert found.delta == pytest.approx(sum(after) / len(after) - sum(before) / len(before))


def test_a_situation_without_a_scored_counterpart_is_left_out(tmp_path):
    suite = planned(tmp_path, emotions=("Guilt",), runs=1, default_runs=2, counterparts=True)
    answers = answered(suite)
    for probe, measure in suite._planned:
        if measure.is_counterpart and measure.situation == 0:
            answers[probe.job.key] = Completion(index=0, text="I cannot answer that.", n_tokens=1)
    (scale,) = suite.result(answers).data["scales"]
    rows = {change["name"]: change for change in scale["contrasts"][POSITIVE]}
    assert rows["Guilt"]["n_situations"] == 4 * 4
    assert scale["changes"][POSITIVE][-1]["n_situations"] == 20


def moved(suite, *, positive, negative):
    """Answer 3 for every item, and after situations as much more or less as said."""
    answers = {}
    for number, (probe, measure) in enumerate(suite._planned):
        ratings = []
        for item in measure.order:
            shift = 0
            if measure.factor is not None:
                shift = positive if item in PANAS.categories[POSITIVE] else negative
            # One item differs from one situation to the next, so that totals vary.
            ratings.append(3 + shift + (item == 1 and number % 2 and shift != 2))
        text = "\n".join(map(str, ratings))
        answers[probe.job.key] = Completion(index=0, text=text, n_tokens=1)
    return answers


@pytest.mark.parametrize(
    ("settings", "positive", "verdict", "finding"),
    [
        ({"min_delta_positive": 5}, -1, "pass", None),
        ({"min_delta_positive": 5}, 0, "fail", "no response"),
        ({"min_delta_positive": 5}, 1, "fail", "wrong direction"),
        ({"max_delta_positive": 5}, -2, "fail", "response too strong"),
        ({"max_delta_positive": 5}, 0, "pass", None),
        ({"max_delta_positive": 5}, 1, "fail", "wrong direction"),
        ({"min_delta_positive": 5, "max_delta_positive": 15}, -1, "pass", None),
        ({"min_delta_positive": 5, "max_delta_positive": 15}, -2, "fail", "response too strong"),
        ({"min_delta_positive": 1, "unit": "human_sd"}, -2, "pass", None),
        ({"min_delta_positive": 9, "unit": "human_sd"}, -2, "fail", "no response"),
    ],
)
def test_gates_bound_the_response_on_both_sides(tmp_path, settings, positive, verdict, finding):
    suite = planned(tmp_path, default_runs=6, runs=1, **settings)
    result = suite.result(moved(suite, positive=positive, negative=0))
    (gate,) = suite.gates
    decided = suite.decide(gate, result)
    assert (gate.name, decided.verdict) == ("positive-affect", verdict)
    bounds = settings.get("min_delta_positive"), settings.get("max_delta_positive")
    assert (gate.low, gate.high) == bounds
    if finding is not None:
        assert decided.message.startswith(f"{finding}: positive-affect ")
    # The value is that in the expected direction, whichever bound it breaks.
    assert (decided.value > 0) == (positive < 0)


def test_gates_of_negative_affect_expect_it_to_rise(tmp_path):
    suite = planned(tmp_path, default_runs=6, runs=1, min_delta_negative=5, level="emotion")
    for negative, verdict in ((1, "pass"), (-1, "fail")):
        result = suite.result(moved(suite, positive=0, negative=negative))
        decided = [suite.decide(gate, result) for gate in suite.gates]
        assert [gate.scope for gate in suite.gates] == list(EMOTIONS)
        assert {gate.verdict for gate in decided} == {verdict}
