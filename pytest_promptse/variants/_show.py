"""Texts for users: the facts about a variant, and the entries of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.variants._library import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.variants._library import Feeling, Language, Library
    from pytest_promptse.variants._variant import Variant


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


def described(library: Library) -> dict[str, dict[str, str]]:
    """Return a text for every template by kind and name. Its first line is the description."""
    described: dict[str, dict[str, str]] = {"emotions": {}}
    for name, emotion in library.emotions.items():
        described["emotions"][name] = (
            f"{emotion.description}\nlanguage: {emotion.language}\npattern: {emotion.pattern}\n"
            f"valence {emotion.valence:+.1f}, arousal {emotion.arousal:+.1f}: {emotion.quadrant}\n"
            + "\n".join(
                f"{language.code}: {line}"
                for language in library.languages.values()
                if name in language.feelings
                for line in (
                    *_feeling(language.feelings[name]),
                    *_introductions(language, name),
                )
            )
        )
    for dimension, traits in library.traits.items():
        described[dimension] = {
            slug: f"{trait.description}\nname: {trait.name}\nvocabulary: {trait.vocabulary}\n"
            + "\n".join(
                f"{language.code}: clause: {clause}"
                for language in library.languages.values()
                for name, clauses in {**language.roles, **language.collaboration}.items()
                if slug in name.split(".")
                for clause in clauses
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
            for line in _feeling(language.controls[name])
        )
        for every in library.languages.values()
        for name in every.controls
    }
    return described


def _introductions(language: Language, emotion: str) -> Iterator[str]:
    for (name, slug, operation), texts in language.introductions.items():
        if name == emotion:
            for entry in texts:
                yield f"introduction ({slug}, {operation}, {entry.kind}): {entry.text}"


def _feeling(feeling: Feeling) -> list[str]:
    kinds = (
        ("cue", feeling.cues),
        ("sentence", (*feeling.sentences, *feeling.scenes)),
        ("closing", feeling.closings),
    )
    return [f"{kind}: {snippet}" for kind, snippets in kinds for snippet in snippets]
