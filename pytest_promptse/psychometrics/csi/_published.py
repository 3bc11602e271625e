"""Read responses to the Core Sentiment Inventory that other tools collected.

Two layouts are those of the authors' repository (https://github.com/dependentsign/CSI). One is a
CSV file with three columns for each run. The other is an experiment's folder with that file, the
raw responses and the ratings of stories. The third layout, JSON Lines of raw responses, is this
project's own.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.csi._labels import read_labels
from pytest_promptse.psychometrics.csi._prompts import anchors_for
from pytest_promptse.psychometrics.csi._scoring import CODES, MISSING, encode
from pytest_promptse.psychometrics.csi._stories import RatedStory, Validity, read_rating, validity
from pytest_promptse.psychometrics.csi._words import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_promptse.psychometrics.csi._labels import Label
    from pytest_promptse.psychometrics.csi._words import Language, WordList

__all__ = ["Administration", "read_administrations"]

_PUBLISHED_LABELS: Mapping[str, Label] = {
    "COMEDY": "positive",
    "TRAGEDY": "negative",
    "NEUTRAL": "neutral",
}
_QUESTION = re.compile(r"^\s*\d+\.\s?(.*)$", re.DOTALL)
_STORY_GROUP = re.compile(r"^score_positive_(\d)-")
_BETWEEN_RESPONSES = re.compile(r"^====$", re.MULTILINE)
_PUBLISHED_WORDS_PER_PROMPT = 30
_PUBLISHED_SEEDS = 5


@dataclass(frozen=True, kw_only=True)
class Administration:
    """All labels of one model in one language.

    Parameters
    ----------
    source
        The file or folder that was read.
    words
        The words, in the order of the word list if the file gives it, else of first appearance.
    codes, batches
        Arrays of shape (runs, words), as `score` takes them.
    problems
        Number of occurrences of each kind of problem. Empty for files that contain labels.
    reread
        Codes that this package reads from the raw responses, of the same shape, or None without
        these.
    validity
        The result of the story ratings, or None without them.
    """

    source: str
    model: str
    language: str
    words: tuple[str, ...]
    codes: NDArray[np.int8]
    batches: NDArray[np.int64]
    problems: Mapping[str, int] = field(default_factory=dict)
    reread: NDArray[np.int8] | None = None
    validity: Validity | None = None


def read_administrations(
    path: Path, *, words_per_prompt: int | None = None, words: WordList | None = None
) -> Iterable[Administration]:
    """Yield the administrations in `path`: a CSV file, an experiment's folder, or JSON Lines.

    Parameters
    ----------
    words_per_prompt
        Number of words in each prompt. The default is the number in the folder's name, or 30.
    words
        The word list to which the numbers in a CSV file's order columns refer. The default is the
        list of words in the file itself.

    Raises
    ------
    SettingsError
        If the file has another layout. The message names the line or column.
    """
    if path.is_dir():
        tables = sorted(path.glob("*.csv"))
        if not tables:
            raise SettingsError(f"{path}: has no CSV file; give an experiment's folder or a file")
        for table in tables:
            yield _published(table, words_per_prompt, words)
    elif path.suffix == ".csv":
        yield _published(path, words_per_prompt, words)
    elif path.suffix in {".jsonl", ".ndjson"}:
        yield from _own(path)
    else:
        raise SettingsError(f"{path}: give a .csv or .jsonl file or an experiment's folder")


def _published(path: Path, words_per_prompt: int | None, listed: WordList | None) -> Administration:
    rows = _table(path)
    if words_per_prompt is None:
        named = re.search(r"_CN(\d+)", path.parent.name)
        words_per_prompt = int(named[1]) if named else _PUBLISHED_WORDS_PER_PROMPT
    header = rows[0]
    orders = [i for i, name in enumerate(header) if name.startswith("order")]
    if not orders or orders[0] == 0:
        raise SettingsError(f"{path}: has no 'order' column with the words' numbers before it")
    n_words = len(rows) - 1
    names: dict[int, str] = {}
    runs: list[NDArray[np.int8]] = []
    lots: list[NDArray[np.int64]] = []
    for which, order in enumerate(orders):
        end = orders[which + 1] - 1 if which + 1 < len(orders) else len(header)
        numbers = [_number(row, order, path, line) for line, row in enumerate(rows[1:], start=2)]
        if sorted(numbers) != list(range(1, n_words + 1)):
            raise SettingsError(
                f"{path}, column {header[order]!r}: is not a permutation of 1 to {n_words}"
            )
        for row, number in zip(rows[1:], numbers, strict=True):
            match = _QUESTION.match(row[order - 1])
            names.setdefault(number, match[1] if match else row[order - 1])
        places = np.array(numbers) - 1
        for column in range(order + 1, end):
            codes = np.full(n_words, MISSING, dtype=np.int8)
            codes[places] = [_code(row[column], path, line) for line, row in enumerate(rows[1:], 2)]
            lot = np.empty(n_words, dtype=np.int64)
            lot[places] = np.arange(n_words) // words_per_prompt
            runs.append(codes)
            lots.append(lot)
    words = tuple(names[number] for number in range(1, n_words + 1))
    if listed is not None and listed.words[:n_words] != words:
        differing = next(
            (
                number
                for number, pair in enumerate(zip(listed.words, words, strict=False), 1)
                if pair[0] != pair[1]
            ),
            min(len(listed.words), n_words) + 1,
        )
        raise SettingsError(
            f"{path}: word {differing} differs from that of the list {listed.name!r}"
        )
    model, _, language = path.stem.rpartition("-")
    reread, problems = _reread(path.parent, words, len(runs), language)
    return Administration(
        source=str(path),
        model=model or path.stem,
        language=language,
        words=words,
        codes=np.stack(runs),
        batches=np.stack(lots),
        problems=problems,
        reread=reread,
        validity=_ratings(path.parent / "story_scores"),
    )


def _table(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(
            f"{path}: cannot be read as CSV ({error}); check the path and the format"
        ) from None
    if len(rows) < 2:  # noqa: PLR2004 - the header and one word
        raise SettingsError(f"{path}: has no rows of words")
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise SettingsError(f"{path}, row {line}: has {len(row)} cells, not {len(rows[0])}")
    return rows


def _number(row: list[str], column: int, path: Path, line: int) -> int:
    try:
        return int(float(row[column]))
    except ValueError:
        raise SettingsError(
            f"{path}, row {line}: {row[column]!r} is not the number of a word"
        ) from None


def _code(label: str, path: Path, line: int) -> int:
    name = label.strip().upper()
    if not name:
        return MISSING
    if name not in _PUBLISHED_LABELS:
        published = ", ".join(_PUBLISHED_LABELS)
        raise SettingsError(f"{path}, row {line}: label {label!r} is none of {published}")
    return CODES[_PUBLISHED_LABELS[name]]


def _reread(
    folder: Path, words: tuple[str, ...], runs: int, language: str
) -> tuple[NDArray[np.int8] | None, Mapping[str, int]]:
    """Label the raw responses of an experiment's folder by the rules of this package.

    `words` are the list of the experiment, and `runs` the number of its runs. The result is the
    labels, shape (runs, words), and the number of faults by kind. The labels are None if a file is
    missing.
    """
    prompts = sorted((folder / "prompts").glob("*-shuffle*.txt"))
    responses = sorted((folder / "responses").glob("*-shuffle*.txt"))
    if len(prompts) != runs or len(responses) != runs:
        return None, {}
    anchors = anchors_for("comedy/tragedy", "zh" if language == "Chinese" else "en")
    places = {word: place for place, word in enumerate(words)}
    codes = np.full((runs, len(words)), MISSING, dtype=np.int8)
    problems: dict[str, int] = {}
    for run, (prompt_file, response_file) in enumerate(zip(prompts, responses, strict=True)):
        listed = [_listed(prompt) for prompt in _parts(prompt_file)]
        texts = _parts(response_file)
        if len(listed) != len(texts):
            return None, {}
        for batch, text in zip(listed, texts, strict=True):
            labels = read_labels(text, batch, positive=anchors.positive, negative=anchors.negative)
            for kind, count in labels.problems.items():
                problems[kind] = problems.get(kind, 0) + count
            for word, code in zip(batch, encode(labels.labels), strict=True):
                if word in places:
                    codes[run, places[word]] = code
    return codes, problems


def _parts(path: Path) -> list[str]:
    return [
        part for part in _BETWEEN_RESPONSES.split(path.read_text(encoding="utf-8")) if part.strip()
    ]


def _listed(prompt: str) -> list[str]:
    """Return the words that a published prompt lists."""
    try:
        content = ast.literal_eval(prompt.strip())[-1]["content"]
    except (ValueError, SyntaxError, KeyError, TypeError, IndexError):
        return []
    return re.findall(r"^\d+\. ?(.+)$", content, re.MULTILINE)


def _ratings(folder: Path) -> Validity | None:
    stories, unrated = [], 0
    for path in sorted(folder.glob("score_positive_*.txt")):
        group = _STORY_GROUP.match(path.name)
        rating = read_rating(path.read_text(encoding="utf-8"))
        if group is None or rating is None:
            unrated += 1
            continue
        share = (_PUBLISHED_SEEDS - int(group[1])) / _PUBLISHED_SEEDS
        stories.append(RatedStory(negative_share=share, tragedy=rating))
    return validity(stories, n_unrated=unrated) if stories else None


def _own(path: Path) -> Iterable[Administration]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        row = _response_row(text, path, line)
        groups.setdefault((row.get("model", path.stem), row.get("language", "en")), []).append(row)
    for (model, language), rows in groups.items():
        yield _from_rows(path, model, language, rows)


def _response_row(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        row: Any = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{path}, line {line}: is not JSON ({error})") from None
    wanted = {"run": int, "words": list, "response": str}
    fields: dict[str, Any] = row if isinstance(row, dict) else {}
    for name, kind in wanted.items():
        if not isinstance(fields.get(name), kind):
            raise SettingsError(
                f"{path}, line {line}: needs 'run' (a number), 'words' (a list) and 'response' "
                f"(text); {name!r} is missing or of another type"
            )
    if fields.get("language", "en") not in LANGUAGES:
        raise SettingsError(f"{path}, line {line}: language is none of {', '.join(LANGUAGES)}")
    return fields


def _from_rows(path: Path, model: str, language: str, rows: list[dict[str, Any]]) -> Administration:
    words = tuple(dict.fromkeys(str(word) for row in rows for word in row["words"]))
    places = {word: place for place, word in enumerate(words)}
    numbers = {run: i for i, run in enumerate(sorted({row["run"] for row in rows}))}
    codes = np.full((len(numbers), len(words)), MISSING, dtype=np.int8)
    batches = np.zeros((len(numbers), len(words)), dtype=np.int64)
    seen: dict[int, int] = {}
    problems: dict[str, int] = {}
    own_language: Language = "zh" if language == "zh" else "en"
    for row in rows:
        run = numbers[row["run"]]
        anchors = anchors_for(row.get("anchors", "comedy/tragedy"), own_language)
        listed = [str(word) for word in row["words"]]
        labels = read_labels(
            row["response"], listed, positive=anchors.positive, negative=anchors.negative
        )
        for kind, count in labels.problems.items():
            problems[kind] = problems.get(kind, 0) + count
        for word, code in zip(listed, encode(labels.labels), strict=True):
            codes[run, places[word]] = code
            batches[run, places[word]] = seen.get(run, 0)
        seen[run] = seen.get(run, 0) + 1
    return Administration(
        source=str(path),
        model=model,
        language=language,
        words=words,
        codes=codes,
        batches=batches,
        problems=problems,
    )
