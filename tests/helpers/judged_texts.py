"""Prompts with real changes and faithful paraphrases, for tests of the variants' judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A prompt and another text, with the correct decision of the judge.

    ``topic`` is the kind of prompt, and ``kind`` that of the change or paraphrase. ``change`` is
    True if the text makes another request.
    """

    topic: str
    prompt: str
    kind: str
    edit: str
    text: str
    change: bool


def cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file. Its first lines explain the notation of edits."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        for name, change in (("changes", True), ("paraphrases", False)):
            for item in entry[name]:
                ((kind, edit),) = item.items()
                text = edited(entry["prompt"], edit)
                if text == entry["prompt"]:
                    raise ValueError(f"{path}: {edit!r} changes nothing")
                yield Case(entry["kind"], entry["prompt"], kind, edit, text, change)


def edited(prompt: str, edit: str) -> str:
    """Return `prompt` with `edit` applied."""
    if edit.startswith("= "):
        return edit[2:]
    text = prompt
    for part in edit.split(" ;; "):
        if part.startswith("^ "):
            text = f"{part[2:]}\n\n{text}"
        elif part.startswith("$ "):
            text = f"{text.rstrip()}\n\n{part[2:]}\n"
        else:
            old, arrow, new = part.partition(" => ")
            if not arrow or old not in text:
                raise ValueError(f"{part!r} does not fit the prompt {prompt!r}")
            text = text.replace(old, new, 1)
    return text
