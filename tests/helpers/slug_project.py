"""A small test to run the plugin on, and answers of a model as lines of a replay file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SLUG = '''
import pytest

@pytest.mark.promptse(
    """Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,
    join the words with single hyphens.""",
    reference="""
import re
def slugify(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
""",
    samples=2,
    original_samples=2,
    variants=1,
)
def test_slugify(candidate):
    assert candidate("Hello,  World!") == "hello-world"
    assert candidate("") == ""
'''
RIGHT = (
    'import re\ndef slugify(title):\n    return "-".join(re.findall("[a-z0-9]+", title.lower()))\n'
)
WRONG = "def slugify(title):\n    return title\n"
RAISES = "def slugify(title):\n    raise ValueError('no title')\n"


def slug_answers(programs: Mapping[float, Sequence[str]]) -> str:
    """Return answers in which the variants of a distance are answered by given programs in turn.

    Other distances get right programs.
    """
    prompt = SLUG.split('"""')[1]
    lines = []
    for variant, distance in zip(
        variant_ids("test_slugify", prompt), (0.0, 0.1, 0.2, 0.3), strict=True
    ):
        chosen = programs.get(distance, [RIGHT])
        lines += [answer("test_slugify", variant, i, chosen[i % len(chosen)]) for i in range(2)]
    return "".join(lines)


def same_answers(programs: Mapping[str, Sequence[str]], prompt: str) -> str:
    """Return answers that give every variant of a task the same programs, one per sample."""
    return "".join(
        answer(task, variant, index, program)
        for task, chosen in programs.items()
        for variant in variant_ids(task, prompt)
        for index, program in enumerate(chosen)
    )


def variant_ids(task: str, prompt: str) -> list[str]:
    """Return the ids of a prompt's variants with one per distance, the original first."""
    made = generate(Task(id=task, prompt=prompt), Selection(per_distance=1)).variants
    return ["original", *(variant.id for variant in made)]


def answer(task: str, variant: str, index: int, program: str) -> str:
    """Return a line of a replay file."""
    line = {"task_id": task, "variant_id": variant, "index": index}
    return json.dumps(line | {"text": f"```python\n{program}```\n"}) + "\n"
