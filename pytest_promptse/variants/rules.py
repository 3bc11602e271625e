"""The offline rewriter: a grammar over the template library, steered into each distance's band."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from pytest_promptse.models.base import derive_seed
from pytest_promptse.variants.distance import words
from pytest_promptse.variants.paragraphs import read_prompt
from pytest_promptse.variants.spans import mask
from pytest_promptse.variants.stubs import interface_names
from pytest_promptse.variants.voice import Voice, layered
from pytest_promptse.variants.wording import Source, Wording

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pytest_promptse.variants.invariance import Finding
    from pytest_promptse.variants.library import Library
    from pytest_promptse.variants.rewriter import RewriteRequest


@dataclass(frozen=True, kw_only=True)
class RulesRewriter:
    """Speaks each task in the voice it is asked for.

    Offline, without cost, and the same on every machine: each candidate follows from the
    request's seed and the number of the try alone.
    """

    library: Library
    name: str = "rules"
    waives: frozenset[str] = frozenset()
    voiced: bool = True

    @property
    def version(self) -> str:
        """``1`` for the shipped library, ``1+digest`` for one with entries of a team's own."""
        return "1" + (f"+{self.library.digest}" if self.library.digest else "")

    def candidates(self, request: RewriteRequest) -> Generator[str, Sequence[Finding], None]:
        """Yield wordings without end, each with its own random numbers."""
        if request.emotion is not None and request.personality is not None:
            voice = layered(request.emotion, request.personality, request.weights)
        else:
            voice = Voice((self.library.controls[self.name].material,), (1.0,))
        source = _source(request.task.prompt, request.task.entry_point, self.library)
        strength = self.library.strength(request.distance)
        number = 0
        while True:
            rng = Random(derive_seed(request.seed, "candidate", number))  # noqa: S311 - no secret
            yield Wording(source, voice, strength, request.band, rng).render()
            number += 1


@lru_cache(maxsize=32)
def _source(prompt: str, entry_point: str, library: Library) -> Source:
    document = read_prompt(prompt, entry_point)
    names = interface_names(prompt, entry_point)
    masked = tuple(mask(paragraph.text, names) for paragraph in document.paragraphs)
    sites = tuple(
        site for n, part in enumerate(masked) for site in library.lexicon.sites(part.text, n)
    )
    plain = "\n".join(part.text for part in masked)
    return Source(document, masked, sites, tuple(words(plain)))
