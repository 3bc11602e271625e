"""The situations of EmotionBench: this project's own, or the authors' from a clone."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics.emotionbench._factors import EMOTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Situation",
    "SituationSet",
    "imagine",
    "own_situations",
    "read_published_situations",
    "read_situations",
    "render_situations",
]

_IMAGINE = "Imagine that you are the person in this situation: “{text}”"


@dataclass(frozen=True, kw_only=True)
class Situation:
    """One situation of a factor.

    Parameters
    ----------
    factor
        ``Emotion-N``, see `EMOTIONS`.
    number
        Its index within the factor, from 0.
    text
        The situation, in the second person.
    counterpart
        The same scene with a good end, or None if there is none.
    """

    factor: str
    number: int
    text: str
    counterpart: str | None = None


@dataclass(frozen=True, kw_only=True)
class SituationSet:
    """Situations and their origin: ``own`` or a name of the user's."""

    name: str
    situations: tuple[Situation, ...]

    def select(
        self, *, emotions: Sequence[str] | None = None, per_factor: int | None = None
    ) -> SituationSet:
        """Return the situations of some emotions, with the first `per_factor` of each factor.

        Raises
        ------
        SettingsError
            If an emotion is unknown.
        """
        for emotion in emotions or ():
            if emotion not in EMOTIONS:
                raise SettingsError(f"emotion {emotion!r} is none of {', '.join(EMOTIONS)}")
        chosen = tuple(
            situation
            for situation in self.situations
            if (emotions is None or situation.factor.rpartition("-")[0] in emotions)
            and (per_factor is None or situation.number < per_factor)
        )
        return SituationSet(name=self.name, situations=chosen)


def imagine(text: str) -> str:
    """Return the sentence that makes a model imagine the situation `text`."""
    return _IMAGINE.format(text=text)


@cache
def own_situations() -> SituationSet:
    """Return this project's own situations: five for each factor, each with a counterpart."""
    data = resources.files(__package__) / "data" / "situations.json"
    return _from_json(json.loads(data.read_text(encoding="utf-8")), name="own", where="own")


def read_situations(path: Path) -> SituationSet:
    """Return the situations in a file that `render_situations` wrote.

    Raises
    ------
    SettingsError
        If the file cannot be read or has another layout.
    """
    return _from_json(_load(path), name=path.name, where=str(path))


def render_situations(situations: SituationSet, *, about: Mapping[str, Any]) -> str:
    """Return `situations` as JSON text in the layout of this project.

    `about` describes the source and must fit JSON.
    """
    factors: dict[str, list[dict[str, str]]] = {}
    for situation in situations.situations:
        entry = {"text": situation.text}
        if situation.counterpart is not None:
            entry["counterpart"] = situation.counterpart
        factors.setdefault(situation.factor, []).append(entry)
    document = {"about": dict(about), "factors": factors}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_published_situations(path: Path) -> SituationSet:
    """Return the situations in a file as the authors of EmotionBench published them.

    ``situations.json`` has emotions, each with factors, each with scenarios. ``situations.csv`` has
    a column for each factor: row 1 has ``Emotion-N`` (N from 0), row 2 the name of the factor, and
    the other rows its situations. A name that ends in ``.csv`` is read as CSV, any other as JSON.

    Raises
    ------
    SettingsError
        If the file cannot be read, has another layout, no situation or an unknown factor.
    """
    columns = _csv_columns(path) if path.suffix == ".csv" else _json_columns(path)
    situations: list[Situation] = []
    for factor, texts in columns.items():
        _check_factor(factor, str(path))
        situations += [
            Situation(factor=factor, number=number, text=text.strip())
            for number, text in enumerate(text for text in texts if text.strip())
        ]
    if not situations:
        raise SettingsError(f"{path}: has no situations")
    return SituationSet(name="emotionbench", situations=tuple(situations))


def _csv_columns(path: Path) -> dict[str, list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(
            f"{path}: cannot be read as CSV ({error}); check the path and the format"
        ) from None
    if not rows:
        raise SettingsError(f"{path}: is empty")
    return {
        factor: [row[i] for row in rows[2:] if i < len(row)] for i, factor in enumerate(rows[0])
    }


def _json_columns(path: Path) -> dict[str, list[str]]:
    document = _load(path)
    try:
        return {
            f"{emotion['name']}-{number}": [str(text) for text in factor["scenarios"]]
            for emotion in document["emotions"]
            for number, factor in enumerate(emotion["factors"])
        }
    except (KeyError, TypeError) as error:
        raise SettingsError(
            f"{path}: has no emotions with factors with scenarios (missing: {error})"
        ) from None


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SettingsError(
            f"{path}: cannot be read as JSON ({error}); check the path and the format"
        ) from None


def _check_factor(factor: str, where: str) -> None:
    emotion, _, number = factor.rpartition("-")
    if emotion not in EMOTIONS or not number.isdigit() or int(number) >= len(EMOTIONS[emotion]):
        raise SettingsError(
            f"{where}: {factor!r} is not a factor of EmotionBench; give one such as 'Anger-0'"
        )


def _from_json(document: Any, *, name: str, where: str) -> SituationSet:
    factors = document.get("factors") if isinstance(document, dict) else None
    if not isinstance(factors, dict) or not factors:
        raise SettingsError(
            f"{where}: has no 'factors' with situations; write it with 'promptse emotionbench "
            "import', or list texts under names such as 'Anger-0'"
        )
    situations: list[Situation] = []
    for factor, entries in factors.items():
        _check_factor(factor, where)
        for number, entry in enumerate(entries):
            text = entry.get("text") if isinstance(entry, dict) else entry
            if not isinstance(text, str) or not text.strip():
                raise SettingsError(f"{where}, {factor}, entry {number + 1}: has no text")
            counterpart = entry.get("counterpart") if isinstance(entry, dict) else None
            situations.append(
                Situation(factor=factor, number=number, text=text, counterpart=counterpart)
            )
    return SituationSet(name=name, situations=tuple(situations))
