"""Compare subgroups of variants with their originals: by emotion, trait and emotion quadrant."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.record._figures import BinRecord, CalibrationRecord
from pytest_promptse.record._schema import SubgroupRecord, SubgroupsRecord
from pytest_promptse.run._gates import to_samples
from pytest_promptse.scoring._calibration import calibration_by_group, confidence
from pytest_promptse.scoring._intervals import generator
from pytest_promptse.scoring._label_shuffling import LabelledVariant, label_p_values
from pytest_promptse.scoring._multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.record._figures import Calibrations
    from pytest_promptse.scoring._samples import Bools, Floats, Samples
    from pytest_promptse.store._measured_variant import VariantRecord

_TRAITS = ("technical", "experience", "collaboration")
# Trait, value of the trait, and distance (None for all distances).
_Subgroup = tuple[str, str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredPrompt:
    """The samples of one original or variant in compact form, since a run keeps all of them.

    Attributes
    ----------
    suite, task
        The ids of suite and task.
    distance
        Distance in [0, 1); 0 for the original.
    emotion, personality
        Emotion and personality of the variant, or None.
    cues
        The dimensions that the variant's text expresses: ``emotion``, ``technical``,
        ``experience``, ``collaboration``. Empty if its rewriter records none.
    passed
        True for each sample that passed, in sample order.
    confidence
        The confidence of each sample in [0, 1], or None if a log-probability is missing.
    """

    suite: str
    task: str
    distance: float
    emotion: str | None
    personality: str | None
    cues: frozenset[str] = frozenset()
    passed: Bools
    confidence: Floats | None

    @classmethod
    def of(cls, suite: str, variant: VariantRecord) -> MeasuredPrompt:
        """Return the compact form of a measured variant of a suite. Equal names share an object."""
        samples = to_samples(variant.draws)
        return cls(
            suite=intern(suite),
            task=intern(variant.task_id),
            distance=variant.distance,
            emotion=variant.emotion and intern(variant.emotion),
            personality=variant.personality and intern(variant.personality),
            cues=_shared_set(frozenset(variant.cues)),
            passed=samples.passed,
            confidence=confidences_of(samples),
        )

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.passed.size

    @property
    def passes(self) -> int:
        """Number of samples that passed."""
        return int(np.count_nonzero(self.passed))


def confidences_of(samples: Samples) -> Floats | None:
    """Return the confidence of each sample in [0, 1], None if a log-probability is missing."""
    if samples.logprob is None or samples.n_tokens is None:
        return None
    return confidence(samples.logprob, samples.n_tokens)


def compare_subgroups(
    model: str, template: str | None, rows: Sequence[MeasuredPrompt], quadrants: Mapping[str, str]
) -> SubgroupsRecord:
    """Compare the subgroups of variants with each other, over all suites of one model.

    A subgroup has one value of a trait, at one distance or at all distances. A variant counts in it
    only if its text has a cue of that trait. At distance 0.1 most variants show no trait, so their
    label alone cannot have affected the model. If a rewriter records no cues, its variants count by
    their labels.

    The p-value is that of a test which shuffles the values of the trait among the variants of one
    task and distance. The null hypothesis is that the subgroup does as well as the other values of
    its trait. The p-value is adjusted over all subgroups (Benjamini and Hochberg 1995,
    doi:10.1111/j.2517-6161.1995.tb02031.x).

    Parameters
    ----------
    model
        The model as ``BACKEND:NAME``.
    template
        The name of the prompt template, or None.
    rows
        The originals and variants. A variant whose original is missing is left out.
    quadrants
        The quadrant of each emotion.
    """
    originals = {(row.suite, row.task): row for row in rows if row.distance == 0.0}
    by_subgroup: dict[_Subgroup, list[MeasuredPrompt]] = defaultdict(list)
    without_cue: Counter[_Subgroup] = Counter()
    for row in rows:
        if row.distance and (row.suite, row.task) in originals:
            for subgroup in _subgroups_of(row):
                if not row.cues or subgroup[0] in row.cues or subgroup[0] == "personality":
                    by_subgroup[subgroup].append(row)
                else:
                    without_cue[subgroup] += 1
    by_trait: dict[tuple[str, float | None], list[LabelledVariant]] = defaultdict(list)
    for (trait, value, distance), variants in by_subgroup.items():
        by_trait[trait, distance] += [
            LabelledVariant(
                block=(row.suite, row.task, row.distance), label=value, rate=row.passes / row.n
            )
            for row in variants
        ]
    by_label = {
        key: label_p_values(labelled, generator(0, "subgroups", key[0], f"{key[1]}"))
        for key, labelled in by_trait.items()
    }
    p_values = [by_label[trait, distance][value] for trait, value, distance in by_subgroup]
    adjusted = benjamini_hochberg(p_values)
    return SubgroupsRecord(
        model=model,
        template=template,
        subgroups=[
            SubgroupRecord(
                trait=trait,
                value=value,
                distance=distance,
                n_variants=len(variants),
                n_without_cue=without_cue[trait, value, distance],
                change=float(np.mean([_change(row, originals) for row in variants])),
                p_value=p,
                p_adjusted=q,
            )
            for ((trait, value, distance), variants), p, q in zip(
                by_subgroup.items(), p_values, adjusted, strict=True
            )
        ],
        calibration=calibrations(rows, quadrants),
        emotions=calibrations(rows, {row.emotion: row.emotion for row in rows if row.emotion}),
    )


def calibrations(
    rows: Iterable[MeasuredPrompt], groups_of: Mapping[str, str]
) -> Calibrations | None:
    """Return the calibration of all samples and of each group of prompts.

    The groups are ``original``, ``control`` for variants without an emotion, and those in
    `groups_of`. All share one threshold, the median confidence of all samples.

    Parameters
    ----------
    rows
        The originals and variants.
    groups_of
        The group of each emotion, such as its quadrant.

    Returns
    -------
    None if there are no rows or a log-probability is missing.
    """
    groups: dict[str, list[MeasuredPrompt]] = defaultdict(list)
    for row in rows:
        if row.confidence is None:
            return None
        name = "original" if row.distance == 0.0 else groups_of.get(row.emotion or "", "control")
        groups[name].append(row)
    if not groups:
        return None
    parts = {name: _joined(prompts) for name, prompts in groups.items()}
    everything = {"all": _joined(chain.from_iterable(groups.values()))}
    [together] = calibration_by_group(everything).values()
    measured = calibration_by_group({**everything, **parts}, threshold=together.threshold)
    return {
        name: CalibrationRecord(
            n=calibration.n,
            ece=calibration.ece,
            threshold=calibration.threshold,
            overconfident=calibration.overconfident,
            underconfident=calibration.underconfident,
            bins=[BinRecord(**vars(part)) for part in calibration.bins],
        )
        for name, calibration in measured.items()
    }


@lru_cache(maxsize=64)
def _shared_set(cues: frozenset[str]) -> frozenset[str]:
    """Return a shared object for equal sets of `cues`, since a run keeps one set per variant."""
    return cues


def _joined(rows: Iterable[MeasuredPrompt]) -> tuple[Floats, Bools]:
    sure = [(row.confidence, row.passed) for row in rows if row.confidence is not None]
    return np.concatenate([c for c, _ in sure]), np.concatenate([ok for _, ok in sure])


def _subgroups_of(row: MeasuredPrompt) -> Iterator[_Subgroup]:
    named = [("emotion", row.emotion)] if row.emotion else []
    if row.personality:
        parts = row.personality.split(".")
        # Rewriters of other packages may name personalities differently.
        whole = len(parts) != len(_TRAITS)
        named += [("personality", row.personality)] if whole else zip(_TRAITS, parts, strict=True)
    for trait, value in named:
        yield trait, value, row.distance
        yield trait, value, None


def _change(row: MeasuredPrompt, originals: Mapping[tuple[str, str], MeasuredPrompt]) -> float:
    original = originals[row.suite, row.task]
    return row.passes / row.n - original.passes / original.n
