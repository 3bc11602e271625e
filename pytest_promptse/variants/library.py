"""The template library: emotions, personalities, strengths, contexts and words, from data files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.config.data_files import templates_dir
from pytest_promptse.errors import TaskError, VariantError, nearest
from pytest_promptse.variants import templates
from pytest_promptse.variants.lexicon import Lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.variants.templates import Material

_DIMENSIONS = ("technical", "experience", "collaboration")
_T = TypeVar("_T")


def quadrant(valence: float, arousal: float) -> str:
    """Return the quadrant of the circumplex model, for example ``positive-active``."""
    sign = "positive" if valence >= 0 else "negative"
    return f"{sign}-{'active' if arousal >= 0 else 'calm'}"


@dataclass(frozen=True, kw_only=True)
class Emotion:
    """One emotion: (description, language characteristics, expression pattern) and its place.

    ``valence`` and ``arousal`` lie in [-1, 1] (Russell 1980, doi:10.1037/h0077714).
    """

    name: str
    description: str
    language: str
    pattern: str
    valence: float
    arousal: float
    material: Material

    @property
    def quadrant(self) -> str:
        """``positive-active``, ``positive-calm``, ``negative-active`` or ``negative-calm``."""
        return quadrant(self.valence, self.arousal)


@dataclass(frozen=True, kw_only=True)
class Trait:
    """One value of one dimension of personality, such as ``pragmatic`` of ``technical``."""

    slug: str
    dimension: str
    name: str
    description: str
    vocabulary: str
    material: Material


@dataclass(frozen=True, kw_only=True)
class Personality:
    """A profile (T, L, C): technical orientation, experience and style of working together."""

    technical: Trait
    experience: Trait
    collaboration: Trait

    @property
    def slug(self) -> str:
        """``technical.experience.collaboration``, as in variant ids."""
        return ".".join(trait.slug for trait in self.traits)

    @property
    def traits(self) -> tuple[Trait, Trait, Trait]:
        """The three traits, in the order of the slug."""
        return (self.technical, self.experience, self.collaboration)


@dataclass(frozen=True, kw_only=True)
class Strength:
    """What a rewriter may do at one distance; the fields are explained in strengths.yaml."""

    distance: float
    description: str
    lexical: float
    structure: float
    request: float
    frames: float
    links: float
    asides: float
    marks: float


@dataclass(frozen=True, kw_only=True)
class Context:
    """A circumstance of a task that weighs emotion against personality."""

    name: str
    description: str
    base: float
    step: float
    tilt: float
    signals: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Control:
    """The voice of a control arm: courtesy or paraphrase, without emotion or personality."""

    name: str
    description: str
    material: Material


@dataclass(frozen=True, kw_only=True, eq=False)
class Library:
    """Everything wordings are made from.

    ``digest`` is empty for the shipped library; else eight hex digits over what replaced it,
    which go into the rewriter's version.
    """

    emotions: Mapping[str, Emotion]
    traits: Mapping[str, Mapping[str, Trait]]
    strengths: Sequence[Strength]
    contexts: Mapping[str, Context]
    controls: Mapping[str, Control]
    lexicon: Lexicon
    instruction: Mapping[str, str]
    digest: str = ""

    @staticmethod
    def load(extra: Path | None = None) -> Library:
        """Return the shipped library, with the entries of the folder `extra` laid over it.

        Files in `extra` are named as the shipped ones; an entry replaces the one of its name or is
        added. A lexicon there replaces the shipped one.

        Raises
        ------
        VariantError
            With file and line, for anything that is not a template.
        """
        try:
            return _load(extra)
        except TaskError as error:  # how the shared YAML reader reports a place in a file
            raise VariantError(str(error)) from None

    def emotion(self, name: str) -> Emotion:
        """Return the emotion called `name`, or raise VariantError with the nearest one."""
        return _pick(name, self.emotions, "emotion")

    def personality(self, slug: str) -> Personality:
        """Return the profile for ``technical.experience.collaboration``."""
        parts = slug.split(".")
        if len(parts) != len(_DIMENSIONS):
            raise VariantError(
                f"personality {slug!r}: write it as technical.experience.collaboration, as in "
                f"{self.personalities()[0]!r}"
            )
        technical, experience, collaboration = (
            _pick(part, self.traits[dimension], f"{dimension} part of personality {slug!r}:")
            for part, dimension in zip(parts, _DIMENSIONS, strict=True)
        )
        return Personality(technical=technical, experience=experience, collaboration=collaboration)

    def personalities(self) -> tuple[str, ...]:
        """Return the slugs of all profiles; the shipped library has 4 x 2 x 4 = 32."""
        technical, experience, collaboration = (self.traits[name] for name in _DIMENSIONS)
        return tuple(f"{t}.{e}.{c}" for t in technical for e in experience for c in collaboration)

    def strength(self, distance: float) -> Strength:
        """Return the strength at `distance`, interpolated between the listed ones."""
        known = self.strengths
        above = next((s for s in known if s.distance >= distance), known[-1])
        below = next((s for s in reversed(known) if s.distance <= distance), known[0])
        span = above.distance - below.distance
        part = (distance - below.distance) / span if span > 0 else 0.0
        nearer = above if part >= 0.5 else below  # noqa: PLR2004 - the middle

        def between(name: str) -> float:
            low, high = getattr(below, name), getattr(above, name)
            return float(low + part * (high - low))

        numbers = ("lexical", "structure", "request", "frames", "links", "asides", "marks")
        return Strength(
            distance=distance,
            description=nearer.description,
            **{name: between(name) for name in numbers},
        )

    def weights(self, prompt: str) -> dict[str, float]:
        """Return each context's presence in `prompt`, and what follows for the two layers.

        ``emotion`` and ``personality`` add up to 1.
        """
        words = set(prompt.lower().replace(",", " ").replace(".", " ").split())
        presence = {
            context.name: min(1.0, context.base + context.step * len(words & set(context.signals)))
            for context in self.contexts.values()
        }
        tilt = sum(presence[name] * context.tilt for name, context in self.contexts.items())
        emotion = round(min(0.8, max(0.2, 0.5 + tilt)), 4)
        rounded = {name: round(value, 4) for name, value in presence.items()}
        return {**rounded, "emotion": emotion, "personality": round(1 - emotion, 4)}


def _pick(name: str, known: Mapping[str, _T], what: str) -> _T:
    try:
        return known[name]
    except KeyError:
        hint = nearest(name, known) or f"; there are {', '.join(known)}"
        raise VariantError(f"unknown {what} {name!r}{hint}") from None


@lru_cache(maxsize=8)
def _load(extra: Path | None) -> Library:
    folders = [templates_dir()]
    digest = ""
    if extra is not None:
        if not extra.is_dir():
            raise VariantError(f"promptse_library_dir {str(extra)!r} is not a folder")
        folders.append(extra)
        content = templates.contents(extra)
        digest = hashlib.sha256(content).hexdigest()[:8]
    emotions: dict[str, Emotion] = {}
    traits: dict[str, dict[str, Trait]] = {name: {} for name in _DIMENSIONS}
    strengths: dict[float, Strength] = {}
    contexts: dict[str, Context] = {}
    controls: dict[str, Control] = {}
    lexicon = Lexicon(())
    instruction: dict[str, str] = {}
    for folder in folders:
        for entry in templates.entries(folder, "emotions.yaml", templates.EMOTION):
            emotions[entry.name] = Emotion(
                name=entry.name, material=entry.material(), **entry.given()
            )
        for dimension in _DIMENSIONS:
            for entry in templates.entries(
                folder, "personalities.yaml", templates.TRAIT, under=dimension, within=_DIMENSIONS
            ):
                traits[dimension][entry.name] = Trait(
                    slug=entry.name,
                    dimension=dimension,
                    material=entry.material(),
                    **entry.given(),
                )
        for entry in templates.entries(folder, "strengths.yaml", templates.STRENGTH):
            distance = entry.number_key()
            strengths[distance] = Strength(distance=distance, **entry.given())
        for entry in templates.entries(folder, "contexts.yaml", templates.CONTEXT):
            contexts[entry.name] = Context(name=entry.name, **entry.given())
        for entry in templates.entries(folder, "controls.yaml", templates.CONTROL):
            controls[entry.name] = Control(
                name=entry.name, material=entry.material(), **entry.given()
            )
        lexicon = templates.lexicon(folder) or lexicon
        instruction |= templates.instruction(folder)
    return Library(
        emotions=emotions,
        traits=traits,
        strengths=tuple(strengths[distance] for distance in sorted(strengths)),
        contexts=contexts,
        controls=controls,
        lexicon=lexicon,
        instruction=instruction,
        digest=digest,
    )
