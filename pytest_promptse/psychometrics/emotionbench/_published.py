"""Read the response files that the authors of EmotionBench published.

The layouts are those of https://github.com/CUHK-ARISE/EmotionBench: a CSV file for each model and
scale, and the workbook of the crowd study.
"""

from __future__ import annotations

import csv
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments._scales import Scale
from pytest_promptse.psychometrics.emotionbench._factors import EMOTIONS, NEGATIVE, PANAS, POSITIVE
from pytest_promptse.psychometrics.emotionbench._scoring import Evoked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["CrowdAnswers", "Responses", "read_crowd", "read_responses"]

_DEFAULT = re.compile(r"^General_test-\d+_order-(\d+)$")
_EVOKED = re.compile(
    r"^(?P<factor>\w+-\d+)_scenario-(?P<situation>\d+)_test-\d+_order-(?P<order>\d+)$"
)
_SUBJECT = re.compile(r"^(?P<emotion>[A-Za-z]+)_F(?P<factor>\d+)S(?P<situation>\d+)$")
# The workbook names two emotions by adjectives.
_WORKBOOK_EMOTIONS = {"Angry": "Anger", "Jealous": "Jealousy"}
_N_PANAS = 20


@dataclass(frozen=True, kw_only=True)
class Responses:
    """The totals in one CSV file.

    Parameters
    ----------
    default
        The default totals, by category.
    evoked
        The evoked totals of each situation, by category.
    malformed
        Columns that were left out, since an item has no whole number on the scale.
    """

    source: str
    model: str
    scale: str
    default: Mapping[str, tuple[float, ...]]
    evoked: Mapping[str, tuple[Evoked, ...]]
    malformed: int


@dataclass(frozen=True, kw_only=True)
class CrowdAnswers:
    """The answers of human subjects by factor, as pairs of totals before and after.

    ``before`` and ``after`` map kind of affect and factor to one total per subject, in the same
    order. ``source`` names the file, and ``malformed`` is the number of subjects that were left
    out.
    """

    source: str
    before: Mapping[str, Mapping[str, tuple[float, ...]]]
    after: Mapping[str, Mapping[str, tuple[float, ...]]]
    malformed: int


def read_responses(
    path: Path, *, scale: Scale | None = None, reverse_scoring: bool = False
) -> Responses:
    """Return the totals in a CSV file of responses.

    Parameters
    ----------
    scale
        The scale. The default is PANAS, or for another scale the plain sum of all items, as in the
        paper's Table 5.
    reverse_scoring
        True to reverse reversed items. The paper does not.
    path
        The file. Its name gives the model, and the scale unless that is PANAS.

    Raises
    ------
    SettingsError
        If the file has another layout.
    """
    rows = _table(path)
    header, items = rows[0], rows[2:]
    model, _, rest = path.stem.partition("-PANAS")
    name = "PANAS"
    if not rest:
        model, name = _named(path.stem)
    key = scale or (PANAS if name == "PANAS" else _plain_sum(name, len(items)))
    if not reverse_scoring:
        key = key.plain()
    orders = {
        column.removeprefix("order-"): [_whole(row[i]) for row in items]
        for i, column in enumerate(header)
        if column.startswith("order-")
    }
    default: dict[str, list[float]] = {}
    evoked: dict[str, dict[tuple[str, str], list[float]]] = {}
    malformed = 0
    for i, column in enumerate(header):
        match = _DEFAULT.match(column) or _EVOKED.match(column)
        if match is None:
            continue
        order = orders.get(match.groups()[-1])
        if order is None:
            raise SettingsError(f"{path}, column {column!r}: has no order-{match.groups()[-1]}")
        totals = _totals([_whole(row[i]) for row in items], order, key)
        if totals is None:
            malformed += 1
            continue
        for category, total in totals.items():
            if match.re is _DEFAULT:
                default.setdefault(category, []).append(total)
            else:
                place = (match["factor"], match["situation"])
                evoked.setdefault(category, {}).setdefault(place, []).append(total)
    return Responses(
        source=str(path),
        model=model,
        scale=name,
        default={category: tuple(totals) for category, totals in default.items()},
        evoked={
            category: tuple(
                Evoked(factor=factor, situation=situation, totals=tuple(totals))
                for (factor, situation), totals in places.items()
            )
            for category, places in evoked.items()
        },
        malformed=malformed,
    )


def _table(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(
            f"{path}: cannot be read as CSV ({error}); check the path and the format"
        ) from None
    if len(rows) < 3 or not any(_DEFAULT.match(name) for name in rows[0]):  # noqa: PLR2004
        raise SettingsError(
            f"{path}: has no columns 'General_test-N_order-N'; give a response file as the authors "
            "of EmotionBench published them"
        )
    return rows


def read_crowd(path: Path) -> CrowdAnswers:
    """Return the answers in the crowd study's workbook.

    Totals are computed from the items, not taken from the workbook's own formulas.

    Raises
    ------
    SettingsError
        If openpyxl is not installed or the workbook has another layout.
    """
    rows = _workbook_rows(path)
    questions = [
        i
        for i, row in enumerate(rows)
        if str(row[1] or "").startswith("Please indicate the extent")
    ]
    if len(questions) != 2 * _N_PANAS:
        raise SettingsError(f"{path}: has {len(questions)} rows of ratings, not {2 * _N_PANAS}")
    header = next((row for row in rows if row[1] == "Info"), None)
    if header is None:
        raise SettingsError(f"{path}: has no row 'Info' that names the situations")
    before: dict[str, dict[str, list[float]]] = {POSITIVE: {}, NEGATIVE: {}}
    after: dict[str, dict[str, list[float]]] = {POSITIVE: {}, NEGATIVE: {}}
    malformed = 0
    order = list(range(1, _N_PANAS + 1))
    for column, name in enumerate(header):
        match = _SUBJECT.match(str(name or ""))
        if match is None:
            continue
        emotion = _WORKBOOK_EMOTIONS.get(match["emotion"], match["emotion"])
        if emotion not in EMOTIONS:
            raise SettingsError(f"{path}: names an emotion {emotion!r} that EmotionBench lacks")
        factor = f"{emotion}-{int(match['factor']) - 1}"
        values = [_whole(rows[i][column]) for i in questions]
        first = _totals(values[:_N_PANAS], order, PANAS)
        second = _totals(values[_N_PANAS:], order, PANAS)
        if first is None or second is None:
            malformed += 1
            continue
        for category in (POSITIVE, NEGATIVE):
            before[category].setdefault(factor, []).append(first[category])
            after[category].setdefault(factor, []).append(second[category])
    return CrowdAnswers(
        source=str(path), before=_frozen(before), after=_frozen(after), malformed=malformed
    )


def _frozen(
    answers: Mapping[str, Mapping[str, Sequence[float]]],
) -> dict[str, dict[str, tuple[float, ...]]]:
    return {
        category: {factor: tuple(totals) for factor, totals in by_factor.items()}
        for category, by_factor in answers.items()
    }


def _workbook_rows(path: Path) -> list[tuple[Any, ...]]:
    try:
        import openpyxl  # noqa: PLC0415 - only workbooks need it
    except ImportError:
        raise SettingsError(
            f"{path}: openpyxl is not installed; pip install 'pytest-promptse[psychometrics]'"
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise SettingsError(
            f"{path}: cannot be read as a workbook ({error}); check the path and the format"
        ) from None
    try:
        if "Raw" not in book.sheetnames:
            raise SettingsError(f"{path}: has no sheet 'Raw'")
        return list(book["Raw"].iter_rows(values_only=True))
    finally:
        book.close()


def _named(stem: str) -> tuple[str, str]:
    """Return model and scale of ``MODEL-SCALE-testing``. A scale's name may contain a hyphen."""
    base = stem.removesuffix("-testing")
    for scale in ("DASS-21",):
        if base.endswith(f"-{scale}"):
            return base.removesuffix(f"-{scale}"), scale
    model, _, scale = base.rpartition("-")
    return (model, scale) if model else (base, "scale")


def _plain_sum(name: str, n_items: int) -> Scale:
    return Scale(
        name=name,
        items=tuple(str(number) for number in range(1, n_items + 1)),
        low=0,
        high=9,
        instructions="",
        categories={"Overall": tuple(range(1, n_items + 1))},
    )


def _whole(value: object) -> int | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _totals(
    values: Sequence[int | None], order: Sequence[int | None], scale: Scale
) -> dict[str, float] | None:
    ratings: dict[int, int] = {}
    for number, value in zip(order, values, strict=True):
        if number is None or value is None or not scale.low <= value <= scale.high:
            return None
        ratings[number] = value
    try:
        return scale.totals(ratings)
    except KeyError:
        return None
