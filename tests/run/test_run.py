"""One run of one process, without pytest items."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from planned_suites import IDENTITY, MODEL, make_task, plan, settings
from scripted_backend import ScriptedBackend, make_job, put

from pytest_promptse.config._option_types import Shard
from pytest_promptse.errors import (
    NotScoredError,
    NotStoredError,
    SandboxError,
    TaskError,
    VariantError,
)
from pytest_promptse.models._base import Completion, Response, Usage
from pytest_promptse.record._schema import InvocationRecord
from pytest_promptse.run import _run
from pytest_promptse.run._judge import Check, CheckProcess, CheckResult
from pytest_promptse.run._run import PromptseRun
from pytest_promptse.run._shards import plan_shard
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.store._run_log import CachedRow, ErrorRow, ShardRow, SuiteRow
from pytest_promptse.variants._registry import create_rewriter

CHECK = Check(
    key="check",
    run=lambda candidate, _task: CheckResult("" if candidate(1) == 2 else "wrong_answer"),
    limits=Limits(),
    process=CheckProcess(),
)
INVOCATION = InvocationRecord(directory=".", options=[])


def solves(ask, _number):
    """Answer all samples of a request with the right program."""
    return Response(
        completions=tuple(
            Completion(index=ask.first + index, text="```python\ndef inc(x): return x + 1\n```")
            for index in range(ask.n)
        ),
        usage=Usage(requests=1, prompt_tokens=10, completion_tokens=10),
    )


@pytest.fixture
def backend():
    return ScriptedBackend(solves)


@pytest.fixture
def run_of(tmp_path, backend):
    """Return a run with these settings, and close it after the test."""
    runs = []

    @contextmanager
    def show_progress(progress):
        runs[-1].shown.append(progress().total)
        yield lambda: None

    def run_of(*, id="run", **values):  # noqa: A002 - the parameter's name
        created = []
        run: Any = PromptseRun(
            settings(model=[MODEL], sandbox="none", **values),
            root=tmp_path,
            id=id,
            create_backend=lambda spec: created.append(spec) or backend,
            create_rewriter=lambda name, library: create_rewriter(
                name, backend=lambda _: backend, library=library
            ),
            show_progress=show_progress,
        )
        run.created, run.shown = created, []
        runs.append(run)
        return run

    yield run_of
    for run in runs:
        run.close()


def selected(*suites):
    return [(suite, planned) for suite in suites for planned in suite.variants]


def small(*tasks, **values):
    return plan(
        tasks or ("inc",),
        **{"variants": 1, "samples": 1, "original_samples": 1, "distances": "0.3"} | values,
    )


def test_all_tasks_whose_variants_cannot_be_made_are_named_at_once(run_of):
    def fail(task):
        raise VariantError(f"task {task!r}: too short")

    suites = [plan([name], make=lambda name=name: fail(name)) for name in ("inc", "dec")]
    with pytest.raises(VariantError) as error:
        run_of().make_variants(selected(*suites))
    assert str(error.value).splitlines() == [
        "test_a.py::test_a: task 'dec': too short",
        "test_a.py::test_a: task 'inc': too short",
    ]


# -- planning ----------------------------------------------------------------------------------


def test_a_suite_is_planned_for_each_model_and_template(run_of, tmp_path):
    for name in ("kind", "short"):
        (tmp_path / f"{name}.j2").write_text(f"Be {name}.\n\n{{{{ task.prompt }}}}\n")
    values = {"template": ["*.j2"], "variants": 1, "distances": "0.3"}
    run = run_of(**values)
    run.settings = settings(model=["fake:a", "fake:b"], **values)
    task = make_task(prompt="Write `inc(x)`: return x plus one. Keep the code short and plain.")
    suites = run.plan("a.py::t", [task], run.settings, line=7)
    assert [suite.key for suite in suites] == [
        (model, template, "a.py::t")
        for model in ("fake:a", "fake:b")
        for template in ("kind", "short")
    ]
    assert {suite.line for suite in suites} == {7}
    assert run.created == ["fake:a", "fake:b"]
    assert suites[0].variants[0].job.prompt.user.startswith("Be kind.")
    assert len({planned.variant.text for planned in suites[0].variants}) == 2
    assert run.templates(run.settings) is run.templates(run.settings)
    [plain] = run_of(variants=1).plan("a.py::t", [task], settings(variants=1))
    assert plain.key == (MODEL, None, "a.py::t")
    assert plain.line is None


def test_a_task_that_cannot_run_here_is_named(run_of):
    with pytest.raises(TaskError, match=r"^a\.py::t, task 'inc': "):
        run_of().plan("a.py::t", [make_task(language="klingon")], settings())


def test_a_choice_that_no_task_can_have_is_refused(run_of):
    with pytest.raises(VariantError):
        run_of().plan("a.py::t", [make_task()], settings(distances="0.1,0.11"))


# -- the age of completions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "since"),
    [({}, 0.0), ({"fresh": True}, 1000.0), ({"max_age": 0.01}, 136.0)],
)
def test_completions_are_too_old_before_the_run_or_by_their_age(run_of, monkeypatch, values, since):
    monkeypatch.setattr(_run.time, "time", lambda: 1000.0)
    run = run_of(**values)
    [job] = run.with_age_limit([make_job(1)])
    assert job.since == pytest.approx(since)
    # A process that joins later takes the time of the first one.
    monkeypatch.setattr(_run.time, "time", lambda: 5000.0)
    later = run_of(**values)
    assert later.with_age_limit([make_job(1)]) == [job]


def test_a_stored_sample_is_the_first_one_within_the_age_limit(run_of):
    run, job = run_of(), make_job(1)
    assert run.stored(job) is None
    put(run.store, job, [0, 1])
    assert (run.stored(job).index, run.stored(job).text) == (0, "x")
    assert run_of(id="fresh", fresh=True).stored(job) is None


# -- the cost ----------------------------------------------------------------------------------


def test_the_estimate_counts_what_is_not_stored(run_of):
    run, suite = run_of(), small(samples=3)
    [line] = run.estimate(selected(suite), [make_job(1, n=2)])
    assert "3 variants, 6 completions, 0 of them in the store; would request 6 (about" in line
    put(run.store, suite.variants[1].job, [0, 1, 2])
    [line] = run.estimate(selected(suite))
    assert "2 variants, 4 completions, 3 of them in the store; would request 1 (about" in line
    in_rounds = plan(samples="auto", variants=6, min_auc_e=0.5, distances="0.3")
    [line] = run.estimate(selected(in_rounds))
    assert "would request at most" in line


# -- a run -------------------------------------------------------------------------------------


def started(run, *suites, **options):
    run.start(selected(*suites), **{"only_process": True} | options)
    return run


def test_a_run_samples_judges_and_records(run_of, backend):
    suite = small()
    run = started(run_of(), suite)
    for planned in suite.variants:
        count = run.measuring.measure(suite, planned, CHECK, node_of=lambda _: None)
        assert count == (1, 1)
    record = run.record(INVOCATION)
    assert [each.id for each in record.suites] == [suite.id]
    assert record.environment["sandbox"] == "none"
    assert record.usage.requests == len(backend.asks) == 2
    assert record.models[0].spec == MODEL
    assert run.record(INVOCATION, suite_id="other").suites == []
    [cached] = run.run_log.rows(CachedRow)
    assert (cached.cached, cached.oldest, cached.batch_cost) == (0, None, None)
    again = started(run_of(id="again"), suite)
    [cached] = again.run_log.rows(CachedRow)
    assert cached.cached == 2
    assert cached.oldest is not None


def test_a_run_without_programs_uses_no_sandbox(run_of):
    run = run_of()
    run.start([], only_process=True, jobs=[make_job(1)])
    assert run.record(INVOCATION).environment["sandbox"] == "unused"


def test_a_part_of_a_run_that_has_not_started_is_an_error(run_of):
    run = run_of()
    for part in ("sampler", "measuring"):
        with pytest.raises(RuntimeError, match="the run has not been started"):
            getattr(run, part)
    run.stop_sampling(grace=0.0)
    run.close()


@pytest.mark.parametrize("only_process", [True, False])
def test_processes_of_a_run_share_a_lock_that_is_gone_at_its_end(run_of, only_process):
    run = started(run_of(), small(), only_process=only_process)
    lock = run.store.folder / "run-run.lock"
    run.measuring.measure(small(), small().variants[0], CHECK, node_of=lambda _: None)
    assert lock.exists() != only_process
    run.close()
    run.forget()
    assert not lock.exists()
    assert list(run.run_log.rows(SuiteRow)) == []


def test_a_suite_with_a_selected_gate_begins_with_its_first_round(run_of):
    suite = plan(samples="auto", variants=6, min_auc_e=0.5, distances="0.3", original_samples=1)
    first = suite.sampled_by(0)
    assert len(first) < len(suite.variants)
    for gates, n in (((), len(suite.variants)), ({suite.key}, len(first))):
        run = started(run_of(id=f"run {n}"), suite, suites_with_gates=gates)
        total = run.sampler.progress().total
        assert total == sum(planned.n for planned in suite.variants[:n])
        run.close()


def test_a_shard_logs_its_plan_and_keeps_its_gates_open(run_of):
    suite = plan(samples="auto", variants=6, min_auc_e=0.5, distances="0.3")
    shard = plan_shard(Shard(1, 2), selected(suite), [(suite, gate) for gate in suite.gates])
    run = started(run_of(), suite, suites_with_gates={suite.key}, shard=shard)
    [row] = run.run_log.rows(ShardRow)
    assert (row.index, row.count) == (1, 2)
    assert run.sampler.progress().total == sum(planned.n for planned in suite.variants)


def test_answers_are_awaited_by_key(run_of, backend):
    backend.script = None
    run = run_of()
    jobs = [make_job(number, n=1) for number in (1, 2)]
    run.start([], only_process=True, jobs=jobs[:1])
    answers = run.wait(jobs)
    assert {key: answer.text for key, answer in answers.items()} == {
        job.key: f"prompt {number} #0" for number, job in enumerate(jobs, 1)
    }
    assert run.shown == [2]


def test_only_stored_answers_are_read_in_a_replay(run_of, backend):
    run = run_of(replay_only=True)
    run.start([], only_process=True, jobs=[make_job(1, n=1)])
    with pytest.raises(NotStoredError):
        run.wait([make_job(1, n=1)])
    assert backend.asks == []


def test_no_more_requests_are_sent_than_the_budget_has(run_of):
    run = run_of(max_requests="1", concurrency="1")
    jobs = [make_job(number, n=1) for number in (1, 2, 3)]
    run.start([], only_process=True, jobs=jobs)
    with pytest.raises(NotScoredError, match=r"max-requests"):
        run.wait(jobs)


def test_an_error_is_logged_with_whether_it_is_skipped(run_of):
    run = run_of()
    run.log_error("a", NotScoredError("broken"))
    run.log_error("b", NotStoredError("absent"))
    rows = {row.where: (row.message, row.skipped) for row in run.run_log.rows(ErrorRow)}
    assert rows == {"a": ("broken", False), "b": ("absent", True)}


def test_a_sandbox_that_cannot_run_a_language_is_closed(run_of, monkeypatch):
    class Pool:
        closed = 0

        def close(self):
            self.closed += 1

    pool, opened = Pool(), []

    def fail(_sandbox):
        raise SandboxError("no node")

    monkeypatch.setattr(
        _run, "open_sandbox", lambda level, **given: opened.append((level, given)) or pool
    )
    run = run_of()
    runtime = SimpleNamespace(key="node", folders=("/opt/node",), check=fail)
    monkeypatch.setattr(_run, "runtime_of", lambda *_: runtime)
    runtime.guest = "python"
    run.plan("a.py::t", [make_task()], settings(variants=1, distances="0.3"))
    with pytest.raises(SandboxError, match="no node"):
        run.sandbox  # noqa: B018 - opens it
    assert pool.closed == 1
    [(level, given)] = opened
    assert (level, given["folders"]) == ("none", ("/opt/node",))
    assert given["packages"][0] == "numpy"
    assert len(given["packages"]) == 2
    runtime.check, runtime.key = (lambda _: None), ""
    assert run.sandbox is pool
    assert run.sandbox is pool
    assert opened[1][1]["packages"] == ("numpy",)
    run.close()
    assert pool.closed == 2
    run.close()
    assert pool.closed == 2


def test_a_backend_is_created_once(run_of, backend):
    run = run_of()
    assert run.backend(MODEL) is run.backend(MODEL) is backend
    assert run.created == [MODEL]
    assert dict(backend.identity) == IDENTITY
