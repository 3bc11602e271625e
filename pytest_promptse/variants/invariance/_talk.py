"""Separate a writer's talk about themselves from requests."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_promptse.variants.invariance._reading import Token
    from pytest_promptse.variants.invariance._vocabulary import Vocabulary

__all__ = ["are_names", "is_address", "is_confession", "is_own_talk", "is_remark", "objection"]

_TIMES = frozenset(
    """am pm o'clock clock hour hours minute minutes day days week weeks month months year years
    night nights morning mornings evening afternoon midnight noon today monday tuesday wednesday
    thursday friday saturday sunday coffee coffees cup cups time times people meeting meetings
    call calls since awake slept half past quarter""".split()  # noqa: SIM905 - a list of words
)
_MOST_NAMES = 2
_MODALS = frozenset({"could", "can", "would", "will", "might", "may"})
_ADVERBS = frozenset(
    {"please", "also", "and", "then", "just", "so", "but", "kindly", "always", "never", "do", "not"}
)
_DETERMINERS = frozenset({"the", "a", "an", "all", "every", "each", "any", "both"})
_NO_VERBS = frozenset(
    """what such not quite half love hate loving hating is was were are it in on at by for to of
    from with after before during through all only just here there and but or so as if when while
    than about over under same forgive excuse pardon wish thank bless blame picture imagine took had
    got
    made went felt slept spent lost left woke came i we you been being bit like""".split()  # noqa: SIM905 - a list of words
)
_LONG_SPELLING = re.compile(r"([a-z])\1{2,}")
"""A letter three times or more, as in "thank youuu". No English word has that."""
_JOINERS = frozenset(
    """and or so because as but since otherwise then too also even just though although otherwise
    else that""".split()  # noqa: SIM905 - a list of words
)
"""Words before the subject of a clause, as in "or they complain"."""
_OTHERS = frozenset({"they", "she", "he", "it", "that", "this", "which", "those", "these"})
"""Pronouns that are the subject of a remark, as in "she insists"."""
_STATES = frozenset(
    {"am", "was", "feel", "felt", "have", "had", "know", "knew", "hate", "love", "like", "got"}
)
_DEMANDS = frozenset({"obligation", "permission", "restriction", "comparison", "order"})
"""Rules of words that make the reason for a requirement a requirement, too."""
_FEELINGS_OF_PRONOUNS = frozenset({"it", "this", "that", "them", "me", "us", "those", "you"})
_LIKING = frozenset({"love", "loves", "hate", "hates", "loving", "hating"})
_AUXILIARIES = frozenset({"is", "are", "was", "were", "will", "would"})
_USING = frozenset(
    """get gets receive receives see sees use uses need needs want wants approve approves read reads
    edit edits open opens change changes choose chooses view views access has have is are can may
    enter enters pay pays sign signs confirm confirms""".split()  # noqa: SIM905 - a list of words
)
"""Words of what people do with a program, as in "the auditors receive a report"."""
_DEPARTMENTS = frozenset({"support", "product", "design", "test"})
"""Words of the lists that name people before an auxiliary, as in "support is yelling"."""
_PREDICATES = frozenset({"is", "are", "was", "keeps", "has", "wants", "says", "said", "will"})
_PEOPLE = frozenset(
    """others colleague colleagues boss bosses manager managers team teammate teammates coworker
    coworkers everyone everybody nobody someone somebody people friend friends""".split()  # noqa: SIM905 - a list of words
)
_FAVOURS = frozenset(
    """help do take have look spare save bear manage imagine believe tell hear see guess feel know
    understand start get sort give lend pick make""".split()  # noqa: SIM905 - a list of words
)


def is_own_talk(words: Sequence[str], tokens: Sequence[Token], vocabulary: Vocabulary) -> bool:
    """Return whether a clause is a greeting, thanks, or a statement of writers about themselves.

    This is stricter than an empty ``objection``, which any sentence has that is not about programs.
    """
    if is_address(words, tokens, vocabulary):
        return True
    own = any(word in vocabulary.first_person for word in words)
    return own and not objection(words, tokens, vocabulary)


def is_confession(words: Sequence[str]) -> bool:
    """Return whether a clause starts with what the writer is, has or feels, as in "I am sad".

    `words` are those of the clause in lower case.
    """
    place = 0
    while place < len(words) and words[place] in _JOINERS:
        place += 1
    return words[place : place + 1] == ["i"] and bool(_STATES & set(words[place + 1 : place + 3]))


def is_remark(words: Sequence[str], tokens: Sequence[Token], vocabulary: Vocabulary) -> bool:
    """Return whether a clause beside a requirement only comments on it, as in "(they insisted)".

    A remark begins with a phrase of the list ``remarks``, gives a reason, or tells what other
    people feel, with a word of the list ``feelings``. It names nothing of programs, and it holds
    no word of duty, limit or order. `words` are those of the clause in lower case, and `tokens`
    the same clause as tokens. Whether it names something of the task is left to the caller.
    """
    start, end = _without_talk(words, vocabulary.talk)
    words = words[start:end]
    if not words or words[0] in ("if", "when", "where"):
        return False
    opened = any(tuple(words[:size]) in vocabulary.remarks for size in range(1, len(words) + 1))
    place = 0
    while place < len(words) - 1 and words[place] in _JOINERS and words[place] != "that":
        place += 1
    about = opened and not _PEOPLE.isdisjoint(words)
    if objection(words[place:], tokens, vocabulary, about_people=about):
        return False
    demands = any(t.rule in _DEMANDS and t.text.lower() not in _JOINERS for t in tokens)
    if opened and not (demands and words[0] in _OTHERS):
        return True
    return not demands and _is_about_feelings(words, words[place : place + 2], vocabulary)


def _is_about_feelings(
    words: Sequence[str], subject: Sequence[str], vocabulary: Vocabulary
) -> bool:
    """Return whether a clause gives a reason, or tells of people or feelings.

    `subject` has the first of its `words` that join nothing.
    """
    if words[0] == "because":
        return len(words) > _MOST_NAMES
    behind = words[words.index(subject[0]) + 1 :] if subject else []
    if not vocabulary.persons.isdisjoint(subject) and _USING.isdisjoint(behind):
        return bool(behind)
    own = any(word in vocabulary.first_person for word in words)
    known = own or not _PEOPLE.isdisjoint(subject) or subject[0] in _OTHERS
    told = not _AUXILIARIES.isdisjoint(behind)
    return not vocabulary.feelings.isdisjoint(words) and (known or told)


def is_address(words: Sequence[str], tokens: Sequence[Token], vocabulary: Vocabulary) -> bool:
    """Return whether a clause is only a greeting or thanks, perhaps with the names of people.

    `words` are those of the clause in lower case, and `tokens` the same clause as tokens.
    """
    words = [_LONG_SPELLING.sub(r"\1", word) for word in words]
    start, end = _without_talk(words, vocabulary.talk)
    return start == end or (end - start < len(words) and are_names(tokens, words[start:end]))


def objection(
    words: Sequence[str],
    tokens: Sequence[Token],
    vocabulary: Vocabulary,
    *,
    about_people: bool = False,
) -> str:
    """Return the reason why a clause or sentence is a request. Empty for the writer's own talk.

    Parameters
    ----------
    words
        All its words in lower case.
    tokens
        The same words as tokens.
    vocabulary
        The lists of its language.
    about_people
        True if it is known to tell of people, so that it may name things of programs.
    """
    if is_address(words, tokens, vocabulary):
        return ""
    start, end = _without_talk(words, vocabulary.talk)
    words = words[start:end]
    own = about_people or any(word in vocabulary.first_person for word in words)
    change = _phrase_in(words, vocabulary.cues)
    hedge = _phrase_in(words, vocabulary.hedges)
    person = own or not _PEOPLE.isdisjoint(words)
    if hedge and not (person and len(words) > len(hedge.split()) + 1):
        change = change or hedge
    if change:
        return f"{change!r} may change the request"
    words = _without_departments(words)
    wishes = own and not vocabulary.wishes.isdisjoint(_without_feelings(words))
    counted = not _TIMES.isdisjoint(words) or (own and not wishes)
    for token in tokens:
        if token.kind != "word" and not (token.kind == "number" and counted):
            return f"{token.text!r} is not the original's"
    if (found := _phrase_in(words, vocabulary.program)) and (wishes or not own):
        return f"{found!r} speaks of the program"
    return _instruction(words, vocabulary.verbs)


def _without_feelings(words: Sequence[str]) -> list[str]:
    """Return `words` without "love" and "hate" before a pronoun, which ask for nothing."""
    return [
        word
        for word, after in pairwise([*words, ""])
        if word not in _LIKING or after not in _FEELINGS_OF_PRONOUNS
    ]


def _without_departments(words: Sequence[str]) -> list[str]:
    """Return `words` without the names of departments that are subjects, as in "support is"."""
    return [
        word
        for word, after in pairwise([*words, ""])
        if word not in _DEPARTMENTS or after not in _PREDICATES
    ]


def are_names(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    """Return whether `words`, a part of the words of `tokens`, can be names of people.

    They are in lower case. Names are few words that have a capital letter in `tokens`.
    """
    capital = {
        token.text.lower() for token in tokens if token.kind == "word" and token.text[0].isupper()
    }
    return len(words) <= _MOST_NAMES and set(words) <= capital


def _instruction(words: Sequence[str], verbs: Collection[str]) -> str:
    place = 0
    while place < len(words) and words[place] in _ADVERBS:
        place += 1
    if place < len(words) and words[place] in verbs:
        return f"{words[place]!r} is an instruction"
    unusual = words[0] not in _NO_VERBS and not words[0].endswith("ing")
    span = words[2:3] and words[2] in _TIMES
    if tuple(words[1:2]) and words[1] in _DETERMINERS and unusual and not span:
        return f"{words[0]!r} is an instruction"
    for start, (modal, subject) in enumerate(pairwise(words)):
        if modal in _MODALS and subject == "you":
            rest = (word for word in words[start + 2 : start + 5] if word not in _ADVERBS)
            verb = next(rest, "")
            if verb in verbs and verb not in _FAVOURS:
                return f"{verb!r} is a request"
    return ""


def _without_talk(words: Sequence[str], talk: Collection[tuple[str, ...]]) -> tuple[int, int]:
    """Return the range of words that remains without phrases of talk at both ends.

    `talk` has the phrases as tuples of words. The range is (start, end), with `end` exclusive; it
    is empty if nothing remains.
    """
    longest = max(map(len, talk), default=0)

    def covered(start: int, end: int, *, from_end: bool) -> int:
        for length in range(min(longest, end - start), 0, -1):
            part = words[end - length : end] if from_end else words[start : start + length]
            if tuple(part) in talk:
                return length
        return 0

    start, end = 0, len(words)
    while start < end and (length := covered(start, end, from_end=False)):
        start += length
    while start < end and (length := covered(start, end, from_end=True)):
        end -= length
    return start, end


def _phrase_in(words: Sequence[str], phrases: Collection[tuple[str, ...]]) -> str:
    longest = max(map(len, phrases), default=0)
    for start in range(len(words)):
        for length in range(min(longest, len(words) - start), 0, -1):
            if tuple(words[start : start + length]) in phrases:
                return " ".join(words[start : start + length])
    return ""
