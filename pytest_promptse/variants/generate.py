"""The wordings of a task: drawn, rewritten, judged, and as many as were asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import derive_seed
from pytest_promptse.variants.distance import band, check_distances
from pytest_promptse.variants.invariance import Finding, Judge, normalised
from pytest_promptse.variants.invariance.construction import ConstructionJudge
from pytest_promptse.variants.library import Library
from pytest_promptse.variants.registry import REWRITERS, rewriter_named
from pytest_promptse.variants.rewriter import Rewriter, RewriteRequest, label
from pytest_promptse.variants.variant import Variant, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.tasks.task import Task

__all__ = ["Rewriter", "VariantSet", "generate", "rewriter_named"]

_MOST_TRIES = 80


@dataclass(frozen=True, kw_only=True)
class VariantSet:
    """The wordings of one task, by distance and index, without the original.

    ``rejected`` counts the candidates that were not taken, by rule.
    """

    variants: tuple[Variant, ...]
    rejected: Mapping[str, int]


def generate(
    task: Task,
    *,
    distances: Sequence[float] = (0.1, 0.2, 0.3),
    per_distance: int = 4,
    emotions: Sequence[str] | None = None,
    personalities: Sequence[str] | None = None,
    seed: int = 0,
    rewriter: Rewriter | None = None,
    library: Library | None = None,
    within: str = "",
    also: Callable[[str], Iterable[Finding]] = lambda _: (),
) -> VariantSet:
    """Return `per_distance` valid wordings of `task` at each of `distances`.

    A wording follows from (task text, distance, index, seed, rewriter and version) and from the
    emotions and personalities to draw from; asking for more of them leaves the first ones as
    they are.

    Parameters
    ----------
    distances
        Nominal distances, at least 0.1 apart, each in [0.05, 0.5].
    per_distance
        K, at least 1.
    emotions, personalities
        Names and slugs to draw from; all of the library's by default. Emotions are dealt like
        cards, so that every eight wordings of a distance have eight different ones.
    rewriter
        Who rewords; ``rules`` by default.
    library
        The templates; the shipped ones by default.
    within
        The prompt of a task in whose voices these are wordings of something around it.
    also
        Further rules: what speaks against a candidate besides the rules of invariance.

    Raises
    ------
    VariantError
        If an argument cannot be used, the prompt is not in English, or too few valid wordings
        could be made.
    """
    library = library or Library.load()
    rewriter = rewriter or rewriter_named("rules", library=library)
    if per_distance < 1:
        raise VariantError(f"{per_distance} variants per distance: ask for at least 1")
    check_distances(distances)
    # Made once, since all variants hold them.
    name, prompt_hash = label(rewriter), text_hash(task.prompt)
    deck = _Deck(
        library,
        emotions=emotions,
        personalities=personalities,
        parts=(within or task.prompt, seed, name),
    )
    measure = ConstructionJudge(task, library.lexicon, any_language="english" in rewriter.waives)
    judge = measure if rewriter.name in REWRITERS else Judge(task.prompt)
    weights = library.weights(task.prompt)
    rejected: Counter[str] = Counter()
    variants: list[Variant] = []
    for distance in distances:
        taken: set[str] = set()
        for index in range(per_distance):
            emotion, personality = deck.draw(distance, index) if rewriter.voiced else (None, None)
            request = RewriteRequest(
                task=task,
                distance=distance,
                band=band(distance),
                index=index,
                seed=derive_seed(within + task.prompt, distance, index, seed, name),
                emotion=library.emotion(emotion) if emotion else None,
                personality=library.personality(personality) if personality else None,
                weights=weights,
            )
            text, measured = _first_valid(
                request, rewriter, taken, rejected, measure=measure, judge=judge, also=also
            )
            taken.add(_key(text, rewriter))
            variants.append(
                Variant(
                    task_id=task.id,
                    text=text,
                    distance=distance,
                    index=index,
                    emotion=emotion,
                    personality=personality,
                    context=weights if rewriter.voiced else {},
                    measured_distance=round(measured, 6),
                    seed=request.seed,
                    rewriter=name,
                    original=prompt_hash,
                )
            )
    return VariantSet(variants=tuple(variants), rejected=dict(sorted(rejected.items())))


def _key(text: str, rewriter: Rewriter) -> str:
    """What two wordings must differ in: everything, for an arm that changes case or blanks only."""
    return text if "duplicate" in rewriter.waives else normalised(text)


def _first_valid(
    request: RewriteRequest,
    rewriter: Rewriter,
    taken: set[str],
    rejected: Counter[str],
    *,
    measure: ConstructionJudge,
    judge: Judge | ConstructionJudge,
    also: Callable[[str], Iterable[Finding]],
) -> tuple[str, float]:
    """Return the first candidate that nothing speaks against, with its measured distance."""
    here: Counter[str] = Counter()
    candidates = rewriter.candidates(request)
    findings: tuple[Finding, ...] = ()
    for number in range(_MOST_TRIES):
        try:
            text = candidates.send(findings) if number else next(candidates)
        except StopIteration:
            break
        measured = measure.distance(text)
        findings = tuple(
            _objections(
                text, measured, request=request, rewriter=rewriter, judge=judge, taken=taken
            )
        ) or tuple(also(text))
        if not findings:
            candidates.close()
            return text, measured
        here.update({finding.rule for finding in findings})
        rejected.update({finding.rule for finding in findings})
    common = f"most often for: {here.most_common(1)[0][0]}" if here else "with no candidate at all"
    raise VariantError(
        f"task {request.task.id!r}: no valid wording {request.index + 1} at distance "
        f"{request.distance:g} by {label(rewriter)} after {here.total()} rejections, {common}; "
        "ask for fewer variants, write a longer prompt or choose another rewriter"
    )


def _objections(
    text: str,
    measured: float,
    *,
    request: RewriteRequest,
    rewriter: Rewriter,
    judge: Judge | ConstructionJudge,
    taken: set[str],
) -> Iterator[Finding]:
    low, high = request.band
    if "band" not in rewriter.waives and not low <= measured < high:
        yield Finding("band", f"distance {measured:.3f} is outside [{low:.2f}, {high:.2f})")
        return
    if "duplicate" in rewriter.waives:
        if "copy" not in rewriter.waives and (text in taken or text == request.task.prompt):
            yield Finding("duplicate", "the original or another variant has this very text")
        yield from judge.findings(text, waived=rewriter.waives)
    else:
        yield from judge.findings(text, others=taken, waived=rewriter.waives)


class _Deck:
    """Deals emotions and personalities, each by a hash of what the wording depends on."""

    def __init__(
        self,
        library: Library,
        *,
        emotions: Sequence[str] | None,
        personalities: Sequence[str] | None,
        parts: tuple[str | int, ...],
    ) -> None:
        if emotions is not None and not emotions:
            raise VariantError("no emotions to draw from; name at least one or leave them out")
        if personalities is not None and not personalities:
            raise VariantError("no personalities to draw from; name at least one or leave them out")
        self._emotions = [library.emotion(e).name for e in emotions or sorted(library.emotions)]
        self._personalities = [
            library.personality(p).slug for p in personalities or library.personalities()
        ]
        self._parts = parts

    def draw(self, distance: float, index: int) -> tuple[str, str]:
        return (
            self._dealt("emotion", self._emotions, distance, index),
            self._dealt("personality", self._personalities, distance, index),
        )

    def _dealt(self, what: str, cards: Sequence[str], distance: float, index: int) -> str:
        round_, place = divmod(index, len(cards))
        shuffled = list(cards)
        Random(derive_seed(what, distance, round_, *self._parts)).shuffle(shuffled)  # noqa: S311
        return shuffled[place]
