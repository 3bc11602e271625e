from __future__ import annotations

import pytest

from pytest_promptse.errors import PromptseError
from pytest_promptse.harden._candidates import load_candidates
from pytest_promptse.harden._pytest_runs import PytestRuns

TEST = """import pytest

@pytest.mark.promptse(
    "Write `double(x: int) -> int`: return twice the number.",
    min_auc_e=0.9,
    samples=1,
    original_samples=1,
    max_tokens=40,
)
def test_double(candidate):
    assert candidate(2) == 4
"""


@pytest.fixture
def measure(forking_project):
    """Measure templates of one's own with at most 20 requests."""

    def measure(test: str, **templates: str) -> None:
        (forking_project / "test_it.py").write_text(test)
        for name, source in templates.items():
            (forking_project / f"{name}.j2").write_text(source)
        candidates = load_candidates([f"{name}.j2" for name in templates], forking_project)
        runs = PytestRuns(
            ["test_it.py"], model="tiny", candidates=candidates, max_requests=20, say=lambda _: None
        )
        runs.plan()
        runs.measure([*templates, "untouched"])

    return measure


def test_of_several_errors_the_one_of_what_is_missing_is_told(measure):
    # No original is solved with the first template, which is an error, but of no measurement.
    with pytest.raises(PromptseError, match=r"6 variants were not measured: max_requests=20"):
        measure(TEST, nothing="{# Asks for nothing. #}{{ task.prompt[:3] }}")


def test_variants_that_are_not_selected_are_told(measure, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k original")
    with pytest.raises(PromptseError, match=r"variants are not selected; take out -k"):
        measure(TEST)


def test_tests_without_a_prompt_are_told(measure):
    with pytest.raises(PromptseError, match="no test is marked promptse"):
        measure("def test_it():\n    pass\n")
