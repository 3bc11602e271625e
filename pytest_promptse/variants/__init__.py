"""Variants of a prompt: library, rewriters and the check that a variant keeps the task.

The public names are for authors of custom rewriters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_promptse.variants._rewriter import (
        Ask,
        Draft,
        Rewriter,
        RewriteRequest,
        WritingModel,
        ask,
    )
    from pytest_promptse.variants.invariance._finding import Finding

__all__ = [
    "Ask",
    "Draft",
    "Finding",
    "RewriteRequest",
    "Rewriter",
    "WritingModel",
    "ask",
]


def __getattr__(name: str) -> object:
    # The modules of this package import one another, so its names are imported when they are used.
    if name == "Finding":
        from pytest_promptse.variants.invariance._finding import Finding

        return Finding
    if name in __all__:
        from pytest_promptse.variants import _rewriter

        return getattr(_rewriter, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
