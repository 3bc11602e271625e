"""Where a model gives way: a run's wordings by emotion, by trait and by quadrant of emotion."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import false_discovery_control

from pytest_promptse.record.schema import (
    BinRecord,
    CalibrationRecord,
    SubgroupRecord,
    SubgroupsRecord,
)
from pytest_promptse.run.gates import to_samples
from pytest_promptse.scoring.calibration import calibration_by_group, confidence
from pytest_promptse.scoring.stratified import Stratum, stratified_p_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.record.schema import Calibrations
    from pytest_promptse.scoring.samples import Bools, Floats
    from pytest_promptse.store.run_log import OutcomeRow

_TRAITS = ("technical", "experience", "collaboration")
# Trait, value and distance, None for all distances.
_Voice = tuple[str, str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """What one wording came to, in little room: a run's voices are made of all of its wordings.

    ``passed`` and ``confidence`` run over the samples; the latter is None where log-probabilities
    are missing.
    """

    suite: str
    task: str
    distance: float
    emotion: str | None
    personality: str | None
    passed: Bools
    confidence: Floats | None

    @classmethod
    def of(cls, row: OutcomeRow) -> Heard:
        """Return what `row` came to."""
        samples = to_samples(row)
        return cls(
            suite=intern(row.suite),
            task=intern(row.task),
            distance=row.distance,
            emotion=row.emotion and intern(row.emotion),
            personality=row.personality and intern(row.personality),
            passed=samples.passed,
            confidence=(
                None
                if samples.logprob is None or samples.n_tokens is None
                else confidence(samples.logprob, samples.n_tokens)
            ),
        )

    @property
    def n(self) -> int:
        return self.passed.size

    @property
    def passes(self) -> int:
        return int(np.count_nonzero(self.passed))


def voices_of(
    model: str, template: str | None, rows: Sequence[Heard], quadrants: Mapping[str, str]
) -> SubgroupsRecord:
    """Compare wordings by voice with their originals, over all suites of one model.

    Wordings whose original was not measured are left out: they have nothing to be compared with.
    `quadrants` names each emotion's.
    """
    originals = {(row.suite, row.task): row for row in rows if row.distance == 0.0}
    by_voice: dict[_Voice, list[Heard]] = defaultdict(list)
    for row in rows:
        if row.distance and (row.suite, row.task) in originals:
            for voice in _voices(row):
                by_voice[voice].append(row)
    p_values = [stratified_p_value(_strata(own, originals)) for own in by_voice.values()]
    adjusted = false_discovery_control(p_values) if p_values else ()
    return SubgroupsRecord(
        model=model,
        template=template,
        voices=[
            SubgroupRecord(
                trait=trait,
                value=value,
                distance=distance,
                n_wordings=len(own),
                change=float(np.mean([_change(row, originals) for row in own])),
                p_value=p,
                p_adjusted=float(q),
            )
            for ((trait, value, distance), own), p, q in zip(
                by_voice.items(), p_values, adjusted, strict=True
            )
        ],
        calibration=calibrations(rows, quadrants),
        emotions=calibrations(rows, {row.emotion: row.emotion for row in rows if row.emotion}),
    )


def calibrations(rows: Iterable[Heard], groups_of: Mapping[str, str]) -> Calibrations | None:
    """Measure calibration of all samples and by group, None where log-probabilities are missing.

    The groups are ``original``, that of each emotion in `groups_of`, such as its quadrant, and
    ``control``, the wordings without an emotion. They share one threshold, the median confidence
    of all samples.
    """
    groups: dict[str, list[Heard]] = defaultdict(list)
    for row in rows:
        if row.confidence is None:
            return None
        name = "original" if row.distance == 0.0 else groups_of.get(row.emotion or "", "control")
        groups[name].append(row)
    if not groups:
        return None
    parts = {name: _joined(own) for name, own in groups.items()}
    everything = {"all": _joined(chain.from_iterable(groups.values()))}
    [together] = calibration_by_group(everything).values()
    measured = calibration_by_group({**everything, **parts}, threshold=together.threshold)
    return {
        name: CalibrationRecord(
            n=own.n,
            ece=own.ece,
            threshold=own.threshold,
            overconfident=own.overconfident,
            underconfident=own.underconfident,
            bins=[BinRecord(**vars(part)) for part in own.bins],
        )
        for name, own in measured.items()
    }


def _joined(rows: Iterable[Heard]) -> tuple[Floats, Bools]:
    known = [(row.confidence, row.passed) for row in rows if row.confidence is not None]
    return np.concatenate([c for c, _ in known]), np.concatenate([ok for _, ok in known])


def _voices(row: Heard) -> Iterator[_Voice]:
    named = [("emotion", row.emotion)] if row.emotion else []
    if row.personality:
        parts = row.personality.split(".")
        # Other packages' rewriters may have personalities of another shape.
        whole = len(parts) != len(_TRAITS)
        named += [("personality", row.personality)] if whole else zip(_TRAITS, parts, strict=True)
    for trait, value in named:
        yield trait, value, row.distance
        yield trait, value, None


def _change(row: Heard, originals: Mapping[tuple[str, str], Heard]) -> float:
    original = originals[row.suite, row.task]
    return row.passes / row.n - original.passes / original.n


def _strata(rows: Iterable[Heard], originals: Mapping[tuple[str, str], Heard]) -> list[Stratum]:
    by_task: dict[tuple[str, str], list[Heard]] = defaultdict(list)
    for row in rows:
        by_task[row.suite, row.task].append(row)
    return [
        Stratum(
            m_p=originals[task].n,
            passed_p=originals[task].passes,
            m_v=sum(row.n for row in own),
            passed_v=sum(row.passes for row in own),
        )
        for task, own in by_task.items()
    ]
