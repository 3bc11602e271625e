"""Errors and remarks are short, appear once, and do not depend on the project's warning filters."""

from __future__ import annotations

import os

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
HEAD = f"""
import pytest

PROMPT = "{PROMPT}"
"""
RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x\n"
NO_SERVER = ("--promptse-base-url", "http://127.0.0.1:9/v1", "--promptse-retries", "0")


def test_remarks_on_gates_survive_warnings_as_errors(pytester, run, replay):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(
    PROMPT, samples=2, original_samples=2, variants=1, min_auc_e=0.9, gate="confident"
)
def test_double(candidate):
    assert candidate(2) == 4
"""
    )
    pytester.makeini("[pytest]\nfilterwarnings = error")
    model = replay({"test_double": [RIGHT, WRONG]}, PROMPT)
    result = run("-rs", "--promptse-model", model)
    assert result.parseoutcomes() == {"passed": 7, "skipped": 1}
    # The threshold is above the noise ceiling, and the interval contains it.
    result.stdout.fnmatch_lines(["SKIPPED *0.90*"])


def test_a_repeated_error_is_shown_once(pytester, run):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(PROMPT, samples=2, original_samples=2, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
"""
    )
    result = run(
        *("--promptse-model", "openai:m", *NO_SERVER),
        *("-o", "console_output_style=classic"),
    )
    outcomes = result.parseoutcomes()
    assert outcomes == {"errors": 8}
    out = result.stdout.str()
    assert out.count("ERROR at setup of") < 3
    assert out.count("\nERROR test_double.py::") == out.count("ERROR at setup of")
    assert "more items have the same errors" in out
    assert "Traceback" not in out
    assert ".py:" not in out.replace("test_double.py:", "")


def test_a_full_trace_has_the_traceback_of_an_error(pytester, run):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
"""
    )
    result = run(
        *("--promptse-model", "openai:m", *NO_SERVER),
        *("--full-trace", "-k", "original"),
    )
    result.assert_outcomes(errors=1, deselected=7)
    result.stdout.fnmatch_lines(["*sampling?_sampler.py:*: ModelError"])


def test_a_required_model_that_is_missing_ends_the_session(pytester, run):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(PROMPT)
def test_double(candidate):
    assert candidate(2) == 4
"""
    )
    result = run("--promptse-require-model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: promptse_require_model: *--promptse-model*"])


def test_sessions_without_promptse_tests_need_no_required_model(pytester, run):
    pytester.makepyfile("def test_it(): pass")
    run("--promptse-require-model").assert_outcomes(passed=1)


def test_a_full_disk_ends_the_session_in_one_line(pytester, run, replay):
    large = [f"# {os.urandom(60_000).hex()}\ndef double(x):\n    return 2 * x\n" for _ in range(4)]
    model = replay({"test_double": large}, PROMPT)
    pytester.makeconftest(
        "import resource\n"
        "def pytest_runtestloop():\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
    )
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(PROMPT, samples=4, original_samples=4, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
"""
    )
    result = run("--promptse-model", model)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*Interrupted: store '*promptse.db': *make room for this one*"])
    assert "INTERNALERROR" not in str(result.stdout) + str(result.stderr)
    assert result.parseoutcomes() == {"failed": 1}
