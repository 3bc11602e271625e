"""A suite is sampled through batch files, and then runs from the store without a server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from batch_server import result_of

if TYPE_CHECKING:
    from collections.abc import Callable

# No server listens on this port.
MODEL = ("--promptse-model", "openai:m", "--promptse-base-url", "http://127.0.0.1:9/v1")
PROMPTSE = Path(sys.executable).with_name("promptse")


def promptse(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.run(PROMPTSE, *arguments)


def test_an_exported_batch_answers_the_run(
    pytester: pytest.Pytester, run: Callable[..., pytest.RunResult], slug: None
) -> None:
    options = (*MODEL, "--promptse-price", "1,2", "--promptse-max-cost", "1")
    export = promptse(pytester, "batch", "export", "--into", "batch", "--", *options)
    assert export.ret == 0
    assert "batch: 4 requests for 8 completions in 1 files" in export.stdout.str()
    assert (
        "promptse: at the batch price: openai:m: 4 variants, 8 completions" in export.stdout.str()
    )
    folder = pytester.path / "batch"
    lines = (folder / "requests-001.jsonl").read_text().splitlines()
    requests = [json.loads(line) for line in lines]
    answers = [result_of(request) for request in requests]
    for answer in answers:
        for choice in answer["response"]["body"]["choices"]:
            choice["message"]["content"] = "```python\ndef slugify(title):\n    return ''\n```"
    lines = [json.dumps(answer) + "\n" for answer in answers]
    (folder / "some.jsonl").write_text("".join(lines[:3]))
    (folder / "rest.jsonl").write_text(lines[3])
    some = promptse(pytester, "batch", "import", "batch/some.jsonl")
    assert (some.ret, some.stderr.lines) == (1, [])
    assert "2 completions are missing; export them again" in some.stdout.str()
    # Three requests of 20 tokens for 2 samples of 2 tokens, at half of 1 and 2 for a million.
    cost = "60 prompt tokens and 12 completion tokens, cost 4.2e-05 at the batch"
    assert cost in some.stdout.str()
    assert promptse(pytester, "batch", "import", "batch/rest.jsonl").ret == 0
    result = run(*MODEL, "--promptse-report", "json:run.json")
    assert result.ret == pytest.ExitCode.OK
    usage = json.loads((pytester.path / "run.json").read_text())["usage"]
    assert (usage["requests"], usage["cached"]) == (0, 8)
    assert usage["batch_cost"] == pytest.approx(4 * (0.5 * 20 + 4) / 1e6)
    result.stdout.fnmatch_lines(["*batches cost 5.6e-05*"])


def test_a_batch_over_the_budget_is_not_written(
    pytester: pytest.Pytester, slug: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-n 2")
    options = (*MODEL, "--promptse-price", "1,2", "--promptse-max-cost", "0.001")
    export = promptse(pytester, "batch", "export", "--into", "batch", "--", *options)
    assert export.ret == 2
    assert "more than --promptse-max-cost 0.001" in export.stderr.str()
    assert not (pytester.path / "batch").exists()
