"""Frozen variants as one text to edit, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_promptse.errors import VariantError
from pytest_promptse.variants._distance import compare
from pytest_promptse.variants._generate import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.variants._variant import Variant

__all__ = ["EDITED", "edited", "from_text", "to_text"]

EDITED = "hand"
"""The rewriter of a variant with an emotion whose text was edited."""

_HEAD = re.compile(r"^=====\[ (?P<name>.+) \]=====\n", re.MULTILINE)
_NOTE = """\
Edit the texts between the lines of equals signs, and leave these lines as they are. The sentences
of the original stay word for word; save the file and close the editor.
"""


def to_text(prompt: str, variants: Sequence[Variant]) -> str:
    """Return the variants of a task as one text, with the original for comparison."""
    parts = [("original", prompt), *((variant.id, variant.text) for variant in variants)]
    return _NOTE + "".join(f"\n=====[ {name} ]=====\n{text}\n" for name, text in parts)


def from_text(text: str, names: Sequence[str]) -> dict[str, str]:
    """Return the texts in the result of an editor by the ids of their variants.

    Parameters
    ----------
    text
        The text that `to_text` returned, with edits.
    names
        The ids of the variants.

    Raises
    ------
    VariantError
        If a line of equals signs is missing or was changed.
    """
    heads = list(_HEAD.finditer(text))
    expected = ["original", *names]
    if [head["name"] for head in heads] != expected:
        raise VariantError(
            f"the lines of equals signs must name {', '.join(expected)} in this order; nothing "
            "was changed"
        )
    ends = [*(head.start() - len("\n") for head in heads[1:]), len(text)]
    texts = {
        head["name"]: text[head.end() : end].removesuffix("\n")
        for head, end in zip(heads, ends, strict=True)
    }
    del texts["original"]
    return texts


def edited(
    prompt: str, variants: Sequence[Variant], texts: Mapping[str, str]
) -> tuple[Variant, ...]:
    """Return the variants with their new `texts`, measured again. Equal texts change nothing."""
    return tuple(_with_text(prompt, variant, texts[variant.id]) for variant in variants)


def _with_text(prompt: str, variant: Variant, text: str) -> Variant:
    # Some editors add a line break at the end of a file.
    if text.rstrip("\n") == variant.text.rstrip("\n"):
        return variant
    return replace(
        variant,
        text=text,
        cues={trait: cue for trait, cue in variant.cues.items() if cue in text},
        # The id of a variant without an emotion has the name of its rewriter.
        rewriter=EDITED if variant.emotion else variant.rewriter,
        **measured(compare(prompt, text)),
    )
