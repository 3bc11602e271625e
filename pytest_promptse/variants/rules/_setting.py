"""The setting of a message: what kind of text the prompt is, and what can stand beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_promptse.variants.rules import _layout

if TYPE_CHECKING:
    from pytest_promptse.variants._document import Document, Kind
    from pytest_promptse.variants._library import Language
    from pytest_promptse.variants.rules._layout import Block

Frame = Literal["chat", "mail", "prose", "stub", "tagged"]
"""What a prompt is: a message that greets in its first line, a message that greets in a line of its
own, any other text, source code to be completed, or a prompt with tags or a role for a model."""

_SHORT_WORDS, _SHORT_SENTENCES = 30, 2
_ONE_LINE: frozenset[Kind] = frozenset({"blank", "context", "specification"})
_HEADED: frozenset[Kind] = frozenset({"heading", "table"})
_OWN_LIFE = ("own-place", "personal")
_QUESTIONS = ("?", "\uff1f")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A prompt as the rules see it.

    Parameters
    ----------
    frame
        What the prompt is.
    facts
        What the prompt tells where the writer's words stand inside it.
    passed_on
        What it tells where it is set apart as somebody else's text.
    follows
        Whether the writer's words can stand after the prompt, in a paragraph of their own.
    listable
        Whether its sentences can be set as bullets.
    goes_on
        Whether the prompt goes on from its greeting, which nothing can separate from it.
    """

    frame: Frame
    facts: frozenset[str]
    passed_on: frozenset[str]
    follows: bool
    listable: bool
    goes_on: bool

    def is_passed_on_at(self, operation: str) -> bool:
        """Return whether the whole prompt is set apart as somebody else's text.

        A mail is from ``style`` on, since its writer would not introduce themselves to somebody
        whom they know, and at ``light`` if its body goes on from its greeting. A text that says
        where its writer works, or that its task is a private one, is at ``transform``, since the
        persona of the variant has another life.
        """
        if self.frame == "mail":
            return operation != "light" or self.goes_on
        return operation == "transform" and self._tells_place

    @property
    def _tells_place(self) -> bool:
        return self.frame == "prose" and not self.facts.isdisjoint(_OWN_LIFE)

    def blocks(self, document: Document) -> tuple[Block, ...]:
        """Return the ways in which the whole prompt can be set apart."""
        known = _layout.blocks(document)
        if self.frame == "mail" or self._tells_place:
            apart: tuple[Block, ...] = tuple(b for b in known if b in ("rule", "quote"))
            return apart or known
        if self.frame != "prose":
            return known[:1]
        if "own-voice" in self.facts:
            return tuple(block for block in known if block in ("paste", "rule"))
        return tuple(block for block in known if block != "bullets" or self.listable)


def read_setting(document: Document, language: Language) -> Setting:
    """Return the setting of a prompt in `language`."""
    sentences = [document.content(span) for span in document.sentences]
    told = language.coherence.told_by_prompt(sentences)
    if "traceback" in document.kinds:
        told |= {"trouble"}
    asks = any(sentence.endswith(_QUESTIONS) for sentence in sentences)
    frame = _frame(document)
    if _is_short(document):
        told |= {"short"}
        if frame == "prose" and len(document.sentences) == 1:
            told |= {"one-liner"}
    own = frame in ("chat", "mail") or (
        frame == "prose"
        and (asks or not told.isdisjoint(("first-person", "chatty", "one-liner")))
        and _first_kind(document) not in _HEADED
    )
    facts = (told if own else told - {"asks", *_OWN_LIFE}) | {frame}
    return Setting(
        frame=frame,
        facts=facts | {"own-voice"} if own else facts,
        passed_on=(told - {"asks", "one-liner", *_OWN_LIFE}) | {"passed-on"},
        follows=document.tail is not None
        and frame == "prose"
        and not (own and asks)
        and not document.ends_in_data,
        listable="first-person" not in told and not asks,
        goes_on=document.greets_in_its_sentence,
    )


def _frame(document: Document) -> Frame:
    if document.is_stub:
        return "stub"
    if document.addresses_a_model:
        return "tagged"
    if document.body > document.head:
        return "mail"
    return "chat" if document.greets_in_its_sentence else "prose"


def _first_kind(document: Document) -> Kind:
    return next((span.kind for span in document.spans if span.kind != "blank"), "blank")


def _is_short(document: Document) -> bool:
    return (
        document.kinds <= _ONE_LINE
        and len(document.sentences) <= _SHORT_SENTENCES
        and len(document.text.split()) <= _SHORT_WORDS
    )
