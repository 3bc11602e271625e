"""A run that pays for nothing: what the store has is judged, and the rest is skipped."""

from __future__ import annotations

import pytest
from faulty_server import FaultyServer


@pytest.fixture
def server(programs, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with FaultyServer() as running:
        running.behaviour.answer = lambda _body, _number: f"```python\n{programs.right}```"
        yield running


@pytest.fixture
def model(server) -> tuple[str, ...]:
    return ("--promptse-model", "openai:m", "--promptse-base-url", server.base_url)


def test_a_full_store_decides_the_gates_without_a_request(run, slug, model, server):
    run(*model).assert_outcomes(passed=8)
    sent = len(server.requests)
    run(*model, "--promptse-replay-only").assert_outcomes(passed=8)
    assert len(server.requests) == sent


def test_what_is_not_stored_is_skipped_with_the_reason(run, slug, model, server):
    run(*model, "-k", "original or d0.1")
    sent = len(server.requests)
    again = run(*model, "--promptse-replay-only", "-rs")
    # The gates need all variants, so they cannot be decided.
    again.assert_outcomes(passed=3, skipped=5)
    again.stdout.fnmatch_lines(
        ["*SKIPPED*openai:m: 2 of 2 completions are not in the store, and --promptse-replay-only*"]
    )
    assert again.ret == 0
    assert len(server.requests) == sent


def test_an_empty_store_needs_no_key(run, slug, model, server):
    result = run("--promptse-model", "openai:gpt-4.1-mini", "--promptse-replay-only")
    result.assert_outcomes(skipped=8)
    assert server.requests == []


def test_nothing_that_was_skipped_is_reported_as_an_error(run, slug, model, tmp_path, monkeypatch):
    run(*model, "--promptse-save", "main")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    replay = (
        "--promptse-replay-only",
        "--promptse-store=empty",
        "--promptse-compare=main",
        "--promptse-compare-fail=auc_e:0.05",
        "--promptse-report=github",
    )
    result = run(*model, *replay)
    result.assert_outcomes(skipped=9)
    result.stdout.fnmatch_lines(["::notice file=test_slug.py,title=skipped::*", "skipped: *"])
    shown = result.stdout.str() + (tmp_path / "summary.md").read_text("utf-8")
    for word in ("::error", "❗", "✅", "not scored", "mode none"):
        assert word not in shown
    # Nothing was measured, so there is no table to show.
    assert "delta" not in shown


def test_it_excludes_requesting_everything_again(run, slug, model):
    result = run(*model, "--promptse-replay-only", "--promptse-fresh")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--promptse-fresh*--promptse-replay-only*"])
