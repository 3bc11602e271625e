"""Prompts of many kinds, other than HumanEval's, for the tests of variants."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from pytest_promptse.tasks._task import Task

FOLDER = Path(__file__).resolve().parents[1] / "variants" / "prompts"

REFUSED = ("german",)
"""The files whose prompts are in a language without a library."""


@cache
def tasks(*names: str) -> tuple[Task, ...]:
    """Return a task for each prompt of the files `names`.

    The default is all files in a language that has a library.
    """
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem not in names if names else path.stem in REFUSED:
            continue
        for kind, prompts in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for number, prompt in enumerate(prompts):
                found.append(
                    Task(id=f"{path.stem}-{kind}-{number}", prompt=prompt, entry_point="f")
                )
    return tuple(found)
