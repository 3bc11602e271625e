"""The settings that choose among the entries of the library, checked with their places.

Sessions whose settings are checked before any item import this module, so it imports what makes
variants only when that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._option import placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.variants._generate import Selection
    from pytest_promptse.variants._library import Library

CHOICES = ("distances", "emotions", "exclude_emotions", "personalities")
"""Settings that choose among the entries of the library."""


def check_choices(
    settings: Settings, library: Library, place_of: Callable[[str], str | None]
) -> None:
    """Raise SettingsError for a choice of variants that no task can have.

    `place_of` returns where a setting was given, with which the message begins, or None if it was
    not given there: it is then not checked.
    """
    from pytest_promptse.variants._generate import Selection  # noqa: PLC0415

    for name in CHOICES:
        place = place_of(name)
        # Frozen variants may have any distances.
        if place is None or (name == "distances" and settings.variants_dir is not None):
            continue
        placed(place, Selection(library=library, **{name: getattr(settings, name)}).check)


def selection_of(settings: Settings, library: Library, *, within: str = "") -> Selection:
    """Return the variants that settings request. `within` distinguishes the draws of a template."""
    from pytest_promptse.variants._generate import Selection  # noqa: PLC0415

    return Selection(
        distances=settings.distances,
        per_distance=settings.variants,
        emotions=settings.emotions,
        exclude_emotions=settings.exclude_emotions,
        personalities=settings.personalities,
        seed=settings.seed,
        library=library,
        within=within,
    )
