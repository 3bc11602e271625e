"""A session without a promptse mark has no cost from the plugin."""

from __future__ import annotations

import json

import pytest

HEAVY = {"numpy", "scipy", "rich", "msgspec", "yaml", "openai", "vllm", "ctranslate2", "tokenizers"}


@pytest.fixture
def loaded(pytester, new_interpreter, run):
    """Run pytest. Return the top-level modules loaded, and those of the package and of SciPy."""
    pytester.makeconftest(
        """
import json, sys

def pytest_unconfigure():
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""
    )

    def names(*arguments: str) -> tuple[set[str], set[str]]:
        run(*arguments)
        modules = json.loads((pytester.path / "modules.json").read_text())
        top = {name.partition(".")[0] for name in modules}
        own = {name for name in modules if name.startswith(("pytest_promptse.", "scipy."))}
        return top, own

    return names


def test_no_heavy_import_without_a_mark(pytester, loaded):
    pytester.makepyfile("def test_nothing(): pass")
    for name in (".pre-commit-config.yaml", "mkdocs.yml"):
        (pytester.path / name).write_text("repos: []\n")
    top, own = loaded()
    assert not top & HEAVY
    assert own == {
        "pytest_promptse._suggestions",
        "pytest_promptse.config",
        "pytest_promptse.config._metrics",
        "pytest_promptse.config._option",
        "pytest_promptse.config._option_types",
        "pytest_promptse.config._groups",
        "pytest_promptse.config._options",
        "pytest_promptse.errors",
        "pytest_promptse.hookspecs",
        "pytest_promptse.plugin",
        "pytest_promptse.plugin._fixtures",
        "pytest_promptse.plugin._hooks",
        "pytest_promptse.plugin._invocation",
        "pytest_promptse.plugin._pytest_ini",
    }


def test_a_configured_model_alone_is_no_reason_to_load_anything(pytester, loaded):
    pytester.makepyfile("def test_nothing(): pass")
    pytester.makeini("[pytest]\npromptse_model = tiny\npromptse_min_auc_e = 0.8\n")
    top, _ = loaded()
    assert not top & HEAVY


@pytest.mark.usefixtures("slug")
def test_a_mark_loads_what_a_run_needs_and_no_other_model(loaded):
    top, _ = loaded("--promptse-model", "reference")
    assert {"numpy", "scipy", "rich", "msgspec"} <= top
    assert not top & {"openai", "vllm", "ctranslate2", "tokenizers"}


@pytest.mark.usefixtures("slug")
def test_a_run_of_one_task_loads_no_slow_part_of_scipy(loaded):
    _, own = loaded("--promptse-model", "reference")
    assert "scipy.special" in own
    assert not own & {"scipy.stats", "scipy.integrate", "scipy.optimize"}


@pytest.mark.usefixtures("slug")
def test_one_node_loads_no_part_of_scipy(loaded):
    _, own = loaded("--promptse-model", "reference", "-k", "original")
    assert not {name for name in own if name.startswith("scipy.special")}


@pytest.mark.usefixtures("slug")
def test_a_run_loads_the_reports_that_it_writes_and_no_judge_of_variants(loaded):
    _, own = loaded("--promptse-model", "reference", "--promptse-report", "md:run.md")
    assert "pytest_promptse.reports._markdown" in own
    others = ("compare._history", "record._ranking", "reports._github", "reports.html._html")
    assert not own & {f"pytest_promptse.{name}" for name in (*others, "variants.invariance._judge")}


def test_a_nested_run_of_these_tests_imports_nothing_slow(pytester, run, slug, answers, programs):
    # Each of hundreds of nested runs would import again what `PRELOADED` lacks.
    pytester.makeconftest(
        """
import sys

BEFORE = set(sys.modules)

def pytest_unconfigure():
    slow = ("matplotlib.", "numpy.", "pytest_promptse.", "scipy.")
    new = {name for name in set(sys.modules) - BEFORE if name.startswith(slow)}
    # Figures choose their format when they are drawn.
    print("imported:", sorted(name for name in new if ".backends." not in name))
"""
    )
    # Figures between 0 and 1 have intervals.
    model = answers({0.1: [programs.right, programs.wrong], 0.3: [programs.wrong]})
    result = run(
        *("--promptse-model", model, "--promptse-min-auc-e", "0.5"),
        *("--promptse-report", "json:run.json", "--promptse-report", "html:run.html"),
    )
    result.stdout.fnmatch_lines(["imported: []"])
