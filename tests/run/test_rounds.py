"""A suite in rounds stops at the first look that decides it, in every process of a run."""

from __future__ import annotations

import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_suites import plan

from pytest_promptse.run._rounds import Rounds
from pytest_promptse.store._run_log import RunLog
from pytest_promptse.store._store import Store

SUITE = plan(["inc", "dec"], samples="auto", variants=6, distances="0.1,0.3", min_auc_e=0.5)


class Process:
    """The rounds of one process; `decides_at` is the look that decides, None for none."""

    def __init__(self, store, *, decides_at=None, cached=0):
        self.requested = []
        self.measured = []
        self.counted = []
        self._cached = cached
        self._decides_at = decides_at
        self.rounds = Rounds(
            RunLog(store, "run"),
            request=lambda suite, variants: self.requested.append((suite, tuple(variants))),
            count_stored=self._count_stored,
        )

    def _count_stored(self, jobs):
        self.counted.append(tuple(jobs))
        return self._cached

    def decided(self, variants):
        self.measured.append(tuple(variants))
        look = SUITE.looks.index(max(each.variant.index for each in variants) + 1)
        return self._decides_at is not None and look >= self._decides_at

    def end(self):
        return self.rounds.end(SUITE, decided=self.decided)

    def end_before(self, round_):
        return self.rounds.end_before(SUITE, round_, decided=self.decided)


@contextmanager
def new_store():
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder) / "s")) as store:
        yield store


def of_round(number):
    return tuple(each for each in SUITE.variants if SUITE.round_of(each) == number)


DECIDING = st.none() | st.integers(0, len(SUITE.looks) - 1)


@settings(max_examples=8, deadline=None)
@given(DECIDING)
def test_a_suite_ends_at_the_first_look_that_decides_it_and_at_the_last_in_any_case(decides_at):
    last = len(SUITE.looks) - 1
    with new_store() as store:
        process = Process(store, decides_at=decides_at)
        row = process.end()
    assert row.look == (last if decides_at is None else decides_at)
    assert row.decided == (decides_at is not None)
    assert process.measured == [SUITE.sampled_by(look) for look in range(row.look + 1)]
    assert process.requested == [(SUITE, of_round(number + 1)) for number in range(row.look)]


@settings(max_examples=8, deadline=None)
@given(DECIDING, st.integers(0, len(SUITE.looks) - 1))
def test_a_round_is_needed_until_an_earlier_look_has_decided(decides_at, round_):
    with new_store() as store:
        end = Process(store, decides_at=decides_at).end_before(round_)
    if decides_at is not None and decides_at < round_:
        assert end.look == decides_at
    else:
        assert end is None


def test_each_look_is_taken_once(store):
    process = Process(store, decides_at=2)
    first = [process.end_before(round_) for round_ in range(4)]
    assert [process.end_before(round_) for round_ in range(4)] == first
    assert process.end().look == 2
    assert len(process.measured) == 3
    assert len(process.requested) == 2


def test_another_process_takes_over_the_looks_and_requests_the_same_rounds(store):
    one = Process(store, decides_at=1)
    row = one.end()
    other = Process(store, decides_at=None)
    assert other.end() == row
    assert other.measured == []
    assert other.requested == one.requested


def test_a_look_counts_what_it_is_based_on_and_what_is_already_stored(store):
    process = Process(store, decides_at=1, cached=5)
    end = process.end()
    assert process.counted == [tuple(planned.job for planned in of_round(1))]
    first = RunLog(store, "run").look(SUITE.key, 0)
    sampled = SUITE.sampled_by(0)
    assert (first.variants, first.completions) == (len(sampled), sum(v.job.n for v in sampled))
    assert first.max_completions == sum(v.job.n for v in SUITE.variants)
    assert (first.ended, first.cached) == (False, 5)
    assert (end.ended, end.cached) == (True, 0), "no round follows the end"


def test_a_failed_measurement_leaves_no_look_behind(store):
    def broken(_variants):
        raise RuntimeError("not measured")

    with pytest.raises(RuntimeError, match="not measured"):
        Process(store).rounds.end(SUITE, decided=broken)
    assert RunLog(store, "run").look(SUITE.key, 0) is None
    assert Process(store, decides_at=0).end().look == 0
