"""What people look at: a wording with its differences in colour, a template in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.variants.word_diff import word_diff

if TYPE_CHECKING:
    from rich.text import Text

    from pytest_promptse.variants.library import Library
    from pytest_promptse.variants.templates import Material

_SNIPPETS = ("openers", "asks", "intros", "links", "asides", "before", "after")


def difference(original: str, reworded: str) -> Text:
    """Return `reworded` with new words in green and those they stand for struck out in red."""
    from rich.text import Text  # noqa: PLC0415 - only what is looked at needs it

    shown = Text()
    for kind, part in word_diff(original, reworded):
        if kind == "gone":
            shown.append(part, style="red strike").append(" ")
        else:
            shown.append(part, style="green" if kind == "new" else "")
    return shown


def described(library: Library) -> dict[str, dict[str, str]]:
    """Return a text for every template by kind and name, its first line the description."""
    described: dict[str, dict[str, str]] = {"emotions": {}}
    for name, emotion in library.emotions.items():
        described["emotions"][name] = (
            f"{emotion.description}\nlanguage: {emotion.language}\npattern: {emotion.pattern}\n"
            f"valence {emotion.valence:+.1f}, arousal {emotion.arousal:+.1f}: {emotion.quadrant}\n"
            f"{_snippets(emotion.material)}"
        )
    for dimension, traits in library.traits.items():
        described[dimension] = {
            slug: f"{trait.description}\nname: {trait.name}\nvocabulary: {trait.vocabulary}\n"
            f"{_snippets(trait.material)}"
            for slug, trait in traits.items()
        }
    described["strengths"] = {
        f"{strength.distance:g}": f"{strength.description}\nlexical {strength.lexical:g}, "
        f"structure {strength.structure:g}, request {strength.request:g}, "
        f"frames {strength.frames:g}, links {strength.links:g}, asides {strength.asides:g}, "
        f"marks {strength.marks:g}"
        for strength in library.strengths
    }
    described["contexts"] = {
        name: f"{context.description}\npresence {context.base:g} and {context.step:g} for each of: "
        f"{', '.join(context.signals)}\nmoves the weight of emotion by {context.tilt:+g} x presence"
        for name, context in library.contexts.items()
    }
    described["controls"] = {
        name: f"{control.description}\n{_snippets(control.material)}"
        for name, control in library.controls.items()
    }
    return described


def _snippets(material: Material) -> str:
    lines: list[str] = []
    for kind in _SNIPPETS:
        lines.extend(f"{kind}: {snippet}" for snippet in getattr(material, kind))
    return "\n".join(lines)
