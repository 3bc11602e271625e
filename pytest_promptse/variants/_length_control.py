"""The length-matched control: a neutral variant with as many added words, for every variant.

A variant differs from its original in two ways: it has an emotion and a persona, and it has more
words. Its control variant has the same distance and as many added words, but no emotion or
persona. The loss of the control variants is therefore due to the added text alone.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import derive_seed
from pytest_promptse.variants._distance import added_words, compare
from pytest_promptse.variants._generate import measured
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._rewriter import Draft, RewriteRequest
from pytest_promptse.variants._variant import Variant, text_hash
from pytest_promptse.variants.rules._rewriter import RulesRewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._finding import Finding

CONTROL = "neutral"
"""The rewriter of the control."""

# Largest difference in words between a control variant and its variant.
_TOLERANCE = 1
_STANDING_IN, _PADDED = 24, 8


def length_matched(
    task: Task,
    variants: Sequence[Variant],
    *,
    library: Library | None = None,
    also: Callable[[str], Iterable[Finding]] = lambda _: (),
) -> tuple[Variant, ...]:
    """Return a neutral variant of `task` for each of `variants`, with as many added words.

    If ``rules`` made the variant, its control repeats all decisions: the form of the request, the
    block and the positions. For any other variant, the neutral sentences precede the original. The
    first suitable candidate is used: it differs from all other control variants, and its number of
    added words differs by at most one. There are few short neutral texts, so controls of variants
    with few added words may have the same text. Each still has its own samples.

    Parameters
    ----------
    task
        The task of the variants.
    variants
        The variants to match, by distance and index.
    library
        The library of phrases. The default is the shipped one.
    also
        Returns findings against a text. The control is always checked for being a copy.

    Raises
    ------
    VariantError
        If the library has no neutral sentences in the language of the task, or `also` has findings
        for all candidates.
    """
    rewriter = RulesRewriter(library=library or load_library(), control=CONTROL)
    taken: set[str] = set()
    made = []
    for variant in variants:
        control = _matched(task, variant, rewriter, taken, also)
        taken.add(control.text)
        made.append(control)
    return tuple(made)


def _matched(
    task: Task,
    variant: Variant,
    rewriter: RulesRewriter,
    taken: set[str],
    also: Callable[[str], Iterable[Finding]],
) -> Variant:
    target = added_words(task.prompt, variant.text)
    best: tuple[bool, bool, int] | None = None
    chosen: Draft | None = None
    for draft in _candidates(task, variant, rewriter, target):
        off = abs(added_words(task.prompt, draft.text) - target)
        rank = (off > _TOLERANCE, draft.text in taken, off)
        if (best is not None and rank >= best) or any(True for _ in also(draft.text)):
            continue
        best, chosen = rank, draft
        if not (rank[0] or rank[1]):
            break
    if chosen is None:
        raise VariantError(
            f"task {task.id!r}: no neutral text of {target} words can stand beside {variant.id}; "
            "give control none"
        )
    return Variant(
        task_id=task.id,
        text=chosen.text,
        distance=variant.distance,
        index=variant.index,
        operations=chosen.operations,
        seed=variant.seed,
        rewriter=rewriter.label,
        original=text_hash(task.prompt),
        **measured(compare(task.prompt, chosen.text)),
    )


def _candidates(
    task: Task, variant: Variant, rewriter: RulesRewriter, target: int
) -> Iterator[Draft]:
    """Yield neutral drafts. Those that repeat the decisions of ``rules`` come first.

    `variant` is the variant to match, and `target` its number of words. The number of drafts is
    limited.
    """
    library = rewriter.library
    is_by_rules = variant.rewriter.partition("/")[0] == rewriter.stands_for
    standing_in: Iterator[Draft] = iter(())
    if is_by_rules and variant.emotion is not None and variant.personality is not None:
        request = RewriteRequest(
            task=task,
            distance=variant.distance,
            index=variant.index,
            seed=variant.seed,
            emotion=library.emotion(variant.emotion),
            personality=library.personality(variant.personality),
            weights=variant.context,
        )
        standing_in = rewriter.candidates(request)
    seed = derive_seed(task.prompt, variant.distance, variant.index, variant.seed, CONTROL)
    padded = rewriter.padded(task, target, seed=seed)
    yield from chain(islice(standing_in, _STANDING_IN), islice(padded, _PADDED))
