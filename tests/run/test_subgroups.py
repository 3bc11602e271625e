from __future__ import annotations

import numpy as np
import pytest

from pytest_promptse.record._queries import left_out_without_cue
from pytest_promptse.run._subgroups import MeasuredPrompt, calibrations, compare_subgroups

QUADRANTS = {"tired": "negative-calm", "excited": "positive-active"}


def row(
    passes: int,
    *,
    n: int = 8,
    distance: float = 0.3,
    emotion: str | None = "tired",
    personality: str | None = "expert.senior.plan",
    task: str = "t",
    confidence: float | None = 0.9,
    cues: tuple[str, ...] = (),
) -> MeasuredPrompt:
    original = distance == 0.0
    return MeasuredPrompt(
        suite="s",
        task=task,
        distance=distance,
        emotion=None if original else emotion,
        personality=None if original else personality,
        cues=frozenset(() if original else cues),
        passed=np.arange(n) < passes,
        confidence=None if confidence is None else np.full(n, confidence),
    )


def subgroups(*rows):
    found = compare_subgroups("m", None, rows, QUADRANTS)
    return {(v.trait, v.value, v.distance): v for v in found.subgroups}


def test_each_variant_counts_for_its_emotion_and_traits_at_its_distance_and_at_all():
    found = subgroups(row(8, n=8, distance=0.0), row(2))
    assert set(found) == {
        (trait, value, distance)
        for trait, value in (
            ("emotion", "tired"),
            ("technical", "expert"),
            ("experience", "senior"),
            ("collaboration", "plan"),
        )
        for distance in (0.3, None)
    }
    assert {v.change for v in found.values()} == {-0.75}


def test_the_change_is_against_each_tasks_own_original():
    found = subgroups(
        row(8, distance=0.0, task="easy"),
        row(0, distance=0.0, task="hard"),
        row(6, task="easy"),
        row(2, task="hard"),
    )
    tired = found["emotion", "tired", None]
    assert (tired.n_variants, tired.change) == (2, 0.0)
    assert tired.p_adjusted == pytest.approx(1.0)


def test_an_emotion_that_loses_in_every_task_stands_out_from_the_others():
    rows = []
    for task in map(str, range(40)):
        rows.append(row(8, distance=0.0, task=task))
        rows.append(row(2, task=task, personality=None))
        rows += [
            row(8 - int(task) % 2, task=task, emotion=emotion, personality=None)
            for emotion in ("excited", "calm", "focused")
        ]
    found = subgroups(*rows)
    assert found["emotion", "tired", 0.3].p_adjusted < 0.01
    assert found["emotion", "tired", 0.3].change == pytest.approx(-0.75)


def test_a_loss_that_all_emotions_share_stars_none():
    rows = []
    for task in map(str, range(40)):
        rows.append(row(8, distance=0.0, task=task))
        rows += [row(2, task=task, emotion=e, personality=None) for e in ("tired", "excited")]
    found = subgroups(*rows)
    assert {one.p_adjusted for one in found.values()} == {1.0}
    assert {one.change for one in found.values()} == {-0.75}


def test_a_variant_counts_only_for_what_it_shows_a_cue_of():
    shown = ("emotion", "technical", "experience", "collaboration")
    found = subgroups(
        row(8, distance=0.0),
        row(0, distance=0.1, cues=("emotion",)),
        row(4, distance=0.1, cues=("emotion", "technical", "experience")),
        row(6, distance=0.3, cues=shown),
    )
    counted = {
        trait: (found[trait, value, None].n_variants, found[trait, value, None].n_without_cue)
        for trait, value in (
            ("emotion", "tired"),
            ("technical", "expert"),
            ("collaboration", "plan"),
        )
    }
    assert counted == {"emotion": (3, 0), "technical": (2, 1), "collaboration": (1, 2)}
    # The variant without a cue has no part in the change of a trait that it only has as a label.
    assert found["collaboration", "plan", None].change == pytest.approx(-0.25)
    assert ("collaboration", "plan", 0.1) not in found
    assert found["technical", "expert", 0.1].n_without_cue == 1


def test_a_rewriter_that_records_no_cues_is_counted_by_its_labels():
    found = subgroups(row(8, distance=0.0), row(4, cues=()))
    assert {(one.n_variants, one.n_without_cue) for one in found.values()} == {(1, 0)}


def test_a_sentence_says_how_many_variants_are_left_out():
    rows = [row(8, distance=0.0), row(4, cues=("emotion",)), row(4, cues=("emotion", "technical"))]
    found = compare_subgroups("m", None, rows, QUADRANTS)
    assert left_out_without_cue(found.subgroups) == (
        "variants without a cue are left out: technical 1 of 2"
    )
    assert left_out_without_cue(subgroups(row(8, distance=0.0), row(4)).values()) is None


def test_a_variant_without_its_original_says_nothing():
    assert subgroups(row(0)) == {}


def test_a_personality_of_another_shape_stands_for_itself():
    assert ("personality", "grumpy", None) in subgroups(
        row(8, distance=0.0), row(8, personality="grumpy")
    )


def test_calibration_has_all_the_original_each_quadrant_and_the_control():
    found = calibrations(
        [
            row(8, distance=0.0, confidence=0.95),
            row(0, confidence=0.95),
            row(8, emotion="excited", confidence=0.2),
            row(4, emotion=None, confidence=0.5),
        ],
        QUADRANTS,
    )
    assert found is not None
    assert set(found) == {"all", "original", "negative-calm", "positive-active", "control"}
    assert len({own.threshold for own in found.values()}) == 1
    assert found["negative-calm"].overconfident == 1.0
    assert found["positive-active"].underconfident == 1.0
    assert found["control"].ece == pytest.approx(0.0)
    assert sum(part.n for part in found["all"].bins) == found["all"].n == 32


def test_calibration_is_never_guessed():
    assert calibrations([row(8, distance=0.0), row(8, confidence=None)], QUADRANTS) is None
    assert calibrations([], QUADRANTS) is None


def test_calibration_is_known_by_emotion_too():
    rows = [row(8, distance=0.0), row(4, emotion="tired"), row(8, emotion="excited")]
    found = compare_subgroups("m", None, rows, QUADRANTS)
    assert set(found.emotions) == {"all", "original", "tired", "excited"}
    # All are sure with 0.9; half of the tired ones pass, and all of the excited ones.
    assert found.emotions["tired"].ece == pytest.approx(0.4)
    assert found.emotions["excited"].ece == pytest.approx(0.1)
    assert found.emotions["all"].threshold == found.calibration["all"].threshold
