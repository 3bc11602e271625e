"""The vocabulary of a language: closed lists of words, read from ``templates/judge``.

A language is data: a file ``<code>.yaml`` with the lists that ``en.yaml`` explains. Chinese is
compared character by character, except for the words in its file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import VariantError
from pytest_promptse.tasks._plainyaml import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.tasks._plainyaml import YamlNode

__all__ = [
    "FrameWords",
    "Stemmer",
    "Vocabulary",
    "VocabularyEntry",
    "expand_contractions",
    "language_of",
    "vocabulary",
]

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""The Chinese characters, as a range inside ``[...]`` of a pattern."""

_ALGORITHMS = {"en": "english", "de": "german"}
_SECTIONS = (
    "function",
    "fillers",
    "forms",
    "exact",
    "rewrite",
    "equivalents",
    "request",
    "talk",
    "program",
    "cues",
    "hedges",
    "soft",
    "kinds",
    "frames",
    "alone",
    "framing",
    "joint",
    "verbs",
)
_MAY_LACK = frozenset({"forms", "rewrite", "kinds", "frames", "framing", "joint"})
_OPEN = frozenset({"#", "*"})
"""Signs in rewrites for any number and any word."""
_WORD = re.compile(r"[^\W\d_]+")
_CJK_LETTER = re.compile(f"[{CJK}]")
_PIECE = re.compile(rf"[{CJK}]|[^\W_{CJK}]+|\#|[^\w\s'-]+")
_AUXILIARIES = "do|does|did|is|are|was|were|has|have|had|would|could|should"
_SUBJECTS = (
    "it|that|this|he|she|here|there|what|where|who|how|everything|nothing|everyone|brain|head"
)
_CONTRACTIONS = (
    (re.compile(r"\b(ca|wo|sha)n't\b", re.IGNORECASE), r"\1n not"),
    (re.compile(r"\bcann not\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon not\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bcan not\b|\bcannot\b|\bcant\b", re.IGNORECASE), "can not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(rf"\b({_AUXILIARIES})nt\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(i)(m)\b|\b(i|you|we|they)'(m|re)\b", re.IGNORECASE), r"\1\3 am"),
    (re.compile(r"\b(i|you|we|they)'?ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|it|we|they|that|this)'d\b", re.IGNORECASE), r"\1 would"),
    (re.compile(r"\b(i|you|he|she|it|we|they|that|this)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(rf"\b({_SUBJECTS})'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(?:let's|lets)\b", re.IGNORECASE), "let us"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (re.compile(r"\bgotta\b", re.IGNORECASE), "have to"),
    (re.compile(r"(?<=\w)'s?(?!\w)"), ""),
)
_SIGN_OF_CONTRACTION = re.compile(
    r"'|nt\b|\b(?:im|lets|gonna|wanna|gotta|cannot|(?:i|you|we|they)ve|(?:can|cann|won) not)\b",
    re.IGNORECASE,
)
"""Part of everything that `_CONTRACTIONS` replace. Most texts have none of it."""
_GERMAN = frozenset(
    """der die das und ist nicht ein eine einer eines einen einem mit für von auf dem den zu wird
    werden wenn aus sind ich du sie wir bitte soll sollen oder als bei nach""".split()  # noqa: SIM905 - a list of words
)
_ENGLISH = frozenset(
    """the a an and or of to is are be it that this with for from by if not which you your i we
    please return write when each all should must""".split()  # noqa: SIM905 - a list of words
)
_MOST_CJK = 0.2


def expand_contractions(text: str) -> str:
    """Return `text` with "don't" as "do not" and so on, and without possessive endings."""
    if _SIGN_OF_CONTRACTION.search(text):
        for pattern, replacement in _CONTRACTIONS:
            text = pattern.sub(replacement, text)
    return text


def language_of(text: str) -> str:
    """Return the code of the language that `text` is judged in: ``en``, ``de`` or ``zh``.

    Texts in other languages are judged with the English lists. Words that these lack are compared
    exactly.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if sum(1 for letter in letters if _CJK_LETTER.match(letter)) > _MOST_CJK * len(letters):
        return "zh"
    words = re.findall(r"[^\W\d_]+", text.lower())
    german = sum(word in _GERMAN for word in words)
    return "de" if german > sum(word in _ENGLISH for word in words) else "en"


def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of `text` in lower case; a Chinese character is a word."""
    return tuple(_PIECE.findall(expand_contractions(text.lower())))


class Stemmer:
    """Reduces the words of a language to their stems.

    Parameters
    ----------
    language
        Code of the language. Without a stemming algorithm for it, words are their own stems.
    forms
        Irregular forms with their bases. A form that is its own base stays as it is.
    """

    def __init__(self, language: str, forms: Mapping[str, str]) -> None:
        self._forms = forms
        import snowballstemmer  # noqa: PLC0415 - loads 30 languages, and most runs need no judge

        algorithm = _ALGORITHMS.get(language)
        self._stemmer = snowballstemmer.stemmer(algorithm) if algorithm else None
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Return the stem of `word`, which must be in lower case."""
        if word not in self._known:
            base = self._forms.get(word, word)
            plain = self._stemmer is None or self._forms.get(base) == base
            self._known[word] = base if plain else str(self._stemmer.stemWord(base))  # type: ignore[union-attr]
        return self._known[word]

    def phrase(self, text: str) -> tuple[str, ...]:
        """Return the stems of the words of `text`. A Chinese character is one word."""
        return tuple(map(self, plain_words(text)))


@dataclass(slots=True)
class VocabularyEntry:
    """The properties of a word or phrase.

    Attributes
    ----------
    groups
        Numbers of its groups of equivalents.
    rule
        Name of the rule under which it is compared exactly. Empty for other words.
    optional
        True if it may be added or dropped.
    request
        True if it is a form of a request.
    """

    groups: set[int] = field(default_factory=set)
    rule: str = ""
    optional: bool = False
    request: bool = False


@dataclass(frozen=True)
class WordRewrite:
    """A replacement of words before the comparison.

    In `pattern`, the stems of the words to replace, ``#`` fits any number and ``*`` any word. In
    `words`, which replace them, these signs stand for what they fitted, in the same order.
    """

    pattern: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FrameWords:
    """Stems of words that go without saying beside others, by the section ``frames``."""

    limiting: frozenset[str] = frozenset()
    sorting: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    checking: frozenset[str] = frozenset()
    checked: frozenset[str] = frozenset()
    keeping: frozenset[str] = frozenset()
    unchanged: frozenset[str] = frozenset()
    selecting: frozenset[str] = frozenset()
    selected: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """The lists of one language. ``templates/judge/en.yaml`` explains each of them.

    Attributes
    ----------
    phrases
        Entries by the stems of their words.
    longest
        Number of words of the longest phrase.
    joint
        The longest phrases first.
    rewrites
        By the first word of their patterns, the longest pattern first.
    """

    language: str
    stem: Stemmer
    phrases: Mapping[tuple[str, ...], VocabularyEntry]
    longest: int
    rewrites: Mapping[str, tuple[WordRewrite, ...]]
    request_verbs: frozenset[str]
    artifacts: frozenset[str]
    core: frozenset[str]
    first_person: frozenset[str]
    wishes: frozenset[str]
    talk: frozenset[tuple[str, ...]]
    remarks: frozenset[tuple[str, ...]]
    feelings: frozenset[str]
    persons: frozenset[str]
    program: frozenset[tuple[str, ...]]
    cues: frozenset[tuple[str, ...]]
    hedges: frozenset[tuple[str, ...]]
    soft: frozenset[str]
    kinds: frozenset[str]
    frames: FrameWords
    alone: frozenset[str]
    framing: frozenset[str]
    joint: tuple[tuple[frozenset[str], frozenset[str]], ...]
    verbs: frozenset[str]

    def groups_of(self, word: str) -> frozenset[int]:
        """Return the groups of equivalents that `word` is in, or none if it is unknown."""
        entry = self.phrases.get(self.stem.phrase(word))
        return frozenset(entry.groups if entry else ())

    def longest_match(self, stems: Sequence[str], start: int) -> tuple[int, VocabularyEntry | None]:
        """Return the length in words of the longest known phrase at `start`, and its entry.

        `stems` are the stems of a text, and `start` is an index. The result is (1, None) without a
        known phrase.
        """
        for length in range(min(self.longest, len(stems) - start), 0, -1):
            entry = self.phrases.get(tuple(stems[start : start + length]))
            if entry is not None:
                return length, entry
        return 1, None


@cache
def vocabulary(language: str) -> Vocabulary:
    """Return the lists of `language`.

    Raises
    ------
    VariantError
        If the file of the language is missing.
    TaskError
        If the file is not such a file; the error names the line.
    """
    path = templates_dir() / "judge" / f"{language}.yaml"
    if not path.is_file():
        raise VariantError(f"{path}: the judge's word lists for {language!r} are missing")
    root = parse(path.read_text(encoding="utf-8"), path)
    sections = root.fields(path.name, _SECTIONS)
    for name in _SECTIONS:
        if name not in sections and name not in _MAY_LACK:
            raise root.error(f"{path.name} has no key {name!r}; add it, as in en.yaml")
    stem = Stemmer(language, dict(_pairs(sections)))
    phrases = _phrases(sections, stem)
    request = sections["request"].fields("request")
    talk = sections["talk"].fields("talk")

    def stems(node: YamlNode) -> frozenset[str]:
        return frozenset(map(stem, node.text("a list").split()))

    def listed(name: str) -> frozenset[str]:
        return frozenset(talk[name].text(name).split() if name in talk else ())

    remarks = talk.get("remarks")
    return Vocabulary(
        language=language,
        stem=stem,
        phrases=phrases,
        longest=max(map(len, phrases)),
        rewrites=_rewrites(sections, stem),
        request_verbs=stems(request["verbs"]),
        artifacts=stems(request["artifacts"]),
        core=stems(request["core"]),
        first_person=frozenset(talk["first"].text("first").split()),
        wishes=frozenset(talk["wishes"].text("wishes").split()),
        talk=frozenset(map(plain_words, _split(talk["phrases"].text("phrases")))),
        remarks=frozenset(map(plain_words, _split(remarks.text("remarks")) if remarks else ())),
        feelings=listed("feelings"),
        persons=listed("persons"),
        program=frozenset(map(plain_words, sections["program"].text("program").split())),
        cues=frozenset(map(plain_words, _split(sections["cues"].text("cues")))),
        hedges=frozenset(map(plain_words, _split(sections["hedges"].text("hedges")))),
        soft=stems(sections["soft"]),
        alone=stems(sections["alone"]),
        framing=stems(sections["framing"]) if "framing" in sections else frozenset(),
        kinds=stems(sections["kinds"]) if "kinds" in sections else frozenset(),
        frames=_frame_words(sections, stem),
        joint=tuple(sorted(_joint(sections, stem), key=_size, reverse=True)),
        verbs=frozenset(sections["verbs"].text("verbs").split()),
    )


def _phrases(
    sections: Mapping[str, YamlNode], stem: Stemmer
) -> dict[tuple[str, ...], VocabularyEntry]:
    known: dict[tuple[str, ...], VocabularyEntry] = {}

    def entry(phrase: str) -> VocabularyEntry:
        return known.setdefault(stem.phrase(phrase), VocabularyEntry())

    exact = sections["exact"].fields("exact")
    groups = [(rule, line) for rule, place in exact.items() for line in _lines(place)]
    groups += [("", line) for line in _lines(sections["equivalents"])]
    for number, (rule, line) in enumerate(groups):
        for phrase in _split(line):
            member = entry(phrase)
            member.groups.add(number)
            member.rule = member.rule or rule
    request = sections["request"].fields("request")
    for phrase in _split(request["phrases"].text("phrases")):
        entry(phrase).request = True
    for place in (request["generic"], sections["fillers"]):
        for phrase in _split(place.text("a list")):
            entry(phrase).optional = True
    for word in sections["function"].text("function").split():
        member = entry(word)
        member.optional = not member.rule
    for stems, member in known.items():
        if stems[0] == "be" and stems[1:] in known:
            member.groups |= known[stems[1:]].groups
    return known


def _pairs(sections: Mapping[str, YamlNode]) -> Iterator[tuple[str, str]]:
    for line in _split(sections["forms"].text("forms")) if "forms" in sections else ():
        form, base = line.split()
        yield form, base


def _rewrites(
    sections: Mapping[str, YamlNode], stem: Stemmer
) -> dict[str, tuple[WordRewrite, ...]]:
    """Return the rewrites by the first words of their patterns. A slash separates alternatives."""
    found: dict[str, dict[tuple[str, ...], WordRewrite]] = {}
    for line in _lines(sections["rewrite"]) if "rewrite" in sections else ():
        was, _, now = line.partition("=")
        for words in product(*(word.split("/") for word in was.split())):
            pattern = stem.phrase(" ".join(words))
            rewrite = WordRewrite(pattern, plain_words(now))
            if _open_signs(rewrite.words) != _open_signs(pattern):
                raise sections["rewrite"].error(
                    f"rewrite: {line.strip()!r} has other signs # and * on its two sides; "
                    "use each as often on the right as on the left"
                )
            found.setdefault(pattern[0], {})[pattern] = rewrite

    def order(rewrite: WordRewrite) -> tuple[int, int]:
        return -len(rewrite.pattern), len(_OPEN & set(rewrite.pattern))

    return {first: tuple(sorted(group.values(), key=order)) for first, group in found.items()}


def _open_signs(words: Sequence[str]) -> list[str]:
    return sorted(word for word in words if word in _OPEN)


def _joint(
    sections: Mapping[str, YamlNode], stem: Stemmer
) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    for line in _lines(sections["joint"]) if "joint" in sections else ():
        one, _, other = line.partition("=")
        yield frozenset(stem.phrase(one)), frozenset(stem.phrase(other))


def _size(joint: tuple[frozenset[str], frozenset[str]]) -> int:
    return sum(map(len, joint))


def _frame_words(sections: Mapping[str, YamlNode], stem: Stemmer) -> FrameWords:
    """Return the lists of the section ``frames``. Lists that are missing are empty.

    Raises
    ------
    TaskError
        If a list has an unknown name, is no text, or has something that is no word in lower case.
    """
    if "frames" not in sections:
        return FrameWords()
    names = [one.name for one in fields(FrameWords)]
    lists = sections["frames"].fields("frames", names)
    for name, node in lists.items():
        for word in node.text(f"frames: {name}").split():
            if word != word.lower() or not _WORD.fullmatch(word):
                raise node.error(
                    f"frames: {name}: {word!r} is not a word in lower case; "
                    "write single words between blanks"
                )
    return FrameWords(
        **{name: frozenset(map(stem, node.text(name).split())) for name, node in lists.items()}
    )


def _lines(node: YamlNode) -> list[str]:
    return node.text("a list").splitlines()


def _split(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split("|") if part.strip()]
