"""Detect the natural language of a sentence by its script and its function words."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.variants._lines import is_code_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.variants._document import Document

NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian or another language in Cyrillic script",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "zh": "Chinese",
}
"""The languages that can be detected, by ISO 639-1 code."""

_SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "zh": re.compile(r"[\u3400-\u9fff]"),
    "ko": re.compile(r"[\u1100-\u11ff\uac00-\ud7af]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "el": re.compile(r"[\u0370-\u03ff]{3,}"),
}
_SMALL_WORDS = {
    "en": """the a an and or of to in on is are be it that this with for from by as at if not which
        you your given return returns write function takes all each when than into have has i we
        should must there use one two does can please need string list number numbers its their""",
    "de": """der das und ist nicht ein eine einer eines einem einen mit für von auf dem zu wird aus
        wenn schreibe schreib erstelle gib zurück berechne funktion liste soll sind sie ich wir
        oder alle jede jeder keine sortiere absteigend aufsteigend zeichenkette zahl zahlen bitte
        implementiere werden nach über bei nur auch kein dass""",
    "fr": """je suis ce les des une est dans pour avec qui que sur et pas du écris écrire fonction
        liste renvoie renvoyer chaîne nombre doit sont vous nous si chaque aux ou retourne""",
    "es": """el los las una para con por del función escribe escribir lista devuelve cadena número
        que si cada debe son como números""",
    "pt": """uma não com dos das para função escreva lista retorne devolve número cada deve são
        você""",
    "it": """il gli che di è per della sono scrivi funzione una lista restituisci numero ogni
        stringa con""",
    "nl": """het een van niet met voor schrijf functie lijst geef elke moet zijn als""",
    "pl": """jest nie się oraz że napisz funkcję która zwraca listę liczb dla każdego jeśli""",
    "sv": """och att det som en ett är för av på med inte till den har om skriv funktion returnera
        returnerar lista listan alla varje tal talen ska du jag när eller från bara""",
    "da": """og at det som en et er for af på med ikke til den har om skriv funktion returner
        returnerer liste listen alle hver tal tallene skal du jeg når eller fra kun der""",
    "nb": """og at det som en et er for av på med ikke til den har om skriv funksjon returner
        returnerer liste listen alle hver tall tallene skal du jeg når eller fra bare""",
    "fi": """ja että joka jos on ei ovat kirjoita funktio funktion palauttaa palauta lista listan
        kaikki luvut lukujen merkkijono tai sekä""",
    "cs": """je není se že pro na od do napiš funkci která vrátí seznam čísel každé pokud nebo
        všechny""",
    "tr": """ve bir bu için ile yaz fonksiyon liste döndür olan her""",
}
_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in _SMALL_WORDS.items():
    for _word in _words.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_CODE = re.compile(r"`[^`]*`|https?://\S+|(?a:[\w./-]*[_/()\[\]=<>{}][\w./-]*)")
_ERROR_MESSAGE = re.compile(r"\w*(?:Error|Exception|Warning):[^\u3400-\u9fff\uff0c\u3002]*")
"""The message of an error, which is in English in a text of any language."""
_QUOTED = re.compile(
    r"(?<!\")\"(?!\")[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|\u201c[^\u201d\n]*\u201d"
    r"|\u201e[^\u201c\n]*\u201c|\u2018[^\u2019\n]*\u2019|\u300c[^\u300d\n]*\u300d|\u300e[^\u300f\n]*\u300f|\u00ab[^\u00bb\n]*\u00bb"
)
_NAME = re.compile(r"\b(?a:[a-z]*[A-Z]\w*|\w*\d\w*)")
"""A word with capitals or digits, as those of products and identifiers."""
_OTHER_SCRIPT = re.compile(r"[^\x00-\u024f]+")
_LATIN_PER_SIGN = 4
"""Number of Latin letters that count as much as one Chinese character."""


@lru_cache(maxsize=4096)
def language_of(sentence: str) -> str | None:
    """Return the ISO 639-1 code of a sentence's language, or None if it cannot be detected.

    Inline code and URLs do not count, and neither does an error message in a Chinese sentence.
    *Return n-th Fibonacci number.* is English by one word.
    """
    text = _CODE.sub(" ", sentence)
    script = _script_of(text)
    if script:
        return script
    votes = Counter(
        language for word in _WORD.findall(text.lower()) for language in _LANGUAGES_OF.get(word, ())
    )
    if not votes:
        return None
    most = max(votes.values())
    best = [language for language, votes_of in votes.items() if votes_of == most]
    return "en" if "en" in best else best[0]


def _script_of(text: str) -> str | None:
    """Return the language of the script of a text without code, or None for the Latin script.

    In a text that has a different script, technical terms and names such as *TypeScript* do not
    count: words with capitals, and all words if none of them is a function word.
    """
    signs = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS.items()}
    if signs["ja"]:
        signs["ja"] += signs.pop("zh")
    code, count = max(signs.items(), key=lambda item: item[1])
    if not count:
        return None
    text = _ERROR_MESSAGE.sub(" ", text) if code == "zh" else text
    words = _WORD.findall(text)
    if not any(word.lower() in _LANGUAGES_OF for word in words):
        return code
    counted = (word for word in words if word.lower() in _LANGUAGES_OF or not _NAME.match(word))
    latin = sum(character.isascii() for word in counted for character in word)
    return code if count * _LATIN_PER_SIGN >= latin else None


def _is_code(line: str) -> bool:
    """Return whether a line in the Latin script may be code: by its form, or since it is indented.

    A line in a different script is a sentence or a comment.
    """
    return line.isascii() and (line[:1].isspace() or is_code_line(line))


def has_script_of(code: str, text: str) -> bool:
    """Return whether `text` has a character of the script in which a language is written.

    Every text may have words of a language in the Latin script.
    """
    return code not in _SCRIPTS or _SCRIPTS[code].search(text) is not None


def main_language(sentences: Iterable[str]) -> str:
    """Return the language of the prose of `sentences`, or English if none is detected.

    The script is that of all sentences together, without code, quoted text and the names of
    products. In the Latin script it is the language of most of the text.
    """
    whole = [*sentences]
    lines = (line for text in whole for line in text.splitlines() if not _is_code(line))
    script = _script_of(_CODE.sub(" ", _QUOTED.sub(" ", "\n".join(lines))))
    if script:
        return script
    weights: Counter[str] = Counter()
    for sentence in whole:
        language = language_of(_QUOTED.sub(" ", sentence)) or language_of(sentence)
        if language is not None:
            weights[language] += max(1, len(sentence))
    return weights.most_common(1)[0][0] if weights else "en"


def prompt_language(document: Document) -> str:
    """Return the language of a prompt: of its sentences, or else of the comments in its code.

    Code has words of several languages, such as *del*. So only a script other than the Latin one
    in it, outside quoted text, identifies the language of code without sentences.
    """
    sentences = [document.text[span.start : span.end] for span in document.sentences]
    return main_language(sentences or _OTHER_SCRIPT.findall(_QUOTED.sub(" ", document.text)))
