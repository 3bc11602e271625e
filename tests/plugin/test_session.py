"""One session with items: it starts the run, reports it and ends as it must."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from planned_suites import plan
from record_builders import (
    make_record,
    make_suite,
    make_task,
    run_record,
    suite_record,
)

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import ModelError, RecordError, StoreError, VariantError
from pytest_promptse.plugin import _session
from pytest_promptse.plugin._invocation import REFUSAL, run_id
from pytest_promptse.plugin._session import promptse_session
from pytest_promptse.plugin._targets import TARGET, IdParts, NodeIds, targets_of
from pytest_promptse.record._files import LAST_RUN
from pytest_promptse.sandbox.guest import landlock

BY_INI = {option.ini: option for option in OPTIONS.values()}
PLAIN = IdParts(model=False, template=False, task=True)


class Run:
    """Stands for the run of a session, and notes what it is told."""

    def __init__(self, settings, *, root, id, record, **parts):  # noqa: A002 - as of a run
        self.settings, self.root, self.id, self.parts = settings, root, id, parts
        self.calls = []
        self.sandbox = SimpleNamespace(description="of tests")
        self.needed_descriptors = set()
        self.errors, self.fails = [], None
        self.store = SimpleNamespace(
            folder=root / ".promptse", warnings=["the store is old"], scan=lambda *_: [], put=None
        )
        self.store.folder.mkdir(exist_ok=True)
        self._record = record

    def make_variants(self, selected):
        if self.fails is not None:
            raise self.fails
        self.calls.append(("make", len(selected)))

    def with_age_limit(self, jobs):
        return list(jobs)

    def start(self, selected, **options):
        self.calls.append(("start", len(selected)))
        self.started = options

    def estimate(self, selected, jobs):
        return [f"m: {len(selected)} variants, {len(jobs)} jobs"]

    def record(self, _invocation):
        return self._record

    def log_error(self, where, error):
        self.errors.append((where, str(error)))

    def stop_sampling(self, *, grace):
        self.calls.append(("stop", grace))

    def close(self, *, grace):
        self.calls.append(("close", grace))

    def forget(self):
        self.calls.append(("forget",))


class Terminal:
    def __init__(self, **stats):
        self.stats, self.lines = stats, []

    def write_line(self, text, **markup):
        self.lines.append((text, *(name for name, is_on in markup.items() if is_on)))

    def section(self, title):
        self.lines.append((title, "section"))


@pytest.fixture
def session_of(tmp_path, monkeypatch):
    """Return a session with these settings, in an xdist worker or not."""

    def session_of(*, worker=False, record=None, **flags):
        plugins: dict[str, Any] = {}
        deselected, calls = [], []
        config = SimpleNamespace(
            rootpath=tmp_path,
            inipath=None,
            stash=pytest.Stash(),
            args=["test_a.py"],
            invocation_params=SimpleNamespace(args=[], dir=tmp_path),
            getoption=lambda name, default: (
                flags.get(BY_INI[name].name, default) if name in BY_INI else default
            ),
            getini=lambda _: None,
            get_terminal_writer=lambda: SimpleNamespace(fullwidth=80, hasmarkup=False),
            pluginmanager=SimpleNamespace(
                get_plugin=plugins.get,
                getplugin=lambda _: None,
                has_plugin=plugins.__contains__,
                register=lambda plugin, name: plugins.setdefault(name, plugin),
            ),
            hook=SimpleNamespace(
                pytest_deselected=lambda items: deselected.extend(items),  # noqa: PLW0108 - by keyword
                pytest_promptse_backend=lambda **given: ("backend", given),
                pytest_timeout_cancel_timer=lambda item: calls.append(("cancel", item)),
                pytest_timeout_set_timer=lambda item, settings: calls.append(
                    ("set", item, settings)
                ),
            ),
            option=SimpleNamespace(collectonly=False, fulltrace=False, durations=None, verbose=0),
            deselected=deselected,
        )
        if worker:
            config.workerinput, config.workeroutput = {"promptse_run": "x"}, {}
        monkeypatch.setattr(_session, "PromptseRun", partial(Run, record=record))
        monkeypatch.setattr(_session, "handle_signals", lambda one: calls.append(("signals", one)))
        session: Any = promptse_session(config)
        session.config, session.calls = config, calls
        return session

    return session_of


class Item:
    """Stands for an item of pytest, with a target or of another plugin."""

    def __init__(self, target=None):
        self.target, self.stash, self.nodeid = target, pytest.Stash(), "a.py::t"
        self.user_properties, self.session = [], SimpleNamespace()
        if target is not None:
            self.stash[TARGET] = target


def items_of(*suites):
    return [Item(target) for suite in suites for target in targets_of(suite, PLAIN, NodeIds(None))]


def collected(session, items):
    session.pytest_collection_finish(SimpleNamespace(items=items))
    return session.pytest_report_collectionfinish()


def small(*tasks, **values):
    return plan(tasks or ("one",), **{"variants": 1, "samples": 2, "distances": "0.3"} | values)


def test_there_is_one_session_object(session_of):
    session = session_of()
    assert (session.run.root, session.run.id) == (session.config.rootpath, run_id(session.config))
    assert promptse_session(session.config) is session


def test_the_run_takes_backends_of_other_packages(session_of):
    create = session_of(base_url="http://host/v1").run.parts["create_backend"]
    name, given = create("own:m")
    assert (name, given["name"], given["model"]) == ("backend", "own", "m")
    assert given["options"].base_url == "http://host/v1"


# -- start -------------------------------------------------------------------------------------


@pytest.mark.parametrize("worker", [False, True])
def test_the_run_starts_with_what_the_selected_items_need(session_of, monkeypatch, worker):
    monkeypatch.setattr(landlock, "version", lambda: 4)
    session = session_of(model=["reference"], worker=worker)
    suite, other = small(max_drop=0.1), small(suite_id="b.py::t")
    gates = [item for item in items_of(suite) if item.target.subject in suite.gates]
    plain = Item()
    lines = collected(session, [plain, *gates, items_of(other)[0]])
    assert session.run.calls == [("make", 3), ("start", 3)]
    assert session.run.started == {
        "only_process": not worker,
        "suites_with_gates": {suite.key},
        "shard": None,
        "jobs": [],
        "models": set(),
    }
    assert [job.key for job in session.jobs] == [
        planned.job.key for planned in (*suite.variants, other.variants[0])
    ]
    assert lines == ["promptse: reference; sandbox of tests", "the store is old"]
    assert session.calls == [("signals", session.config)]


def test_a_kernel_without_landlock_is_named(session_of, monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    [line, _] = collected(session_of(model=["reference"]), items_of(small()))
    assert line.endswith("; this kernel has no Landlock, so checks can write files anywhere")


def test_a_session_without_items_starts_nothing(session_of):
    session = session_of(model=["reference"])
    assert collected(session, [Item()]) == []
    assert session.run.calls == []


def test_a_session_that_only_collects_starts_nothing(session_of):
    session = session_of(model=["reference"])
    session.config.option.collectonly = True
    collected(session, items_of(small()))
    assert session.run.calls == []


def test_a_dry_run_shows_its_plan_and_runs_no_test(session_of):
    session = session_of(model=["reference"], dry_run="true")
    suite = small(max_drop=0.1, gate="confident")
    [plan_line, outlook] = collected(session, items_of(suite))
    assert plan_line == "promptse: plan for m: 2 variants, 0 jobs"
    assert outlook.startswith(f"promptse: plan for {suite.id}, max_drop 0.1 fails")
    assert session.run.calls == [("make", 2)]
    assert session.calls == []
    assert session.pytest_runtestloop(SimpleNamespace(testsfailed=0)) is True
    assert session.pytest_runtestloop(SimpleNamespace(testsfailed=1)) is None
    assert session_of().pytest_runtestloop(SimpleNamespace(testsfailed=0)) is None


@pytest.mark.parametrize("worker", [False, True])
@pytest.mark.parametrize("trace", [False, True])
def test_what_prevents_the_start_is_a_usage_error(session_of, worker, trace):
    session = session_of(model=["reference"], worker=worker)
    session.config.option.fulltrace = trace
    session.run.fails = VariantError("too short")
    with pytest.raises(pytest.UsageError, match=r"^too short") as error:
        collected(session, items_of(small()))
    assert ("Traceback" in str(error.value)) == ("in make_variants" in str(error.value)) == trace
    if worker:
        assert session.config.workeroutput == {REFUSAL: str(error.value)}


def test_a_run_that_needs_a_model_is_refused_without_one(session_of):
    session = session_of(require_model="true")
    with pytest.raises(pytest.UsageError, match=r"^promptse_require_model: these tests need a mod"):
        collected(session, [])
    assert collected(session_of(require_model="true", model=["reference"]), []) == []


def test_a_model_that_cannot_be_opened_is_refused_after_collection(session_of):
    def broken(_spec):
        raise ModelError("no file")

    session = session_of(model=["reference"])
    session.run.backend = broken
    assert not session.has_models
    with pytest.raises(pytest.UsageError, match=r"^no file$"):
        collected(session, [])
    session = session_of(model=["reference"])
    session.run.backend = lambda _spec: SimpleNamespace(identity={})
    assert session.has_models
    assert not session_of().has_models


def test_a_baseline_of_a_part_is_refused(session_of):
    suite = small("one", "two")
    part = items_of(suite)[:1]
    session = session_of(model=["reference"], save="main")
    with pytest.raises(pytest.UsageError, match=r"^--promptse-save main: 3 of 4 variants are not"):
        collected(session, part)
    collected(session_of(model=["reference"], save="main"), items_of(suite))
    collected(session_of(model=["reference"], save="main", save_incomplete="true"), part)


def test_a_suite_with_another_id_is_the_same_object_each_time(session_of):
    session, suite = session_of(), small()
    renamed = session.suite_with_id(suite, "b.py::t")
    assert (renamed.id, renamed.variants) == ("b.py::t", suite.variants)
    assert session.suite_with_id(suite, "b.py::t") is renamed
    assert session.suite_with_id(suite, "c.py::t") is not renamed
    assert session.suite_with_id(small(), "b.py::t") is not renamed


# -- shards ------------------------------------------------------------------------------------


def test_a_shard_deselects_the_items_of_the_others(session_of):
    suite = small("one", "two")
    plain = Item()
    kept = []
    for part in ("1/2", "2/2"):
        session = session_of(model=["reference"], shard=part)
        items = [plain, *items_of(suite)]
        everything = list(items)
        session.pytest_collection_modifyitems(items)
        own = {item.target.task.id for item in items[1:] if item.target.task}
        assert len(own) == 1
        assert items[0] is plain, "it is no item of this plugin"
        assert session.config.deselected == [item for item in everything if item not in items]
        assert session.shard.row.count == 2
        assert [gate.name for gate in session.shard.row.suites[0].gates] == [
            gate.name for gate in suite.gates
        ]
        lines = collected(session, items)
        assert session.run.started["shard"] is session.shard
        assert session.run.calls[-1] == ("start", 2)
        assert (
            f"promptse: shard {part} with 1 of 2 tasks; promptse merge decides the gates" in lines
        )
        kept += own
    assert sorted(kept) == ["one", "two"]


def test_without_shards_every_item_stays(session_of):
    session = session_of(model=["reference"])
    items = items_of(small("one", "two"))
    everything = list(items)
    session.pytest_collection_modifyitems(items)
    assert items == everything
    assert session.shard is None
    assert session.config.deselected == []


# -- waiting -----------------------------------------------------------------------------------


def phase(session, *, duration, error=None, when="call"):
    """Return the report of a phase of an item, and the item."""
    item = Item()
    report = SimpleNamespace(duration=duration, user_properties=[], when=when)
    info = None if error is None else SimpleNamespace(value=error)
    call = SimpleNamespace(excinfo=info, when=when)
    hook = session.pytest_runtest_makereport(item, call)
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(report)
    assert end.value.value is report
    return report, item


def wait(session, time, seconds):
    with session.run.parts["show_progress"](lambda: None) as tick:
        tick()
        time[0] += seconds


@pytest.fixture
def time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def test_the_wait_for_completions_is_not_the_time_of_an_item(session_of, time):
    session = session_of()
    wait(session, time, 2.0)
    wait(session, time, 0.5)
    report, item = phase(session, duration=4.0)
    assert report.duration == pytest.approx(1.5)
    assert report.promptse_waited == pytest.approx(2.5)
    assert item.user_properties == report.user_properties == [("promptse_wait_seconds", 2.5)]
    again, _ = phase(session, duration=4.0)
    assert (again.duration, again.user_properties) == (4.0, [])


def test_a_wait_is_never_longer_than_the_item(session_of, time):
    session = session_of()
    wait(session, time, 2.0)
    assert phase(session, duration=1.5)[0].duration == 0.0


def test_a_moment_is_no_wait(session_of, time):
    session = session_of()
    wait(session, time, 0.005)
    report, item = phase(session, duration=1.0)
    assert (report.duration, item.user_properties) == (1.0, [])
    assert not hasattr(report, "promptse_waited")


def test_the_timer_of_a_time_out_stops_while_an_item_waits(session_of, time):
    session = session_of()
    session.pytest_timeout_set_timer("item", "settings")
    wait(session, time, 1.0)
    assert session.calls == [("cancel", "item"), ("set", "item", "settings")]
    session.pytest_timeout_cancel_timer()
    wait(session, time, 1.0)
    assert len(session.calls) == 2


def test_an_unusable_store_ends_the_session(session_of):
    session = session_of()
    _, item = phase(session, duration=1.0, error=StoreError("no space"))
    assert item.session.shouldstop == "no space"


# -- end ---------------------------------------------------------------------------------------


def finished(session, status=pytest.ExitCode.OK):
    """Return the exit status of a session that has ended."""
    ended = SimpleNamespace(exitstatus=status)
    session.pytest_sessionfinish(ended)
    return ended.exitstatus


def summary(session, **stats):
    terminal = Terminal(**stats)
    session.pytest_terminal_summary(terminal)
    return [line for line in terminal.lines if line[-1] != "section"]


def started(session):
    collected(session, items_of(small()))
    session.run.calls.clear()
    return session


def test_a_baseline_is_saved_with_an_entry_in_its_history(session_of, tmp_path):
    session = started(
        session_of(model=["reference"], save="main", record=run_record([suite_record()], []))
    )
    assert finished(session) == pytest.ExitCode.OK
    folder = tmp_path / ".promptse/baselines"
    [baseline] = folder.glob("*.json")
    assert session.run.calls == [("stop", 5.0), ("forget",)]
    assert (tmp_path / ".promptse" / LAST_RUN).exists()
    entries = [path for path in tmp_path.rglob("main.*") if path != baseline]
    [history] = entries
    assert history.read_text().count("\n") == 1
    notices = [text for text, *markup in summary(session) if "yellow" in markup]
    assert notices == [
        f"promptse: saved as baseline 'main' in {baseline.relative_to(tmp_path)}",
        "promptse: see the course of its figures with: promptse history main",
    ]


@pytest.mark.parametrize(
    ("status", "missing", "flags", "ended", "line"),
    [
        (0, 1, {}, 1, "not saved as baseline 'main': 1 of 11 variants were not measured; "),
        (1, 1, {}, 1, "not saved as baseline 'main': 1 of 11 variants were not measured; "),
        (2, 0, {}, 2, "not saved as baseline 'main': the run was interrupted"),
        (0, 1, {"save_incomplete": "true"}, 0, "saved as baseline 'main' in "),
    ],
)
def test_a_part_is_no_baseline(session_of, status, missing, flags, ended, line):  # noqa: PLR0917
    record = run_record([suite_record(n_variants=10 + missing)], [])
    session = started(session_of(model=["reference"], save="main", record=record, **flags))
    assert finished(session, pytest.ExitCode(status)) == ended
    colour = "red" if ended == 1 else "yellow"
    lines = [text for text, *markup in summary(session) if colour in markup]
    [shown] = [text for text in lines if text.startswith(f"promptse: {line}")]
    baselines = session.config.rootpath / ".promptse/baselines"
    assert baselines.exists() == bool(flags)
    part = ", without 1 of 11 variants, which were not measured"
    assert shown.endswith(part) == bool(flags)


def test_a_comparison_has_a_section_of_its_own_with_the_name_of_its_baseline(session_of):
    rates = {distance: [0.5] for distance in (0.1, 0.2, 0.3)}
    tasks = [make_task(name, 1.0, rates) for name in ("a", "b", "c")]
    record = make_record((make_suite(tasks), tasks))
    finished(started(session_of(model=["reference"], save="main", record=record)))
    session = started(session_of(model=["reference"], compare="main", record=record))
    finished(session)
    terminal = Terminal()
    session.pytest_terminal_summary(terminal)
    sections = [text for text, *markup in terminal.lines if markup == ["section"]]
    assert sections == ["promptse", "promptse: compared with main"]
    assert len(terminal.lines) == 4
    without = started(session_of(model=["reference"], compare="other", record=record))
    finished(without)
    [line, *_] = [text for text, *markup in summary(without) if "yellow" in markup]
    assert "there is no baseline 'other'" in line


def test_a_worker_reports_nothing_and_stops_sampling_only_if_interrupted(session_of):
    session = started(session_of(model=["reference"], worker=True, save="main"))
    assert finished(session) == pytest.ExitCode.OK
    assert session.run.calls == []
    finished(session, pytest.ExitCode.INTERRUPTED)
    session.pytest_unconfigure()
    assert session.run.calls == [("stop", 5.0), ("close", 30.0)]
    session = started(session_of(model=["reference"]))
    session.pytest_unconfigure()
    assert session.run.calls == [("close", 0.0)]


def test_a_session_that_has_not_started_reports_nothing(session_of):
    session = session_of(model=["reference"], save="main")
    assert finished(session, pytest.ExitCode.NO_TESTS_COLLECTED) == 5
    assert session.run.calls == [("stop", 5.0)]


def test_a_shard_without_a_task_ends_well(session_of):
    session = session_of(model=["reference"], shard="2/2", record=run_record([], []))
    session.pytest_collection_modifyitems(items_of(small()))
    collected(session, [])
    assert finished(session, pytest.ExitCode.NO_TESTS_COLLECTED) == pytest.ExitCode.OK


def test_a_record_of_nothing_is_not_written(session_of, tmp_path):
    session = started(session_of(model=["reference"], save="main", record=run_record([], [])))
    finished(session)
    assert not (tmp_path / ".promptse" / LAST_RUN).exists()
    assert summary(session) == []


def test_an_unusable_store_at_the_end_is_told(session_of):
    def broken(_invocation):
        raise StoreError("no space")

    session = started(session_of(model=["reference"]))
    session.run.record = broken
    assert finished(session) == pytest.ExitCode.OK
    assert summary(session) == [("no space", "red")]


def test_a_report_that_cannot_be_written_is_told_and_the_others_are_written(session_of, tmp_path):
    reports = ["json:run.json", "own:x", "md:run.md"]

    def unusable(_record, _path):
        raise RecordError("no room")

    session = started(
        session_of(model=["reference"], report=reports, record=run_record([suite_record()], []))
    )
    hook = session.config.hook
    hook.pytest_promptse_report = lambda kind: unusable if kind == "own" else None
    assert finished(session) == pytest.ExitCode.OK
    assert [text for text, *markup in summary(session) if "red" in markup] == ["no room"]
    assert (tmp_path / "run.json").exists()
    assert (tmp_path / "run.md").exists()
    assert session.run.calls[-1] == ("forget",)


def test_the_summary_says_how_long_items_have_waited(session_of):
    session = session_of()
    reports = [SimpleNamespace(promptse_waited=1.25), SimpleNamespace()]
    assert summary(session, passed=reports) == []
    session.config.option.durations = 0
    assert summary(session, passed=reports) == [
        ("promptse: tests waited 1.2 s for completions, besides their durations",)
    ]
    assert summary(session, passed=[]) == []


@pytest.mark.parametrize(
    ("reasons", "shown", "line"),
    [
        (["a", "b", None, None], 4, None),
        (["a", "a", None], 2, "promptse: 1 more item has the same errors"),
        (["a", "b", "a", "b", "a", None], 3, "promptse: 3 more items have the same errors"),
    ],
)
def test_the_same_error_is_shown_once(session_of, reasons, shown, line):
    session = session_of()
    errors = [SimpleNamespace(promptse_not_scored=reason) for reason in reasons]
    terminal = Terminal(error=errors)
    hook = session.repeated_errors.pytest_terminal_summary(terminal)
    next(hook)
    assert len(terminal.stats["error"]) == shown
    with pytest.raises(StopIteration):
        hook.send(None)
    assert terminal.stats["error"] is errors
    assert summary(session) == ([] if line is None else [(line, "red")])


def test_without_errors_none_is_hidden(session_of):
    hook = session_of().repeated_errors.pytest_terminal_summary(Terminal())
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(None)
