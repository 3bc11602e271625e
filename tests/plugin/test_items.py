"""The items of a marked test, and their treatment by pytest's own options."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from slug_project import RAISES, RIGHT, SLUG, WRONG, slug_answers

pytestmark = pytest.mark.usefixtures("slug")

POINT = ("--promptse-gate", "point")
REFERENCE = ("--promptse-model", "reference")


def ids(result: pytest.RunResult) -> list[str]:
    return [line.partition("[")[2].rstrip("]") for line in result.outlines if "::" in line]


def test_a_mark_becomes_one_item_per_variant_and_the_gates_and_asks_nothing(run, pytester):
    collected = ids(run("--collect-only", "-q", *REFERENCE))
    original, *variants = collected[:4]
    assert original == "original"
    for distance, variant in zip((0.1, 0.2, 0.3), variants, strict=True):
        assert re.fullmatch(rf"d{distance}-[a-z]+-[a-z]+\.[a-z]+\.[a-z]+-0", variant)
    assert collected[4:] == ["elasticity-d0.1", "elasticity-d0.2", "elasticity-d0.3", "auc-e"]
    assert not (pytester.path / ".promptse").exists()


def test_the_reference_passes_everything_and_is_asked_only_for_what_is_missing(run, pytester):
    result = run(*REFERENCE)
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["*= promptse =*", "*test_slugify*1.00*1.00*1.00*1.00*1.000*"])
    assert "4 requests" in result.stdout.str()
    assert result.ret == 0
    second = run("-v", *REFERENCE)
    second.assert_outcomes(passed=8)
    second.stdout.fnmatch_lines(["*[[]original[]] MEASURED (2/2)*"])
    assert "0 requests" in second.stdout.str()
    assert "8 completions from the store" in second.stdout.str()
    path = pytester.path / "test_slug.py"
    path.write_text(path.read_text().replace("samples=2", "samples=3"))
    assert "8 completions from the store" in run(*REFERENCE).stdout.str()


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_without_a_model_the_test_is_skipped_and_says_why(run, options):
    result = run(*options)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["promptse: no model; give --promptse-model, for example*tiny (1 test is skipped)"]
    )


def test_an_ini_file_can_name_model_and_floor_and_the_whole_interval_counts(run, pytester):
    pytester.makeini("[pytest]\npromptse_model = reference\npromptse_min_auc_e = 0.99\n")
    result = run("--promptse-report", "json:run.json")
    result.stdout.fnmatch_lines(["*inconclusive: AUC-E 1.00, but its 95 % interval (*) contains*"])
    result.assert_outcomes(passed=7, skipped=1)
    record = json.loads((pytester.path / "run.json").read_text())
    assert record["suites"][0]["settings"]["gate"] == "confident"


def test_a_gate_fails_in_one_line(run, answers, programs):
    model = answers(
        {0.1: [programs.wrong], 0.2: [programs.wrong], 0.3: [programs.wrong, programs.right]}
    )
    unsure = run("--promptse-model", model, "--promptse-min-auc-e", "0.5")
    unsure.assert_outcomes(passed=7, skipped=1)
    unsure.stdout.fnmatch_lines(["*inconclusive: AUC-E 0.08, but its 95 % interval (*) contains*"])
    result = run("--promptse-model", model, "--promptse-min-auc-e", "0.5", *POINT)
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_slug.py::test_slugify*auc-e* - *AUC-E 0.08 < 0.5*"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [("skip", {"skipped": 1}), ("pass", {"passed": 1}), ("fail", {"failed": 1})],
)
def test_an_inconclusive_gate_says_why_and_is_not_passed_unless_that_is_wanted(
    run, outcome, counts
):
    options = ("-v", "-k", "auc-e", "--promptse-min-auc-e", "0.99")
    result = run(*options, "--promptse-inconclusive", outcome, *REFERENCE)
    words = {
        "skip": "SKIPPED (inconclusive: AUC-E 1.00",
        "pass": "INCONCLUSIVE (AUC-E 1.00, but",
        "fail": "FAILED",
    }
    result.stdout.fnmatch_lines([f"*auc-e* {words[outcome]}*"])
    result.stdout.fnmatch_lines(["*inconclusive: AUC-E 1.00, but its 95 % interval (*) contains*"])
    result.assert_outcomes(deselected=7, **counts)


def test_gates_measure_what_was_deselected(run):
    result = run("-k", "auc-e", "-v", *REFERENCE)
    result.assert_outcomes(passed=1, deselected=7)
    result.stdout.fnmatch_lines(["*auc-e* MEASURED (AUC-E 1.00)*"])


def test_a_variant_can_run_without_its_original(run):
    result = run("-k", "d0.2 and not elasticity", *REFERENCE)
    result.assert_outcomes(passed=1, deselected=7)
    result.stdout.fnmatch_lines(["*1 of 4 variants*"])


def test_quiet_shows_one_line_per_suite(run):
    result = run("-q", *REFERENCE)
    result.stdout.fnmatch_lines(["test_slug.py::test_slugify pass@1 1.00  AUC-E 1.000*"])


def test_x_stops_at_the_first_failure_and_lf_runs_it_again(run, answers, programs):
    model = answers({0.1: [programs.wrong]})
    strict = ("--promptse-model", model, "--promptse-min-pass-rate", "0.5", *POINT)
    run("-x", *strict).assert_outcomes(passed=1, failed=1)
    run("--lf", *strict).assert_outcomes(failed=1)


def test_the_order_of_items_does_not_matter(run, pytester):
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    run(*REFERENCE).assert_outcomes(passed=8)


@pytest.fixture(scope="module")
def measured(run_once):
    """A run of a model that breaks in some variants, with a JUnit file and every completion."""
    answers = slug_answers({0.1: [WRONG, RIGHT], 0.2: [RAISES]})
    return run_once(
        {"test_slug.py": SLUG, "answers.jsonl": answers},
        *("--junitxml=out.xml", "--promptse-report", "json:run.json"),
        *("--promptse-model", "replay:answers.jsonl", "--promptse-max-excess", "1"),
        *("--promptse-record-samples", "all"),
        # A right program must pass on a busy machine too.
        *("--promptse-timeout", "60"),
    )


def test_no_variant_fails_without_a_floor(measured):
    # The gate of the excess is inconclusive.
    measured.result.assert_outcomes(passed=8, skipped=1)


def junit_properties(path) -> dict[str, dict[str, float]]:
    """Return the properties of each test case without its wait, by the name's part in brackets."""
    return {
        case.get("name").partition("[")[2][:-1]: {
            prop.get("name"): float(prop.get("value"))
            for prop in case.findall(".//property")
            if prop.get("name") != "promptse_wait_seconds"
        }
        for case in ET.parse(path).iter("testcase")
    }


def test_junit_has_every_item_with_its_figures(measured):
    [suite] = measured.record()["suites"]
    found = junit_properties(measured.folder / "out.xml")
    assert len(found) == 9
    assert found["original"] == {"promptse_pass_rate": 1.0}
    assert found["auc-e"] == {
        "promptse_auc-e": pytest.approx(suite["auc_e"]),
        "promptse_ci95_low": pytest.approx(suite["ci95"][0]),
        "promptse_ci95_high": pytest.approx(suite["ci95"][1]),
        "promptse_excess": pytest.approx(suite["excess"]),
    }
    for gate in ("elasticity-d0.1", "elasticity-d0.3"):
        low, high = (found[gate][f"promptse_ci95_{end}"] for end in ("low", "high"))
        assert low <= found[gate][f"promptse_{gate}"] <= high
    assert found["excess"]["promptse_excess"] == found["auc-e"]["promptse_excess"]


def test_without_the_plugin_pytest_knows_nothing_of_it(run):
    result = run("-p", "no:promptse")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'candidate' not found*"])


def test_several_models_are_distinguished(run):
    result = run(
        "--promptse-model", "reference", "--promptse-model", "tiny", "--collect-only", "-q"
    )
    names = ids(result)
    assert "reference-original" in names
    assert "tiny-auc-e" in names
    assert len(names) == 16


def test_the_record_holds_what_was_measured(measured):
    record = measured.record()
    assert record["schema"] == "promptse.run/1"
    [suite] = record["suites"]
    assert suite["id"] == "test_slug.py::test_slugify"
    assert suite["mode"] == "light"
    assert suite["elasticity"] == {"0.1": 0.5, "0.2": 0.0, "0.3": 1.0}
    assert suite["auc_e"] == pytest.approx((0.5 + 4 * 0.0 + 1.0) / 6)
    [task] = record["tasks"]
    assert task["id"] == "test_slugify"
    assert task["original"]["pass_rate"] == 1.0
    causes = [variant["causes"] for variant in task["variants"]]
    assert causes == [{"wrong_answer": 1}, {"exception": 2}, {}]
    assert "ValueError: no title" in task["variants"][1]["details"]["exception"]
    assert [variant["delta"] for variant in task["variants"]] == [-0.5, -1.0, 0.0]


def test_a_variant_below_its_floor_shows_its_changes_a_failure_and_how_to_run_it_again(
    run, answers, programs
):
    model = answers({0.1: [programs.wrong, programs.right], 0.2: [programs.raises]})
    result = run("--promptse-model", model, "--promptse-min-pass-rate", "0.6", *POINT)
    result.assert_outcomes(passed=6, failed=2)
    result.stdout.fnmatch_lines(["*pass rate 0.50 < 0.60 (1 of 2 samples pass)*"])
    shown = result.stdout.str()
    assert "pass rate 0.00 < 0.60 (0 of 2 samples pass)" in shown
    section = shown.rpartition("- promptse -")[2].partition("= promptse =")[0]
    assert "prompt, with its changes from the original" in section
    assert "[+" in section
    assert "2 of 2 completions: exception" in section
    assert "ValueError: no title" in section
    assert "raise ValueError('no title')" in section
    assert "::test_slugify[d0.2-" in section.partition("run it again")[2]


def test_a_failed_test_can_be_looked_at_later(run, pytester, answers, programs):
    model = answers({0.2: [programs.raises]})
    run("--promptse-model", model, "--promptse-report", "json:out/run.json")
    assert (pytester.path / "out" / "run.json").exists()
    promptse = Path(sys.executable).with_name("promptse")
    listed = pytester.run(promptse, "show", "test_slug.py")
    nodes = [line.split("pass  ")[1] for line in listed.outlines]
    assert len(nodes) == 4
    [broken] = [node for node in nodes if "[d0.2-" in node]
    shown = pytester.run(promptse, "show", broken).stdout.str()
    assert "replay" in shown
    assert "0 of 2 completions pass" in shown
    assert "raise ValueError('no title')" in shown
    # By the name that the summary has, and after a run of another test.
    named = pytester.run(promptse, "show", "test_slugify").stderr.str()
    assert "has 4 tests, and none is 'test_slugify' (did you mean 'test_slug" in named
    run("--promptse-model", model, broken)
    gone = pytester.run(promptse, "show", nodes[0]).stderr.str()
    assert "has 1 test, and none is" in gone
    assert "did you mean" not in gone
    assert "name the record of an earlier run with --run" in gone


def test_every_completion_is_recorded_on_request(measured):
    [task] = measured.record()["tasks"]
    drawn = {"logprob": None, "n_tokens": None}
    assert task["variants"][0]["draws"] == [
        {"cause": "wrong_answer", "answer": 0} | drawn,
        {"cause": None, "answer": 1} | drawn,
    ]


def test_what_no_file_can_hold_is_written_out_and_is_the_same_from_the_store(
    run, pytester, answers
):
    raises = "def slugify(title):\n    raise ValueError('\\ud800 é')\n"
    model = answers({0.2: [raises]})
    for name in ("first", "second"):
        run("--promptse-model", model, "--promptse-report", f"json:{name}.json")
        record = json.loads((pytester.path / f"{name}.json").read_text())
        variant = record["tasks"][0]["variants"][1]
        assert variant["causes"] == {"exception": 2}
        assert variant["details"]["exception"].endswith("ValueError: \\ud800 é")


def test_a_variant_nobody_answered_is_an_error_and_not_a_zero(run, pytester, answers):
    model = answers({})
    path = pytester.path / "answers.jsonl"
    kept = [line for line in path.read_text().splitlines() if "d0.2" not in line]
    path.write_text("\n".join(kept) + "\n")
    result = run("--promptse-model", model, "--promptse-report", "json:run.json")
    result.assert_outcomes(passed=5, errors=3)
    record = json.loads((pytester.path / "run.json").read_text())
    assert record["suites"][0]["elasticity"]["0.2"] is None
    assert record["suites"][0]["auc_e"] is None
    assert any("d0.2" in error["where"] for error in record["errors"])
    assert result.ret == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_xdist_workers_share_one_run(pytester, two_workers, workers):
    # The one worker is a new interpreter, as users have them.
    options = ("-n", "1") if workers == 1 else two_workers
    result = pytester.runpytest_subprocess(
        *options, *REFERENCE, "--promptse-report", "json:run.json"
    )
    result.assert_outcomes(passed=8)
    record = json.loads((pytester.path / "run.json").read_text())
    assert record["suites"][0]["auc_e"] == 1.0
    assert record["usage"]["requests"] == 4
