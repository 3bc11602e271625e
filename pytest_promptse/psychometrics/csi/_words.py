"""Word lists of the Core Sentiment Inventory: the shipped ones and those of users."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LANGUAGES", "SHIPPED", "Language", "WordList", "load_words", "read_words"]

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

SHIPPED = ("en", "zh", "developer")
"""The names of the shipped lists. ``developer`` is English."""


@dataclass(frozen=True, kw_only=True)
class WordList:
    """Words in order of falling frequency.

    Parameters
    ----------
    name
        A shipped list's name or a file's.
    words
        The words, each once.
    about
        Source and licence of the list. Empty if the file does not give them.
    """

    name: str
    words: tuple[str, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def language(self) -> Language:
        """The language of the words, from the file's description or else from their characters."""
        declared = self.about.get("language")
        if declared in LANGUAGES:
            return "zh" if declared == "zh" else "en"
        ascii_words = sum(word.isascii() for word in self.words)
        return "en" if 2 * ascii_words >= len(self.words) else "zh"


def load_words(name: str, *, folder: Path | None = None) -> WordList:
    """Return the shipped list called `name`, or the list in the file at that path.

    Parameters
    ----------
    name
        One of `SHIPPED`, or a path.
    folder
        The folder to which a relative path refers.

    Raises
    ------
    SettingsError
        If there is no such list or file, or the file is not a word list.
    """
    if name in SHIPPED:
        data = resources.files("pytest_promptse.psychometrics.csi") / "data" / f"words_{name}.jsonl"
        return read_words(data.read_text(encoding="utf-8"), name=name)
    path = (folder or Path()) / name
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"word list {name!r}: cannot be read ({error}); give a file or one of "
            f"{', '.join(SHIPPED)}"
        ) from None
    return read_words(text, name=name)


def read_words(text: str, *, name: str) -> WordList:
    """Return the word list in `text`.

    Each line is a word or a JSON object with a ``word``. Empty lines are ignored. The lists that
    the authors of the inventory published consist of JSON objects. If the first line is a JSON
    object with ``about``, it describes how the list was made.

    Raises
    ------
    SettingsError
        If a line has no word or invalid JSON, if a word occurs twice, or if there is no word.
    """
    words: dict[str, None] = {}
    about: Mapping[str, Any] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped:
            continue
        word: object = stripped
        if stripped.startswith("{"):
            row = _row(stripped, name, number)
            if number == 1 and isinstance(row.get("about"), dict):
                about = row["about"]
                continue
            word = row.get("word")
        if not isinstance(word, str) or not word.strip():
            raise SettingsError(f"word list {name!r}, line {number}: has no 'word'; add it")
        if word in words:
            raise SettingsError(f"word list {name!r}, line {number}: {word!r} comes twice")
        words[word] = None
    if not words:
        raise SettingsError(f"word list {name!r}: has no words")
    return WordList(name=name, words=tuple(words), about=about)


def _row(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise SettingsError(f"word list {name!r}, line {number}: is not JSON ({error})") from None
    return row if isinstance(row, dict) else {}
