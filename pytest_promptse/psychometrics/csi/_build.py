"""Build word lists for the Core Sentiment Inventory: frequent nouns and verbs."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import logging
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_promptse.psychometrics.csi._words import Language

__all__ = ["BuiltWord", "Lexicon", "build_words", "read_lexicon", "render_words"]

PartOfSpeech = Literal["noun", "verb"]
_Tagger: TypeAlias = "Callable[[str], PartOfSpeech | None]"

_EXTRA = "pip install 'pytest-promptse[psychometrics]'"
_CANDIDATES = 60_000
_WORDFREQ_NOTICE = (
    "Word frequencies from wordfreq by Robyn Speer (https://github.com/rspeer/wordfreq). Its data "
    "is licensed under the Creative Commons Attribution-ShareAlike 4.0 licence "
    "(https://creativecommons.org/licenses/by-sa/4.0/) and so is this list. wordfreq's sources "
    "include Wikipedia, OPUS OpenSubtitles 2018 (http://www.opensubtitles.org/), SUBTLEX (Marc "
    "Brysbaert and others, free to use with citation), NewsCrawl, GlobalVoices and Google Books "
    "Ngrams (CC BY); see its documentation for the full list. Changed: restricted to nouns and "
    "verbs by part-of-speech tags."
)
_CORPUS_NOTICE = "Words counted in the texts that 'corpus' names."
# CLAWS C5 tags of the British National Corpus: common nouns, lexical verbs.
_ENGLISH_NOUNS = frozenset({"NN0", "NN1", "NN2"})
_ENGLISH_VERBS = frozenset({"VVB", "VVD", "VVG", "VVI", "VVN", "VVZ"})
# ICTCLAS tags: common nouns, verbs, nominal verbs.
_CHINESE_TAGS: Mapping[str, PartOfSpeech] = {"n": "noun", "v": "verb", "vn": "verb"}
_VADER_SCALE = 4.0


@dataclass(frozen=True, kw_only=True)
class BuiltWord:
    """A word with its part of speech and frequency.

    ``frequency`` is wordfreq's Zipf value (log10 of occurrences in a billion words), or the number
    of occurrences in a corpus.
    """

    word: str
    pos: PartOfSpeech
    frequency: float


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Words with their valence in [-1, 1], and the name and hash of their file."""

    name: str
    sha256: str
    valence: Mapping[str, float]


def build_words(
    language: Language,
    *,
    size: int,
    corpus: Sequence[tuple[str, str]] = (),
    max_valence: float | None = None,
    lexicon: Lexicon | None = None,
) -> tuple[tuple[BuiltWord, ...], dict[str, Any]]:
    """Return the `size` most frequent nouns and verbs, and a description of their source.

    Equal arguments and tool versions give equal lists.

    Parameters
    ----------
    corpus
        Names and texts in which words are counted. If empty, wordfreq's lists are used.
    max_valence
        Leave out words whose absolute valence is larger, in [0, 1]. None leaves out none.
    lexicon
        The valences. The default is VADER for English and this project's own lexicon for Chinese.
    language
        ``en`` or ``zh``.

    Raises
    ------
    SettingsError
        If a tool is not installed or a file cannot be read.
    """
    tagger, tools = _english_tagger() if language == "en" else _chinese_tagger()
    about: dict[str, Any] = {"language": language, "parts_of_speech": ["noun", "verb"]}
    if corpus:
        frequencies: Iterable[tuple[str, float]] = _count(corpus, language)
        about["corpus"] = [
            {"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for name, text in corpus
        ]
        about["licence"] = _CORPUS_NOTICE
    else:
        frequencies, tool, digest = _wordfreq(language)
        tools.insert(0, tool)
        about["frequencies_sha256"] = digest
        about["licence"] = _WORDFREQ_NOTICE
    charged: set[str] = set()
    if max_valence is not None:
        used = lexicon or (_vader() if language == "en" else _own_chinese_lexicon())
        about["max_valence"] = max_valence
        about["valence"] = {"name": used.name, "sha256": used.sha256}
        charged = {word for word, value in used.valence.items() if abs(value) > max_valence}
    chosen: list[BuiltWord] = []
    for word, frequency in frequencies:
        pos = tagger(word)
        if pos is not None and word not in charged:
            chosen.append(BuiltWord(word=word, pos=pos, frequency=frequency))
            if len(chosen) == size:
                break
    about["tools"] = tools
    about["size"] = len(chosen)
    return tuple(chosen), about


def render_words(words: Sequence[BuiltWord], about: Mapping[str, Any]) -> str:
    """Return a list as JSON Lines: its description, then one word per line.

    `about` describes the list: its source, its licence and how it was made. It must fit JSON.
    """
    lines = [json.dumps({"about": dict(about)}, ensure_ascii=False, sort_keys=True)]
    lines += [
        json.dumps(
            {"word": word.word, "pos": word.pos, "frequency": word.frequency}, ensure_ascii=False
        )
        for word in words
    ]
    return "\n".join(lines) + "\n"


def read_lexicon(path: Path) -> Lexicon:
    """Return the valences in a file of lines of a word, a tab, and a number from -1 to 1.

    Empty lines, and those that begin with ``#``, are ignored.

    Raises
    ------
    SettingsError
        If the file cannot be read or a line is not of this form.
    """
    text = _read(path)
    valence: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, value = line.partition("\t")
        try:
            valence[word.strip()] = float(value)
        except ValueError:
            raise SettingsError(
                f"{path}, line {number}: needs a word, a tab and a number from -1 to 1"
            ) from None
        if not -1 <= valence[word.strip()] <= 1:
            raise SettingsError(f"{path}, line {number}: {value.strip()} is not in [-1, 1]")
    return Lexicon(
        name=path.name, sha256=hashlib.sha256(text.encode()).hexdigest(), valence=valence
    )


def _tool(package: str, *modules: str) -> tuple[Any, ...]:
    try:
        with warnings.catch_warnings():
            # jieba's source has invalid escape sequences, and users cannot act on warnings about
            # them.
            warnings.simplefilter("ignore")
            return tuple(importlib.import_module(module) for module in modules)
    except ImportError:
        raise SettingsError(f"{package} is not installed; {_EXTRA}") from None


def _version(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read ({error}); check the path") from None


def _wordfreq(language: Language) -> tuple[list[tuple[str, float]], str, str]:
    (wordfreq,) = _tool("wordfreq", "wordfreq")
    data = Path(wordfreq.__file__).parent / "data" / f"large_{language}.msgpack.gz"
    words = wordfreq.top_n_list(language, _CANDIDATES, wordlist="large")
    rated = [(word, wordfreq.zipf_frequency(word, language, wordlist="large")) for word in words]
    rated.sort(key=lambda pair: (-pair[1], pair[0]))
    return rated, _version("wordfreq"), _sha256(data)


def _count(corpus: Sequence[tuple[str, str]], language: Language) -> list[tuple[str, float]]:
    counts: Counter[str] = Counter()
    for _, text in corpus:
        if language == "en":
            counts.update(re.findall(r"[a-z]+", text.lower()))
        else:
            (jieba,) = _tool("jieba", "jieba")
            counts.update(jieba.cut(text, HMM=False))
    return [
        (word, float(count))
        for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _english_tagger() -> tuple[_Tagger, list[str]]:
    """Tag by HanTa's most probable tag, if lemminflect's dictionary has it for the word too."""
    (hanta,) = _tool("HanTa", "HanTa.HanoverTagger")
    (lemminflect,) = _tool("lemminflect", "lemminflect")
    hanover = hanta.HanoverTagger("morphmodel_en.pgz")

    def tag(word: str) -> PartOfSpeech | None:
        if not re.fullmatch(r"[a-z]{2,}", word):
            return None
        best = hanover.analyze(word)[1]
        lemmas = lemminflect.getAllLemmas(word)
        if best in _ENGLISH_NOUNS and "NOUN" in lemmas:
            return "noun"
        return "verb" if best in _ENGLISH_VERBS and "VERB" in lemmas else None

    return tag, [_version("HanTa"), _version("lemminflect")]


def _chinese_tagger() -> tuple[_Tagger, list[str]]:
    """Tag by the dictionary of jieba. Words that it lacks or tags otherwise are left out."""
    jieba, posseg = _tool("jieba", "jieba", "jieba.posseg")
    jieba.setLogLevel(logging.ERROR)
    posseg.dt.tokenizer.check_initialized()
    table: Mapping[str, str] = posseg.dt.word_tag_tab

    def tag(word: str) -> PartOfSpeech | None:
        if not re.fullmatch(r"[\u4e00-\u9fff]+", word):
            return None
        return _CHINESE_TAGS.get(table.get(word, ""))

    return tag, [_version("jieba")]


def _vader() -> Lexicon:
    """Return the mean valences of the VADER lexicon (Hutto & Gilbert 2014), scaled to [-1, 1]."""
    (vader,) = _tool("vaderSentiment", "vaderSentiment.vaderSentiment")
    valence: Mapping[str, float] = vader.SentimentIntensityAnalyzer().lexicon
    return Lexicon(
        name=_version("vaderSentiment"),
        sha256=_sha256(Path(vader.__file__).parent / "vader_lexicon.txt"),
        valence={word: value / _VADER_SCALE for word, value in valence.items()},
    )


def _own_chinese_lexicon() -> Lexicon:
    """Return the lexicon that was written for this project. Its file describes the method."""
    data = resources.files(__package__) / "data" / "valence_zh.tsv"
    with resources.as_file(data) as path:
        return read_lexicon(path)
