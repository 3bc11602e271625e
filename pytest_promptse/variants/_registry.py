"""The rewriters by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import VariantError
from pytest_promptse.variants._controls import (
    CaseControl,
    OriginalControl,
    TyposControl,
    WhitespaceControl,
)
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._llm import LlmRewriter
from pytest_promptse.variants._rewriter import Rewriter
from pytest_promptse.variants.rules._rewriter import RulesRewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library

_OFFLINE: Mapping[str, Callable[[Library], Rewriter]] = {
    "rules": lambda library: RulesRewriter(library=library),
    "original": lambda _: OriginalControl(),
    "typos": lambda _: TyposControl(),
    "case": lambda _: CaseControl(),
    "whitespace": lambda _: WhitespaceControl(),
}
REWRITERS = (*_OFFLINE, "polite", "neutral")
"""The rewriters with a name of one word; the other kind is ``llm:BACKEND:NAME``."""


def create_rewriter(
    spec: str,
    *,
    backend: Callable[[str], Backend],
    library: Library,
    offered: object = None,
    also: Sequence[str] = (),
) -> Rewriter:
    """Return the rewriter that `spec` names.

    Parameters
    ----------
    spec
        One of ``REWRITERS``, or ``llm:BACKEND:NAME``.
    backend
        Returns the backend of a ``BACKEND:NAME``.
    library
        The library of emotions and personas.
    offered
        The rewriter of another package for `spec`, which comes first, or None.
    also
        Names of other rewriters, for the message of the error.

    Raises
    ------
    VariantError
        If there is no such rewriter, or `offered` is none.
    """
    if isinstance(offered, Rewriter):
        return offered
    if offered is not None:
        raise VariantError(
            f"rewriter {spec!r}: a hook returned {type(offered).__name__}, which is not a "
            "rewriter; derive the class from pytest_promptse.variants.Rewriter"
        )
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
    """Return the offline rewriter that `spec` names.

    Parameters
    ----------
    spec
        One of ``REWRITERS``, or another control condition of the library.
    library
        The library of emotions and personas; the shipped one by default.
    also
        As in `create_rewriter`.

    Raises
    ------
    VariantError
        If there is no such rewriter.
    """
    library = library or load_library()
    if spec in _OFFLINE:
        return _OFFLINE[spec](library)
    if any(spec in language.controls for language in library.languages.values()):
        return RulesRewriter(library=library, control=spec)
    names = [*REWRITERS, *also]
    hint = nearest(spec, names) or f"; there are {', '.join(names)}, llm:BACKEND:NAME"
    raise VariantError(f"unknown rewriter {spec!r}{hint}")
