"""Psychometric suites as pytest items: collection, gates, resuming, workers, record and page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from collected_errors import errors_of_files

from pytest_promptse.record._schema import Record

HELPERS = Path(__file__).parents[1] / "helpers"
CONFTEST = f"""
import sys
sys.path.insert(0, {str(HELPERS)!r})
from survey_backend import SurveyBackend

def pytest_promptse_backend(name, model, options):
    if name == "survey":
        return SurveyBackend(model, refuse=100 if model == "refusing" else 0)
"""
CSI = """
promptse: 1
settings:
  words: 60
  stories: 1
  min_coverage: 0.9
  min_consistency: 0.5
  max_reluctancy: 0.5
"""
BENCH = """
promptse: 1
settings:
  emotions: [Fear]
  per_factor: 2
  default_runs: 3
  counterparts: true
  min_delta_positive: 1
  min_delta_negative: 1
  max_refusals: 0.1
  min_coverage: 0.9
"""
# They count from 0.
JUNIT_WITH_LINES = ("--junitxml", "r.xml", "-o", "junit_family=xunit1")


@pytest.fixture
def project(pytester):
    pytester.makeconftest(CONFTEST)
    (pytester.path / "words.csi.yaml").write_text(CSI, encoding="utf-8")
    (pytester.path / "fear.emotionbench.yaml").write_text(BENCH, encoding="utf-8")
    return pytester


@pytest.fixture(scope="module")
def even(run_once):
    """A run of a model that answers every prompt, with a record and a page."""
    return run_once(
        {"conftest.py": CONFTEST, "words.csi.yaml": CSI, "fear.emotionbench.yaml": BENCH},
        *("--promptse-model", "survey:even", "-v"),
        *("--promptse-report", "json:run.json", "--promptse-report", "html:run.html"),
    )


def by_name(record):
    return {suite.instrument: suite for suite in record.instruments}


def requests(result) -> int:
    return int(re.search(r"^(\d+) requests?", result.stdout.str(), re.MULTILINE)[1])


def test_prompts_stages_and_gates_are_items(even):
    result = even.result
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "words.csi.yaml::batch?run1-01? MEASURED (30/30 labelled)*",
            "words.csi.yaml::big-five?run2? MEASURED (50/50 rated)*",
            "words.csi.yaml::stories?all? MEASURED (r = * over 6 stories)*",
            "words.csi.yaml::suite?consistency? PASSED (consistency *)*",
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "fear.emotionbench.yaml::default?run1? MEASURED (Positive *, Negative *)*",
            "fear.emotionbench.yaml::Fear-4?counterpart-2-run2? MEASURED *",
            "fear.emotionbench.yaml::suite?negative-affect? PASSED (negative-affect *)*",
        ]
    )
    record = Record.load(even.folder / "run.json")
    csi, bench = by_name(record)["csi"], by_name(record)["emotionbench"]
    shares = [csi.figure(name).value for name in ("optimism", "pessimism", "neutrality")]
    assert sum(shares) == pytest.approx(1)
    assert csi.figure("coverage").value == 1
    assert csi.data["stories"]["n_stories"] == 6
    assert {gate.verdict for gate in csi.gates} == {"pass"}
    (scale,) = bench.data["scales"]
    assert bench.data["n_scored"] == bench.n_responses == 3 + 10 * 2 * 2
    fear = next(c for c in scale["changes"]["Negative Affect"] if c["name"] == "Fear")
    assert fear["arrow"] == "up"
    assert bench.figure("PANAS/Fear/Negative Affect").reference == pytest.approx(12.06)
    assert scale["counterparts"]["Negative Affect"]
    assert record.environment["sandbox"] == "unused"


def test_refusals_fail_coverage_and_nothing_crashes(project, run):
    result = run("--promptse-model", "survey:refusing", "--promptse-report", "json:r.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*only 0 words as positive*"])
    result.stdout.no_fnmatch_line("*another exception occurred*")
    result.stdout.fnmatch_lines(["*coverage 0.00 < 0.90"])
    result.stdout.fnmatch_lines(["*refusals 1.00 > 0.10"])
    record = Record.load(project.path / "r.json")
    csi, bench = by_name(record)["csi"], by_name(record)["emotionbench"]
    assert csi.figure("reluctancy").value is None
    assert csi.problems["refusal"] == 4
    assert len(csi.worst) == 4
    assert bench.data["n_scored"] == 0
    assert bench.data["n_refused"] == bench.n_responses


def test_a_second_run_asks_for_nothing_again(project, run):
    assert requests(run("--promptse-model", "survey:even")) > 0
    again = run("--promptse-model", "survey:even")
    assert requests(again) == 0
    failed = run("--promptse-model", "survey:even", "-k", "coverage")
    failed.assert_outcomes(passed=2, deselected=55)


def test_one_selected_prompt_asks_only_for_itself(project, run):
    result = run(
        *("--promptse-model", "survey:even", "-k", "run1-02", "words.csi.yaml"),
        *JUNIT_WITH_LINES,
    )
    result.assert_outcomes(passed=1, deselected=9)
    assert requests(result) == 1
    result.stdout.fnmatch_lines(["1 of 4 prompts answered"])
    assert 'file="words.csi.yaml" line="2"' in (project.path / "r.xml").read_text()


def test_lf_repeats_the_failed_gates(project, run):
    run("--promptse-model", "survey:refusing", "words.csi.yaml")
    result = run("--promptse-model", "survey:refusing", "words.csi.yaml", "--lf")
    result.assert_outcomes(failed=4, deselected=6)
    assert requests(result) == 0


def test_workers_share_one_run(project, pytester, two_workers):
    result = pytester.runpytest_subprocess(
        *two_workers, "--promptse-model", "survey:even", "--promptse-report", "json:r.json"
    )
    assert result.ret == 0
    record = Record.load(project.path / "r.json")
    csi = by_name(record)["csi"]
    assert csi.n_responses == 4
    assert len(csi.gates) == 3
    # Every prompt was paid for once.
    assert record.usage.requests == 4 + 2 + 12 + 43


def test_several_models_have_items_and_results_of_their_own(project, run):
    result = run(
        "--promptse-model", "survey:even", "--promptse-model", "survey:other",
        "--promptse-report", "json:r.json", "-v", "words.csi.yaml",
    )  # fmt: skip
    result.stdout.fnmatch_lines(["words.csi.yaml::suite?survey:other-coverage? PASSED*"])
    first, second = Record.load(project.path / "r.json").instruments
    assert [first.model, second.model] == ["survey:even", "survey:other"]
    assert first.figure("optimism") != second.figure("optimism")


def test_without_a_model_the_suite_is_skipped(project, run):
    run(*JUNIT_WITH_LINES).assert_outcomes(skipped=2)
    assert 'file="words.csi.yaml" line="0"' in (project.path / "r.xml").read_text()


def test_a_dry_run_says_what_it_would_request(project, run):
    result = run("--promptse-model", "survey:even", "--promptse-dry-run")
    result.stdout.fnmatch_lines(["*would request 49*"])


def test_a_budget_makes_errors_and_no_failures(project, run):
    result = run(
        "--promptse-model", "survey:even", "--promptse-max-requests", "2", "words.csi.yaml"
    )
    outcomes = result.parseoutcomes()
    assert outcomes["errors"] >= 5
    assert outcomes.get("failed", 0) == 0


def test_the_record_of_other_suites_stays_as_it_is(pytester, run):
    (pytester.path / "sums.promptse.yaml").write_text(
        "promptse: 1\nsettings: {samples: 1, variants: 1}\ntasks:\n  - id: add\n"
        "    prompt: Write `add(a, b)`, return the sum of both numbers. Keep it short.\n"
        "    reference: |\n      def add(a, b): return a + b\n"
        "    examples: [{call: 'add(3, 2)', expect: 5}]\n",
        encoding="utf-8",
    )
    run("--promptse-model", "reference", "--promptse-report", "json:r.json")
    assert Record.load(pytester.path / "r.json").instruments == []


def test_the_page_shows_both_suites(even):
    page = (even.folder / "run.html").read_text(encoding="utf-8")
    assert "Core Sentiment Inventory" in page
    assert "Human changes are those of the 1,266 subjects" in page
    assert "they do not show that a model feels anything" in page
    assert "First words of each class" in page


# For each file: its text, and the text of its error.
WRONG_FILES = {
    "version.csi.yaml": ("settings: {}", "start the file with 'promptse: 1'"),
    "name.csi.yaml": (
        "promptse: 1\nsettings:\n  wrods: 3",
        ":3: 'wrods' is not a setting (did you mean 'words'?)",
    ),
    "type.csi.yaml": (
        "promptse: 1\nsettings:\n  runs: two",
        ":3: runs: Expected `int`, got `str`",
    ),
    "range.csi.yaml": (
        "promptse: 1\nsettings:\n  min_coverage: 2",
        ":3: min_coverage: Expected `float` <= 1.0",
    ),
    "zn.csi.yaml": (
        "promptse: 1\nsettings:\n  language: zn",
        "zn.csi.yaml:3: language: 'zn' is not one of en, zh",
    ),
    "many.csi.yaml": (
        "promptse: 1\nsettings:\n  words: many",
        "words: 'many' is not one of all, a whole number",
    ),
    "number.csi.yaml": ("promptse: 1\nsettings:\n  words: 9000", "has 5000 words, not 9000"),
    "anchors.csi.yaml": ("promptse: 1\nsettings:\n  anchors: nice", "two different words"),
    "list.csi.yaml": ("promptse: 1\nsettings:\n  word_list: none.jsonl", "cannot be read"),
    "emotion.emotionbench.yaml": (
        "promptse: 1\nsettings: {emotions: [Joy]}",
        "emotion 'Joy' is none of Anger",
    ),
    "scale.emotionbench.yaml": (
        "promptse: 1\nsettings: {scale: AGQ}",
        "needs 'scales', a file that 'promptse emotionbench import' writes",
    ),
    "bounds.emotionbench.yaml": (
        "promptse: 1\nsettings: {min_delta_positive: 5, max_delta_positive: 1}",
        "min_delta_positive 5 is above",
    ),
    "situations.emotionbench.yaml": (
        "promptse: 1\nsettings: {situations: none.json}",
        "cannot be read",
    ),
}


def test_files_that_cannot_be_used_are_reported_with_their_place(pytester, run):
    pytester.makeconftest(CONFTEST)
    for name, (text, _) in WRONG_FILES.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    result = run("--promptse-model", "survey:even")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()
    errors = errors_of_files(result)
    wrong = {
        name: errors[name] for name, (_, said) in WRONG_FILES.items() if said not in errors[name]
    }
    assert wrong == {}


def test_the_manipulation_check_says_which_labels_are_not_recognised(pytester, run):
    pytester.makeconftest(CONFTEST)
    (pytester.path / "mood.manipulation.yaml").write_text(
        "promptse: 1\nsettings: {emotions: [calm, frustrated], distances: [0.2], "
        "min_recognised: 1, min_coverage: 0.9}\n",
        encoding="utf-8",
    )
    result = run("--promptse-model", "survey:even", "-v", "--promptse-report", "json:r.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "mood.manipulation.yaml::writer?prompt1-original? MEASURED (Positive *",
            "mood.manipulation.yaml::label?prompt4-neutral-d0.2? MEASURED (*)*",
        ]
    )
    # Which labels the model chooses depends on the words of the variants.
    result.stdout.fnmatch_lines(["label *chosen *above chance*", "calm * of 4 *"])
    (check,) = Record.load(pytester.path / "r.json").instruments
    assert check.data["n_scored"] == check.n_responses == 4 * 4 * 3
    shifts = check.data["shifts"]
    assert {(each["emotion"], each["perspective"]) for each in shifts} == {
        (emotion, perspective)
        for emotion in ("calm", "frustrated", "neutral")
        for perspective in ("own", "writer")
    }
    assert all(each["positive"]["n"] == 4 for each in shifts)
    for each in check.data["recognition"]:
        levels = check.data["levels"][each["label"]]
        assert list(levels) == ["original", "0.2"][each["label"] != "neutral" :]
        assert sum(n for _, n in levels.values()) == each["n"]
        assert sum(hits for hits, _ in levels.values()) == each["hits"]
