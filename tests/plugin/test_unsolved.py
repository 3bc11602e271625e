"""Gates if the originals are hardly ever solved, and checks that fail without the program."""

from __future__ import annotations

import json

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
HEAD = f"""
import pytest

PROMPT = "{PROMPT}"
gated = pytest.mark.promptse(
    PROMPT,
    samples=4,
    original_samples=4,
    variants=1,
    min_auc_e=0.5,
    min_elasticity=0.5,
    gate="point",
)
"""
RIGHT = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x\n"
BODY = """
@gated
def test_double(candidate):
    assert candidate(2) == 4
"""


@pytest.fixture
def gates(pytester, run, replay):
    """Run the gates of a prompt on given programs."""

    def gates(programs: list[str], *arguments: str, body: str = BODY) -> pytest.RunResult:
        pytester.makepyfile(test_double=HEAD + body)
        model = replay({"test_double": programs}, PROMPT)
        return run("--promptse-model", model, "--promptse-report", "json:run.json", *arguments)

    return gates


def test_gates_are_errors_if_nothing_is_ever_solved(gates, pytester):
    result = gates([WRONG] * 4, "-v")
    # Variants measure as ever; the three elasticity gates and AUC-E cannot decide.
    result.assert_outcomes(passed=4, errors=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "no sample of the original prompt passes (4 of 4: wrong answer)*",
            "promptse: 3 more items have the same errors",
        ]
    )
    record = json.loads((pytester.path / "run.json").read_text())
    assert record["suites"][0]["verdict"] is None
    assert len(record["errors"]) == 4


def test_completions_without_code_are_named(gates):
    gates([""] * 4).stdout.fnmatch_lines(["*(4 of 4: no code)*"])


def test_without_a_threshold_the_figure_is_shown_with_a_note(gates):
    result = gates(
        [WRONG] * 4,
        body="""
@pytest.mark.promptse(PROMPT, samples=4, original_samples=4, variants=1)
def test_double(candidate):
    assert candidate(2) == 4
""",
    )
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(
        ["test_double   0.00    ·    ·    ·*", "*no sample of an original passes*"]
    )


def test_a_gate_that_no_loss_could_fail_is_inconclusive(gates):
    result = gates([RIGHT, WRONG, WRONG, WRONG], "--promptse-inconclusive", "fail")
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(
        ["*inconclusive: AUC-E 1.00 > 0.50, but the originals score only 0.25*"]
    )


def test_a_gate_that_a_loss_could_fail_passes(gates):
    gates([RIGHT, RIGHT, RIGHT, WRONG], "--promptse-inconclusive", "fail").assert_outcomes(passed=8)


def test_an_assertion_before_the_program_is_called_is_a_broken_check(gates, pytester):
    result = gates(
        [RIGHT] * 4,
        body="""
@gated
def test_double(candidate):
    expected = 5
    assert expected == 4
    assert candidate(2) == expected
""",
    )
    result.assert_outcomes(failed=8)
    result.stdout.fnmatch_lines(
        ["*assert 5 == 4*", "*raised before the test used candidate*"], consecutive=False
    )
    assert json.loads((pytester.path / "run.json").read_text())["tasks"] == []


def test_rounds_end_at_once_if_nothing_is_solved(gates):
    result = gates(
        [WRONG] * 4,
        body="""
@pytest.mark.promptse(PROMPT, samples="auto:4", original_samples=4, variants=1, min_auc_e=0.5)
def test_double(candidate):
    assert candidate(2) == 4
""",
    )
    result.assert_outcomes(passed=7, errors=1)
