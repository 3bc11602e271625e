"""Recognise the template library's own sentences, and sentences that speak as they do."""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

from pytest_promptse.variants._document import read_document
from pytest_promptse.variants._language import prompt_language
from pytest_promptse.variants.invariance._vocabulary import CJK, plain_words, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from pytest_promptse.variants._library import Language, Library
    from pytest_promptse.variants.invariance._vocabulary import Vocabulary

__all__ = ["LibraryTalk", "library_talk"]

_ALTERNATIVES = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_PLACE = re.compile(r"\{\d\^?\}")
_MARKS = r"\s.,;:!?\u2026()\-\u2013\u2014\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f\uff08\uff09"
_WORD = re.compile(rf"[{CJK}]|(?:(?![{CJK}])[\w'\u2019])+|[^\w'\u2019{_MARKS}]+")
_BREAK = re.compile(r"[.,;:!?\u2026\u2013\u2014\u3002\uff0c\uff1b\uff1a\uff01\uff1f]|\s-\s|\s-$")
_END = re.compile(r"[.!?\u2026](?=\s|$)|[\u3002\uff01\uff1f]")
_TAG = re.compile(r"(?:<\|\w+\|>\s*(?:system|user|assistant)?|</?[a-z][^<>]*>|\[/?[A-Z]+\])\s*")

# First words of a message, which a sentence of the library can follow: *hi Ben, ...*.
_GREETINGS = frozenset({"hi", "hey", "hello", "hiya", "yo"})
_LONGEST_GREETING = 3
_MOST_NEW_PAIRS = 0.25
"""Largest share of pairs of neighbouring words that the library lacks, in a sentence of talk."""

_Words = tuple[str, ...]


class LibraryTalk:
    """Removes the sentences of a library from a paragraph, and compares others with them.

    Case and punctuation do not count, since rules write them in the style of an emotion.

    Parameters
    ----------
    snippets
        The sentences and clauses. ``{this|that}`` has alternatives.
    joints
        The patterns that join two clauses, such as ``{0}, and {1}``.
    similar
        Further sentences that others may resemble.
    stem
        Returns the stem of a word in lower case.
    """

    def __init__(
        self,
        snippets: Iterable[str],
        joints: Iterable[str],
        *,
        similar: Iterable[str] = (),
        stem: Callable[[str], str] = str,
    ) -> None:
        texts = tuple(chain.from_iterable(map(_resolved, snippets)))
        self._texts = (*texts, *similar)
        self._stem = stem
        self._snippets = frozenset(map(_by_piece(_words), texts)) - {()}
        parts = chain.from_iterable(map(_PLACE.split, joints))
        self._joints = frozenset(map(_words, parts)) - {()}
        self._longest = max(map(len, self._snippets), default=0)
        self._longest_joint = max(map(len, self._joints), default=0)

    def stranger(self, words: Sequence[str], lists: Vocabulary) -> str:
        """Return what makes the `words` of a sentence unlike those of the library, or ``""``.

        A sentence is unlike them if it has a word of content that they lack, or if they lack more
        than a quarter of its pairs of neighbouring words. A word such as "it" may stand for the
        program, so they must have all its pairs. A library without sentences is no measure, and
        function words alone say nothing.
        """
        words = [word for word in words if word.isalpha()]
        content = [word for word in words if word not in lists.function]
        if not (self._texts and content):
            return ""
        for word in content:
            if self._stem(word) not in self._familiar:
                return word
        pairs = list(pairwise(("", *self._stems(words), "")))
        new = [pair for pair in pairs if pair not in self._pairs]
        for pair in new:
            if len(new) > _MOST_NEW_PAIRS * len(pairs) or not lists.referring.isdisjoint(pair):
                return " ".join(pair).strip()
        return ""

    @cached_property
    def _pairs(self) -> frozenset[tuple[str, str]]:
        stems = _by_piece(lambda piece: self._stems(plain_words(piece)))
        return frozenset(pair for text in self._texts for pair in pairwise(("", *stems(text), "")))

    @cached_property
    def _familiar(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(self._pairs))

    def _stems(self, words: Iterable[str]) -> _Words:
        return tuple(self._stem(word) for word in words if word.isalpha())

    def without(self, paragraph: str, keep: Collection[_Words] = ()) -> str:
        """Return `paragraph` without the sentences of the library.

        A sentence is removed at the start of the paragraph, after a greeting, after the end of
        another sentence or after a tag, up to a mark. The remaining text is unchanged.

        Parameters
        ----------
        paragraph
            Prose on one line.
        keep
            Sentences to keep, from `found`: those of the original.
        """
        pieces, last = [], 0
        for start, end, words in self._runs(paragraph):
            if words not in keep:
                pieces.append(paragraph[last:start])
                last = end
        return "".join([*pieces, paragraph[last:]])

    def found(self, paragraph: str) -> frozenset[_Words]:
        """Return the words of the library's sentences in `paragraph`."""
        return frozenset(words for _, _, words in self._runs(paragraph))

    def _runs(self, paragraph: str) -> Iterator[tuple[int, int, _Words]]:
        """Yield start, end and words of every sentence of the library, with its joints."""
        matches = list(_WORD.finditer(paragraph))
        words = [_folded(match[0]) for match in matches]
        starts = [match.start() for match in matches] + [len(paragraph)]
        gaps = [paragraph[match.end() : starts[n + 1]] for n, match in enumerate(matches)]
        beginnings = {match.end() for match in _TAG.finditer(paragraph)}
        place = 0
        begins = True
        while place < len(words):
            greeted = 0 < place <= _LONGEST_GREETING and words[0] in _GREETINGS
            begins = begins or greeted or starts[place] in beginnings
            length = self._length(words, gaps, place) if begins else 0
            if length:
                end = place + length
                yield starts[place], starts[end], tuple(words[place:end])
                place = end
                continue
            begins = _END.search(gaps[place]) is not None
            place += 1

    def _length(self, words: Sequence[str], gaps: Sequence[str], place: int) -> int:
        """Return the number of words of the sentence at `place`; 0 if the library has none.

        `words` are those of the paragraph, `gaps` the text after each word, and `place` is an index
        of both. A joint before the sentence is counted.
        """
        for joint in range(min(self._longest_joint, len(words) - place), -1, -1):
            if joint and tuple(words[place : place + joint]) not in self._joints:
                continue
            start = place + joint
            for length in range(min(self._longest, len(words) - start), 0, -1):
                end = start + length
                is_whole = end == len(words) or _BREAK.search(gaps[end - 1])
                if is_whole and tuple(words[start:end]) in self._snippets:
                    return joint + length
        return 0


@lru_cache(maxsize=256)
def library_talk(prompt: str, library: Library) -> LibraryTalk:
    """Return the sentences that `library` has in the language of `prompt`.

    The result is empty if the library does not have the language.
    """
    document = read_document(prompt)
    language = library.languages.get(prompt_language(document))
    return LibraryTalk((), ()) if language is None else _talk_of(language)


@lru_cache(maxsize=16)
def _talk_of(language: Language) -> LibraryTalk:
    introductions = chain.from_iterable(language.introductions.values())
    sentences = chain.from_iterable(introduction.sentences for introduction in introductions)
    words = vocabulary(language.code)
    snippets = chain(language.snippets, sentences)
    if words is None:
        return LibraryTalk(snippets, language.joints)
    return LibraryTalk(snippets, language.joints, similar=words.sentences, stem=words.stem)


def _by_piece(words: Callable[[str], _Words]) -> Callable[[str], _Words]:
    """Return the function `words`, which works on one piece between spaces at a time.

    No word has a space in it, and the thousands of texts of a library share their pieces.
    """
    words_of = cache(words)
    return lambda text: tuple(chain.from_iterable(map(words_of, text.split())))


def _folded(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _words(text: str) -> _Words:
    return tuple(map(_folded, _WORD.findall(text)))


def _resolved(snippet: str) -> Iterator[str]:
    """Yield every text of a snippet, one for each combination of its alternatives."""
    parts = _ALTERNATIVES.split(snippet)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    return map("".join, product(*choices))
