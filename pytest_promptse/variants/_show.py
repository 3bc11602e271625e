"""Texts for users: the facts about a variant, and the entries of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.variants._library import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from pytest_promptse.variants._library import Feeling, Language, Library
    from pytest_promptse.variants._variant import Variant

    _Phrase: TypeAlias = tuple[str, str, str]


def facts(variant: Variant) -> Iterator[str]:
    """Yield lines with the operations, the distances and the cues of a variant."""
    yield (
        f"words: {variant.added_share:.0%} of the variant added, {variant.replaced_share:.0%} of "
        f"the original replaced, {variant.moved_share:.0%} moved; {variant.length_ratio:.2f} times "
        "as long"
    )
    if variant.operations:
        yield f"operations: {', '.join(variant.operations)}"
    if variant.cues:
        # In a fixed order, independent of their order in the text.
        names = [name for name in ("emotion", *DIMENSIONS) if name in variant.cues]
        shown = (f'{name} "{" ".join(variant.cues[name].split())}"' for name in names)
        yield f"cues: {', '.join(shown)}"


def described(library: Library, *, every: bool = False) -> dict[str, dict[str, str]]:
    """Return a text for every entry by kind and name. Its first line is the description.

    Of phrases of one kind, the text has the first one and their number, or each of them if `every`.
    """
    described: dict[str, dict[str, str]] = {"emotions": {}}
    for name, emotion in library.emotions.items():
        described["emotions"][name] = (
            f"{emotion.description}\nlanguage: {emotion.language}\npattern: {emotion.pattern}\n"
            f"valence {emotion.valence:+.1f}, arousal {emotion.arousal:+.1f}: {emotion.quadrant}\n"
            + "\n".join(
                f"{language.code}: {line}"
                for language in library.languages.values()
                if name in language.feelings
                for line in _phrases(
                    (*_feeling(language.feelings[name]), *_introductions(language, name)), every
                )
            )
        )
    for dimension, traits in library.traits.items():
        described[dimension] = {
            slug: f"{trait.description}\nname: {trait.name}\nvocabulary: {trait.vocabulary}\n"
            + "\n".join(
                f"{language.code}: {line}"
                for language in library.languages.values()
                for line in _phrases(
                    [
                        ("clause", "", clause)
                        for name, clauses in {**language.roles, **language.collaboration}.items()
                        if slug in name.split(".")
                        for clause in clauses
                    ],
                    every,
                )
            )
            for slug, trait in traits.items()
        }
    described["levels"] = {
        f"{level.distance:g}": f"{level.description}\noperation {level.operation}, "
        f"{level.fewest} to {level.most} words changed"
        for level in library.levels
    }
    described["contexts"] = {
        name: f"{context.description}\npresence {context.base:g} and {context.step:g} for each of: "
        f"{', '.join(context.signals)}\nmoves the weight of emotion by {context.tilt:+g} x presence"
        for name, context in library.contexts.items()
    }
    described["controls"] = {
        name: "a control condition\n"
        + "\n".join(
            f"{language.code}: {line}"
            for language in library.languages.values()
            if name in language.controls
            for line in _phrases(_feeling(language.controls[name]), every)
        )
        for of_language in library.languages.values()
        for name in of_language.controls
    }
    return described


def _phrases(phrases: Sequence[_Phrase], every: bool) -> Iterator[str]:
    """Yield lines for phrases, given as kind, details and text."""
    if every:
        yield from (f"{kind}{details}: {text}" for kind, details, text in phrases)
        return
    texts: dict[str, list[str]] = {}
    for kind, _, text in phrases:
        texts.setdefault(kind, []).append(text)
    for kind, same in texts.items():
        more = f"  ({len(same) - 1} more: --all)" if len(same) > 1 else ""
        yield f"{kind}: {same[0]}{more}"


def _introductions(language: Language, emotion: str) -> Iterator[_Phrase]:
    for (name, slug, operation), texts in language.introductions.items():
        if name == emotion:
            for entry in texts:
                details = f" ({slug}, {entry.kind})"
                yield f"introduction of the level {operation}", details, entry.text


def _feeling(feeling: Feeling) -> list[_Phrase]:
    kinds = (
        ("cue", feeling.utterances),
        ("sentence", (*feeling.sentences, *feeling.scenes)),
        ("closing", feeling.closings),
    )
    return [(kind, "", snippet) for kind, snippets in kinds for snippet in snippets]
