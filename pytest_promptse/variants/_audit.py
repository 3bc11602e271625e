"""Check variants in files, which people or other tools may have made or edited."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import compare, normalised
from pytest_promptse.variants._entailment import can_be_cleared
from pytest_promptse.variants._files import (
    folder_of,
    folders,
    load_frozen,
    read,
    read_original,
)
from pytest_promptse.variants._generate import can_be_made_again
from pytest_promptse.variants._registry import REWRITERS, rewriter_named
from pytest_promptse.variants._variant import text_hash
from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._judge import Judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._variant import Variant

_ROUNDING = 1e-6


def audit(root: Path, library: Library) -> Iterator[tuple[str, str | None]]:
    """Yield ``(path:line and id, fault or None)`` for every variant below `root`.

    Raises
    ------
    VariantError
        If there are no variants, or a file cannot be read as variants.
    """
    stored_folders = folders(root)
    if not stored_folders:
        raise VariantError(f"{root}: no variants below it; make them with 'promptse variants make'")
    for folder in stored_folders:
        original = read_original(folder)
        task = Task(id=original.task_id, prompt=original.prompt, entry_point=original.entry_point)
        judge = Judge(task.prompt, library)
        taken: set[str] = set()
        for stored in read(folder):
            findings = list(_findings(stored.variant, task, judge, taken, library))
            taken.add(normalised(stored.variant.text))
            yield f"{stored.place}, {stored.variant.id}", "; ".join(map(str, findings)) or None


def frozen(
    root: Path, task: Task, *, distances: Sequence[float], per_distance: int
) -> tuple[Variant, ...]:
    """Return the first `per_distance` variants of `task` frozen at each of `distances`.

    Raises
    ------
    VariantError
        If there are too few, or if the original has changed since.
    """
    variants = load_frozen(root, task)
    chosen: list[Variant] = []
    for distance in distances:
        there = [variant for variant in variants if variant.distance == distance][:per_distance]
        if len(there) < per_distance:
            raise VariantError(
                f"task {task.id!r}: {folder_of(root, task.id)} holds {len(there)} variants at "
                f"distance {distance:g} and {per_distance} are needed; freeze more, or set "
                f"promptse_variants to {len(there)}"
            )
        chosen += there
    return tuple(chosen)


def check_frozen(
    root: Path,
    task: Task,
    variants: Sequence[Variant],
    library: Library,
    *,
    may_ask: bool = False,
) -> dict[str, tuple[Finding, ...]]:
    """Check that frozen variants make the same request as the original.

    Return the findings that a model may clear, by the id of the variant, if it `may_ask` one.

    Parameters
    ----------
    root
        The folder from which they were read.
    task
        The task of the variants.
    variants
        The variants from `frozen`.
    library
        The library of emotions and personas.
    may_ask
        True if a model can be asked about findings that it may clear.

    Raises
    ------
    VariantError
        If a variant breaks a rule of invariance that no model can clear.
    """
    doubts: dict[str, tuple[Finding, ...]] = {}
    judge = Judge(task.prompt, library)
    taken: dict[float, set[str]] = defaultdict(set)
    for variant in variants:
        findings = tuple(_findings(variant, task, judge, taken[variant.distance], library))
        if may_ask and can_be_cleared(findings):
            doubts[variant.id] = findings
        elif findings:
            remedy = (
                "--promptse-variant-judge BACKEND:NAME lets a model decide"
                if can_be_cleared(findings)
                else "see 'promptse variants audit'"
            )
            raise VariantError(
                f"task {task.id!r}: {variant.id} in {folder_of(root, task.id)} is not the same "
                f"task: {'; '.join(map(str, findings))}; {remedy}"
            )
        taken[variant.distance].add(normalised(variant.text))
    return doubts


def _findings(
    variant: Variant, task: Task, judge: Judge, taken: set[str], library: Library
) -> Iterator[Finding]:
    if variant.original and variant.original != text_hash(task.prompt):
        yield Finding("original", "the original has changed since")
    measured = compare(task.prompt, variant.text).distance
    if abs(measured - variant.measured_distance) > _ROUNDING:
        yield Finding(
            "measured",
            f"the text has distance {measured:.6g}, and the file says "
            f"{variant.measured_distance:.6g}; correct measured_distance",
        )
    waived = _waived(variant, library)
    if "copy" not in waived and normalised(variant.text) in taken and "duplicate" not in waived:
        yield Finding("duplicate", "another variant has this text")
    if not can_be_made_again(variant, task, library):
        yield from judge.findings(variant.text, waived={*waived, "duplicate"})


def _waived(variant: Variant, library: Library) -> frozenset[str]:
    name = variant.rewriter.partition("/")[0]
    return rewriter_named(name, library=library).waives if name in REWRITERS else frozenset()
