"""Node ids: the record names the item of every variant, and an item runs as well alone."""

from __future__ import annotations

import json

import pytest

BOTH = """
import pytest
from pytest_promptse import Task

@pytest.mark.parametrize("again", ["no", "auc-e", "one"])
@pytest.mark.promptse(
    [Task(id="one", prompt="Write `one() -> int`, which returns the number one, and keep it short.",
          reference="def one(): return 1")],
    samples=2, original_samples=2, variants=1)
def test_auc_e_excess(candidate, task, again):
    assert candidate() == 1
"""
FILE = """promptse: 1
settings: {variants: 1, samples: 2, original_samples: 2}
tasks:
  - id: two
    prompt: Write `two() -> int`, which returns the number two, and keep the code short.
    reference: "def two(): return 2"
    examples: [{call: 'two()', expect: 2}]
"""


def test_what_a_gate_measured_is_named_as_pytest_collects_it(pytester, run):
    folder = pytester.mkdir("sub")
    (folder / "test_both.py").write_text(BOTH)
    (folder / "two.promptse.yaml").write_text(FILE)
    pytester.makeconftest(
        "from pytest_promptse.models._reference import ReferenceBackend\n"
        "def pytest_promptse_backend(name):\n"
        "    return ReferenceBackend() if name == 'twin' else None\n"
    )
    models = ("--promptse-model", "reference", "--promptse-model=twin:m", "-q")
    listed = run("--collect-only", *models).outlines
    variants = [line for line in listed if "original" in line or "-d0." in line]
    variants = [line for line in variants if "elasticity" not in line]
    report = ("--promptse-report", "json:run.json")
    done = run(*models, *report, "-k", "auc-e and not original and not junior and not senior")
    assert done.ret == 0
    record = json.loads((pytester.path / "run.json").read_text())
    named = [
        variant["node"]
        for task in record["tasks"]
        for variant in (task["original"], *task["variants"])
    ]
    assert sorted(named) == sorted(variants)
    assert len(named) == 8 * 4
    assert record["invocation"] == {
        "directory": ".",
        "options": ["--promptse-model", "reference", "--promptse-model=twin:m"],
    }


def test_the_options_of_a_ci_job_are_in_the_command_that_repeats_a_test(pytester, run, monkeypatch):
    (pytester.path / "two.promptse.yaml").write_text(FILE)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--promptse-model reference --promptse-report json:a.json")
    run("--promptse-variants=1", "--promptse-report", "json:run.json")
    options = json.loads((pytester.path / "run.json").read_text())["invocation"]["options"]
    assert options == ["--promptse-model", "reference", "--promptse-variants=1"]


MANY = """
import pytest
from pytest_promptse import Task

TASKS = [
    Task(id=name, prompt=f"Write `{name}() -> int`, which returns the number {name}, in Python.",
         reference=f"def {name}(): return {number}")
    for number, name in enumerate(("zero", "one", "one_more"))
]
SETTINGS = dict(samples=2, original_samples=2, variants=2)

@pytest.mark.parametrize("again", ["no", "original", "ünd"])
@pytest.mark.promptse(TASKS, **SETTINGS)
def test_all(candidate, again):
    candidate()

@pytest.mark.promptse(TASKS[0].prompt, reference=TASKS[0].reference, **SETTINGS)
class TestZero:
    def test_int(self, candidate):
        assert candidate() == 0

@pytest.mark.promptse([TASKS[1]], control="neutral", **SETTINGS)
def test_another(candidate):
    candidate()
"""


@pytest.fixture
def project(pytester):
    """Write suites of all kinds. Return a function that runs node ids and returns the record."""
    pytester.makepyfile(test_many=MANY)
    (pytester.path / "two.promptse.yaml").write_text(FILE)
    pytester.makeini("[pytest]\nempty_parameter_set_mark = fail_at_collect\n")
    pytester.makeconftest(
        "import pytest\n"
        "made = []\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_make_collect_report(collector):\n"
        "    report = yield\n"
        "    if not isinstance(collector, pytest.Session):\n"
        "        made.extend(node for node in report.result if isinstance(node, pytest.Item))\n"
        "    return report\n"
        "def pytest_sessionfinish():\n"
        "    print(len(made), 'items were made')\n"
    )


# Fields of a variant in a record that depend on the other variants.
COMPARED = ("score", "delta", "excess", "p_value", "p_adjusted")


def measured(path):
    """Return what a record says of each variant alone, by node id."""
    tasks = json.loads(path.read_text())["tasks"]
    return {
        variant["node"]: {key: value for key, value in variant.items() if key not in COMPARED}
        for task in tasks
        for variant in (task["original"], *task["variants"], *task["controls"])
        if variant is not None
    }


@pytest.mark.usefixtures("project")
def test_a_variant_is_the_same_whether_it_is_planned_alone_or_with_all_others(pytester, run):
    options = ("-q", "--promptse-model", "reference", "--promptse-min-task-auc-e", "0.2")
    assert run(*options, "--promptse-report", "json:all.json").ret == 0
    of_all = measured(pytester.path / "all.json")
    assert len(of_all) == 3 * 3 * 7 + 7 + 7 + 6 + 4
    nodes = sorted(of_all)
    chosen = [*nodes[::5], "two.promptse.yaml::two[auc-e]", "test_many.py::test_another[one-auc-e]"]
    alone = run(
        *("--promptse-store", "other", "--promptse-report", "json:alone.json"), *options, *chosen
    )
    alone.assert_outcomes(passed=len(chosen))
    of_alone = measured(pytester.path / "alone.json")
    assert set(nodes[::5]) < set(of_alone)
    assert of_alone == {node: of_all[node] for node in of_alone}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "passed", "made"),
    [
        # Three for the parameter `again`. `test_another` keeps one.
        (["test_many.py::test_all[one-original-no]"], 1, 3 + 1),
        (["test_many.py::TestZero::test_int[original]"], 1, 3 + 1 + 1),
        (["two.promptse.yaml::two[original]"], 1, 1),
        # The gate of the suite has the same name.
        (["two.promptse.yaml::two[auc-e]"], 1, 2),
        (["test_many.py::test_all[one-original-no]", "two.promptse.yaml"], 1 + 9, 111),
    ],
)
def test_items_that_cannot_be_selected_are_not_made(run, arguments, passed, made):
    options = ("--promptse-model", "reference", "--promptse-min-task-auc-e", "0.2")
    result = run("-s", *options, *arguments)
    result.assert_outcomes(passed=passed)
    result.stdout.fnmatch_lines([f"*{made} items were made"])


@pytest.mark.usefixtures("project")
def test_a_node_that_does_not_exist_is_an_error(run):
    node = "test_many.py::test_all[two-original-no]"
    result = run("--promptse-model", "reference", node)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: not found: *test_many.py::test_all*"])
