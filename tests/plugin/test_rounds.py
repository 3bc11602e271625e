"""Samples ``auto``: variants come in rounds, and a suite stops once its gates are decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from record_schema import check_record

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VARIANTS = 2
SAMPLES = 2
TASKS = {
    "add": ("the sum", "a + b"),
    "times": ("the product", "a * b"),
    "least": ("the smaller", "min(a, b)"),
}
DISTANCE = 0.2
# Per task the original and, in the first round, one variant.
FIRST = len(TASKS) * (1 + 1)
ALL = len(TASKS) * (1 + VARIANTS)
GATES = 2
# Three tasks leave much open about unseen tasks, and half of the variants leave open the other
# half. The lower limit is 0.5 (0.025 / 2)^(1/3) = 0.116 in the first round, and 1 minus that is the
# upper one.
FLOOR = 0.1
HIGH = 0.95
REFERENCE = ("--promptse-model", "reference")
APART = ("-p", "no:xdist")
AUTO = ("--promptse-samples", f"auto:{SAMPLES}")


def prompt(name: str) -> str:
    return f"Write `{name}(a, b)`: return {TASKS[name][0]} of both numbers, and no more."


def program(name: str) -> str:
    return f"def {name}(a, b):\n    return {TASKS[name][1]}\n"


@pytest.fixture(autouse=True)
def suite(pytester) -> None:
    """Three tasks, and a floor for the area under their curve."""
    tasks = "\n".join(
        f"  - id: {name}\n    prompt: {json.dumps(prompt(name))}\n"
        f"    reference: {json.dumps(program(name))}\n"
        f"    examples: [{{call: '{name}(3, 2)', expect: {value}}}]"
        for name, value in zip(TASKS, (5, 6, 2), strict=True)
    )
    (pytester.path / "sums.promptse.yaml").write_text(
        "promptse: 1\n"
        f"settings: {{distances: [{DISTANCE}], variants: {VARIANTS}, "
        f"original_samples: {SAMPLES}, min_auc_e: {FLOOR}}}\n"
        f"tasks:\n{tasks}\n"
    )


@pytest.fixture
def breaking(pytester) -> Callable[..., str]:
    """Write the answers of a model that breaks some tasks in all variants but the original."""

    def write(*broken: str) -> str:
        lines = [line for name in TASKS for line in answers(name, breaks=name in broken)]
        path = pytester.path / "answers.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return "replay:answers.jsonl"

    return write


def answers(name: str, *, breaks: bool) -> Iterator[dict]:
    task = Task(id=name, prompt=prompt(name))
    variants = generate(task, Selection(distances=(DISTANCE,), per_distance=VARIANTS)).variants
    controls = [f"d{DISTANCE:g}-neutral-{index}" for index in range(VARIANTS)]
    for variant in ("original", *(variant.id for variant in variants), *controls):
        is_broken = breaks and variant not in ("original", *controls)
        text = "def nothing(): pass\n" if is_broken else program(name)
        for index in range(SAMPLES):
            yield {
                "task_id": name,
                "variant_id": variant,
                "index": index,
                "text": f"```\n{text}```",
                "logprob": -1.0,
                "n_tokens": 10,
            }


@pytest.fixture
def open_model(breaking) -> str:
    """A model whose figures decide no gate."""
    return breaking("add")


def measured(pytester, *arguments: str, name: str = "out") -> dict:
    """Run and return the record, which its schema allows."""
    pytester.runpytest_subprocess(
        *("-p", "no:hypothesispytest", "-p", "no:anyio"),
        *("--promptse-report", f"json:{name}.json", *AUTO, *arguments),
    )
    return record_of(pytester, name)


def record_of(pytester, name: str = "run") -> dict:
    record = json.loads((pytester.path / f"{name}.json").read_text())
    check_record(record)
    return record


def test_a_clear_suite_stops_after_the_first_round_and_runs_again_from_the_store(run, pytester):
    report = ("--promptse-report", "json:run.json")
    result = run("-rs", *AUTO, *REFERENCE, *report)
    result.assert_outcomes(passed=FIRST + GATES, skipped=ALL - FIRST)
    reason = f"not needed: decided after {FIRST * SAMPLES} of {ALL * SAMPLES} completions"
    result.stdout.fnmatch_lines([f"*{FIRST} of at most {ALL} variants*", f"*{reason}*"])
    assert f"{FIRST} requests" in result.stdout.str()
    first, second = record_of(pytester), measured(pytester, *APART, *REFERENCE, name="run")
    assert (first["usage"]["cached"], second["usage"]["cached"]) == (0, SAMPLES * FIRST)
    assert second["suites"] == first["suites"]
    # All samples after some: only the rest is requested.
    result = run("--promptse-samples", str(SAMPLES), *REFERENCE)
    result.assert_outcomes(passed=ALL + GATES)
    assert f"{ALL - FIRST} requests" in result.stdout.str()
    assert f"{FIRST * SAMPLES} completions from the store" in result.stdout.str()


def test_the_record_says_where_a_suite_stopped_with_its_control(pytester, two_workers):
    control = ("--promptse-control", "neutral", *two_workers)
    [found] = measured(pytester, *REFERENCE, *control)["suites"]
    assert found["rounds"] == {
        "look": 1,
        "looks": 2,
        "decided": True,
        "n_variants": FIRST,
        "completions": FIRST * SAMPLES,
        "max_completions": ALL * SAMPLES,
    }
    assert (found["n_measured"], found["n_variants"], found["verdict"]) == (FIRST, ALL, "pass")
    # Only the control variants of the first round are needed.
    beside = found["control"]
    assert (beside["n_planned"], beside["n_measured"]) == (len(TASKS) * VARIANTS, len(TASKS))
    assert beside["levels"][f"{DISTANCE:g}"]["n_tasks"] == len(TASKS)


def test_a_suite_that_is_not_clear_goes_on_to_the_end(run, pytester, open_model):
    model = ("--promptse-model", open_model)
    result = run(*AUTO, *model, "--promptse-report", "json:run.json")
    result.assert_outcomes(passed=ALL + GATES - 1, skipped=1, warnings=0)
    result.stdout.fnmatch_lines([f"*contains the threshold {FLOOR:.2f}*"])
    first, second = record_of(pytester), measured(pytester, *APART, *model, name="run")
    assert (first["usage"]["cached"], second["usage"]["cached"]) == (0, SAMPLES * ALL)
    assert second["suites"] == first["suites"]
    control = ("--promptse-control", "neutral")
    [found] = measured(pytester, *model, *control)["suites"]
    assert (found["rounds"]["look"], found["rounds"]["decided"]) == (2, False)
    assert found["control"]["n_measured"] == found["control"]["n_planned"] == len(TASKS) * VARIANTS
    assert found["control"]["excess_loss"]["value"] == pytest.approx(1 / len(TASKS))
    assert found["verdict"] == "inconclusive"
    assert found["n_measured"] == ALL


@pytest.mark.parametrize("clear", [True, False])
def test_workers_take_the_decision_of_one_process(pytester, open_model, two_workers, clear):
    model = ("--promptse-model", "reference" if clear else open_model)
    alone = measured(pytester, *APART, "--promptse-store", "a", *model, name="alone")
    shared = measured(pytester, *two_workers, "--promptse-store", "b", *model, name="shared")
    assert shared["usage"] == alone["usage"]
    for one in (alone, shared):
        [suite] = one["suites"]
        del suite["settings"]
    assert shared["suites"] == alone["suites"]
    assert shared["errors"] == []


def test_a_dry_run_says_the_most_it_may_ask_for(run):
    result = run("--promptse-dry-run", *AUTO, *REFERENCE)
    result.stdout.fnmatch_lines([f"*would request at most {ALL * SAMPLES} *"])


def test_a_gate_alone_draws_the_rounds_that_it_needs(run):
    result = run("-k", "auc-e", *AUTO, *REFERENCE)
    result.assert_outcomes(passed=1, deselected=ALL + GATES - 1)
    assert f"{FIRST} requests" in result.stdout.str()


def test_variants_alone_are_all_measured(run):
    result = run("-k", "not elasticity and not auc-e", *AUTO, *REFERENCE)
    result.assert_outcomes(passed=ALL, deselected=GATES)


def test_the_order_of_items_does_not_matter(run, pytester):
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    run(*AUTO, *REFERENCE).assert_outcomes(passed=FIRST + GATES, skipped=ALL - FIRST)


def test_a_clear_failure_stops_too_and_runs_again_from_the_store(run, pytester, breaking):
    path = pytester.path / "sums.promptse.yaml"
    path.write_text(path.read_text().replace(f"min_auc_e: {FLOOR}", f"min_auc_e: {HIGH}"))
    model = ("--promptse-model", breaking(*TASKS))
    result = run(*AUTO, *model)
    result.assert_outcomes(passed=FIRST + GATES - 1, failed=1, skipped=ALL - FIRST)
    again = run("--lf", *AUTO, *model)
    again.assert_outcomes(failed=1)
    assert f"{FIRST * SAMPLES} completions from the store" in again.stdout.str()


def test_without_a_threshold_there_is_nothing_to_decide(run, pytester):
    path = pytester.path / "sums.promptse.yaml"
    path.write_text(path.read_text().replace(f", min_auc_e: {FLOOR}", ""))
    run(*AUTO, *REFERENCE).assert_outcomes(passed=ALL + GATES)


def test_a_point_gate_cannot_be_decided_early(run):
    result = run("--promptse-gate", "point", *AUTO, *REFERENCE)
    result.stderr.fnmatch_lines(["*--promptse-gate: a point gate*give confident, or a number*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_budget_that_ends_within_a_round_leaves_the_suite_undecided(run, pytester):
    path = pytester.path / "sums.promptse.yaml"
    path.write_text(path.read_text().replace(f"min_auc_e: {FLOOR}", "min_auc_e: 0.9"))
    result = run(*AUTO, *REFERENCE, "--promptse-max-requests", str(FIRST + 1))
    result.assert_outcomes(passed=FIRST + 1, errors=ALL - FIRST - 1 + GATES)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            f"max_requests={FIRST + 1}: *",
            "promptse: 3 more items have the same errors",
            "sums is not decided: *",
            "*, 7 of 9 variants measured",
        ]
    )
    record = measured(pytester, *APART, *REFERENCE)
    [found] = record["suites"]
    assert (found["rounds"]["look"], found["n_measured"]) == (2, ALL)
    assert record["usage"]["requests"] == ALL - FIRST - 1


def test_x_stops_at_a_gate_that_fails_after_the_rounds_that_it_needed(run, pytester, breaking):
    path = pytester.path / "sums.promptse.yaml"
    path.write_text(path.read_text().replace(f"min_auc_e: {FLOOR}", f"min_auc_e: {HIGH}"))
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    model = ("--promptse-model", breaking(*TASKS))
    run("-x", *AUTO, *model).assert_outcomes(failed=1)
    again = run(*AUTO, *model)
    again.assert_outcomes(passed=FIRST + GATES - 1, failed=1, skipped=ALL - FIRST)
    assert f"{FIRST * SAMPLES} completions from the store" in again.stdout.str()
