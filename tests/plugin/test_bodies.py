"""Test bodies as checks: fixtures, failures, broken checks."""

from __future__ import annotations

import json
import re

import pytest
from outcomes_by_file import outcomes_by_file

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


def record_of(pytester) -> dict:
    return json.loads((pytester.path / "run.json").read_text())


def originals(pytester) -> dict[str, dict]:
    """Return the original of each task from a run's record."""
    return {task["id"]: task["original"] for task in record_of(pytester)["tasks"]}


# For each form of a test: the number of its items, and its text.
FORMS = {
    "fixtures": (
        8,
        """
@quick
def test_double(candidate, tmp_path, monkeypatch):
    assert candidate(2) == 4
    (tmp_path / "once").mkdir()
""",
    ),
    "method": (
        8,
        """
class TestDouble:
    @quick
    def test_double(self, candidate):
        assert candidate(2) == 4
""",
    ),
    "parameters": (
        16,
        """
@pytest.mark.parametrize("x", [1, 2])
@quick
def test_double(candidate, x):
    assert candidate(x) == 2 * x
""",
    ),
    "tasks": (
        2 * 4 + 2 + 4,
        """
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
""",
    ),
    "function": (
        8,
        """
from pytest_promptse.tasks._task import Task

def tasks():
    yield Task(id="a", prompt=PROMPT, reference=SOLUTION)

@pytest.mark.promptse(tasks, samples=1, original_samples=1, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
""",
    ),
}


def test_a_mark_takes_every_form_of_test_and_of_tasks(pytester, run):
    pytester.makepyfile(**{f"test_{form}": HEAD + body for form, (_, body) in FORMS.items()})
    result = run(*REFERENCE, "-rp")
    assert outcomes_by_file(result) == {
        f"test_{form}.py": "." * items for form, (items, _) in FORMS.items()
    }
    # Suites of one's own parameters, and items of tasks.
    result.stdout.fnmatch_lines(["*double[[]1[]]*", "*double[[]2[]]*"])
    result.stdout.fnmatch_lines(["*[[]double-original[]]", "*[[]triple-auc-e[]]"])


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
    record = record_of(pytester)
    assert {suite["n_measured"] for suite in record["suites"]} == {4}
    # Four prompts with one sample each, though two methods check every completion.
    assert record["usage"]["requests"] == 4


FAILING = {
    "wrong_answer": "def double(x):\n    return None\n",
    "exception": "def double(x):\n    return 1 / 0\n",
    "timeout": "def double(x):\n    while True: pass\n",
    "resource": "def double(x):\n    return bytearray(10**10)\n",
    "syntax": "def double(x:\n",
    "interface": "def double():\n    return 4\n",
    "no_code": None,
}


def test_each_completion_passes_or_has_a_cause(project, run, pytester, replay):
    project(
        """
import pytest_check
from pytest_promptse import Task

once = pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)
TASKS = [Task(id=cause, prompt=PROMPT) for cause in CAUSES]

@pytest.mark.promptse(TASKS, samples=1, original_samples=1, variants=1, timeout=0.5)
def test_double(candidate):
    assert candidate(2) + 0 == 4

@once
def test_rewritten(candidate):
    assert candidate(2) == 4

@once
def test_expected(candidate):
    with pytest.raises(ValueError, match="no text"):
        candidate("a")

@pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)
def test_noted(candidate):
    pytest_check.equal(candidate(2), 4)
""".replace("CAUSES", repr(list(FAILING))),
        # A library that only notes failures.
        pytest_check="from check_log import FAILED\n"
        "def equal(a, b):\n    if a != b: FAILED.append(f'{a} is not {b}')\n",
        check_log="import sys\nFAILED = []\nget_failures = FAILED.copy\n"
        "clear_failures = FAILED.clear\n"
        "sys.modules['pytest_check.check_log'] = sys.modules['check_log']\n",
    )
    programs = {cause: [program or ""] for cause, program in FAILING.items()}
    programs |= {
        "test_rewritten": ["def double(x):\n    return 5\n"],
        "test_expected": ["def double(x):\n    raise ValueError('no text')\n"],
        "test_noted": [f"def double(x): return {n}" for n in (3, 4, 5)],
    }
    options = ("--promptse-report", "json:run.json", "-k", "original")
    run("--promptse-model", replay(programs, PROMPT), *options)
    found = originals(pytester)
    assert {task: original["causes"] for task, original in found.items()} == {
        **{cause: {cause: 1} for cause in FAILING},
        "test_rewritten": {"wrong_answer": 1},
        "test_expected": {},
        "test_noted": {"wrong_answer": 2},
    }
    [detail] = found["test_rewritten"]["details"].values()
    assert re.fullmatch(r"line \d+: assert 5 == 4", detail)
    assert found["test_expected"]["pass_rate"] == 1.0


def test_checks_that_judge_no_program_are_broken_and_score_nothing(project, run, pytester):
    project("""
import random
drawn = set()
if not pytest: elsewhere = 4
def other(): local = 4

@quick
def test_unbound(candidate):
    assert candidate(2) == foru

@quick
def test_elsewhere(candidate):
    assert candidate(2) == elsewhere

@quick
def test_local(candidate):
    assert candidate(2) == local

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

@quick
def test_breakpoint(candidate):
    breakpoint()
    assert candidate(2) == 4

@pytest.fixture
def broken():
    raise OSError("no network")

@quick
def test_fixture(candidate, broken):
    assert candidate(2) == 4

@pytest.mark.promptse(PROMPT, reference="def double(x): return x", samples=1, variants=1)
def test_reference(candidate):
    assert candidate(2) == 4

@pytest.mark.xfail
@quick
def test_expected_failure(candidate):
    assert candidate(2) == 4
""")
    selected = ("-k", "original or test_unbound or test_reference")
    result = run(*REFERENCE, "--promptse-report", "json:run.json", *selected)
    result.assert_outcomes(failed=8 + 8, errors=8 + 1, xpassed=1, deselected=10 * 7)
    for name in ("foru", "elsewhere", "local"):
        result.stdout.fnmatch_lines([f"*NameError: name '{name}' is not defined*"])
    record = record_of(pytester)
    assert [task["id"] for task in record["tasks"]] == ["test_expected_failure"]
    errors = {re.split(r"::|\[", error["where"])[1]: error["message"] for error in record["errors"]}
    reference = errors.pop("test_reference")
    assert reference.startswith("task 'test_reference': its own reference fails its check")
    assert errors == {
        name: f"the check is broken: {text}"
        for name, text in {
            "test_unbound": "NameError: name 'foru' is not defined",
            "test_elsewhere": "NameError: name 'elsewhere' is not defined",
            "test_local": "NameError: name 'local' is not defined",
            "test_skips": "the check skipped (not today); "
            "a check must pass or fail for every program",
            "test_xfails": "the check called pytest.xfail (not today); "
            "a check must pass or fail for every program",
            "test_returns": "the check returned False instead of None; "
            "write `assert`, not `return`",
            "test_asks_nothing": "the check ended without using candidate, so every program would "
            "pass; call candidate",
            "test_type_error": "TypeError: object of type 'int' has no len()",
            "test_breakpoint": "breakpoint() in a check needs --pdb, since the check runs in a "
            "process of its own",
            "test_fixture": "OSError: no network",
        }.items()
    }
    result.stdout.fnmatch_lines(["none of 12 suites fails, 11 could not be measured completely."])


def test_what_has_changed_never_meets_an_old_verdict_or_completion(pytester, run):
    body = """
@quick
def test_double(candidate):
    assert candidate(2) == EXPECTED
"""
    files = {
        "test_check": HEAD + body.replace("EXPECTED", "4"),
        "test_helper": f"{HEAD}from helper import EXPECTED\n{body}",
        "test_reference": HEAD.replace("short", "brief") + body.replace("EXPECTED", "4"),
        "helper": "EXPECTED = 4",
    }
    pytester.makepyfile(**files)
    passed, errors = "." * 8, "E" * 8
    assert set(outcomes_by_file(run(*REFERENCE)).values()) == {passed}
    for name, old, new in (
        ("test_check", "== 4", "== 5"),
        ("helper", "4", "5000"),
        ("test_reference", "return 2 * x", "return x + x"),
    ):
        (pytester.path / f"{name}.py").write_text(files[name].replace(old, new))
    result = run(*REFERENCE)
    assert outcomes_by_file(result) == {
        "test_check.py": errors,
        "test_helper.py": errors,
        "test_reference.py": passed,
    }
    assert "\n4 requests" in result.stdout.str()


# -- the process of a check --------------------------------------------------------------------

needs_landlock = pytest.mark.skipif(not landlock.version(), reason="no Landlock here")


@needs_landlock
def test_a_check_that_writes_elsewhere_says_where_it_may(project, run, pytester, replay):
    project("""
from pathlib import Path

@pytest.mark.promptse(PROMPT, samples=1, original_samples=1, variants=1)
def test_double(candidate):
    Path(candidate(2)).write_text("4")

@quick
def test_raises(candidate):
    assert candidate(2) == 4
    try:
        Path("left.txt").write_text("4")
    except OSError: raise

@quick
def test_wraps(candidate):
    assert candidate(2) == 4
    try:
        Path("left.txt").write_text("4")
    except OSError as error:
        raise ValueError from error
""")
    names = ("test_double", "test_raises", "test_wraps")
    model = replay({name: ["def double(x): return 'left.txt'"] for name in names}, PROMPT)
    report = ("--promptse-report", "json:run.json")
    result = run("--promptse-model", model, *report, "-k", "original")
    result.assert_outcomes(passed=1, errors=2, deselected=3 * 7)
    text = " ".join(result.stdout.str().split())
    for name in ("test_raises", "test_wraps"):
        _, found, error = text.partition(f"'{name}': its own reference fails its check ")
        assert found
        assert re.match(r"\(wrong_answer: line \d\d: ", error)
        assert "the check is refused a file or a connection" in error.partition("its own")[0]
    detail = originals(pytester)["test_double"]["details"]["wrong_answer"]
    assert "line 11: the check is refused a file" in detail
    assert not (pytester.path / "left.txt").exists()


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


def test_what_a_check_keeps_of_one_program_is_gone_for_the_next(project, run, replay):
    project("""
SEEN = []
thrice = pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)

def keep(value):
    SEEN.append(value)
    return SEEN

@pytest.fixture
def fresh():
    return []

@thrice
def test_fixture(candidate, fresh):
    fresh.append(candidate(2))
    assert fresh == [4]

@thrice
def test_global(candidate):
    SEEN.append(candidate(2))
    assert SEEN == [4]

@thrice
def test_function(candidate):
    assert keep(candidate(2)) == [4]

class TestMethod:
    seen = []

    @thrice
    def test_class(self, candidate):
        self.seen.append(candidate(2))
        assert self.seen == [4]
""")
    programs = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(3)]
    names = ("test_fixture", "test_global", "test_function", "test_class")
    model = replay(dict.fromkeys(names, programs), PROMPT)
    result = run("--promptse-model", model, "-k", "auc-e", "-v")
    result.stdout.fnmatch_lines([f"*{name}?auc-e? MEASURED (AUC-E 1.00)*" for name in names])


@pytest.mark.parametrize(
    ("bodies", "processes"),
    [
        (["task.check(candidate)", "'One line'; task.check(candidate, )"], 1),
        (
            [f"{first}; task.check(candidate)" for first in ("print()", "candidate(1)", "task.id")]
            + ["for _ in range(2): task.check(candidate)"],
            4,
        ),
    ],
)
def test_only_the_tasks_own_check_may_judge_several_programs_in_a_process(
    pytester, run, replay, bodies, processes
):
    marked = """
@pytest.mark.promptse(
    [Task(id="double", prompt=PROMPT, entry_point="double", tests=TESTS)],
    samples=4, original_samples=4, variants=1,
)
"""
    pytester.makepyfile(
        test_double=f"""{HEAD}
from pytest_promptse import Task

TESTS = "def check(candidate): assert candidate(2) == 4"
"""
        + "".join(
            f"{marked}def test_double_{number}(task, candidate):\n    {body}\n"
            for number, body in enumerate(bodies)
        ),
        conftest="""
import os

os.register_at_fork(after_in_parent=lambda: print("forked", file=open("forks", "a")))
""",
    )
    programs = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(4)]
    model = replay({"double": programs}, PROMPT)
    run("--promptse-model", model, "-k", "original").assert_outcomes(passed=len(bodies))
    # No check needs less than one process or more than one for each program.
    assert (pytester.path / "forks").read_text().count("forked") == processes * len(bodies)


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


def test_a_check_that_needs_the_class_itself_says_how_to_name_it(project, run, pytester, replay):
    project("""
own = pytest.mark.promptse(
    PROMPT, samples=1, original_samples=1, variants=1, entry_point="double"
)

@own
def test_except(candidate):
    try:
        raise ValueError
    except candidate:
        pass

@own
def test_case(candidate):
    match candidate():
        case candidate():
            pass

@own
def test_is(candidate):
    assert type(candidate()) is candidate
""")
    names = ("test_except", "test_case", "test_is")
    model = replay({name: ["class double:\n    pass"] for name in names}, PROMPT)
    result = run("--promptse-model", model, "-k", "original", "--promptse-report", "json:run.json")
    told = "for `except`, `case` and `is`, write the class, as in candidate.module.Stack"
    errors = {error["where"]: error["message"] for error in record_of(pytester)["errors"]}
    assert {f"test_double.py::{name}[original]" for name in names} == {
        where for where, message in errors.items() if told in message
    }
    assert told in " ".join(result.stdout.str().split())
