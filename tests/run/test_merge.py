"""A merged run has the record of a single run, and fails for the same reasons."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from itertools import count

import msgspec
import pytest
from msgspec.structs import replace
from planned_suites import plan, row_of, settings
from record_builders import make_record, make_suite, make_task

from pytest_promptse.config._option_types import Shard
from pytest_promptse.errors import RecordError
from pytest_promptse.models._base import Usage
from pytest_promptse.record._outcomes import run_failures
from pytest_promptse.record._schema import (
    EntailmentRecord,
    InvocationRecord,
    ModelRecord,
    RejectedText,
    RewritingRecord,
)
from pytest_promptse.run._gates import Scores
from pytest_promptse.run._merge import merge_shards
from pytest_promptse.run._record_builder import RunFacts, build_record
from pytest_promptse.run._shards import plan_shard
from pytest_promptse.scoring._gate import judge_pass_rate
from pytest_promptse.store._run_log import ErrorRow, GateRow, RunLog
from pytest_promptse.store._store import Store


@pytest.mark.parametrize(
    ("kind", "inconclusive", "n_failures"),
    [("point", "pass", 1), ("confident", "pass", 0), ("confident", "fail", 2)],
)
def test_a_pass_rate_is_judged_and_shown_as_by_its_item(kind, inconclusive, n_failures):
    task = make_task("one", 1.0, {0.3: [0.5]})
    suite = make_suite([task], min_pass_rate=0.6, gate=kind, inconclusive=inconclusive)
    found = run_failures(make_record((suite, [task])))
    assert len(found) == n_failures
    [variant] = task.variants
    gate = judge_pass_rate(variant.n // 2, variant.n, 0.6, kind=kind, comparisons=2)
    assert ("0.50 < 0.60" in gate.message) is (kind == "point")
    assert [line for line in found if line.endswith(gate.message)] == found[-1:]


SUITE = plan(["a", "b", "c"], variants=2, min_auc_e=0.5, min_task_auc_e=0.9)


@pytest.fixture
def new_store(tmp_path):
    """Open a new store at each call, until the end of the test."""
    numbers = count()
    stores = []

    def new_store():
        stores.append(Store(tmp_path / f"store{next(numbers)}"))
        return stores[-1]

    yield new_store
    for store in stores:
        with closing(store):
            pass


@pytest.fixture
def record_of(new_store, tmp_path):
    """Measure the suite, or the tasks of one of `parts` shards, and return the record."""

    def record_of(part=1, parts=1, *, suite=SUITE, tasks=None, gates=None, log=()):
        store = new_store()
        run_log = RunLog(store, "run")
        planned = [(suite, variant) for variant in suite.variants]
        shard = plan_shard(Shard(part, parts), planned, [(suite, gate) for gate in suite.gates])
        own = shard.own_tasks.get(suite.id, ()) if tasks is None else tasks
        if parts > 1:
            run_log.add(shard.row)
        for row in (suite.row, *log):
            run_log.add(row)
        for number, variant in enumerate(suite.variants):
            if variant.task.id in own:
                causes = [
                    "wrong_answer" if variant.variant.distance and number % 3 == 0 else ""
                ] * 4
                run_log.add(row_of(suite, variant, causes))
        scores = Scores(run_log)
        for gate in suite.gates if parts == 1 else ():
            decided = scores.decide_measured(suite.row, gate)
            place = {"place": gate.place, "suite": suite.id, "model": suite.model}
            run_log.add(GateRow(**place, template=None, gate=decided))
        facts = RunFacts(
            started=datetime(2026, 1, part, tzinfo=UTC),
            root=tmp_path,
            sandbox="none",
            settings=settings(),
            invocation=InvocationRecord(directory=".", options=[]),
            backends={},
            emotions={},
            usage=Usage(requests=part, prompt_tokens=10 * part, completion_tokens=100 * part),
        )
        return build_record(run_log, scores, store, facts)

    return record_of


def merged(store, *shards):
    return merge_shards([(f"{n}.json", shard) for n, shard in enumerate(shards, 1)], store)


def measured(record):
    """Return the parts of a record that are the same however a run was divided."""
    return msgspec.to_builtins((record.suites, list(record.tasks), record.errors))


def test_shards_in_any_order_give_the_record_of_a_single_run(record_of, new_store):
    whole = record_of()
    assert len(whole.suites[0].gates) == len(SUITE.gates)
    shards = [record_of(part, 3) for part in (2, 3, 1)]
    record = merged(new_store(), *shards)
    assert measured(record) == measured(whole)
    assert record.shard is msgspec.UNSET
    assert record.started.startswith("2026-01-01")
    assert record.finished == max(shard.finished for shard in shards)
    usage = record.usage
    assert (usage.requests, usage.prompt_tokens, usage.completion_tokens) == (6, 60, 600)
    assert usage.cost is None


def test_what_was_not_measured_and_the_errors_of_shards_are_errors(record_of, new_store):
    shards = [record_of(1, 2), record_of(2, 2, tasks=(), log=[ErrorRow(where="x", message="m")])]
    record = merged(new_store(), *shards)
    errors = {error.where: error.message for error in record.errors}
    assert errors.pop("x") == "m"
    assert errors
    assert all(where.startswith(f"{record.suites[0].id}[") for where in errors)
    assert all(message.endswith(" was not measured in any shard") for message in errors.values())
    # The gates of the tasks that were measured are decided, and no other.
    assert [gate.task for gate in record.suites[0].gates] == [task.id for task in record.tasks]


def changed_head(record, model="m", *, ours):
    """Give a shard what only one of both may have, and what both have."""
    rewriting = RewritingRecord(
        rewriter="llm:r",
        model="r",
        instruction="i",
        variants=2,
        texts=5,
        accepted=1,
        rules={"number": 2, "unit" if ours else "name": 1},
        rejected=[RejectedText(task="a", variant="v", text="t", findings=[])],
    )
    judge = EntailmentRecord(model="j", instruction="1", texts=1, questions=4, cleared=2)
    usage = {"oldest": "2026-01-02", "batch_cost": 1.0, "cost": 2.0}
    return replace(
        record,
        models=[ModelRecord(spec="m", identity={"m": model}, capabilities={} if ours else None)],
        rewriting=[rewriting] if ours else [replace(rewriting, rewriter="llm:q"), rewriting],
        entailment=[judge] if ours else [judge, replace(judge, instruction="2")],
        usage=replace(record.usage, **usage) if ours else replace(record.usage, cost=0.5, cached=3),
    )


@pytest.mark.parametrize("first", [True, False])
def test_models_rewriting_judging_and_usage_are_counted_together(record_of, new_store, first):
    shards = [
        changed_head(record_of(part, 2), ours=ours) for part, ours in ((1, first), (2, not first))
    ]
    record = merged(new_store(), *shards)
    assert record.models[0].capabilities == {}
    rewriting = {row.rewriter: row for row in record.rewriting}
    both = rewriting["llm:r"]
    assert (both.variants, both.texts, both.accepted, len(both.rejected)) == (4, 10, 2, 2)
    assert both.rules == {"name": 1, "number": 4, "unit": 1}
    assert rewriting.keys() == {"llm:r", "llm:q"}
    assert rewriting["llm:q"].variants == 2
    judged = {row.instruction: (row.texts, row.questions, row.cleared) for row in record.entailment}
    assert judged == {"1": (2, 8, 4), "2": (1, 4, 2)}
    usage = record.usage
    assert (usage.cost, usage.cached, usage.oldest, usage.batch_cost) == (2.5, 3, "2026-01-02", 1.0)


def test_what_is_no_set_of_shards_of_one_run_is_refused(record_of, new_store):
    one, two = record_of(1, 2), record_of(2, 2)

    def refused(*shards):
        with pytest.raises(RecordError) as caught:
            merged(new_store(), *shards)
        return str(caught.value)

    assert refused() == "merge: there is no record; name the records of all shards"
    assert refused(one) == "merge: missing shards: 2/2; name the records of all shards"
    assert refused(one, two, one).startswith("3.json: shard 1/2 is also in 1.json; ")
    assert refused(one, record_of()).startswith("2.json: not the record of a shard; ")
    other = replace(one, tool={"version": "0"})
    assert refused(other).startswith("1.json: made by version 0, this is ")
    assert refused(one, record_of(2, 3)) == "2.json: one of 3 shards, but 1.json is one of 2"
    warm = plan(["a", "b", "c"], variants=2, min_auc_e=0.5, min_task_auc_e=0.9, temperature=0.5)
    assert "temperature 0.5 instead of 0.2; run all" in refused(one, record_of(2, 2, suite=warm))
    more = plan(["a", "b", "c", "d"], variants=2, min_auc_e=0.5, min_task_auc_e=0.9)
    assert "its plan differs from that of 1.json" in refused(one, record_of(2, 2, suite=more))
    assert "is also in 1.json; the files do not" in refused(
        one, record_of(2, 2, tasks=[task.id for task in one.tasks])
    )
    assert "is a different model from that in 1.json" in refused(
        *(changed_head(record, model, ours=True) for record, model in ((one, "x"), (two, "y")))
    )
    # What no score depends on may differ.
    free = plan(["a", "b", "c"], variants=2, min_auc_e=0.5, min_task_auc_e=0.9, concurrency=9)
    merged(new_store(), one, record_of(2, 2, suite=free))
