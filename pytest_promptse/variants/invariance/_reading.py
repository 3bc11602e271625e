"""Parse a prompt for the judge: lines of code, and sentences as sequences of tokens."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._layout import Layout, lay_out
from pytest_promptse.variants.invariance._vocabulary import CJK, expand_contractions

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from pytest_promptse.variants.invariance._library_talk import LibraryTalk

__all__ = ["Reading", "Sentence", "Token", "read", "spoken"]

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
    |(?P<number>(?<![\w.])[-+]?\d[\d_,]*(?:[-/.:]\d+)*(?:[eE][-+]?\d+)?)
    |(?P<abbreviation>\b(?:e\.\s?g|i\.\s?e|etc|vs|approx|resp|Dr|Mr|Mrs|Ms)\.)
    |(?P<word>[{CJK}]|[^\W\d_{CJK}]+(?:'[^\W\d_]+)*)
    |(?P<list>\[[^\[\]\n]*\])
    |(?P<end>[.!?\u2026\u3002\uff01\uff1f]+)
    |(?P<pause>[,;:()\u2014\u2013\uff0c\uff1b\uff1a\u3001\uff08\uff09]|(?<=\s)-{{1,2}}(?=\s))
    |(?P<symbol><=|>=|==|!=|->|=>|\*\*|[<>=+*/%^&|@$€£¥≤≥≠→~\u00b0])
    |(?P<mark>\S)
    """,
    re.VERBOSE,
)
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|\*)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_BESIDE_CJK = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?=[{CJK}])")
_KINDS = {"abbreviation": "word", "end": "mark"}
_PROSE = frozenset({"word", "number", "literal", "symbol", "pause", "mark"})
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
        fifteen sixteen seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 - a list
    )
}
# A Chinese character is a word, and \u4e00 (one) is often no number.
_NUMBER_WORDS |= {
    word: str(number)
    for number, word in enumerate(
        ["零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十"]
    )
} | {"\u4e24": "2", "\u767e": "100", "\u5343": "1000", "\u4e07": "10000"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a mark, or a span of code.

    Attributes
    ----------
    text
        The token, without backticks around it.
    kind
        ``word``, ``number``, ``literal`` (quoted text), ``code`` (anything else that is not prose),
        ``symbol``, ``pause`` or ``mark``.
    """

    text: str
    kind: str

    @property
    def value(self) -> str:
        """The digits of a number or number word, or ``""``. "one" is often no number."""
        if self.kind == "number":
            return re.sub(r"[,_+]", "", self.text)
        digits = _NUMBER_WORDS.get(self.text.lower(), "")
        return digits if digits != "1" else ""


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence, or a list item or heading that ends without a full stop.

    Attributes
    ----------
    ended
        True if a mark such as a full stop ends it, and not only the paragraph.
    """

    text: str
    tokens: tuple[Token, ...]
    ended: bool

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in lower case, with contractions expanded."""
        return spoken(self.tokens)


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


def spoken(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the words, names and numbers of `tokens` in lower case, without contractions."""
    texts = (token.text for token in tokens if token.kind not in ("pause", "mark"))
    return tuple(word for text in texts for word in expand_contractions(text.lower()).split())


@lru_cache(maxsize=256)
def read(text: str, *, talk: LibraryTalk | None = None, original: str = "") -> Reading:
    """Parse a prompt into lines that are compared exactly and sentences of tokens.

    Recent results are cached.

    Parameters
    ----------
    text
        The prompt.
    talk
        The sentences of the library to remove, or None to keep them.
    original
        A prompt whose own sentences are not removed, even if the library has them.
    """
    layout = lay_out(_plain(text)) if talk is None else _without(text, talk, original)
    sentences = (
        sentence
        for paragraph in layout.paragraphs
        for sentence in _sentences(_BESIDE_CJK.sub(" ", _EMPHASIS.sub(r"\2", paragraph)))
    )
    return Reading(stub=layout.stub, lines=layout.lines, sentences=tuple(sentences))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_QUOTES)


def _without(text: str, talk: LibraryTalk, original: str) -> Layout:
    """Return the layout of `text` without the sentences of the library that `original` lacks."""
    original_layout = lay_out(_plain(original))
    prose = (*original_layout.lines, *original_layout.paragraphs)
    keep = frozenset[tuple[str, ...]]().union(*map(talk.found, prose))
    layout = lay_out(_plain(text), is_talk=lambda line: not talk.without(line, keep))
    paragraphs = (talk.without(paragraph, keep) for paragraph in layout.paragraphs)
    return replace(layout, paragraphs=tuple(filter(None, paragraphs)))


def _sentences(paragraph: str) -> Iterator[Sentence]:
    start = 0
    tokens: list[Token] = []
    for match in _TOKEN.finditer(paragraph):
        if match.lastgroup == "end" and _ends(match, paragraph):
            if tokens:
                text = paragraph[start : match.end()].strip()
                yield Sentence(text=text, tokens=tuple(tokens), ended=True)
            tokens, start = [], match.end()
        else:
            tokens.append(_token(match))
    if tokens:
        yield Sentence(text=paragraph[start:].strip(), tokens=tuple(tokens), ended=False)


def _ends(match: re.Match[str], text: str) -> bool:
    if match[0][-1] in "\u3002\uff01\uff1f":
        return True
    after = text[match.end() : match.end() + 1]
    return not after or after.isspace() or after in "\"')"


def _token(match: re.Match[str]) -> Token:
    if match["code"]:
        return Token(match["inside"].strip(), "code")
    kind = match.lastgroup or ""
    kind = _KINDS.get(kind, kind)
    text = match[0]
    if kind == "literal":
        text = f'"{text[1:-1]}"'
    return Token(text, kind if kind in _PROSE else "code")
