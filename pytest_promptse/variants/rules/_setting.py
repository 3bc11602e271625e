"""The setting of a message: the kind of text that the prompt is, and the possible additions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_promptse.variants._distance import words
from pytest_promptse.variants._lines import PROSE
from pytest_promptse.variants.rules import _layout

if TYPE_CHECKING:
    from pytest_promptse.variants._document import Document
    from pytest_promptse.variants._library import Language
    from pytest_promptse.variants._lines import Kind
    from pytest_promptse.variants.rules._layout import Block

Frame = Literal["chat", "mail", "prose", "stub", "tagged"]
"""The kind of a prompt: a message with a greeting in its first line, an e-mail, any other text,
source code to complete, or a prompt with tags or a role for a model. An e-mail has a greeting in a
separate line, or header lines.
"""

_SHORT_WORDS, _SHORT_SENTENCES = 30, 2
_WORDED: frozenset[Kind] = PROSE | {"greeting", "heading"}
_SIGNS_OF_HEADINGS = "#*= "
_TRACEBACK = "Traceback (most recent call last)"
_FEWEST_WORDS_OF_A_BULLET = 4
_ONE_LINE: frozenset[Kind] = frozenset({"blank", "context", "specification"})
_HEADED: frozenset[Kind] = frozenset({"heading", "table"})
_OWN_LIFE = ("own-place", "personal")
_OF_OTHERS = frozenset(
    """
    acquainted addressed asks beginner early formal one-liner past-noon pleads to-many veteran
    """.split()  # noqa: SIM905 - a list of words
)
"""Facts about the writer and the reader of a text, who are other people if it is passed on."""
_OF_WRITER = (
    *("beginner", "fresh", "leisure", "outage", "pleased", "pressing", "unfamiliar", "uneasy"),
    *("veteran", "worn-out"),
)
"""Facts that only the writer of a message says of themselves and their day."""
_TO_ACQUAINTANCES = ("acquainted", "addressed", "introduced", "talks", "to-many")
"""Facts of a message whose reader is named, or knows from it or from before who its writer is.

A writer who speaks of themselves has said what they want to say of who they are."""
_INTRODUCES = ("beginner", "says-who", "unfamiliar", "veteran")
"""Facts by which a message says who its writer is."""
_QUESTIONS = ("?", "\uff1f")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The properties of a prompt that the rules use.

    Parameters
    ----------
    frame
        The kind of the prompt.
    facts
        The facts that the prompt asserts if the writer's words are inside it.
    passed_on
        The facts that it asserts if it is set apart as somebody else's text.
    follows
        True if the writer's words can follow the prompt in a separate paragraph.
    listable
        True if its sentences can be written as bullets.
    continues
        True if its body continues from its greeting, so that nothing can separate the two.
    """

    frame: Frame
    facts: frozenset[str]
    passed_on: frozenset[str]
    follows: bool
    listable: bool
    continues: bool

    def is_passed_on_at(self, operation: str) -> bool:
        """Return whether the whole prompt is set apart as somebody else's text.

        An e-mail is set apart from ``style`` on, since its writer would not introduce themselves
        to somebody whom they know, and at ``light`` if its body continues from its greeting or if
        it is a formal letter, which has no room for a mood. A user story is set apart from
        ``style`` on, since the role in it is not its writer's.
        """
        if self.frame == "mail":
            formal = "formal-letter" in self.facts
            return operation != "light" or self.continues or formal
        return self._is_story and operation != "light"

    @property
    def is_to_acquaintance(self) -> bool:
        """True if the prompt is a message of the writer's own to people whom they know.

        It is also True for a private letter whose writer says who they are.
        """
        if self.frame == "mail":
            return "introduced" in self.facts
        return (
            self.frame in ("chat", "prose")
            and "own-voice" in self.facts
            and not self.facts.isdisjoint(_TO_ACQUAINTANCES)
        )

    @property
    def is_announced(self) -> bool:
        """True if the writer announces the prompt at ``transform``, since it is not their own."""
        if self.is_passed_on_at("transform"):
            return True
        return self.frame == "tagged" or (self.frame == "prose" and "own-voice" not in self.facts)

    @property
    def _is_story(self) -> bool:
        return self.frame == "prose" and "story" in self.facts

    def blocks(self, document: Document) -> tuple[Block, ...]:
        """Return the possible ways to set the whole prompt apart."""
        possible = _layout.blocks(document)
        if self.is_passed_on_at("transform"):
            apart: tuple[Block, ...] = tuple(b for b in possible if b in ("rule", "quote"))
            return apart or possible
        if not self.is_announced or self.frame != "prose":
            return possible[:1]
        return tuple(block for block in possible if block != "bullets" or self.listable)


def read_setting(document: Document, language: Language) -> Setting:
    """Return the setting of a prompt in `language`.

    The setting has the frame of the message, such as ``mail``, and the facts that its sentences
    assert.
    """
    sentences = [document.content(span) for span in document.sentences]
    asserted = _asserted(document, language)
    asks = any(sentence.endswith(_QUESTIONS) for sentence in sentences)
    frame = _frame(document, asserted)
    if "short" in asserted and frame == "prose" and _is_one_line(document, language):
        asserted |= {"one-liner"}
    in_own_voice = frame in ("chat", "mail") or (
        frame == "prose"
        and asserted.isdisjoint(("story", "numbered"))
        and (asks or not asserted.isdisjoint(("first-person", "chatty", "one-liner", *_OF_WRITER)))
        and (_first_kind(document) not in _HEADED or "chatty" in asserted)
    )
    story = frame == "prose" and "story" in asserted
    # A letter of a student or about somebody's own life does not come from a company.
    private = not asserted.isdisjoint((*_OWN_LIFE, "studies"))
    if story or (frame == "mail" and not private):
        asserted |= {"company"}
    own_matter = in_own_voice and not asserted.isdisjoint(("company", "trouble"))
    if frame in ("stub", "tagged") or story or own_matter:
        asserted -= {"exercise"}
    if "numbered" in asserted and frame == "prose":
        asserted |= {"exercise", "passed-on"}
    relation = _relation(document, asserted, language, frame)
    if in_own_voice:
        facts = asserted | {frame, "own-voice"} | relation
    else:
        facts = (asserted - {"asks", *_OWN_LIFE}) | {frame}
        if frame == "prose" and asserted.isdisjoint(("company", "exercise")):
            facts |= {"impersonal"}
    return Setting(
        frame=frame,
        facts=facts,
        passed_on=asserted.difference(_OF_OTHERS, _OWN_LIFE)
        | relation
        | ({"passed-on", "company", "letter"} if frame == "mail" else {"passed-on"}),
        follows=document.tail is not None
        and frame == "prose"
        and not (in_own_voice and asks)
        and not document.ends_in_data,
        listable=asserted.isdisjoint(("first-person", "one-speech", "spontaneous"))
        and not asks
        and all(len(words(sentence)) >= _FEWEST_WORDS_OF_A_BULLET for sentence in sentences),
        continues=document.greets_in_its_sentence or document.has_mail_headers,
    )


def _asserted(document: Document, language: Language) -> frozenset[str]:
    """Return the facts that the words of a prompt assert, and those of its form."""
    asserted = language.coherence.facts_of_prompt(
        document.content(span).strip(_SIGNS_OF_HEADINGS)
        for span in document.spans
        if span.kind in _WORDED
    )
    if "traceback" in document.kinds or _TRACEBACK in document.text:
        asserted |= {"trouble"}
    if _is_short(document, language):
        asserted |= {"short"}
    if document.gives_a_role:
        asserted |= {"role-prompt"}
    return asserted


def _relation(
    document: Document, asserted: frozenset[str], language: Language, frame: Frame
) -> frozenset[str]:
    """Return what a message tells its reader of its writer, and whether it calls the reader."""
    relation = set[str]()
    # With blanks, every e-mail is passed on by somebody else.
    is_own = not language.blank or frame != "mail"
    if is_own and not asserted.isdisjoint(_INTRODUCES):
        relation.add("introduced")
    if document.salutation is not None:
        relation.add("called")
    return frozenset(relation)


def _frame(document: Document, asserted: frozenset[str]) -> Frame:
    if document.is_stub:
        return "stub"
    if document.addresses_a_model:
        return "tagged"
    if document.body > document.head or document.has_mail_headers:
        return "mail"
    if not document.greets_in_its_sentence:
        return "prose"
    return "mail" if "formal-letter" in asserted and "closing" in document.kinds else "chat"


def _first_kind(document: Document) -> Kind:
    return next((span.kind for span in document.spans if span.kind != "blank"), "blank")


def _is_short(document: Document, language: Language) -> bool:
    return (
        document.kinds <= _ONE_LINE
        and len(document.sentences) <= _SHORT_SENTENCES
        and _length(document, language) <= _SHORT_WORDS
    )


def _length(document: Document, language: Language) -> float:
    if language.blank:
        return len(document.text.split())
    return len(words(document.text)) / language.words_each


def _is_one_line(document: Document, language: Language) -> bool:
    """Return whether a text is one sentence, which in a language without blanks is one line."""
    is_line = bool(language.blank) or "\n" not in document.text.strip()
    return is_line and len(document.sentences) == 1
