"""A metric that another plugin adds is everywhere that a built-in one is."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from record_schema import check_record

if TYPE_CHECKING:
    from collections.abc import Callable

METRIC = """
from pytest_promptse.config import Metric

def pytest_promptse_metrics():
    return [
        Metric(
            name="worst_rate",
            label="rate of the worst variant",
            short_label="worst",
            figure=lambda task: task.variants.rates.min(axis=-1),
            threshold_help="minimum pass rate of the worst variant",
        )
    ]
"""
OPTION = ("--promptse-min-worst-rate", "0.4", "--promptse-gate", "point")


@pytest.fixture
def model(answers, programs, slug, pytester) -> str:
    """A model that solves half of the samples of one variant, in a project with a metric."""
    pytester.makeconftest(METRIC)
    return answers({0.2: [programs.wrong, programs.right]})


@pytest.fixture
def promptse(pytester) -> Callable[..., pytest.RunResult]:
    # In a process of its own: pytester forgets modules that a test imports, and NumPy cannot be
    # imported again.
    command = Path(sys.executable).with_name("promptse")
    return lambda *arguments: pytester.run(command, *arguments)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_has_an_option_a_gate_and_a_line_in_every_report(model, run, pytester, monkeypatch):
    assert "--promptse-min-worst-rate=X" in run("--help").stdout.str()
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    reports = ("json:r.json", "md:r.md", "html:r.html", "csv:tables", "latex:r.tex", "github")
    result = run(
        *("--promptse-model", model, *OPTION, "-v"),
        *(part for report in reports for part in ("--promptse-report", report)),
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*test_slugify?worst-rate? PASSED (rate of the worst variant 0.50 > 0.40)*",
            "rate of the worst variant * 0.500 *",
        ]
    )
    record = json.loads((pytester.path / "r.json").read_text())
    check_record(record)
    [suite] = record["suites"]
    assert suite["estimates"]["worst_rate"]["value"] == 0.5
    assert suite["settings"]["min_worst_rate"] == 0.4
    assert record["metrics"]["worst_rate"]["label"] == "rate of the worst variant"
    assert ("worst-rate", "pass") in {(gate["name"], gate["verdict"]) for gate in suite["gates"]}
    for name in ("r.md", "r.html", "summary.md"):
        assert "rate of the worst variant" in (pytester.path / name).read_text()
    assert "worst" in (pytester.path / "r.tex").read_text()
    assert rows(pytester.path / "tables" / "suites.csv")[0]["worst_rate"] == "0.5"


def test_a_report_and_the_history_of_its_record_need_no_plugin(model, run, pytester, promptse):
    report = ("--promptse-report", "json:r.json", "--promptse-save", "main")
    run("--promptse-model", model, *OPTION, *report)
    (pytester.path / "conftest.py").unlink()
    assert promptse("report", "r.json", "md:again.md").ret == 0
    assert "`rate of the worst variant` | 0.500" in (pytester.path / "again.md").read_text()
    shown = promptse("history", "--csv", "courses")
    assert shown.ret == 0
    [table] = (pytester.path / "courses").glob("*.csv")
    assert rows(table)[0]["worst_rate"] == "0.5"
    # Its label is the plugin's.
    assert "worst_rate" in shown.stdout.str()


@pytest.mark.parametrize(
    ("ini", "mark"), [("promptse_min_worst_rate = 0.9", ""), ("", "min_worst_rate=0.9, ")]
)
def test_its_threshold_may_stand_in_the_ini_file_or_on_a_mark(ini, mark, model, run, pytester):
    path = pytester.path / "test_slug.py"
    path.write_text(path.read_text().replace("    samples=2", f"    {mark}gate='point', samples=2"))
    pytester.makeini(f"[pytest]\n{ini}\n")
    result = run("--promptse-model", model, "-k", "worst-rate")
    result.assert_outcomes(failed=1, deselected=8)
    result.stdout.fnmatch_lines(["*rate of the worst variant 0.50 < 0.90*"])


def test_it_is_compared_with_a_baseline(model, run, answers, programs):
    model = answers({distance: [programs.wrong] for distance in (0.1, 0.2, 0.3)})
    assert run("--promptse-model", "reference", "--promptse-save", "main").ret == 0
    margin = ("--promptse-compare-fail", "worst_rate:0.1")
    result = run("--promptse-model", model, "--promptse-compare", "main", *margin)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["rate of the worst variant of test_slug.py* fell by 1 *, more than 0.1 allowed"]
    )


def test_a_plan_shows_what_runs_measure_of_it(model, promptse):
    shown = promptse("plan", "--variants", "1", "--samples", "2", "--figures").stdout.str()
    assert "\nrate of the worst variant " in shown


def test_a_merge_decides_its_gate(model, run, pytester, promptse):
    options = ("--promptse-model", model, *OPTION, "--promptse-shard", "1/1")
    assert run(*options, "--promptse-report", "json:r.json").ret == 0

    merged = promptse("merge", "r.json")
    assert "promptse: merged 1 shards" in merged.stdout.str()
    assert merged.ret == 0
    (pytester.path / "conftest.py").unlink()
    without = promptse("merge", "r.json")
    assert without.ret == 1
    assert "install the plugin that adds it" in without.stdout.str()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('name="worst_rate"|name="auc_e"', "there is already a metric 'auc_e'"),
        ('name="worst_rate"|name="Worst rate"', "a name has lower-case letters"),
        ("figure=lambda task: task.variants.rates.min(axis=-1)|bounds=(0, 1)", "has no figure"),
        ("min(axis=-1)|sum(axis=-1)", "its bounds are 0 and 1; correct the plugin"),
    ],
)
def test_a_metric_that_cannot_be_used_is_one_line(change, message, model, run, pytester):
    old, _, new = change.partition("|")
    pytester.makeconftest(METRIC.replace(old, new))
    result = run("--promptse-model", model)
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_a_metric_in_a_folder_comes_too_late(run, slug, pytester):
    folder = pytester.mkdir("inner")
    (folder / "conftest.py").write_text(METRIC)
    (folder / "test_inner.py").write_text("def test_it(): pass\n")
    result = run()
    assert result.ret != 0
    assert "move the hook to the conftest.py of the root directory" in (
        result.stdout.str() + result.stderr.str()
    )


def test_a_ranking_of_templates_has_it(slug, run, pytester):
    pytester.makeconftest(METRIC)
    for name in ("plain", "wordy"):
        (pytester.path / f"{name}.j2").write_text("{{ task.prompt }}")
    templates = ("--promptse-template", "*.j2")
    run("--promptse-model", "tiny", *templates, "--promptse-report", "json:r.json")
    [ranking] = json.loads((pytester.path / "r.json").read_text())["rankings"]
    assert {entry["name"] for entry in ranking["entries"]} == {"plain", "wordy"}
    assert all(0.0 <= entry["figures"]["worst_rate"] <= 1.0 for entry in ranking["entries"])
