"""A run in shards: the merged record has the results of a single run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.record._outcomes import run_failures
from pytest_promptse.record._schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TASKS = {"add": "a + b", "times": "a * b", "least": "min(a, b)", "most": "max(a, b)"}
OPTIONS = ("--promptse-samples", "2", "--promptse-variants", "1", "--promptse-distances", "0.1,0.3")
# Where and when a run took place, and the settings that shards may differ in.
OWN = {"started", "finished", "invocation"}
OWN_SETTINGS = {"report", "store"}


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Path:
    """Four tasks, of which one variant of ``times`` is answered wrongly by the tiny file."""
    tasks = "\n".join(
        f"  - id: {name}\n    prompt: Write `{name}(a, b)` and no more.\n"
        f"    reference: |\n      def {name}(a, b):\n          return {body}\n"
        f"    examples: [{{call: '{name}(3, 2)', expect: {eval(body, {'a': 3, 'b': 2})}}}]"
        for name, body in TASKS.items()
    )
    path = pytester.path / "sums.promptse.yaml"
    path.write_text(f"promptse: 1\nsettings: {{min_auc_e: 0.9}}\ntasks:\n{tasks}\n")
    return path


@pytest.fixture
def shards(
    pytester: pytest.Pytester, run: Callable[..., pytest.RunResult], suite: Path
) -> Callable[..., list[str]]:
    """Run all shards and return the names of their records."""

    def run_all(count: int, *options: str, outcomes: tuple[int, ...] = (0,)) -> list[str]:
        names = []
        for index in range(1, count + 1):
            name = f"r{index}.json"
            result = run(
                *("--promptse-model", "reference", "--promptse-shard", f"{index}/{count}"),
                *("--promptse-report", f"json:{name}", "--promptse-store", f"store{index}"),
                *(*OPTIONS, *options),
            )
            assert result.ret in outcomes
            result.stdout.fnmatch_lines([f"promptse: shard {index}/{count} with * of 4 tasks; *"])
            names.append(name)
        return names

    return run_all


def record(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    for settings in (found["settings"], *(suite["settings"] for suite in found["suites"])):
        for name in OWN_SETTINGS:
            del settings[name]
    return {name: value for name, value in found.items() if name not in OWN}


def test_merged_shards_give_the_record_of_a_single_run(
    shards: Callable[..., list[str]],
    run: Callable[..., pytest.RunResult],
    pytester: pytest.Pytester,
    capsys: pytest.CaptureFixture[str],
) -> None:
    minimum = (
        *("--promptse-min-auc-e", "1.0", "--promptse-min-task-auc-e", "0.5"),
        *("--promptse-gate", "point", "--promptse-control", "neutral"),
    )
    names = shards(3, *minimum)
    single = run(
        *("--promptse-model", "reference", "--promptse-report", "json:single.json"),
        *(*OPTIONS, *minimum),
    )
    code = main(["merge", *reversed(names), "--report", "json:merged.json"])
    assert code == single.ret == 0
    assert "promptse: merged 3 shards" in capsys.readouterr().out
    merged = record(pytester.path / "merged.json")
    assert merged == record(pytester.path / "single.json")
    assert merged["suites"][0]["verdict"] == "pass"
    assert merged["suites"][0]["control"]["n_measured"] == 2 * len(TASKS)


def test_a_gate_fails_after_the_merge_and_not_in_a_shard(
    run: Callable[..., pytest.RunResult],
    answers: Callable[..., str],
    programs: Any,
    slug: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = answers({distance: [programs.wrong] for distance in (0.1, 0.2, 0.3)})
    common = ("--promptse-model", model, "--promptse-min-auc-e", "0.9", "--promptse-gate", "point")
    # One of the two shards has no task. It writes a record as well.
    for index in ("1", "2"):
        shard = run(
            *common, "--promptse-shard", f"{index}/2", f"--promptse-report=json:{index}.json"
        )
        assert shard.ret == pytest.ExitCode.OK
    assert run(*common).ret == pytest.ExitCode.TESTS_FAILED
    assert main(["merge", "1.json", "2.json", "--report", "json:merged.json"]) == 1
    assert "\nFAILED test_slug.py::test_slugify[auc-e]: AUC-E 0." in capsys.readouterr().out
    assert len(run_failures(Record.load("merged.json"))) == 1


def test_missing_doubled_and_foreign_records_are_errors(
    shards: Callable[..., list[str]],
    run: Callable[..., pytest.RunResult],
    pytester: pytest.Pytester,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = shards(2)
    assert main(["merge", first]) == 2
    assert "missing shards: 2/2" in capsys.readouterr().err
    assert main(["merge", first, second, first]) == 2
    assert f"shard 1/2 is also in {first}; name each shard once" in capsys.readouterr().err
    run("--promptse-model", "reference", "--promptse-report", "json:whole.json", *OPTIONS)
    assert main(["merge", first, "whole.json"]) == 2
    assert "whole.json: not the record of a shard" in capsys.readouterr().err
    run(
        *("--promptse-model", "reference", "--promptse-shard", "2/2", *OPTIONS),
        *("--promptse-report", "json:other.json", "--promptse-temperature", "0.5"),
    )
    assert main(["merge", first, "other.json"]) == 2
    assert "temperature 0.5 instead of 0.2" in capsys.readouterr().err


def test_a_shard_is_neither_compared_nor_saved(
    run: Callable[..., pytest.RunResult], suite: Path
) -> None:
    result = run("--promptse-model", "reference", "--promptse-shard", "1/2", "--promptse-save", "a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*give --save to promptse merge"])
