"""Test bodies as checks: fixtures, failures, broken checks."""

from __future__ import annotations

import json
import re

import pytest

from pytest_promptse.sandbox.guest import landlock

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
HEAD = f"""
import pytest

PROMPT = "{PROMPT}"
SOLUTION = "def double(x):\\n    return 2 * x\\n"
quick = pytest.mark.promptse(PROMPT, reference=SOLUTION, samples=1, original_samples=1, variants=1)
"""
REFERENCE = ("--promptse-model", "reference")


@pytest.fixture
def project(pytester):
    def write(body: str, **files: str) -> None:
        pytester.makepyfile(test_double=HEAD + body, **files)

    return write


def details(pytester, *arguments: str) -> dict[str, str]:
    """Return the original prompt's details from a run's record."""
    record = json.loads((pytester.path / "run.json").read_text())
    return record["tasks"][0]["original"]["details"]


def test_a_body_may_take_fixtures(project, run):
    project("""
@quick
def test_double(candidate, tmp_path, monkeypatch):
    assert candidate(2) == 4
    (tmp_path / "once").mkdir()
""")
    run(*REFERENCE).assert_outcomes(passed=8)


def test_fixtures_are_fresh_for_every_program(project, run, replay):
    project("""
@pytest.fixture
def seen():
    return []

@pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)
def test_double(candidate, seen):
    seen.append(candidate(2))
    assert seen == [4], "a program met what another left behind"
""")
    programs = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(3)]
    model = replay({"test_double": programs}, PROMPT)
    result = run("--promptse-model", model, "-k", "auc-e", "-v")
    result.stdout.fnmatch_lines(["*auc-e* MEASURED (AUC-E 1.00)*"])


def test_a_method_may_be_marked(project, run):
    project("""
class TestDouble:
    @quick
    def test_double(self, candidate):
        assert candidate(2) == 4
""")
    run(*REFERENCE).assert_outcomes(passed=8)


def test_methods_under_one_mark_share_its_completions(project, run, pytester):
    project("""
@quick
class TestDouble:
    def test_small(self, candidate):
        assert candidate(2) == 4

    def test_large(self, candidate):
        assert candidate(200) == 400
""")
    run(*REFERENCE, "--promptse-report", "json:run.json").assert_outcomes(passed=16)
    record = json.loads((pytester.path / "run.json").read_text())
    assert {suite["n_measured"] for suite in record["suites"]} == {4}
    # Four prompts with one sample each, though two methods check every completion.
    assert record["usage"]["requests"] == 4


def test_a_users_own_parameters_make_suites_of_their_own(project, run):
    project("""
@pytest.mark.parametrize("x", [1, 2])
@quick
def test_double(candidate, x):
    assert candidate(x) == 2 * x
""")
    result = run(*REFERENCE)
    result.assert_outcomes(passed=16)
    result.stdout.fnmatch_lines(["*test_double[[]1[]]*", "*test_double[[]2[]]*"])


def test_many_tasks_bring_the_task_fixture(project, run):
    project("""
from pytest_promptse.tasks._task import Task
TASKS = [
    Task(id=name, prompt=f"Write `{name}(x)`: return {n} times x. Keep it short.",
         reference=f"def {name}(x): return {n} * x", metadata={"n": n})
    for name, n in (("double", 2), ("triple", 3))
]

@pytest.mark.promptse(
    TASKS, samples=1, original_samples=1, variants=1, min_task_auc_e=0.5, gate="point"
)
def test_times(candidate, task):
    assert candidate(5) == 5 * task.metadata["n"]
""")
    result = run("-v", *REFERENCE)
    result.assert_outcomes(passed=2 * 4 + 2 + 4)
    result.stdout.fnmatch_lines(["*[[]double-original[]]*", "*[[]triple-auc-e[]]*"])


def test_tasks_may_come_from_a_function(project, run):
    project("""
from pytest_promptse.tasks._task import Task

def tasks():
    yield Task(id="a", prompt=PROMPT, reference=SOLUTION)

@pytest.mark.promptse(tasks, samples=1, original_samples=1, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
""")
    run(*REFERENCE).assert_outcomes(passed=8)


def test_a_wrong_answer_keeps_the_rewritten_assertion(project, run, pytester, replay):
    project(
        """
@quick
def test_double(candidate):
    assert candidate(2) == 4
""".replace("reference=SOLUTION, ", "")
    )
    model = replay({"test_double": ["def double(x):\n    return 5\n"]}, PROMPT)
    run("--promptse-model", model, "--promptse-report", "json:run.json", "-k", "original")
    [detail] = details(pytester).values()
    assert re.fullmatch(r"line \d+: assert 5 == 4", detail)


FAILING = {
    "wrong_answer": "def double(x):\n    return None\n",
    "exception": "def double(x):\n    return 1 / 0\n",
    "timeout": "def double(x):\n    while True: pass\n",
    "resource": "def double(x):\n    return bytearray(10**10)\n",
    "syntax": "def double(x:\n",
    "interface": "def double():\n    return 4\n",
    "no_code": None,
}


def test_a_failed_sample_says_why(project, run, pytester, replay):
    project(
        """
from pytest_promptse import Task

TASKS = [Task(id=cause, prompt=PROMPT) for cause in CAUSES]

@pytest.mark.promptse(TASKS, samples=1, original_samples=1, variants=1, timeout=0.5)
def test_double(candidate):
    assert candidate(2) + 0 == 4
""".replace("CAUSES", repr(list(FAILING)))
    )
    model = replay({cause: [program or ""] for cause, program in FAILING.items()}, PROMPT)
    run("--promptse-model", model, "--promptse-report", "json:run.json", "-k", "original")
    record = json.loads((pytester.path / "run.json").read_text())
    causes = {task["id"]: task["original"]["causes"] for task in record["tasks"]}
    assert causes == {cause: {cause: 1} for cause in FAILING}


def test_an_expected_exception_may_be_asserted(project, run, replay):
    project("""
@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)
def test_double(candidate):
    with pytest.raises(ValueError, match="no text"):
        candidate("a")
""")
    model = replay({"test_double": ["def double(x):\n    raise ValueError('no text')\n"]}, PROMPT)
    gate = ("--promptse-min-pass-rate", "1", "--promptse-gate", "point")
    run("--promptse-model", model, "-k", "original", *gate).assert_outcomes(passed=1, deselected=7)


@pytest.mark.parametrize("bound", ["", "if not pytest: foru = 4", "def other(): foru = 4"])
def test_a_broken_check_fails_with_its_traceback_and_scores_nothing(project, run, pytester, bound):
    project(f"""
{bound}

@quick
def test_double(candidate):
    assert candidate(2) == foru
""")
    result = run(*REFERENCE, "--promptse-report", "json:run.json")
    result.assert_outcomes(failed=8)
    result.stdout.fnmatch_lines(["*NameError: name 'foru' is not defined*"])
    assert json.loads((pytester.path / "run.json").read_text())["tasks"] == []


def test_a_reference_that_fails_its_own_check_is_named(project, run):
    project("""
@pytest.mark.promptse(PROMPT, reference="def double(x): return x", samples=1, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
""")
    result = run(*REFERENCE)
    result.assert_outcomes(errors=8)
    result.stdout.fnmatch_lines(["*'test_double': its own reference fails its check*"])


def test_checks_that_judge_no_program_are_broken(project, run, pytester):
    project("""
import random
drawn = set()

@quick
def test_skips(candidate):
    pytest.skip("not today")

@quick
def test_xfails(candidate):
    pytest.xfail("not today")

@quick
def test_returns(candidate):
    return candidate(2) == 5

@quick
def test_asks_nothing(candidate):
    assert True

@quick
def test_type_error(candidate):
    assert candidate(len(3)) == 4

@pytest.fixture
def broken():
    raise OSError("no network")

@quick
def test_fixture(candidate, broken):
    assert candidate(2) == 4

@pytest.mark.xfail
@quick
def test_expected_failure(candidate):
    assert candidate(2) == 4
""")
    result = run(*REFERENCE, "--promptse-report", "json:run.json", "-k", "original")
    result.assert_outcomes(failed=5, errors=1, xpassed=1, deselected=7 * 7)
    record = json.loads((pytester.path / "run.json").read_text())
    assert [task["id"] for task in record["tasks"]] == ["test_expected_failure"]
    errors = {error["where"].split("::")[1]: error["message"] for error in record["errors"]}
    assert {name.removesuffix("[original]"): text for name, text in errors.items()} == {
        name: f"the check is broken: {text}"
        for name, text in {
            "test_skips": "the check skipped (not today); "
            "a check must pass or fail for every program",
            "test_xfails": "the check called pytest.xfail (not today); "
            "a check must pass or fail for every program",
            "test_returns": "the check returned False instead of None; "
            "write `assert`, not `return`",
            "test_asks_nothing": "the check ended without using candidate, so every program would "
            "pass; call candidate",
            "test_type_error": "TypeError: object of type 'int' has no len()",
            "test_fixture": "OSError: no network",
        }.items()
    }
    result.stdout.fnmatch_lines(["none of 7 suites fails, 6 could not be measured completely."])


def test_a_changed_check_never_meets_an_old_verdict(project, run, pytester):
    project("""
@quick
def test_double(candidate):
    assert candidate(2) == 4
""")
    run(*REFERENCE).assert_outcomes(passed=8)
    text = (pytester.path / "test_double.py").read_text()
    (pytester.path / "test_double.py").write_text(text.replace("== 4", "== 5"))
    run(*REFERENCE).assert_outcomes(errors=8)


def test_a_changed_helper_never_meets_an_old_verdict(project, run, pytester):
    project(
        """
from helper import EXPECTED

@quick
def test_double(candidate):
    assert candidate(2) == EXPECTED
""",
        helper="EXPECTED = 4",
    )
    run(*REFERENCE).assert_outcomes(passed=8)
    (pytester.path / "helper.py").write_text("EXPECTED = 5000")
    run(*REFERENCE).assert_outcomes(errors=8)


def test_a_changed_reference_is_requested_again(project, run, pytester):
    project("""
@quick
def test_double(candidate):
    assert candidate(2) == 4
""")
    run(*REFERENCE)
    text = (pytester.path / "test_double.py").read_text()
    (pytester.path / "test_double.py").write_text(text.replace("return 2 * x", "return x + x"))
    result = run(*REFERENCE)
    result.assert_outcomes(passed=8)
    assert "0 completions from the store" in result.stdout.str()


# -- the process of a check --------------------------------------------------------------------

needs_landlock = pytest.mark.skipif(not landlock.version(), reason="no Landlock here")


@needs_landlock
@pytest.mark.parametrize("wrapped", ["", "as error:\n        raise ValueError from error"])
def test_a_check_that_writes_elsewhere_is_broken_and_says_where_it_may(
    project, run, pytester, wrapped
):
    project(f"""
from pathlib import Path

@quick
def test_double(candidate):
    assert candidate(2) == 4
    try:
        Path("left.txt").write_text("4")
    except OSError {wrapped or ": raise"}
""")
    result = run(*REFERENCE, "-k", "original")
    result.assert_outcomes(errors=1, deselected=7)
    text = " ".join(result.stdout.str().split())
    assert "reference fails its check (wrong_answer: line 1" in text
    assert "the check is refused a file or a connection" in text
    assert not (pytester.path / "left.txt").exists()


@needs_landlock
def test_a_program_without_a_reference_fails_with_the_line_of_a_refused_file(
    project, run, pytester, replay
):
    project(
        """
from pathlib import Path

@quick
def test_double(candidate):
    Path(candidate(2)).write_text("4")
""".replace("@quick", "@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)")
    )
    model = replay({"test_double": ["def double(x): return 'left.txt'"]}, PROMPT)
    run("--promptse-model", model, "--promptse-report", "json:run.json", "-k", "original")
    assert "line 11: the check is refused a file" in details(pytester)["wrong_answer"]


def test_output_log_and_warnings_of_a_check_reach_the_report(project, run):
    project("""
import logging
import sys
import warnings

@quick
def test_double(candidate):
    assert candidate(2) == 4
    print("to the output")
    print("to the errors", file=sys.stderr)
    logging.getLogger("checks").warning("to the %s", "log")
    warnings.warn("to the summary", DeprecationWarning)
""")
    for capture in ("fd", "sys"):
        result = run(
            *REFERENCE, "-k", "original", "-rA", f"--capture={capture}",
            "--promptse-store", capture,
        )  # fmt: skip
        result.assert_outcomes(passed=1, deselected=7, warnings=1)
        text = result.stdout.str()
        for part in ("output", "errors", "log", "summary"):
            assert f"to the {part}" in text
        result.stdout.fnmatch_lines(["*WARNING  checks:test_double.py:*to the log*"])


def test_a_breakpoint_needs_a_debugger(project, run):
    project("""
@quick
def test_double(candidate):
    breakpoint()
    assert candidate(2) == 4
""")
    result = run(*REFERENCE, "-k", "original")
    result.assert_outcomes(failed=1, deselected=7)
    result.stdout.fnmatch_lines(["*breakpoint() in a check needs --pdb*"])


@pytest.mark.parametrize("state", ["SEEN", "keep", "self"])
def test_what_a_check_keeps_of_one_program_is_gone_for_the_next(project, run, replay, state):
    project("""
SEEN = []

def keep(value):
    SEEN.append(value)
    return SEEN

class TestDouble:
    seen = []

    @pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)
    def test_double(self, candidate):
        USE
        assert seen == [4]
""".replace("USE", {
        "SEEN": "seen = SEEN; seen.append(candidate(2))",
        "keep": "seen = keep(candidate(2))",
        "self": "seen = self.seen; seen.append(candidate(2))",
    }[state]))  # fmt: skip
    programs = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(3)]
    model = replay({"test_double": programs}, PROMPT)
    result = run("--promptse-model", model, "-k", "auc-e", "-v")
    result.stdout.fnmatch_lines(["*auc-e* MEASURED (AUC-E 1.00)*"])


@pytest.mark.parametrize(
    ("body", "processes"),
    [("task.check(candidate)", 1), ("'One line'; task.check(candidate, )", 1)]
    + [(f"{first}; task.check(candidate)", 4) for first in ("print()", "candidate(1)", "task.id")]
    + [("for _ in range(2): task.check(candidate)", 4)],
)
def test_only_the_tasks_own_check_may_judge_several_programs_in_a_process(
    pytester, run, replay, body, processes
):
    pytester.makepyfile(
        test_double=f"""{HEAD}
from pytest_promptse import Task

TESTS = "def check(candidate): assert candidate(2) == 4"

@pytest.mark.promptse(
    [Task(id="double", prompt=PROMPT, entry_point="double", tests=TESTS)],
    samples=4, original_samples=4, variants=1,
)
def test_double(task, candidate):
    {body}
""",
        conftest="""
import os

os.register_at_fork(after_in_parent=lambda: print("forked", file=open("forks", "a")))
""",
    )
    programs = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(4)]
    run("--promptse-model", replay({"double": programs}, PROMPT), "-k", "original").assert_outcomes(
        passed=1
    )
    assert (pytester.path / "forks").read_text().count("forked") == processes


def test_what_a_program_prints_and_warns_cannot_act_on_the_terminal(project, run, replay):
    project("""
@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1, min_pass_rate=1.0)
def test_double(candidate, recwarn, capsys, caplog):
    assert candidate(2) == 4
    assert "\\x1b" in str(recwarn[0].message)
    assert candidate(2) == 5
""")
    program = (
        "import logging, warnings\n\ndef double(x):\n"
        "    text = '\\n::error::\\x1b]0;title\\x07'\n    print(text)\n    warnings.warn(text)\n"
        "    logging.warning(text)\n    return 2 * x\n"
    )
    model = replay({"test_double": [program]}, PROMPT)
    result = run("--promptse-model", model, "-k", "original")
    text = str(result.stdout)
    assert result.ret == 1
    assert "\x1b]" not in text
    assert "\n::error::" not in text
    assert "\\x1b]0;title\\x07" in text


@pytest.mark.parametrize("option", ["-s", "-q"])
def test_what_a_check_prints_past_the_capture_cannot_act_on_the_terminal(
    project, run, replay, option
):
    project("""
@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)
def test_double(candidate, capsys):
    with capsys.disabled():
        print(candidate(2))
""")
    program = "def double(x):\n    return '::error::\\x1b]0;title\\x07'\n"
    model = replay({"test_double": [program]}, PROMPT)
    result = run("--promptse-model", model, "-k", "original", option)
    text = str(result.stdout)
    assert "\x1b]" not in text
    assert "\\::error::\\x1b]0;title\\x07" in text


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        raise ValueError\n    except candidate:\n        pass",
        "match candidate():\n        case candidate():\n            pass",
        "assert type(candidate()) is candidate",
    ],
)
def test_a_check_that_needs_the_class_itself_says_how_to_name_it(project, run, replay, body):
    project(f"""
@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1, entry_point="double")
def test_double(candidate):
    {body}
""")
    model = replay({"test_double": ["class double:\n    pass"]}, PROMPT)
    result = run("--promptse-model", model, "-k", "original")
    text = " ".join(result.stdout.str().split())
    assert "for `except`, `case` and `is`, write the class, as in candidate.module.Stack" in text


def test_failures_that_a_library_only_notes_count(project, run, pytester, replay):
    project(
        """
import pytest_check

@pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)
def test_double(candidate):
    pytest_check.equal(candidate(2), 4)
""",
        pytest_check="from check_log import FAILED\n"
        "def equal(a, b):\n    if a != b: FAILED.append(f'{a} is not {b}')\n",
        check_log="import sys\nFAILED = []\nget_failures = FAILED.copy\n"
        "clear_failures = FAILED.clear\n"
        "sys.modules['pytest_check.check_log'] = sys.modules['check_log']\n",
    )
    model = replay({"test_double": [f"def double(x): return {n}" for n in (3, 4, 5)]}, PROMPT)
    run("--promptse-model", model, "--promptse-report", "json:run.json", "-k", "original")
    record = json.loads((pytester.path / "run.json").read_text())
    assert record["tasks"][0]["original"]["causes"] == {"wrong_answer": 2}
