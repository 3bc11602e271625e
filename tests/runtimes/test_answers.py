"""Programs that a check calls are found in answers as models write them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
import yaml
from javascript_programs import called

from pytest_promptse.runtimes._runtime import runtime_of
from pytest_promptse.sandbox._candidate import ProgramStopped

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_program_is_found_and_passes_its_check(sandbox, language):
    pytest.importorskip("tree_sitter_language_pack")
    cases = yaml.safe_load((FOLDER / f"answers_{language}.yaml").read_text("utf-8"))
    missed = {}
    for case in cases:
        extraction = runtime_of(language, "candidate").extract(
            case["answer"],
            prompt=case.get("prompt", ""),
            entry_point=case["entry"],
            form=case.get("form", "chat"),
            finish_reason="stop",
        )
        program = extraction.program or ""
        with called(sandbox, program, entry_point=case["entry"], language=language) as candidate:
            names = {"candidate": candidate, "pytest": pytest, "asyncio": asyncio}
            try:
                exec(compile(case["check"], case["title"], "exec"), names)
            except (AssertionError, ProgramStopped, pytest.fail.Exception) as error:
                missed[case["title"]] = f"{error}\n{program}"
    assert len(cases) >= 20
    assert len(missed) <= len(cases) // 20, "\n".join(f"{k}: {v}" for k, v in missed.items())


def test_deeply_nested_code_takes_no_time():
    text = f"```ts\nfunction f() {{ return {'a(' * 5000}{')' * 5000} }}\n```\n" * 16
    runtime = runtime_of("typescript", "candidate")
    start = time.process_time()
    runtime.extract(text, prompt="", entry_point="f", form="chat", finish_reason="stop")
    assert time.process_time() - start < 5
