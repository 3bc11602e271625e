"""Make the requested number of variants of a task: draw, write and judge them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from random import Random
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from pytest_promptse.errors import VariantError
from pytest_promptse.models._base import derive_seed
from pytest_promptse.variants._distance import Change, compare, normalised
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import REWRITERS, rewriter_named
from pytest_promptse.variants._rewriter import Ask, Draft, Rewriter, RewriteRequest
from pytest_promptse.variants._variant import Variant, text_hash
from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.rules._rewriter import STANDS_FOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._judge import Judge

__all__ = [
    "Rewriter",
    "Selection",
    "VariantSet",
    "can_be_made_again",
    "generate",
    "outlines",
    "requests_for",
    "rewriter_named",
    "variant_of",
]

_MOST_TRIES = 80
_NOT = "!"
"""Sign before the name of an emotion to leave out."""


@dataclass(frozen=True, kw_only=True)
class VariantSet:
    """The variants of one task, by distance and index, without the original.

    ``rejected`` counts the rejected candidates by rule. ``snippets`` has the phrases of the library
    in each variant, by its id.
    """

    variants: tuple[Variant, ...]
    rejected: Mapping[str, int]
    snippets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The choice of the variants to make for a task.

    Parameters
    ----------
    distances
        Nominal distances in [0.05, 0.5]. The library has a level for 0.1, 0.2 and 0.3. Another
        distance uses the nearest level, and no two distances may use the same one.
    per_distance
        Number of variants per distance, at least 1.
    emotions, personalities
        Names and slugs to draw from; the default is all of the library's. Emotions are drawn
        without replacement, so that every eight variants of a distance have eight different ones.
        ``!NAME`` among the emotions leaves one out. With a choice, variants whose emotion and
        persona are among the chosen ones stay as they are.
    exclude_emotions
        Emotions to leave out.
    seed
        Seed of the draws and of the texts.
    library
        The library of phrases. The default is the shipped one.
    within
        The prompt of a task, if these are variants of a template around it.
    """

    distances: Sequence[float] = (0.1, 0.2, 0.3)
    per_distance: int = 4
    emotions: Sequence[str] | None = None
    personalities: Sequence[str] | None = None
    exclude_emotions: Sequence[str] = ()
    seed: int = 0
    library: Library = field(default_factory=load_library)
    within: str = ""

    @property
    def places(self) -> tuple[tuple[float, int], ...]:
        """The distance and the index of each variant of a task, in the order of the variants."""
        return tuple(product(self.distances, range(self.per_distance)))

    def check(self) -> None:
        """Raise VariantError if nothing can be made of this selection, whatever the task."""
        _Deck(self, refused=frozenset(), parts=())


def generate(
    task: Task,
    selection: Selection | None = None,
    *,
    rewriter: Rewriter | None = None,
    also: Callable[[str], Iterable[Finding]] = lambda _: (),
) -> VariantSet:
    """Return the selected valid variants of `task`, with the same number at each distance.

    A variant depends on the task text, distance, index, seed, rewriter and version, and on the
    emotions and personas to draw from. More variants leave the first ones unchanged.

    Parameters
    ----------
    task
        The task to reword.
    selection
        The variants to make. The default is four at each level of the shipped library.
    rewriter
        The rewriter. The default is ``rules``.
    also
        Returns findings against a candidate, in addition to those of the invariance rules.

    Raises
    ------
    VariantError
        If the selection cannot be used, the rewriter has no phrases in the prompt's language, or
        too few valid variants can be made.
    """
    selection = selection or Selection()
    rewriter = rewriter or rewriter_named("rules", library=selection.library)
    judge = None if rewriter.name in REWRITERS else _judge(task.prompt, selection.library)
    rejected: Counter[str] = Counter()
    variants: list[Variant] = []
    snippets: dict[str, tuple[str, ...]] = {}
    taken: dict[float, set[str]] = defaultdict(set)
    for request in requests_for(task, selection, rewriter):
        keys = taken[request.distance]
        draft = _first_valid(request, rewriter, judge, keys, rejected, also=also)
        keys.add(_key(draft.text, rewriter))
        variant = variant_of(request, draft, rewriter)
        variants.append(variant)
        snippets[variant.id] = draft.snippets
    return VariantSet(
        variants=tuple(variants), rejected=dict(sorted(rejected.items())), snippets=snippets
    )


def outlines(task: Task, selection: Selection, *, rewriter: Rewriter) -> tuple[Variant, ...]:
    """Return the variants of `task` without their texts, by distance and index.

    An outline has the id of its variant. Making it takes far less time.

    Parameters
    ----------
    task, selection, rewriter
        As in `generate`.

    Raises
    ------
    VariantError
        If the selection cannot be used.
    """
    return tuple(
        outline_of(request, rewriter) for request in requests_for(task, selection, rewriter)
    )


def requests_for(task: Task, selection: Selection, rewriter: Rewriter) -> Iterator[RewriteRequest]:
    """Yield the requests to a rewriter, by distance and index.

    Parameters
    ----------
    task, selection, rewriter
        As in `generate`.

    Raises
    ------
    VariantError
        If the selection cannot be used.
    """
    library, seed, within = selection.library, selection.seed, selection.within
    source, draws = rewriter.draws_as, rewriter.draws_persona
    text = within + task.prompt
    deck = _Deck(
        selection,
        refused=library.refused_by(task.prompt),
        parts=(within or task.prompt, seed, source),
    )
    weights = library.weights(task.prompt)
    for distance, index in selection.places:
        emotion, personality = deck.draw(distance, index) if draws else (None, None)
        yield RewriteRequest(
            task=task,
            distance=distance,
            index=index,
            seed=derive_seed(text, distance, index, seed, source),
            emotion=library.emotion(emotion) if emotion else None,
            personality=library.personality(personality) if personality else None,
            weights=weights,
        )


def outline_of(request: RewriteRequest, rewriter: Rewriter) -> Variant:
    """Return the variant that answers a request to `rewriter`, without its text."""
    emotion = request.emotion if rewriter.has_persona else None
    personality = request.personality if rewriter.has_persona else None
    return Variant(
        task_id=request.task.id,
        text="",
        distance=request.distance,
        index=request.index,
        emotion=emotion.name if emotion else None,
        personality=personality.slug if personality else None,
        seed=request.seed,
        rewriter=rewriter.label,
        original=text_hash(request.task.prompt),
    )


def variant_of(request: RewriteRequest, draft: Draft, rewriter: Rewriter) -> Variant:
    """Return the variant for the draft with which `rewriter` answered a request."""
    return replace(
        outline_of(request, rewriter),
        text=draft.text,
        context=request.weights if rewriter.has_persona else {},
        cues=draft.cues,
        operations=draft.operations,
        **measured(compare(request.task.prompt, draft.text)),
    )


class Measured(TypedDict):
    """The measured fields of a variant.

    They are the figures of `_distance.Change`, by the names that a variant file uses.
    """

    measured_distance: float
    added_share: float
    replaced_share: float
    moved_share: float
    length_ratio: float


def measured(change: Change) -> Measured:
    """Return the measured fields of a variant."""
    return {
        "measured_distance": change.distance,
        "added_share": change.added_share,
        "replaced_share": change.replaced_share,
        "moved_share": change.moved_share,
        "length_ratio": change.length_ratio,
    }


def can_be_made_again(variant: Variant, task: Task, library: Library) -> bool:
    """Return whether the rewriter of `variant` makes exactly the same text again.

    The built-in rewriters are deterministic. So making a variant again from its own fields proves
    that its specification is verbatim and its sentences are the library's.
    """
    name, _, _ = variant.rewriter.partition("/")
    if name not in REWRITERS:
        return False
    rewriter = rewriter_named(name, library=library)
    if rewriter.label != variant.rewriter:
        return False
    emotion, personality = variant.emotion, variant.personality
    for operation in variant.operations:
        if operation.startswith(STANDS_FOR):
            emotion, _, personality = operation.removeprefix(STANDS_FOR).partition("-")
    if rewriter.draws_persona != bool(emotion and personality):
        return False
    request = RewriteRequest(
        task=task,
        distance=variant.distance,
        index=variant.index,
        seed=variant.seed,
        emotion=library.emotion(emotion) if emotion else None,
        personality=library.personality(personality) if personality else None,
        weights=variant.context or library.weights(task.prompt),
    )
    made = islice(rewriter.candidates(request), _MOST_TRIES)
    return any(draft_of(step, rewriter).text == variant.text for step in made)


def draft_of(step: Draft | str | Ask, rewriter: Rewriter) -> Draft:
    """Return a candidate as a draft.

    Raises
    ------
    VariantError
        If `step` is a request to a model, which `rewriter` does not name.
    """
    if isinstance(step, Ask):
        raise VariantError(
            f"rewriter {rewriter.label} asks a model and names none; let its property 'model' "
            "return a WritingModel"
        )
    return Draft(text=step) if isinstance(step, str) else step


def _judge(prompt: str, library: Library) -> Judge:
    # Its patterns take longer to compile than a plan takes.
    from pytest_promptse.variants.invariance._judge import Judge  # noqa: PLC0415

    return Judge(prompt, library)


def _key(text: str, rewriter: Rewriter) -> str:
    """Return the key by which variants differ: the exact text if only case or blanks change."""
    return text if "duplicate" in rewriter.waives else normalised(text)


def _first_valid(
    request: RewriteRequest,
    rewriter: Rewriter,
    judge: Judge | None,
    taken: set[str],
    rejected: Counter[str],
    *,
    also: Callable[[str], Iterable[Finding]],
) -> Draft:
    """Return the first candidate without findings.

    Parameters
    ----------
    judge
        Checks that the meaning is unchanged; None skips this check.
    taken
        Keys of variants that exist already, as `_key` returns them.
    rejected
        Number of rejected candidates by rule; updated by this call.
    also
        Returns further objections to a text.
    request, rewriter
        What to rewrite, and the rewriter that yields candidates.

    Raises
    ------
    VariantError
        If the rewriter has no more candidates, or after the largest number of tries.
    """
    here: Counter[str] = Counter()
    candidates = rewriter.candidates(request)
    findings: tuple[Finding, ...] = ()
    for number in range(_MOST_TRIES):
        try:
            step = candidates.send(findings) if number else next(candidates)
        except StopIteration:
            break
        draft = draft_of(step, rewriter)
        findings = (
            draft.findings
            or _objections(draft, request, rewriter, judge, taken)
            or tuple(also(draft.text))
        )
        if not findings:
            candidates.close()
            return draft
        here.update({finding.rule for finding in findings})
        rejected.update({finding.rule for finding in findings})
    common = f"most often for: {here.most_common(1)[0][0]}" if here else "with no candidate at all"
    raise VariantError(
        f"task {request.task.id!r}: no valid variant {request.index + 1} at distance "
        f"{request.distance:g} by {rewriter.label} after {here.total()} rejections, {common}; "
        "ask for fewer variants, write a longer prompt or choose another rewriter"
    )


def _objections(
    draft: Draft,
    request: RewriteRequest,
    rewriter: Rewriter,
    judge: Judge | None,
    taken: set[str],
) -> tuple[Finding, ...]:
    text = draft.text
    if "copy" not in rewriter.waives and (
        text == request.task.prompt or _key(text, rewriter) in taken
    ):
        return (Finding("duplicate", "the original or another variant has this very text"),)
    # A draft of a built-in rewriter keeps the request by construction, so it needs no judge.
    return judge.findings(text, waived=rewriter.waives) if judge else ()


class _Deck:
    """Draw emotions and personas by hashes of the values that a variant depends on."""

    def __init__(
        self,
        selection: Selection,
        *,
        refused: frozenset[str],
        parts: tuple[str | int, ...],
    ) -> None:
        library, emotions = selection.library, selection.emotions
        personalities = selection.personalities
        if selection.per_distance < 1:
            raise VariantError(f"{selection.per_distance} variants per distance: give at least 1")
        library.check_distances(selection.distances)
        if emotions is not None and not emotions:
            raise VariantError("no emotions to draw from; name at least one or leave them out")
        if personalities is not None and not personalities:
            raise VariantError("no personalities to draw from; name at least one or leave them out")
        names = {library.emotion(e).name for e in emotions or () if not e.startswith(_NOT)}
        negated = [name.removeprefix(_NOT) for name in emotions or () if name.startswith(_NOT)]
        left_out = {library.emotion(e).name for e in (*negated, *selection.exclude_emotions)}
        # The decks have all cards, so that the choice of some leaves their variants as they are.
        self._emotions = sorted(library.emotions)
        chosen = (names or set(self._emotions)) - left_out
        if not chosen:
            raise VariantError("every emotion is left out; leave out fewer")
        slugs = {library.personality(slug).slug for slug in personalities or ()}
        self._personalities = library.personalities()
        personas = slugs or set(self._personalities)
        suited = {slug for slug in personas if refused.isdisjoint(slug.split("."))}
        self._chosen = (chosen - refused or chosen) | (suited or personas)
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
        return self._with_substitutes(shuffled)[place]

    def _with_substitutes(self, shuffled: Sequence[str]) -> list[str]:
        """Leave the places of the chosen ones of `shuffled` as they are, and replace the others.

        The substitutes are taken from the end, so that the first ones differ from each other.
        """
        substitutes = cycle([name for name in reversed(shuffled) if name in self._chosen])
        return [name if name in self._chosen else next(substitutes) for name in shuffled]
