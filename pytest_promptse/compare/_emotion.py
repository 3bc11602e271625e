"""RQ4: the effects of valence and arousal on correctness, stability and calibration."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_promptse.scoring._groups import kolmogorov_smirnov
from pytest_promptse.scoring._regression import LEAST_CLUSTERS, increment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.compare._common_subset import CommonSubset
    from pytest_promptse.compare._entry import ComparedEntry, TaskKey
    from pytest_promptse.compare._leaderboard import LeaderboardRow
    from pytest_promptse.record._figures import CalibrationRecord
    from pytest_promptse.record._schema import EmotionRecord
    from pytest_promptse.scoring._groups import Pairwise
    from pytest_promptse.scoring._regression import Increment
    from pytest_promptse.store._measured_variant import VariantRecord

QUADRANTS = ("positive-active", "positive-calm", "negative-active", "negative-calm")
# Words that look like code.
_TERM = re.compile(r"[`_(){}\[\]<>=\d]")


@dataclass(frozen=True, kw_only=True)
class EmotionGroup:
    """The variants of one entry in one quadrant or emotion.

    ``elasticity`` is 1 minus the mean absolute change of the score. ``ece``, ``overconfident`` and
    ``underconfident`` are over all samples of the run with that quadrant or emotion, not only over
    the common subset. They are None without log-probabilities.

    ``kind`` is ``quadrant`` or ``emotion``, and ``value`` its name. ``n`` is the number of
    variants. ``pass_rate`` and ``confidence`` are means in [0, 1], and ``change`` is the mean
    change of the pass rate.
    """

    entry: ComparedEntry
    kind: str
    value: str
    n: int
    pass_rate: float
    change: float
    elasticity: float | None
    confidence: float | None
    ece: float | None
    overconfident: float | None
    underconfident: float | None


@dataclass(frozen=True, kw_only=True)
class Distributions:
    """Tests between the quadrants of one entry, on a figure of their variants.

    ``figure`` names the compared quantity. ``pairs`` has one test for each pair of quadrants.
    """

    entry: ComparedEntry
    figure: str
    pairs: tuple[Pairwise, ...]


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The variance of a figure that valence and arousal explain beyond the controls.

    ``figure`` names the explained quantity. ``increment`` holds the increase of R² and its test.
    """

    entry: ComparedEntry
    figure: str
    increment: Increment


@dataclass(frozen=True, kw_only=True)
class EmotionAnalysis:
    """The analysis of emotions (RQ4).

    ``emotions`` has one row per emotion and entry, ``distributions`` the tests between quadrants,
    and ``explained`` the regressions. ``missing`` gives the reason for each analysis that was not
    possible.
    """

    emotions: tuple[EmotionGroup, ...]
    distributions: tuple[Distributions, ...]
    explained: tuple[Explained, ...]
    missing: tuple[str, ...]


class _EmotionVariant(NamedTuple):
    """One variant with a known emotion, with its task and original."""

    key: TaskKey
    original: VariantRecord
    variant: VariantRecord
    emotion: EmotionRecord

    @property
    def change(self) -> float:
        return self.variant.pass_rate - self.original.pass_rate

    @property
    def quadrant(self) -> str:
        sign = "positive" if self.emotion.valence >= 0 else "negative"
        return f"{sign}-{'active' if self.emotion.arousal >= 0 else 'calm'}"


def emotion_analysis(
    subset: CommonSubset, leaderboard: Sequence[LeaderboardRow]
) -> EmotionAnalysis:
    """Analyse quadrants and emotions of each entry (RQ4).

    `leaderboard` gives the entries and their order. Entries without emotions, or with too few
    variants, are named in ``missing`` of the result. The regression needs statsmodels.
    """
    emotions: list[EmotionGroup] = []
    distributions: list[Distributions] = []
    explained: list[Explained] = []
    missing: list[str] = []
    without: list[str] = []
    short: list[str] = []
    unsure: list[str] = []
    can_regress = find_spec("statsmodels") is not None
    for row in leaderboard:
        entry = row.entry
        variants = list(_emotion_variants(subset, entry))
        if not variants:
            without.append(entry.label)
            continue
        emotions += _emotion_groups(entry, variants, light=subset.mode == "light")
        distributions += _distributions(entry, variants)
        if not _is_sure(variants):
            unsure.append(entry.label)
        if can_regress:
            increments = list(_explained(entry, variants))
            explained += increments
            if not increments:
                short.append(entry.label)
    if without:
        missing.append(f"no variants in a known emotion: {', '.join(without)}")
    if unsure:
        missing.append(
            f"confidence and calibration need log-probabilities: {', '.join(unsure)} has none"
        )
    if not can_regress:
        missing.append(
            "the regression needs statsmodels; pip install 'pytest-promptse[statistics]'"
        )
    if short:
        missing.append(
            f"the regression needs {LEAST_CLUSTERS} tasks, pass rates that change and emotions "
            f"that differ in valence and arousal: not so for {', '.join(short)}"
        )
    return EmotionAnalysis(
        emotions=tuple(emotions),
        distributions=tuple(distributions),
        explained=tuple(explained),
        missing=tuple(missing),
    )


def term_density(text: str) -> float:
    """Return the share of words that look like code: with backticks, brackets, digits, ``_<>=``."""
    words = text.split()
    return sum(_TERM.search(word) is not None for word in words) / len(words) if words else 0.0


def _emotion_variants(subset: CommonSubset, entry: ComparedEntry) -> Iterator[_EmotionVariant]:
    emotions = entry.source.record.emotions
    for key in subset.tasks:
        original = entry.originals[key]
        for variant in subset.variants(entry, key):
            if variant.emotion in emotions:
                yield _EmotionVariant(key, original, variant, emotions[variant.emotion])


def _is_sure(variants: Sequence[_EmotionVariant]) -> bool:
    return all(
        case.variant.confidence is not None and case.original.confidence is not None
        for case in variants
    )


def _emotion_groups(
    entry: ComparedEntry, variants: Sequence[_EmotionVariant], *, light: bool
) -> Iterator[EmotionGroup]:
    by_quadrant: dict[str, list[_EmotionVariant]] = defaultdict(list)
    by_emotion: dict[str, list[_EmotionVariant]] = defaultdict(list)
    for case in variants:
        by_quadrant[case.quadrant].append(case)
        by_emotion[case.variant.emotion or ""].append(case)
    subgroups = entry.subgroups
    calibration = (subgroups.calibration if subgroups else None) or {}
    emotions = (subgroups.emotions if subgroups else None) or {}
    for quadrant in QUADRANTS:
        if quadrant in by_quadrant:
            cases = by_quadrant[quadrant]
            yield _emotion_group(
                entry, ("quadrant", quadrant), cases, calibration.get(quadrant), light
            )
    for emotion in entry.source.record.emotions:
        if emotion in by_emotion:
            cases = by_emotion[emotion]
            yield _emotion_group(entry, ("emotion", emotion), cases, emotions.get(emotion), light)


def _emotion_group(
    entry: ComparedEntry,
    group: tuple[str, str],
    variants: Sequence[_EmotionVariant],
    calibration: CalibrationRecord | None,
    light: bool,
) -> EmotionGroup:
    deltas = [case.change if light else case.variant.delta for case in variants]
    measured = [abs(delta) for delta in deltas if delta is not None]
    sure = [c for case in variants if (c := case.variant.confidence) is not None]
    return EmotionGroup(
        entry=entry,
        kind=group[0],
        value=group[1],
        n=len(variants),
        pass_rate=float(np.mean([case.variant.pass_rate for case in variants])),
        change=float(np.mean([case.change for case in variants])),
        elasticity=1.0 - float(np.mean(measured)) if measured else None,
        confidence=float(np.mean(sure)) if len(sure) == len(variants) else None,
        ece=calibration.ece if calibration else None,
        overconfident=calibration.overconfident if calibration else None,
        underconfident=calibration.underconfident if calibration else None,
    )


def _distributions(
    entry: ComparedEntry, variants: Sequence[_EmotionVariant]
) -> Iterator[Distributions]:
    groups = {q: [case for case in variants if case.quadrant == q] for q in QUADRANTS}
    groups = {quadrant: cases for quadrant, cases in groups.items() if cases}
    if len(groups) < 2:  # noqa: PLR2004 - one group has nothing to be compared with
        return
    changes = {q: np.array([case.change for case in cases]) for q, cases in groups.items()}
    yield Distributions(
        entry=entry, figure="change of the pass rate", pairs=tuple(kolmogorov_smirnov(changes))
    )
    if _is_sure(variants):
        sure = {
            q: np.array([case.variant.confidence for case in cases]) for q, cases in groups.items()
        }
        yield Distributions(entry=entry, figure="confidence", pairs=tuple(kolmogorov_smirnov(sure)))


def _explained(entry: ComparedEntry, variants: Sequence[_EmotionVariant]) -> Iterator[Explained]:
    valence = np.array([case.emotion.valence for case in variants])
    arousal = np.array([case.emotion.arousal for case in variants])
    controls = {
        "length": np.array([math.log(max(1, len(case.variant.text.split()))) for case in variants]),
        "edit magnitude": np.array([case.variant.measured_distance for case in variants]),
        "term density": np.array([term_density(case.variant.text) for case in variants]),
        "distance": np.array([case.variant.distance for case in variants]),
    }
    further = {"valence": valence, "arousal": arousal, "valence by arousal": valence * arousal}
    outcomes: Mapping[str, Sequence[float]] = {
        "change of the pass rate": [case.change for case in variants],
        **(
            {
                "change of confidence": [
                    (case.variant.confidence or 0.0) - (case.original.confidence or 0.0)
                    for case in variants
                ]
            }
            if _is_sure(variants)
            else {}
        ),
    }
    clusters = ["\x1f".join(case.key) for case in variants]
    emotions = [case.variant.emotion or "" for case in variants]
    for figure, outcome in outcomes.items():
        gain = increment(np.array(outcome), controls, further, clusters, units=emotions)
        if gain is not None:
            yield Explained(entry=entry, figure=figure, increment=gain)
