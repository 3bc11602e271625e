from __future__ import annotations

from collections import Counter

import pytest

from pytest_promptse.run._gates import Scores
from pytest_promptse.store._measured_variant import DrawRecord, SampleRecord, VariantRecord
from pytest_promptse.store._run_log import OutcomeRow, RunLog, SuiteRow, VariantRow
from pytest_promptse.store._store import Store

SUITE = SuiteRow(
    id="test_sums.py::test_sums",
    model="m",
    template=None,
    tasks=["sums", "sum", "never"],
    n_variants=9,
    distances=[0.1, 0.3],
    mode="light",
    weighting="sum",
    seed=0,
    settings={"temperature": 0.8},
    line=None,
    looks=[2],
)


@pytest.fixture
def run_log(tmp_path):
    store = Store(tmp_path)
    yield RunLog(store, "run")
    store.close()


def row(task: str, distance: float, index: int, *causes: str, **changed) -> VariantRow:
    variant = VariantRecord(
        task_id=task,
        id="original" if not distance else f"d{distance}-tired-{index}",
        text="Add up, would you.",
        distance=distance,
        index=index,
        emotion="tired" if distance else None,
        n=len(causes),
        pass_rate=causes.count("") / len(causes),
        causes=Counter(filter(None, causes)),
        details={},
        samples=[SampleRecord(n=len(causes), cause=None, detail="", text="sums")],
        draws=[
            DrawRecord(cause=cause or None, logprob=None, n_tokens=None, answer=place)
            for place, cause in enumerate(causes)
        ],
    )
    key = {"suite": SUITE.id, "model": "m", "template": None, **changed}
    return VariantRow(variant=variant, texts={"sums": "def sums(): ..."}, **key)


def test_what_was_measured_is_read_as_it_was_planned_whatever_came_first(run_log):
    for written in (
        row("sum", 0.3, 0, "", "timeout"),
        row("sums", 0.3, 1, ""),
        row("sum", 0.0, 0, "", ""),
        row("sums", 0.3, 0, ""),
        row("sums", 0.1, 0, ""),
        row("sums", 0.0, 0, ""),
        row("sum", 0.0, 0, "", model="another"),
        row("sum", 0.0, 0, "", template="a.j2"),
    ):
        run_log.add(written)
    found = [
        [(row.variant.task_id, row.variant.distance, row.variant.index) for row in rows]
        for rows in run_log.measured(SUITE, VariantRow)
    ]
    assert found == [
        [("sums", 0.0, 0), ("sums", 0.1, 0), ("sums", 0.3, 0), ("sums", 0.3, 1)],
        [("sum", 0.0, 0), ("sum", 0.3, 0)],
    ]
    assert run_log.count(SUITE.key) == 6


def test_an_outcome_is_a_row_without_its_texts(run_log):
    written = row("sum", 0.3, 0, "", "timeout")
    run_log.add(written)
    [[whole]] = run_log.measured(SUITE, VariantRow)
    [[outcome]] = run_log.measured(SUITE, OutcomeRow)
    assert whole == written
    assert outcome == run_log.variant(SUITE.key, "sum", "d0.3-tired-0", OutcomeRow)
    assert (outcome.variant.n, outcome.variant.passes) == (2, 1)
    assert not hasattr(outcome.variant, "samples")
    assert run_log.variant(SUITE.key, "sum", "original", OutcomeRow) is None


def test_a_suite_is_scored_again_once_more_of_it_was_measured(run_log):
    scores = Scores(run_log)
    run_log.add(row("sum", 0.1, 0, ""))
    assert scores.of(SUITE) is None, "without an original there is nothing to compare with"
    run_log.add(row("sum", 0.0, 0, ""))
    first = scores.of(SUITE)
    assert (first.n_tasks, first.elasticity) == (1, {0.1: 1.0, 0.3: None})
    assert scores.of(SUITE) is first
    run_log.add(row("sum", 0.3, 0, "timeout"))
    assert scores.of(SUITE).elasticity == {0.1: 1.0, 0.3: 0.0}


def test_a_task_is_scored_as_a_suite_of_its_own(run_log):
    for task, cause in (("sum", "timeout"), ("sums", "")):
        run_log.add(row(task, 0.0, 0, ""))
        run_log.add(row(task, 0.1, 0, cause))
    scores = Scores(run_log)
    assert scores.of(SUITE).elasticity[0.1] == 0.5
    assert scores.of_task(SUITE, "sum", comparisons=2).elasticity[0.1] == 0.0
    assert scores.of_task(SUITE, "sums", comparisons=2).n_tasks == 1
    assert scores.of_task(SUITE, "never", comparisons=2) is None
