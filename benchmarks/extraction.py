"""Time of extracting a program from answers of 400 lines, in prose and in dense code.

Usage: ``python benchmarks/extraction.py``. It prints the best of several rounds in milliseconds.
"""

from __future__ import annotations

import time
from typing import Literal

from pytest_promptse.models._extract import extract
from pytest_promptse.models._statements import statements

ROUNDS = 9
STUB = 'def area(radii):\n    """Return the total area of discs."""\n'
PROSE = "Here's why it doesn't fail: first, we iterate (see above), then we 'add' - that's all.\n"
LINE = (
    "    total = total + disc(radius) * (1 + 2) if radius else [x for x in radii][0]  # it's so\n"
)
CODE = "def area(radii):\n    total = 0\n    radius = 1\n" + LINE * 196 + "    return total\n"
ANSWERS = {
    "a fence between prose": PROSE * 100 + "```python\n" + CODE + "```\n" + PROSE * 98,
    "no fence between prose": PROSE * 100 + CODE + PROSE * 100,
    "a hundred blocks": "".join(
        f"```python\ndef area(radii):\n    return sum(radii) + {n}\n```\n" for n in range(100)
    ),
}


def milliseconds(text: str, form: Literal["chat", "completion"]) -> float:
    """Return the shortest time that extraction from `text` took."""
    taken = []
    for _ in range(ROUNDS):
        statements.cache_clear()
        began = time.perf_counter()
        extract(text, prompt=STUB, entry_point="area", form=form, finish_reason="stop")
        taken.append(time.perf_counter() - began)
    return 1000 * min(taken)


if __name__ == "__main__":
    for name, text in ANSWERS.items():
        print(f"{name}: {text.count(chr(10))} lines, {milliseconds(text, 'chat'):.1f} ms")
    completion = LINE * 197 + "    return total\n" + PROSE * 202
    print(f"a completion: {completion.count(chr(10))} lines, ", end="")
    print(f"{milliseconds(completion, 'completion'):.1f} ms")
