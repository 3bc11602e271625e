"""Whose voice a wording is in: the emotion on top, the personality underneath."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from pytest_promptse.variants.library import Emotion, Personality
    from pytest_promptse.variants.templates import Material

Kind = Literal["openers", "asks", "intros", "links", "asides", "before", "after"]
_ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")


@dataclass(frozen=True)
class Voice:
    """Layers of material with their weights, the one on top first.

    The top layer sets the punctuation; any layer may give a snippet or choose a word, as often
    as its weight says.
    """

    layers: tuple[Material, ...]
    weights: tuple[float, ...]

    @property
    def top(self) -> Material:
        """The layer on top: the emotion, or a control arm's only one."""
        return self.layers[0]

    def layer(self, rng: Random) -> Material:
        """Draw a layer by weight."""
        return rng.choices(self.layers, self.weights)[0]

    def snippets(self, kind: Kind, rng: Random, *, top: bool = False) -> list[str]:
        """Return the snippets of one layer in random order, from `top` if asked for."""
        layer = self.top if top else self.layer(rng)
        found = list(getattr(layer, kind))
        rng.shuffle(found)
        return found


def layered(emotion: Emotion, personality: Personality, weights: Mapping[str, float]) -> Voice:
    """Lay `emotion` over `personality`; `weights` as from ``Library.weights``."""
    traits = tuple(trait.material for trait in personality.traits)
    share = weights["personality"] / len(traits)
    return Voice((emotion.material, *traits), (weights["emotion"], *(share for _ in traits)))


def spoken(snippet: str, rng: Random) -> str:
    """Choose one of each ``{this|that}`` in `snippet`."""
    return _ALTERNATIVES.sub(lambda match: rng.choice(match[1].split("|")), snippet)
