"""A variant is sampled and judged once, and a gate has the variants that it needs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from planned_suites import plan, row_of

from pytest_promptse.errors import NotScoredError
from pytest_promptse.models._base import Capabilities, Completion
from pytest_promptse.run._gates import Scores
from pytest_promptse.run._judge import JudgedSample
from pytest_promptse.run._measuring import Measuring, PassCount
from pytest_promptse.store._run_log import GateRow, LookRow, RunLog

CHECK = object()


class Process:
    """One process of a run, whose samples end as `cause_of` says of a variant and a sample."""

    def __init__(self, store, *, cause_of=lambda _planned, _index: "", gates=(), **changed):
        self.run_log = RunLog(store, "run")
        self.tokens = {}
        self.requested, self.judged, self.ticks = [], [], []
        self._cause_of = cause_of
        self.measuring = Measuring(
            store=SimpleNamespace(
                completions=lambda _key, n, since: [  # noqa: ARG005 - as the store's
                    Completion(index=index, text=f"text {index}") for index in range(n)
                ],
                tokens=lambda key, programs=1: self.tokens.get((key, programs)),
            ),
            run_log=self.run_log,
            sampler=SimpleNamespace(
                progress="progress",
                wait=self._wait,
                capabilities=lambda _model: Capabilities(form="chat"),
                count_stored=lambda _jobs: 0,
            ),
            judge=SimpleNamespace(judge=self._judge),
            texts=SimpleNamespace(
                written=lambda planned, tick: (tick(), planned)[1],
                process_arrived=lambda: self.ticks.append("texts"),
                request=lambda _suite, planned: self.requested.extend(planned),
                request_round=lambda _suite, planned: self.requested.extend(planned),
            ),
            scores=lambda: Scores(self.run_log),
            suites_with_gates=gates,
            shard_tasks=changed.pop("shard_tasks", {}),
            show_progress=self._show_progress,
        )

    @contextmanager
    def _show_progress(self, progress):
        assert progress == "progress"
        yield lambda: self.ticks.append("shown")

    def _wait(self, _job, *, tick):
        tick()

    def _judge(self, planned, completions, _capabilities, check):
        assert check is CHECK
        self.judged.append(planned)
        return [
            JudgedSample(
                completion=each, program="", cause=self._cause_of(planned, each.index), detail=""
            )
            for each in completions
        ]

    def measure(self, suite, planned):
        return self.measuring.measure(suite, planned, CHECK, node_of=lambda p: f"n[{p.key}]")

    def decide(self, suite, gate):
        return self.measuring.decide(suite, gate, CHECK, node_of=lambda _: None)


def half(_planned, index):
    return "" if index % 2 else "wrong_answer"


def test_a_variant_is_measured_once_and_logged_with_its_node(store):
    suite = plan(variants=1, samples=4, original_samples=8)
    process = Process(store, cause_of=half)
    process.run_log.add(suite.row)
    planned = suite.variants[0]
    assert process.measure(suite, planned) == PassCount(passes=4, n=8)
    assert process.measure(suite, planned) == PassCount(passes=4, n=8)
    assert process.judged == [planned]
    # While it waits for the text and for the samples, both are looked after.
    assert process.ticks == ["shown", "texts", "shown", "texts"]
    row = process.measuring.measured_prompt(suite, planned)
    assert (row.variant.n, row.variant.passes) == (8, 4)
    assert row.variant.node == f"n[{planned.key}]"
    with pytest.raises(NotScoredError, match=f"^{'-'.join(suite.variants[1].key)} was not meas"):
        process.measuring.measured_prompt(suite, suite.variants[1])


@pytest.mark.parametrize(
    ("own", "first", "both"),
    [
        (None, (1.0, 2.0), (None, None)),
        ((5.0, 7.0), None, (5.0, 7.0)),
        ((5.0, 7.0), (1.0, 2.0), (6.0, 9.0)),
    ],
)
@pytest.mark.parametrize("two_requests", [False, True])
def test_the_tokens_are_those_of_both_requests(store, own, first, both, two_requests):
    suite = plan(variants=1, samples=2, original_samples=2)
    planned = suite.variants[0]
    if two_requests:
        planned = replace(planned, first_key="first", programs=3)
    process = Process(store)
    process.run_log.add(suite.row)
    process.tokens[planned.job.key, planned.programs] = own
    process.tokens["first", 1] = first
    process.measure(suite, planned)
    record = process.measuring.measured_prompt(suite, planned).variant
    expected = both if two_requests else own or (None, None)
    assert (record.prompt_tokens, record.completion_tokens) == expected


def test_a_gate_measures_what_no_process_has_measured_and_is_logged(store):
    suite = plan(["one", "two"], variants=1, samples=2, original_samples=2, distances="0.1,0.3")
    gate = next(gate for gate in suite.gates if gate.name == "elasticity-d0.1")
    needed = suite.needed_by(gate)
    assert 0 < len(needed) < len(suite.variants)
    process = Process(store)
    process.run_log.add(suite.row)
    process.run_log.add(row_of(suite, needed[0], ("", "")))
    decided = process.decide(suite, gate)
    assert process.requested == process.judged == list(needed[1:])
    assert decided.value == 1.0
    [row] = process.run_log.rows(GateRow)
    assert (row.gate, row.place, row.suite, row.model) == (
        decided,
        gate.place,
        suite.id,
        suite.model,
    )
    process.decide(suite, gate)
    assert len(process.judged) == len(needed) - 1
    # What another process has measured is known by its passes.
    assert process.measure(suite, needed[0]) == PassCount(passes=2, n=2)


def test_a_gate_with_a_threshold_cannot_be_decided_if_nothing_is_solved(store):
    suite = plan(variants=1, samples=2, original_samples=2, max_drop=0.1)
    [gate] = [gate for gate in suite.gates if gate.threshold is not None]
    process = Process(store, cause_of=lambda *_: "wrong_answer")
    process.run_log.add(suite.row)
    with pytest.raises(NotScoredError, match="no sample of the original prompt passes"):
        process.decide(suite, gate)
    assert list(process.run_log.rows(GateRow)) == []
    assert "2 of 2: wrong answer" in process.measuring.why_nothing_is_solved(suite)


def test_a_shard_measures_the_variants_of_its_tasks_only(store):
    suite = plan(["one", "two"], variants=1, samples=2, original_samples=2)
    process = Process(store, shard_tasks={suite.id: {"two"}})
    process.run_log.add(suite.row)
    gate = suite.gates[-1]
    process.measuring.measure_share(suite, gate, CHECK, node_of=lambda _: None)
    assert process.judged == [each for each in suite.needed_by(gate) if each.task.id == "two"]
    assert list(process.run_log.rows(GateRow)) == []


def test_a_comparison_measures_the_whole_suite(store):
    suite = plan(variants=1, samples=2, original_samples=2, compare="main")
    process = Process(store)
    process.run_log.add(suite.row)
    process.measuring.measure_for(suite, suite.comparison, CHECK, node_of=lambda _: None)
    assert process.judged == list(suite.variants)


ROUNDS = {"samples": "auto", "variants": 6, "distances": "0.3"}


@pytest.mark.parametrize("with_gate", [False, True])
def test_a_suite_in_rounds_ends_early_only_for_a_selected_gate(store, with_gate):
    names = [f"t{number}" for number in range(12)]
    suite = plan(names, min_auc_e=0.5, **ROUNDS)
    process = Process(store, gates={suite.key} if with_gate else ())
    process.run_log.add(suite.row)
    last = max(suite.variants, key=suite.round_of)
    end = process.measuring.end_before(suite, last, CHECK, node_of=lambda _: None)
    if not with_gate:
        assert end is None
        assert process.judged == []
        return
    assert (end.look, end.decided, end.ended) == (0, True, True)
    assert process.judged == list(suite.sampled_by(0))
    gate = process.decide(suite, suite.gates[-1])
    assert gate.verdict == "pass"
    assert process.judged == list(suite.sampled_by(0))


def test_a_suite_in_rounds_goes_on_until_a_look_decides(store):
    suite = plan(["one", "two"], min_auc_e=0.5, **ROUNDS)
    process = Process(store, cause_of=half, gates={suite.key})
    process.run_log.add(suite.row)
    process.decide(suite, suite.gates[-1])
    looks = list(process.run_log.rows(LookRow))
    assert len(looks) == len(suite.looks) > 1
    assert [look.decided for look in looks] == [False] * len(looks)
    assert sorted(each.key for each in process.judged) == sorted(v.key for v in suite.variants)


def test_a_suite_in_rounds_that_is_never_solved_ends_at_the_first_look(store):
    suite = plan(["one", "two"], min_auc_e=0.5, **ROUNDS)
    process = Process(store, cause_of=lambda *_: "wrong_answer", gates={suite.key})
    process.run_log.add(suite.row)
    with pytest.raises(NotScoredError, match="no sample of the original prompt passes"):
        process.decide(suite, suite.gates[-1])
    assert process.judged == list(suite.sampled_by(0))
