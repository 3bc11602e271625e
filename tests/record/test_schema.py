from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace
from record_schema import check_record

import pytest_promptse.record._schema as record_module
from pytest_promptse.cli._main import main
from pytest_promptse.record._files import CompressedTasks, encode
from pytest_promptse.record._schema import json_schema

SHIPPED = Path(record_module.__file__).with_name("record.schema.json")


def test_the_shipped_schema_is_that_of_the_record():
    message = "run `promptse schema > pytest_promptse/record/record.schema.json`"
    assert in_one_order(json.loads(SHIPPED.read_text())) == in_one_order(json_schema()), message


def in_one_order(schema):
    """Sort alternatives, whose order means nothing and differs between versions of msgspec."""
    if isinstance(schema, dict):
        return {key: in_one_order(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return sorted(map(in_one_order, schema), key=lambda part: json.dumps(part, sort_keys=True))
    return schema


def test_the_schema_is_a_valid_schema():
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_command_prints_the_schema(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_part_by_part_a_record_is_written_as_it_would_be_at_once(record, n):
    tasks = [replace(record.tasks[0], id=f'"tasks": []\n{number}') for number in range(n)]
    whole = replace(record, tasks=tasks)
    at_once = msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n"
    assert b"".join(encode(whole)) == at_once
    assert b"".join(encode(replace(record, tasks=CompressedTasks(tasks)))) == at_once


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, fork_server):
    """A record as a run writes it: a suite file, three tasks, the reference as model."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "sums.promptse.yaml").write_text(
        "promptse: 1\nsettings: {variants: 2, samples: 2, min_auc_e: 0.5, "
        "max_excess: 0.2, gate: point}\n"
        "tasks:\n"
        + "".join(
            f"  - id: {name}\n"
            f"    prompt: Write `{name}(a, b)`, return {what}. Keep the code short and plain.\n"
            f"    reference: |\n      def {name}(a, b): return {code}\n"
            f"    examples: [{{call: '{name}(3, 2)', expect: {value}}}]\n"
            for name, what, code, value in (
                ("add", "the sum of both numbers", "a + b", 5),
                ("times", "the product of both numbers", "a * b", 6),
                ("less", "the difference of both numbers", "a - b", 1),
            )
        )
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    command += ["--promptse-model", "reference", "--promptse-report", "json:run.json"]
    fork_server.run(command, cwd=str(folder), env=dict(os.environ)).check_returncode()
    return json.loads((folder / "run.json").read_text())


def test_a_run_fits_the_schema(recorded):
    check_record(recorded)


def test_what_is_missing_or_misspelt_does_not_fit(recorded):
    for broken in (
        {key: value for key, value in recorded.items() if key != "suites"},
        recorded | {"usage": {}},
        recorded | {"tasks": [{}]},
        recorded | {"schema": 1},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check_record(broken)


def test_a_run_names_its_suite_tasks_and_gates(recorded):
    [suite] = recorded["suites"]
    assert suite["id"] == "sums.promptse.yaml"
    assert [task["id"] for task in recorded["tasks"]] == ["add", "times", "less"]
    assert [(gate["name"], gate["verdict"]) for gate in suite["gates"]] == [
        ("elasticity-d0.1", None),
        ("elasticity-d0.2", None),
        ("elasticity-d0.3", None),
        ("auc-e", "pass"),
        ("excess", "pass"),
    ]
    assert suite["verdict"] == "pass"
    assert (suite["n_variants"], suite["n_measured"]) == (21, 21)


def test_a_run_says_what_it_used(recorded):
    assert recorded["usage"]["requests"] == 21
    assert recorded["usage"]["cost"] is None
    assert recorded["environment"]["python"].startswith("3.")
    assert recorded["models"][0]["spec"] == "reference"
    assert recorded["models"][0]["capabilities"]["logprobs"] is None
