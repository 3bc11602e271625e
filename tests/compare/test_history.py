from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from record_builders import SUITE, falling, flat, make_run, run_record, save

from pytest_promptse.compare._baseline import FOLDER
from pytest_promptse.compare._history import append, entry_of, read_history
from pytest_promptse.errors import RecordError
from pytest_promptse.record._schema import UsageRecord


def run(tasks=None, **changed):
    return make_run("m", tasks or {"one": falling(1.0, 0.5, 0.0), "two": flat(0.5)}, **changed)


@pytest.fixture
def root(tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    return tmp_path


def test_the_figures_are_those_of_the_record():
    [suite] = entry_of(run().record).suites
    assert (suite.id, suite.model, suite.n_tasks) == (SUITE, "m", 2)
    assert suite.pass_at_1.value == pytest.approx(0.75)
    # The first task loses 0, 0.5 and 1, with the weights 1/6, 4/6 and 1/6; the second nothing.
    assert suite.drop.value == pytest.approx(0.25)
    assert suite.reworded.value == pytest.approx(0.5)
    assert suite.drop.error**2 == pytest.approx(suite.pass_at_1.error**2 + suite.reworded.error**2)


def test_a_suite_without_measured_variants_has_no_entry():
    record = run().record
    bare = [replace(task, variants=[]) for task in record.tasks]
    assert entry_of(replace(record, tasks=bare)).suites == []


@given(st.floats(0.0, 1.0), st.integers(1, 64))
def test_the_standard_error_is_positive_and_falls_with_more_samples(rate, n):
    few, many = (
        entry_of(run({"one": flat(rate)}, n=samples).record).suites[0] for samples in (n, 4 * n)
    )
    assert 0.0 < many.drop.error < few.drop.error
    assert 0.0 < many.pass_at_1.error < few.pass_at_1.error


@pytest.mark.parametrize(
    "changed", [{"prompt": "Write it."}, {"temperature": 0.9}, {"template": "other"}]
)
def test_other_requests_are_another_measurement(changed):
    first, second = (entry_of(r.record).suites[0] for r in (run(), run(**changed)))
    assert (first.requested != second.requested) == ("template" not in changed)
    assert first.requested == entry_of(run().record).suites[0].requested


def test_saved_runs_are_read_in_order_of_time_and_once(root):
    late, early = run(finished="2026-02-02T00:00:00+00:00"), run()
    for each in (late, early, late):
        append("main", each.record, root)
    runs = read_history(["main"], root)
    assert [r.finished[:7] for r in runs] == ["2026-01", "2026-02"]
    assert runs == read_history([], root)


def test_a_folder_of_records_is_a_history(root):
    save(run(), root / "a.json")
    save(run(finished="2026-02-02T00:00:00+00:00"), root / "b.json")
    assert len(read_history([str(root)], root)) == 2
    assert len(read_history([str(root / "a.json")], root)) == 1


def test_the_time_of_reused_completions_is_kept():
    usage = UsageRecord(
        requests=0,
        prompt_tokens=0,
        completion_tokens=0,
        cost=None,
        cached=4,
        oldest="2026-01-01T00:00:00+00:00",
    )
    assert entry_of(run_record([], [], usage=usage)).oldest == "2026-01-01T00:00:00+00:00"
    assert entry_of(run_record([], [])).oldest is None


def test_errors_name_the_place_and_the_remedy(root):
    with pytest.raises(RecordError, match=r"no run is saved .* --promptse-save NAME"):
        read_history([], root)
    with pytest.raises(RecordError, match=r"'gone' is not a baseline .* --promptse-save gone"):
        read_history(["gone"], root)
    path = root / FOLDER / "main.history.jsonl"
    path.write_text("{}\n")
    with pytest.raises(RecordError, match=r"main\.history\.jsonl:1: not a run .* delete this line"):
        read_history(["main"], root)
    (root / FOLDER / "other.history.jsonl").mkdir()
    with pytest.raises(RecordError, match=r"history .*other"):
        append("other", run().record, root)
