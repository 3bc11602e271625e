"""Tags of words that no phrase of the library may contain, such as obligation or number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.tasks._plainyaml import YamlNode

KINDS = ("cue", "sentence", "closing", "clause", "introduction", "greeting", "ask", "intro")
"""The kinds of snippet."""

_ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_MARKUP = re.compile(r"[\d\"`\\<>\[\]#*_=@$%^~{}\u201c\u201d\u300c\u300d]")


@dataclass(frozen=True)
class Tag:
    """A group of forbidden phrases.

    ``name`` is the effect that they would have on the task, such as ``deontic``. `allowed` are the
    kinds of snippet that may contain them.
    """

    name: str
    find: re.Pattern[str]
    allowed: frozenset[str]


@dataclass(frozen=True)
class Lint:
    """Checks the phrases of one language against the tags of its ``language.yaml``.

    Each of ``tags`` is a group of forbidden phrases.
    """

    tags: tuple[Tag, ...]

    @classmethod
    def of(cls, entry: YamlNode) -> Lint:
        """Read the tags. Raise TaskError with file and line if they are invalid."""
        tags = []
        for name, place in entry.fields("forbidden").items():
            fields = place.fields(f"tag {name!r}", ("phrases", "allowed", "whole_words"))
            if "phrases" not in fields:
                raise place.error(f"tag {name!r} lacks 'phrases'")
            phrases = [item.text("a phrase") for item in fields["phrases"].items("phrases")]
            whole = "whole_words" not in fields or bool(fields["whole_words"].value())
            edge = (r"(?<![\w'\u2019-])", r"(?![\w-])") if whole else ("", "")
            try:
                find = re.compile(f"{edge[0]}(?:{'|'.join(phrases)}){edge[1]}", re.IGNORECASE)
            except re.error as error:
                raise place.error(f"tag {name!r}: not a regular expression: {error}") from None
            allowed = (
                frozenset(item.text("a kind") for item in fields["allowed"].items("allowed"))
                if "allowed" in fields
                else frozenset()
            )
            if unknown := allowed - set(KINDS):
                raise place.error(
                    f"tag {name!r} allows {min(unknown)!r}, which is not a kind of phrase"
                )
            tags.append(Tag(name, find, allowed))
        return cls(tuple(tags))

    def problem(self, snippet: str, kind: str) -> str | None:
        """Return the reason why `snippet` cannot be used, or None if it can.

        Every alternative of ``{this|that}`` is checked.
        """
        for text in expansions(snippet):
            if mark := _MARKUP.search(text):
                return f"{mark[0]!r} is a digit, a quotation mark or code"
            for tag in self.tags:
                if kind not in tag.allowed and (phrase := tag.find.search(text)):
                    return f"{phrase[0]!r} could be read as part of the task ({tag.name})"
        return None


def expansions(snippet: str) -> Iterator[str]:
    """Yield texts of `snippet` in which each alternative occurs at least once."""
    most = max((group.count("|") + 1 for group in _ALTERNATIVES.findall(snippet)), default=1)
    for number in range(most):
        yield _ALTERNATIVES.sub(
            lambda match, n=number: (parts := match[1].split("|"))[n % len(parts)],  # type: ignore[misc]
            snippet,
        )
