"""Everyday programs in JavaScript and TypeScript pass everyday checks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml
from javascript_programs import called

CASES = yaml.safe_load(Path(__file__).with_name("everyday_javascript.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_an_everyday_program_passes(sandbox, case):
    language = case.get("language", "javascript")
    loaded = called(sandbox, case["program"], entry_point=case["entry"], language=language)
    with loaded as candidate:
        exec(
            compile(case["check"], case["title"], "exec"),
            {"candidate": candidate, "pytest": pytest, "asyncio": asyncio},
        )
        assert candidate.failure is None
