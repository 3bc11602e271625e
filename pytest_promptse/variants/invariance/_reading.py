"""Parse a prompt for the judge: lines of code, and sentences as sequences of tokens."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._layout import Layout, lay_out
from pytest_promptse.variants.invariance._vocabulary import (
    CJK,
    Vocabulary,
    VocabularyEntry,
    expand_contractions,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from pytest_promptse.variants.invariance._library_talk import LibraryTalk
    from pytest_promptse.variants.invariance._vocabulary import WordRewrite

__all__ = ["Reading", "Sentence", "Token", "read"]

_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u201e": '"'}
)
_TOKEN = re.compile(
    rf"""
    (?P<placeholder>\{{\{{.*?\}}\}}|\{{%.*?%\}}|\$\{{\w+\}}|\{{[\w.\[\]!:]*\}}|%\(\w+\)[sd]|%[sd](?!\w))
    |(?P<code>(?P<ticks>`+)(?!`)(?P<inside>.+?)(?<!`)(?P=ticks)(?!`))
    |(?P<url>\b(?:https?|ftp)://[^\s<>"')\]]*[^\s<>"')\].,;:!?]|[\w.+-]+@[\w-]+\.[\w.-]*\w)
    |(?P<literal>"[^"\n]{{0,80}}"|(?<![\w'])'[^'\n]{{1,60}}'(?!\w))
    |(?P<tag></?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>)
    |(?P<path>(?<![\w/])(?:~|\.{{1,2}})?/(?:[\w.\-]+/)*[\w.\-]*\w
        |\b[\w\-]+(?:/[\w\-]+)*\.(?:py|txt|jsonl?|csv|tsv|ya?ml|toml|md|ini|cfg|log|html?|xml|sql|sh)\b)
    |(?P<call>\b[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\)|\b[A-Za-z]\w*(?:\[[^\[\]\n]*\])+)
    |(?P<name>\b\w*[A-Za-z0-9]_\w+|\b_\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Za-z]+\d\w*
        |\b(?!(?:[A-Za-z]\.)+[A-Za-z]\b(?!\())[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b
        |\b\w+(?:[:/]\w+(?:[.-]\w+)*)+\b|(?<!\S)--?[a-z][\w-]+)
    |(?P<constant>\b(?:None|True|False)\b(?!\s+of\b))
    |(?P<number>(?<![\w.])[-+]?\d+(?:[-/]\d+){{2}}|(?<![\w.])\d+(?::\d\d)+
        |(?<![\w.])[-+]?\d[\d_,]*\d(?:\.\d+)*(?:[eE][-+]?\d+)?|(?<![\w.])[-+]?\d(?:\.\d+)*(?:[eE][-+]?\d+)?)
    |(?P<abbreviation>\b(?:e\.\s?g|i\.\s?e|etc|vs|approx|resp|Dr|Mr|Mrs|Ms)\.)
    |(?P<word>[{CJK}]|[^\W\d_{CJK}]+(?:'[^\W\d_]+)*)
    |(?P<list>\[[^\[\]\n]*\])
    |(?P<end>[.!?\u2026\u3002\uff01\uff1f]+)
    |(?P<pause>[,;:()\u2014\u2013\uff0c\uff1b\uff1a\u3001\uff08\uff09]|(?<=\s)-{{1,2}}(?=\s))
    |(?P<symbol><=|>=|==|!=|->|=>|\*\*|[<>=+*/%^&|@$€£¥≤≥≠→~\u00b0])
    """,
    re.VERBOSE,
)
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|\*)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_BESIDE_CJK = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?=[{CJK}])")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
        fifteen sixteen seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 - a list
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "hundred": "100",
    "thousand": "1000",
    "dozen": "12",
    "once": "1x",
}
_SUBORDINATE = frozenset(
    {"if", "when", "whenever", "where", "wherever", "given", "because", "since"}
)
_SPLITS = frozenset({"but", "so"})
_REACH = 5
_APART = 7
"""The most words from a verb to its particle, as in "turn the fan at pin 7 off"."""
_KEYWORDS = frozenset({"class", "def", "function", "func", "fn"})
_ARTICLES = frozenset({"the", "a", "an"})
_UNIVERSAL = frozenset({"any", "all"})
"""At the start of a sentence these mean the same as "each", as in "any line with # is skipped"."""
_DIMENSIONS = frozenset({"long", "old", "wide", "high", "tall", "deep", "large", "apart"})
"""They add nothing behind a number and its unit, as in "8 characters long"."""
_STATES = frozenset({"on", "off"})
_BEING = frozenset({"is", "are", "be", "was", "were", "stays", "stay"})
_LASTING = frozenset({"last", "lasts", "lasted", "lasting"})
_BEFORE_VERBS = frozenset(
    {"that", "which", "who", "must", "should", "can", "may", "to", "will", "not", "they"}
)
_NAMING = frozenset({"called", "named"})
_NOT_COUNTED = frozenset(
    [
        "this",
        "that",
        "the",
        "each",
        "every",
        "which",
        "any",
        "no",
        "quick",
        "next",
        "last",
        "first",
        "another",
        "second",
        "third",
        "other",
        "same",
        "new",
        "old",
        "correct",
        "original",
        "upper",
        "lower",
    ]
)
_AFTER_NAMES = frozenset(
    [
        "and",
        "or",
        "to",
        "from",
        "by",
        "with",
        "in",
        "is",
        "are",
        "come",
        "comes",
        "before",
        "after",
        "than",
        "into",
    ]
)

_PARTICLES = frozenset({"on", "off", "out", "back", "up", "down", "in", "away", "over", "together"})
_OBJECTS = frozenset(
    "the a an all any each every it its them this that these those my your our".split()  # noqa: SIM905 - a list of words
)
_BREAKS = frozenset(
    {",", ";", ":", "(", ")", "which", "who", "to", "and", "or", "then", "if", "when"}
)
_AFTER_PARTICLES = frozenset(
    """and or but if when as once unless until before after from to by for with so while then
    because since at whenever where again too automatically immediately below above""".split()  # noqa: SIM905 - a list of words
)


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A word, a phrase from the lists, or a span of code.

    ``optional`` tokens may be missing in the other text. ``request`` is True in a request for code,
    and ``core`` for a single word of the list ``core``.

    Attributes
    ----------
    keys
        The forms that are compared. Two tokens with a common key are the same.
    groups
        Groups of equivalents. Two tokens with a common group are equivalent.
    kind
        ``word``, ``number``, ``literal``, ``code`` (anything that is not prose) or ``symbol``.
    rule
        Name of the rule under which the token is compared exactly. Empty for other words.
    sentence, clause
        Indices of its sentence and clause in the whole text, from 0.
    condition
        True if its clause starts with "if", "when" or a similar word.
    function
        The function words between the previous token and this one.
    """

    text: str
    keys: frozenset[str]
    groups: frozenset[int]
    kind: str
    rule: str
    optional: bool
    request: bool
    core: bool
    sentence: int
    clause: int
    condition: bool
    function: tuple[str, ...] = ()

    @property
    def anchor(self) -> bool:
        """True if the position of the token matters by itself."""
        return self.kind != "word" or bool(self.rule)


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A sentence, or a list item or heading that ends without a full stop.

    Attributes
    ----------
    words
        All words of the sentence in lower case, including function words.
    number
        The number at the start of its list item, or 0 without one.
    """

    text: str
    words: tuple[str, ...]
    tokens: tuple[Token, ...]
    number: int

    @property
    def bare(self) -> tuple[str, ...]:
        """The words of the sentence, without case and punctuation."""
        return tuple(
            token.text.lower() if token.kind == "word" else token.text for token in self.tokens
        )


@dataclass(frozen=True, eq=False)
class Reading:
    """A parsed prompt.

    Attributes
    ----------
    stub
        The syntax tree of a code stub, or None for any other prompt.
    lines
        The lines that are compared letter for letter, without surrounding blanks.
    sentences
        All other text.
    """

    stub: ast.Module | None
    lines: tuple[str, ...]
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Raw:
    text: str
    kind: str
    capital: bool = False


@lru_cache(maxsize=256)
def read(
    text: str,
    vocabulary: Vocabulary,
    *,
    talk: LibraryTalk | None = None,
    original: str = "",
) -> Reading:
    """Parse a prompt into lines that are compared exactly and sentences of tokens.

    Recent results are cached.

    Parameters
    ----------
    text
        The prompt.
    vocabulary
        The word lists of one language.
    talk
        The sentences of the library to remove, or None to keep them.
    original
        A prompt whose own sentences are not removed, even if the library has them.
    """
    layout = lay_out(_plain(text)) if talk is None else _without(text, talk, original)
    builder = _Builder(vocabulary)
    sentences = [
        sentence
        for paragraph in layout.paragraphs
        for sentence in builder.sentences(paragraph.text, paragraph.number)
    ]
    return Reading(stub=layout.stub, lines=layout.lines, sentences=tuple(sentences))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_QUOTES)


def _without(text: str, talk: LibraryTalk, original: str) -> Layout:
    """Return the layout of `text` without the sentences of the library that `original` lacks."""
    own = lay_out(_plain(original))
    prose = [*own.lines, *(paragraph.text for paragraph in own.paragraphs)]
    keep = frozenset[tuple[str, ...]]().union(*map(talk.found, prose))
    layout = lay_out(_plain(text), is_talk=lambda line: not talk.without(line, keep))
    paragraphs = (replace(p, text=talk.without(p.text, keep)) for p in layout.paragraphs)
    return replace(layout, paragraphs=tuple(p for p in paragraphs if p.text))


def _keyword(code: str) -> tuple[str, str]:
    """Return the keyword of a definition and the rest, as in "class Stack"; else "" and `code`."""
    keyword, blank, name = code.partition(" ")
    return (keyword, name) if blank and keyword in _KEYWORDS and " " not in name else ("", code)


def _is_number(part: _Raw) -> bool:
    return part.kind == "number" or part.text.lower() in _NUMBER_WORDS


def _is_name(after: Sequence[_Raw]) -> bool:
    """Return whether the letter "a" is a name and not an article, from the word after it."""
    return not after or after[0].kind in ("pause", "symbol") or after[0].text in _AFTER_NAMES


class _Builder:
    """Turns paragraphs into sentences, with clause numbers that continue through a whole text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._sentence = -1
        self._clause = -1

    def sentences(self, paragraph: str, number: int) -> Iterator[Sentence]:
        """Yield the sentences of a paragraph.

        `number` is that of its list item, or 0 without one.
        """
        paragraph = _BESIDE_CJK.sub(" ", _EMPHASIS.sub(r"\2", paragraph))
        start = 0
        raw: list[_Raw] = []
        for match in _TOKEN.finditer(paragraph):
            kind = match.lastgroup or ""
            kind = "code" if match["code"] else kind
            if kind == "end" and not self._ends(match, paragraph):
                continue
            if kind == "end":
                if raw:
                    yield self._sentence_of(paragraph[start : match.end()].strip(), raw, number)
                raw, start = [], match.end()
                continue
            raw.extend(self._raw(match, kind, first=not raw))
        if raw:
            yield self._sentence_of(paragraph[start:].strip(), raw, number)

    @staticmethod
    def _ends(match: re.Match[str], text: str) -> bool:
        if match[0][-1] in "\u3002\uff01\uff1f":
            return True
        after = text[match.end() : match.end() + 1]
        return not after or after.isspace() or after in "\"')"

    def _raw(self, match: re.Match[str], kind: str, *, first: bool) -> Iterator[_Raw]:
        text = match[0]
        if kind == "word":
            capital = text[0].isupper() and not text.isupper() and not first
            for word in expand_contractions(text).split():
                yield _Raw(word, "word", capital)
        elif kind == "abbreviation":
            yield _Raw(re.sub(r"\W", "", text), "word")
        elif kind == "code":
            keyword, name = _keyword(match["inside"].strip())
            if keyword == "class":
                yield _Raw(keyword, "word")
            yield _Raw(name, "code")
        elif kind in ("pause", "symbol", "number"):
            yield _Raw(text, kind)
        elif kind == "literal":
            yield _Raw(text[1:-1], kind)
        else:
            yield _Raw(text, "code")

    def _sentence_of(self, text: str, raw: list[_Raw], number: int) -> Sentence:
        self._sentence += 1
        raw = self._beside_verbs(self._rewritten(raw))
        stems = [self._stem(part) for part in raw]
        tokens = self._requested(list(self._tokens(raw, stems)))
        words = tuple(part.text.lower() for part in raw if part.kind != "pause")
        return Sentence(
            text=text,
            words=words,
            tokens=tuple(tokens),
            number=number,
        )

    def _stem(self, part: _Raw) -> str:
        if part.kind == "word":
            return self._vocabulary.stem(part.text.lower())
        return part.text if part.kind in ("symbol", "number") else f"\0{part.kind}"

    def _beside_verbs(self, raw: list[_Raw]) -> list[_Raw]:
        """Move particles next to their verbs: "turn the lamp off" becomes "turn off the lamp"."""
        phrases = self._vocabulary.phrases
        result = list(raw)
        for place, part in enumerate(raw):
            after = raw[place + 1 : place + 2]
            free = (
                not after or after[0].kind == "pause" or after[0].text.lower() in _AFTER_PARTICLES
            )
            if part.text.lower() not in _PARTICLES or not free:
                continue
            for start in range(place - 2, max(-1, place - 1 - _APART), -1):
                between = [other.text.lower() for other in raw[start + 1 : place]]
                if not _BREAKS.isdisjoint(between):
                    break
                verb = (self._stem(raw[start]), part.text.lower())
                if between[0] in _OBJECTS and verb in phrases:
                    result.remove(part)
                    result.insert(result.index(raw[start]) + 1, part)
                    break
        return result

    def _rewritten(self, raw: list[_Raw]) -> list[_Raw]:
        """Apply the rewrites of the lists, and then once more to what they made."""
        return self._rewritten_once(self._rewritten_once(raw))

    def _rewritten_once(self, raw: list[_Raw]) -> list[_Raw]:
        stems = [self._stem(part) for part in raw]
        result: list[_Raw] = []
        place = 0
        while place < len(raw):
            rewrite = self._rewrite(raw, stems, place)
            if rewrite is None:
                result.append(raw[place])
                place += 1
                continue
            fitted = list(zip(rewrite.pattern, raw[place:], strict=False))
            for word in rewrite.words:
                same = next((pair for pair in fitted if pair[0] == word and word in "#*"), None)
                result.append(same[1] if same else _Raw(word, "word"))
                if same:
                    fitted.remove(same)
            place += len(rewrite.pattern)
        return result

    def _rewrite(self, raw: Sequence[_Raw], stems: Sequence[str], place: int) -> WordRewrite | None:
        """Return the longest rewrite whose pattern fits the words at `place`, or None."""
        rewrites = self._vocabulary.rewrites
        found = rewrites.get(stems[place], ())
        if _is_number(raw[place]):
            found = (*found, *rewrites.get("#", ()))
        for rewrite in found:
            fitted = zip(rewrite.pattern, raw[place:], stems[place:], strict=False)
            behind = place + len(rewrite.pattern)
            if "or" in rewrite.pattern[1:2] and self._compares(raw, behind):
                continue
            if len(rewrite.pattern) <= len(raw) - place and all(
                sign == stem
                or (sign == "#" and _is_number(part))
                or (sign == "*" and part.kind == "word")
                for sign, part, stem in fitted
            ):
                return rewrite
        return None

    def _tokens(self, raw: Sequence[_Raw], stems: Sequence[str]) -> Iterator[Token]:
        self._clause += 1
        condition = False
        function: list[str] = []
        place = 0
        while place < len(raw):
            part = raw[place]
            if part.kind == "pause":
                self._clause += 1
                condition = False
                function = [","] if part.text in ",\uff0c\u3001" else []
                place += 1
                continue
            length, entry = self._phrase(raw, stems, place)
            if part.text in ("a", "A") and _is_name(raw[place + 1 : place + 2]):
                raw = [*raw[:place], _Raw(part.text, "code"), *raw[place + 1 :]]
                length, entry = 1, None
            word = part.text.lower()
            joined = word == "and" and self._is_own(raw[place + 1 : place + 2])
            if part.kind == "word" and (word in _SUBORDINATE or word in _SPLITS or joined):
                self._clause += 1
                condition = word in _SUBORDINATE
                function = []
            token = self._token(raw[place : place + length], stems[place : place + length], entry)
            token = self._in_context(token, raw, stems, place)
            if condition and word == "some":
                token = replace(token, groups=token.groups | self._vocabulary.groups_of("any"))
            token = replace(
                token,
                sentence=self._sentence,
                clause=self._clause,
                condition=condition,
                function=tuple(function),
            )
            yield token
            if token.optional:
                function.extend(p.text.lower() for p in raw[place : place + length])
            else:
                function = []
            place += length

    def _phrase(
        self, raw: Sequence[_Raw], stems: Sequence[str], place: int
    ) -> tuple[int, VocabularyEntry | None]:
        """Return the length of the phrase at `place`, and its entry.

        An article belongs to no phrase if a phrase of the same length begins behind it, and "or" to
        none before a limit, as in "or larger than 5".
        """
        phrases = self._vocabulary.phrases
        length, entry = self._vocabulary.longest_match(stems, place)
        word = raw[place].text.lower()
        if length > 1 and word in _ARTICLES:
            behind, _ = self._vocabulary.longest_match(stems, place + 1)
            if behind >= length:
                length, entry = 1, phrases.get((stems[place],))
        behind = place + length
        counted = behind < len(raw) and _is_number(raw[behind])
        if length > 1 and counted and (stems[behind - 1], "#") in phrases:
            length, entry = 1, phrases.get((stems[place],))
        cut = word == "or" and self._compares(raw, place + length)
        cut = cut or self._counts_up(raw, place, length) or self._points_on(raw, place, length)
        if cut:
            length, entry = 1, phrases.get((stems[place],))
        if length == 1 and place + 1 < len(raw) and _is_number(raw[place + 1]):
            entry = phrases.get((stems[place], "#"), entry)
        return length, entry

    def _in_context(
        self, token: Token, raw: Sequence[_Raw], stems: Sequence[str], place: int
    ) -> Token:
        """Return `token`, which begins at `place`, with what the words around it make of it."""
        word = token.text.lower()
        after = raw[place + len(token.text.split()) :][:1]
        if word == "one" and self._counted(raw, stems, place):
            groups, keys = self._vocabulary.groups_of("single"), frozenset({"#1"})
            return replace(token, kind="number", keys=keys, groups=groups, optional=False)
        if word in _UNIVERSAL and place == 0:
            return replace(token, groups=token.groups | self._vocabulary.groups_of("each"))
        if token.rule and token.optional and after and self._is_object(after[0]):
            return replace(token, optional=False)
        if word == "left" and place and raw[place - 1].text.lower() in _BEING:
            groups, keys = self._vocabulary.groups_of("leave"), token.keys | {"leav"}
            token = replace(token, rule="", groups=groups, keys=keys, optional=False)
        if word in _STATES and self._is_state(raw, place):
            groups = self._vocabulary.groups_of(f"switch {word}")
            return replace(token, optional=False, rule="restriction", groups=groups)
        if word in _LASTING and (word != "last" or self._is_lasting(raw, place)):
            groups = self._vocabulary.groups_of("take")
            return replace(token, rule="", groups=groups, optional=False)
        adverb = word == "before" and self._is_adverb(raw, place)
        size = word in _DIMENSIONS and place > 1 and _is_number(raw[place - 2])
        return replace(token, optional=True) if adverb or size else token

    @staticmethod
    def _is_object(part: _Raw) -> bool:
        """Return whether an object begins with `part`, as behind "below" in "below the limit"."""
        return _is_number(part) or part.kind == "code" or part.text.lower() in _ARTICLES

    @staticmethod
    def _is_state(raw: Sequence[_Raw], place: int) -> bool:
        """Return whether the "on" or "off" at `place` is a state, as in "once it is on"."""
        after = raw[place + 1 : place + 2]
        ends = not after or after[0].kind == "pause" or after[0].text.lower() in _AFTER_PARTICLES
        return ends and place > 0 and raw[place - 1].text.lower() in _BEING

    @staticmethod
    def _is_lasting(raw: Sequence[_Raw], place: int) -> bool:
        """Return whether the "last" at `place` is a verb, as in "meetings that last an hour"."""
        return place > 0 and raw[place - 1].text.lower() in _BEFORE_VERBS

    @staticmethod
    def _is_adverb(raw: Sequence[_Raw], place: int) -> bool:
        """Return whether the "before" at `place` means "already", as in "was answered before"."""
        after = raw[place + 1 : place + 2]
        ends = not after or after[0].kind == "pause"
        return ends and place > 0 and raw[place - 1].text.lower().endswith(("ed", "en", "ne"))

    @staticmethod
    def _counts_up(raw: Sequence[_Raw], place: int, length: int) -> bool:
        """Return whether the end of a phrase belongs to "up to", as in "make up to 5 calls"."""
        last, after = raw[place + length - 1].text.lower(), raw[place + length :][:2]
        return (
            length > 1
            and last == "up"
            and len(after) > 1
            and after[0].text.lower() == "to"
            and _is_number(after[1])
        )

    def _points_on(self, raw: Sequence[_Raw], place: int, length: int) -> bool:
        """Return whether the "that" of "after that" belongs to a noun, as in "after that day"."""
        words = [part.text.lower() for part in raw[place : place + length]]
        after = raw[place + length :][:1]
        return (
            words == ["after", "that"]
            and bool(after)
            and after[0].kind == "word"
            and after[0].text.lower() not in self._vocabulary.verbs
            and self._has_content(self._stem(after[0]))
        )

    @staticmethod
    def _compares(raw: Sequence[_Raw], place: int) -> bool:
        """Return whether a limit stands at `place`, as behind "or larger" in "or larger than x"."""
        return place < len(raw) and (raw[place].text.lower() == "than" or _is_number(raw[place]))

    def _is_own(self, after: Sequence[_Raw]) -> bool:
        """Return whether a clause about its writer begins here, as in "and I am tired"."""
        return bool(after) and after[0].text.lower() in self._vocabulary.first_person

    def _counted(self, raw: Sequence[_Raw], stems: Sequence[str], place: int) -> bool:
        """Return whether the "one" at `place` is a number, as in "one decimal".

        `raw` are the tokens of the sentence, and `stems` the stems of their words. `place` is an
        index of both.
        """
        before = raw[place - 1].text.lower() if place else ""
        if before in _NOT_COUNTED or before.endswith("est"):
            return False
        choice = raw[place + 1 : place + 3]
        if len(choice) > 1 and choice[0].text.lower() in ("or", "to") and _is_number(choice[1]):
            return True
        following = stems[place + 1 : place + 2]
        return bool(following) and raw[place + 1].kind == "word" and self._has_content(following[0])

    def _token(
        self, raw: Sequence[_Raw], stems: Sequence[str], entry: VocabularyEntry | None
    ) -> Token:
        part = raw[0]
        text = " ".join(p.text for p in raw)
        entry = entry or VocabularyEntry()
        groups = frozenset(entry.groups)
        optional = entry.optional
        kind = part.kind
        if kind == "word":
            keys = {" ".join(stems)} if len(raw) > 1 else {stems[0], f"={text}", f"={text.lower()}"}
            digits = _NUMBER_WORDS.get(text.lower())
            if digits is not None and not optional:
                keys, kind = {f"#{digits}"}, "number"
            elif (
                part.capital
                and len(raw) == 1
                and not entry.rule
                and self._vocabulary.language != "de"
            ):
                groups = frozenset()
        elif kind == "number":
            keys = {f"#{text.replace(',', '').replace('_', '').lstrip('+')}"}
        elif kind == "symbol":
            keys = {text}
        elif text in ("None", "True", "False"):
            keys = {f"={text}", text.lower()}
        else:
            keys = {"=" + re.sub(r"\s+", "", text)}
        return Token(
            text=text,
            keys=frozenset(keys),
            groups=groups,
            kind=kind,
            rule=entry.rule,
            optional=optional,
            request=entry.request,
            core=len(raw) == 1 and stems[0] in self._vocabulary.core,
            sentence=0,
            clause=0,
            condition=False,
        )

    def _has_content(self, stem: str) -> bool:
        entry = self._vocabulary.phrases.get((stem,))
        return entry is None or not (entry.optional or entry.rule)

    def _requested(self, tokens: list[Token]) -> list[Token]:
        """Mark the verbs that request code, as in "write a small function"."""
        vocabulary = self._vocabulary
        for place, token in enumerate(tokens):
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            named = following is not None and (
                following.kind == "code" or following.text[:1].isupper()
            )
            if named and token.text.lower() in _NAMING:
                tokens[place] = replace(token, optional=True)
                continue
            stem = vocabulary.stem(token.text.lower())
            if token.kind != "word" or stem not in vocabulary.request_verbs:
                continue
            before = tokens[max(0, place - 3) : place]
            if any(other.rule == "negation" for other in before):
                continue
            for other in tokens[place + 1 : place + 1 + _REACH]:
                if other.text.lower() in ("to", "from", "into", "with", "that", "which"):
                    break
                if (
                    other.kind == "code"
                    or vocabulary.stem(other.text.lower().split()[-1]) in vocabulary.artifacts
                ):
                    tokens[place] = replace(token, request=True)
                    break
        return tokens
