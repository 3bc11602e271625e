"""Baselines in the hands of a user and on a build server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slug_project import SLUG

from pytest_promptse.record._schema import SCHEMA

REFERENCE = ("--promptse-model", "reference")
COMPARE = ("--promptse-compare", "main")
WITHOUT_OTHERS = ("-p", "no:hypothesispytest", "-p", "no:anyio")
MARGIN = ("--promptse-compare-fail", "auc_e:0.1", "--promptse-compare-fail", "pass_at_1:10%")


BASELINE = Path(".promptse", "baselines", "main.json")


def saved(pytester: pytest.Pytester) -> dict:
    return json.loads((pytester.path / BASELINE).read_text())


@pytest.fixture(scope="module")
def saving(run_once):
    """A run of the reference that saves the baseline ``main``."""
    return run_once({"test_slug.py": SLUG}, *REFERENCE, "--promptse-save", "main")


@pytest.fixture
def baseline(slug, saving, pytester) -> Path:
    """The test has the baseline ``main`` of the reference."""
    path = pytester.path / BASELINE
    path.parent.mkdir(parents=True)
    path.write_bytes((saving.folder / BASELINE).read_bytes())
    return path


@pytest.mark.parametrize("gate", [(), ("--promptse-min-auc-e", "0.99", "--promptse-gate", "point")])
def test_a_saved_baseline_points_to_its_history_and_to_what_would_lose_less(
    slug, run, answers, programs, gate
):
    model = answers({0.1: [programs.wrong], 0.2: [programs.wrong], 0.3: [programs.wrong]})
    result = run("--promptse-model", model, "--promptse-save", "main", *gate)
    assert result.ret == (1 if gate else 0)
    shown = result.stdout.str()
    assert "promptse history main" in shown
    assert shown.count("promptse harden test_slug.py ") == 1


def test_a_saved_baseline_without_a_loss_points_to_its_history_alone(saving):
    saving.result.assert_outcomes(passed=8)
    assert saving.result.ret == 0
    saving.result.stdout.fnmatch_lines(["promptse: saved as baseline 'main' in *main.json"])
    shown = saving.result.stdout.str()
    assert "promptse history main" in shown
    assert "promptse harden" not in shown
    record = json.loads((saving.folder / BASELINE).read_text())
    assert [suite["auc_e"] for suite in record["suites"]] == [1.0]
    assert record["comparisons"] == []


@pytest.mark.usefixtures("baseline")
def test_a_run_that_fell_too_far_fails_the_item_that_compares(run, answers, programs, pytester):
    model = answers({0.1: [programs.wrong], 0.2: [programs.wrong], 0.3: [programs.wrong]})
    junit = pytester.path / "junit.xml"
    reports = ("--promptse-report", "json:run.json", f"--junitxml={junit}")
    second = run("--promptse-model", model, *COMPARE, *MARGIN, *reports)
    assert second.ret == pytest.ExitCode.TESTS_FAILED
    second.stdout.fnmatch_lines(
        [
            "*promptse: compared with main*",
            "*AUC-E   0.000 was 1.000  -1.000*fail (allowed 0.1)",
            "*not the same: model*",
        ]
    )
    second.stdout.fnmatch_lines(
        [
            "*test_slugify?compare-main?*",
            "AUC-E of test_slug.py::test_slugify * fell by 1 *, more than 0.1 allowed",
        ]
    )
    second.assert_outcomes(passed=8, failed=1)
    assert 'failures="1"' in junit.read_text()
    assert "more than 0.1 allowed" in junit.read_text()
    [comparison] = json.loads((pytester.path / "run.json").read_text())["comparisons"]
    assert {one["metric"]: one["verdict"] for one in comparison["figures"]}["auc_e"] == "fail"


def test_what_a_comparison_does_not_decide_is_skipped_and_the_same_completions_pass(
    slug, run, answers, programs
):
    drop = ("--promptse-compare-fail", "drop:0.05", "-k", "compare", "-v")
    first = ("--promptse-model", answers({0.1: [programs.right, programs.wrong]}))
    run(*first, "--promptse-save", "main")
    run(*first, *COMPARE, *drop).assert_outcomes(passed=1, deselected=8)
    other = ("--promptse-model", answers({0.2: [programs.right, programs.wrong]}))
    result = run(*other, *COMPARE, *drop, "-rs")
    result.assert_outcomes(skipped=1, deselected=8)
    result.stdout.fnmatch_lines(
        [
            "*compare-main* SKIPPED (inconclusive: drop*",
            "SKIPPED*inconclusive: drop 0.167, baseline 0.167*does not decide*",
        ]
    )
    undecided = (*drop, "--promptse-inconclusive", "fail")
    run(*other, *COMPARE, *undecided).assert_outcomes(failed=1, deselected=8)


@pytest.mark.usefixtures("baseline")
def test_a_run_that_solves_nothing_is_no_improvement(run, answers, programs):
    distances = (0.0, 0.1, 0.2, 0.3)
    nothing = answers({key: [programs.wrong] for key in distances})
    auc_e = ("--promptse-compare-fail", "auc_e:0.1")
    result = run("--promptse-model", nothing, *COMPARE, *auc_e, "-k", "compare")
    result.assert_outcomes(errors=1, deselected=8)
    result.stdout.fnmatch_lines(["*no sample of the original prompt passes*"])


@pytest.mark.parametrize("missing", [(), MARGIN])
def test_a_first_run_that_may_go_without_a_baseline_names_the_command_that_makes_one(
    slug, run, missing
):
    line = "promptse: there is no baseline 'main' yet *pytest … --promptse-save main"
    noted = run(*REFERENCE, *COMPARE, *missing, "--promptse-compare-missing", "warn")
    assert noted.ret == 0
    noted.stdout.fnmatch_lines([line])


@pytest.mark.parametrize(("margin", "what"), [(MARGIN, "fails"), ((), "leaves this out")])
@pytest.mark.usefixtures("baseline")
def test_a_suite_that_the_baseline_lacks_is_named_before_the_tests(run, pytester, margin, what):
    added = (pytester.path / "test_slug.py").read_text().replace("def test_slugify", "def test_new")
    (pytester.path / "test_added.py").write_text(added)
    lacking = (
        "the baseline 'main' does not have test_added.py::test_new (reference); the comparison"
    )
    result = run(*REFERENCE, *COMPARE, *margin)
    assert result.ret == (1 if margin else 0)
    before, _, _ = result.stdout.str().partition("test_added.py .")
    assert f"promptse: {lacking} {what}. Renew it with: pytest " in before
    # Only the suites that are compared count.
    alone = run(*REFERENCE, *COMPARE, *margin, "test_slug.py")
    assert lacking not in alone.stdout.str()


def test_under_xdist_the_controller_compares_and_saves(slug, pytester, two_workers):
    empty = {
        "schema": SCHEMA,
        **{key: {} for key in ("tool", "environment", "settings")},
        **{key: [] for key in ("models", "suites", "tasks", "errors")},
        **dict.fromkeys(("started", "finished"), "2026-01-01"),
        "git": None,
        "usage": {
            "requests": 0,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "cost": None,
            "cached": 0,
        },
    }
    path = pytester.path / ".promptse" / "baselines" / "main.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(empty))
    result = pytester.runpytest_subprocess(
        *WITHOUT_OTHERS, *two_workers, *REFERENCE, *COMPARE, *MARGIN, "--promptse-save", "main"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    # As the message of the only failure; the short summary may repeat it after "FAILED".
    missing = "test_slug.py::test_slugify (reference) is not in the baseline 'main'"
    assert sum(line.startswith(missing) for line in result.outlines) == 1
    result.assert_outcomes(passed=8, failed=1)
    [suite] = saved(pytester)["suites"]
    assert suite["n_measured"] == suite["n_variants"] == 4


def test_an_unusable_baseline_is_refused_before_any_request(slug, run, pytester):
    path = pytester.path / "old.json"
    path.write_text('{"schema": "promptse.run/0"}')
    result = run(*REFERENCE, "--promptse-compare", "old.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*old.json is a record of schema version 0*--promptse-report json:old.json"]
    )
    assert not (pytester.path / ".promptse").exists()


def test_an_interrupted_run_does_not_take_the_baselines_place(slug, run, pytester):
    pytester.makepyfile(test_stop="def test_stop():\n    raise KeyboardInterrupt\n")
    result = run(*REFERENCE, "--promptse-save", "main")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*not saved as baseline 'main': the run was interrupted"])
    assert not (pytester.path / ".promptse" / "baselines").exists()


def test_an_incomplete_run_does_not_take_the_baselines_place_unless_forced(
    baseline, run, pytester, answers, programs
):
    good = baseline.read_text()
    # An outage: half of the completions are missing.
    path = pytester.path / answers({0.0: [programs.right]}).removeprefix("replay:")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))
    result = run("--promptse-model", f"replay:{path}", "--promptse-save", "main")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["promptse: not saved as baseline 'main': 2 of 4 variants were not measured; *"]
    )
    assert baseline.read_text() == good
    selected = run(*REFERENCE, "--promptse-save", "main", "-k", "original")
    assert selected.ret == pytest.ExitCode.USAGE_ERROR
    assert baseline.read_text() == good
    run(*REFERENCE, "--promptse-save", "main", "-k", "original", "--promptse-save-incomplete")
    assert saved(pytester)["suites"][0]["n_measured"] == 1
