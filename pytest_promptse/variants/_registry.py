"""The rewriters by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import VariantError
from pytest_promptse.variants._controls import (
    CASE_ALONE,
    EditControl,
    OriginalControl,
    case,
    typos,
    whitespace,
)
from pytest_promptse.variants._library import Library
from pytest_promptse.variants._llm import LlmRewriter
from pytest_promptse.variants.rules._rewriter import RulesRewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._rewriter import Rewriter

REWRITERS = ("rules", "original", "typos", "case", "whitespace", "polite", "neutral")
"""The rewriters with a name of one word; the other kind is ``llm:BACKEND:NAME``."""


def create_rewriter(
    spec: str, *, backend: Callable[[str], Backend], library: Library, also: Sequence[str] = ()
) -> Rewriter | LlmRewriter:
    """Return the rewriter that `spec` names, or the model that writes the variants.

    Parameters
    ----------
    spec
        One of ``REWRITERS``, or ``llm:BACKEND:NAME``.
    backend
        Returns the backend of a ``BACKEND:NAME``.
    library
        The library of emotions and personas.
    also
        Names of other rewriters, for the message of the error.

    Raises
    ------
    VariantError
        If there is no such rewriter.
    """
    kind, _, model = spec.partition(":")
    if kind != "llm":
        return rewriter_named(spec, library=library, also=also)
    if not model:
        raise VariantError(
            f"rewriter {spec!r}: add the model: llm:BACKEND:NAME, as in llm:openai:gpt-4.1"
        )
    return LlmRewriter(backend(model), library=library)


def rewriter_named(
    spec: str, *, library: Library | None = None, also: Sequence[str] = ()
) -> Rewriter:
    """Return the rewriter that `spec` names.

    Parameters
    ----------
    spec
        One of ``REWRITERS``.
    library
        The library of emotions and personas; the shipped one by default.
    also
        As in `create_rewriter`.

    Raises
    ------
    VariantError
        If there is no such rewriter.
    """
    library = library or Library.load()
    if spec == "rules":
        return RulesRewriter(library=library)
    if spec in {name for known in library.languages.values() for name in known.controls}:
        return RulesRewriter(library=library, control=spec)
    edits: dict[str, Rewriter] = {
        "original": OriginalControl(),
        "typos": EditControl(name="typos", edit=typos, waives=frozenset()),
        "case": EditControl(name="case", edit=case, waives=CASE_ALONE),
        "whitespace": EditControl(name="whitespace", edit=whitespace, waives=CASE_ALONE),
    }
    if spec not in edits:
        known = [*REWRITERS, *also]
        hint = nearest(spec, known) or f"; there are {', '.join(known)}, llm:BACKEND:NAME"
        raise VariantError(f"unknown rewriter {spec!r}{hint}")
    return edits[spec]
