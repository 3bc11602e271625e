"""The items of an instrument's suite, with an instrument that only counts its answers."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError, SettingsError
from pytest_promptse.instruments._measurement import FigureGate, Probe, SuitePlace
from pytest_promptse.plugin import _instrument_items
from pytest_promptse.plugin._instrument_items import (
    InstrumentItem,
    instrument_records,
    log_suites,
    planned,
)
from pytest_promptse.plugin._results import RESULT_WORD
from pytest_promptse.record._instruments import InstrumentRecord
from pytest_promptse.scoring._scores import Gate

PROBES = [Probe(group="g", id=str(n), job=SimpleNamespace(key=f"key {n}")) for n in range(3)]
LATER = SimpleNamespace(key="later")


class Suite:
    """A suite whose first two probes decide, and which has a stage of one further prompt."""

    inconclusive, models, probes, decisive = "pass", ("m", "judge"), PROBES, PROBES[:2]
    stages, gates = ("stage",), (FigureGate(name="n", low=1.0), FigureGate(name="n", scope="s"))

    def __init__(self, *, line=5, model="m", refuses=False):
        self.place = SimpleNamespace(id="a.x.yaml", model=model, path="a.x.yaml", line=line)
        self.refuses, self.results = refuses, 0

    def next_jobs(self, answers):
        if self.refuses:
            raise SettingsError("no stage")
        return [] if LATER.key in answers else [LATER]

    def stage_word(self, answers):
        return f"{len(answers)} answers"

    def read(self, probe, completion):
        return f"{probe.id}: {completion}"

    def result(self, answers):
        self.results += 1
        return InstrumentRecord(
            instrument="x",
            title="X",
            id="a.x.yaml",
            model=self.place.model,
            heading="",
            brief="",
            n_planned=3,
            n_responses=len(answers),
            figures=[],
        )

    def decide(self, gate, result):
        n = result.n_responses
        verdict = "fail" if gate.low and n < 3 else "pass"
        return Gate(name=gate.name, threshold=gate.low, value=n, verdict=verdict, message=f"n {n}")


class Run:
    def __init__(self, error=None):
        self.error, self.waited = error, []
        self.errors, self.put = [], []
        self.id = "run"
        self.store = SimpleNamespace(put=lambda *row: self.put.append(row))

    def wait(self, jobs):
        self.waited.append([job.key for job in jobs])
        if self.error is not None:
            raise self.error
        return {job.key: f"answer to {job.key}" for job in jobs}

    def log_error(self, where, error):
        self.errors.append((where, str(error)))


@pytest.fixture
def item_of(request):
    def item_of(suite, subject, run=None):
        return InstrumentItem.from_parent(
            request.node.parent, name="g[x]", suite=suite, subject=subject, run=run or Run()
        )

    return item_of


def test_an_item_is_in_the_line_of_its_suite(item_of, request):
    assert item_of(Suite(), PROBES[0]).reportinfo() == (request.node.path, 4, "g[x]")
    skipped = item_of(None, "")
    assert skipped.reportinfo() == (request.node.path, 0, "g[x]")
    assert (skipped.jobs, skipped.models, skipped.runtest()) == ([], (), None)
    assert RESULT_WORD not in skipped.stash
    assert item_of(Suite(), PROBES[0]).stash[RESULT_WORD] == ""


def test_an_item_needs_its_prompt_or_those_that_decide(item_of):
    assert item_of(Suite(), PROBES[2]).jobs == [PROBES[2].job]
    for subject in ("stage", Suite.gates[0]):
        assert item_of(Suite(), subject).jobs == [PROBES[0].job, PROBES[1].job]
    assert item_of(Suite(), "stage").models == ("m", "judge")


def test_a_prompt_shows_what_its_answer_says(item_of):
    run = Run()
    item = item_of(Suite(), PROBES[2], run)
    item.runtest()
    assert item.stash[RESULT_WORD] == "MEASURED (2: answer to key 2)"
    assert run.waited == [["key 2"]]


def test_a_stage_asks_until_nothing_is_left(item_of):
    run = Run()
    item = item_of(Suite(), "stage", run)
    item.runtest()
    assert run.waited == [["key 0", "key 1"], ["later"]]
    assert item.stash[RESULT_WORD] == "MEASURED (3 answers)"


def test_a_stage_that_cannot_be_asked_fails_in_one_line(item_of):
    with pytest.raises(pytest.fail.Exception) as end:
        item_of(Suite(refuses=True), "stage").runtest()
    assert (end.value.msg, end.value.pytrace, end.value.__context__) == ("no stage", False, None)


def test_the_gates_of_a_suite_share_one_result_for_each_model(item_of, request):
    suites = Suite(), Suite(model="other")
    for suite in suites:
        failing, passing = (item_of(suite, gate) for gate in suite.gates)
        with pytest.raises(pytest.fail.Exception, match="n 2"):
            failing.runtest()
        passing.runtest()
        assert passing.stash[RESULT_WORD] == "MEASURED (n 2)"
    assert [suite.results for suite in suites] == [1, 1]
    del request.session.stash[_instrument_items._RESULTS]


def test_what_is_not_stored_is_skipped_and_what_is_not_scored_fails(item_of):
    for error, kind in (
        (NotStoredError("absent"), pytest.skip.Exception),
        (NotScoredError("broken"), NotScoredError),
    ):
        run = Run(error)
        item = item_of(Suite(), PROBES[0], run)
        with pytest.raises(kind, match=str(error)):
            item.runtest()
        assert run.errors == [(item.nodeid, str(error))]


# -- the record --------------------------------------------------------------------------------


def test_each_suite_is_logged_once_with_its_selected_gates(item_of):
    run, suite = Run(), Suite()
    items = [item_of(suite, subject) for subject in (PROBES[0], *suite.gates)]
    log_suites(run, [item_of(None, ""), *items, item_of(Suite(model="other"), "stage")])
    rows = [(place[:2], json.loads(place[3])) for place in run.put]
    assert [row["gates"] for _, row in rows] == [["\x1fn", "s\x1fn"], []]
    assert [row["model"] for _, row in rows] == ["m", "other"]
    assert {row["suite"] for _, row in rows} == {"a.x.yaml"}
    assert {place for place, _ in rows} == {("run", "InstrumentSuite")}
    assert len({place[2] for place in run.put}) == 2


@pytest.mark.parametrize(
    ("stored", "refuses", "n", "gates"),
    [
        (("key 0", "key 1", "key 2", "later"), False, 4, ["n"]),
        (("key 0", "key 1"), False, 2, ["n"]),
        (("key 0", "key 1", "later"), True, 2, ["n"]),
        (("key 0", "key 2"), False, 2, []),
    ],
)
def test_the_record_has_what_is_stored_and_decides_selected_gates(
    monkeypatch, stored, refuses, n, gates
):
    suites = [Suite(model="other"), Suite(refuses=refuses)]
    monkeypatch.setattr(_instrument_items, "instrument_of", lambda *_: "instrument")
    monkeypatch.setattr(_instrument_items, "planned", lambda *_: suites)
    row = {"path": "a.x.yaml", "suite": "a.x.yaml", "model": "m", "gates": ["s\x1fn"]}
    run = SimpleNamespace(
        id="run",
        store=SimpleNamespace(scan=lambda *_: [("", json.dumps(row))]),
        stored=lambda job: "answer" if job.key in stored else None,
    )
    [record] = instrument_records(run, None)
    assert (record.model, record.n_responses) == ("m", n)
    assert [gate.name for gate in record.gates] == gates
    monkeypatch.setattr(_instrument_items, "instrument_of", lambda *_: None)
    with pytest.raises(SettingsError, match=r"^a\.x\.yaml: its instrument is not registered"):
        instrument_records(run, None)


def test_a_suite_is_planned_for_each_model(monkeypatch):
    monkeypatch.setattr(_instrument_items, "load_settings", lambda *_: ("settings", 7))
    places = []

    def plan(settings, place):
        assert settings == "settings"
        places.append(place)
        return SimpleNamespace(probes=probes)

    instrument = SimpleNamespace(settings=None, plan=plan)
    run = SimpleNamespace(
        settings=SimpleNamespace(model=["a", "b"]),
        backend=lambda model: SimpleNamespace(identity={"model": model}),
    )
    probes = PROBES
    assert len(planned(instrument, "path", run, "a.x.yaml")) == 2
    assert [(place.model, place.id, place.path, place.line) for place in places] == [
        (model, "a.x.yaml", "path", 7) for model in "ab"
    ]
    assert isinstance(places[0], SuitePlace)
    assert places[0].identity_of("c") == {"model": "c"}
    probes = []
    with pytest.raises(SettingsError, match=r"^a\.x\.yaml: the settings select no prompt"):
        planned(instrument, "path", run, "a.x.yaml")
    run.settings.model = []
    assert planned(instrument, "path", run, "a.x.yaml") == []
