"""Word-level difference between two texts."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_WORD = re.compile(r"\s*\S+|\s+$")


class DiffPart(NamedTuple):
    """A run of words that both texts share (``same``) or that only one has.

    ``gone`` words are in the first text only, ``new`` words in the second text only.
    """

    kind: Literal["same", "gone", "new"]
    text: str


def word_diff(before: str, after: str) -> tuple[DiffPart, ...]:
    """Compare two texts word by word.

    Words that differ only in the white space before them count as the same.

    Returns
    -------
    tuple of DiffPart
        In reading order. Without the ``gone`` parts, the texts concatenate to `after`.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    matcher = SequenceMatcher(
        None, [word.strip() for word in old], [word.strip() for word in new], autojunk=False
    )
    parts = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        gone, now = "".join(old[i1:i2]).strip(), "".join(new[j1:j2])
        if tag == "equal":
            parts.append(DiffPart("same", now))
            continue
        space = now[: len(now) - len(now.lstrip())]
        parts += [
            DiffPart("same", space),
            DiffPart("gone", gone),
            DiffPart("new", now[len(space) :]),
        ]
    return tuple(part for part in parts if part.text)
