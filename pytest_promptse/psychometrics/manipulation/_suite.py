"""The manipulation check as a suite: its settings, prompts, result and gates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError, VariantError
from pytest_promptse.instruments._measurement import (
    AnswerLog,
    Measurement,
    Probe,
    Share,
    SuiteSettings,
)
from pytest_promptse.instruments._scales import item_order, read_ratings
from pytest_promptse.models._base import derive_seed
from pytest_promptse.psychometrics.emotionbench._factors import NEGATIVE, PANAS, POSITIVE
from pytest_promptse.psychometrics.emotionbench._scoring import summarise
from pytest_promptse.psychometrics.manipulation._questions import (
    NEUTRAL,
    OWN_PROMPTS,
    PERSPECTIVES,
    Perspective,
    affect_prompt,
    affect_scale,
    label_prompt,
    paired_shift,
    read_label,
    recognition,
)
from pytest_promptse.record._instruments import FigureRecord
from pytest_promptse.record._sections import Prose, Table, col, table_of
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import rewriter_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.instruments import Instrument, InstrumentRecord, SuitePlace
    from pytest_promptse.models._base import Completion
    from pytest_promptse.psychometrics.emotionbench._scoring import Summary
    from pytest_promptse.psychometrics.manipulation._questions import Recognition, Shift
    from pytest_promptse.record._sections import Block

__all__ = ["ManipulationSettings", "ManipulationSuite", "plan_manipulation"]

# The rewriter whose variants have other words and no emotion.
_CONTROL_REWRITER = "neutral"
_LABEL = "label"
_LABEL_TOKENS = 16

_Distance = Annotated[float, msgspec.Meta(ge=0.05, le=0.5)]


class ManipulationSettings(SuiteSettings, frozen=True, kw_only=True):
    """The settings of a ``*.manipulation.yaml`` file.

    Parameters
    ----------
    prompts
        Prompts without emotion, to be reworded; ``own`` stands for the four of this project. A
        prompt that cannot be reworded is an error.
    emotions
        The emotions of variants. The default is all of the library.
    distances
        Nominal distances of the variants, each in [0.05, 0.5]. The default is 0.1, 0.2 and 0.3.
    min_recognised
        The minimum share of emotions whose label must be recognised above chance. The other gate is
        ``min_coverage``: the share of responses that can be read in full.
    """

    prompts: Literal["own"] | Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = "own"
    emotions: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    distances: Annotated[tuple[_Distance, ...], msgspec.Meta(min_length=1)] = (0.1, 0.2, 0.3)
    min_recognised: Share | None = None


@dataclass(frozen=True, kw_only=True)
class _Message:
    """A message to show: prompt number, label, level (0 for the original) and text."""

    prompt: int
    label: str
    distance: float
    text: str

    @property
    def name(self) -> str:
        level = "original" if self.distance == 0 else f"{self.label}-d{self.distance:g}"
        return f"prompt{self.prompt + 1}-{level}"


@dataclass(frozen=True, kw_only=True)
class _Question:
    """One prompt: a message and a question about it.

    ``perspective`` is that of a rating of affect, and None if the question is about the label.
    ``order`` has item numbers; it is empty for the label.
    """

    message: _Message
    perspective: Perspective | None
    order: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class AffectShift:
    """The shift of affect after variants of one emotion and level, over prompts.

    ``emotion`` is ``neutral`` for the control. ``perspective`` is ``own`` for the affect that the
    model reports as its own, or ``writer`` for the affect that it reads in the message's writer.
    """

    emotion: str
    distance: float
    perspective: Perspective
    positive: Shift
    negative: Shift


@dataclass(frozen=True, kw_only=True)
class ManipulationSuite(Measurement):
    """The check for one model.

    Parameters
    ----------
    messages
        All messages to show.
    """

    settings: ManipulationSettings
    messages: tuple[_Message, ...]

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(message.label for message in self.messages), NEUTRAL)))

    @cached_property
    def _planned(self) -> tuple[tuple[Probe, _Question], ...]:
        planned: list[tuple[Probe, _Question]] = []
        for message in self.messages:
            for perspective in PERSPECTIVES:
                # All messages have the same order of items, so that only the message differs.
                order = item_order(
                    len(PANAS.items),
                    shuffle=True,
                    seed=derive_seed(
                        "manipulation", self.settings.seed, message.prompt, perspective
                    ),
                )
                text = affect_prompt(message.text, perspective, order)
                question = _Question(message=message, perspective=perspective, order=order)
                planned.append((self.probe(perspective, message.name, text), question))
            question = _Question(message=message, perspective=None, order=())
            text = label_prompt(message.text, self._labels)
            probe = self.probe(_LABEL, message.name, text, max_tokens=_LABEL_TOKENS)
            planned.append((probe, question))
        return tuple(planned)

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """Three questions about each message."""
        return tuple(probe for probe, _ in self._planned)

    @cached_property
    def _questions(self) -> Mapping[str, _Question]:
        return {probe.job.key: question for probe, question in self._planned}

    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the totals or the label in a response."""
        question = self._questions[probe.job.key]
        if question.perspective is None:
            label, problem = read_label(completion.text, self._labels)
            return label or str(problem).replace("_", " ")
        scale = affect_scale(question.perspective)
        ratings = read_ratings(completion.text, scale, question.order)
        if not ratings.complete:
            return f"{len(ratings.ratings)}/{len(scale.items)} rated"
        totals = scale.totals(ratings.ratings)
        return ", ".join(f"{name.split()[0]} {total:g}" for name, total in totals.items())

    def result(self, answers: Mapping[str, Completion]) -> InstrumentRecord:
        """Return the shifts of affect by emotion and level, and the recognised labels."""
        totals: dict[tuple[_Message, Perspective], dict[str, float]] = {}
        chosen: list[tuple[_Message, str]] = []
        log = AnswerLog()
        n_scored = 0
        for probe, question in self._planned:
            completion = answers.get(probe.job.key)
            if completion is None:
                continue
            problems: dict[str, int] = {}
            if question.perspective is None:
                label, problem = read_label(completion.text, self._labels)
                if label is not None:
                    chosen.append((question.message, label))
                    n_scored += 1
                elif problem is not None:
                    problems = {problem: 1}
            else:
                scale = affect_scale(question.perspective)
                ratings = read_ratings(
                    completion.text,
                    scale,
                    question.order,
                    truncated=completion.finish_reason == "length",
                )
                problems = dict(ratings.problems)
                if ratings.complete:
                    n_scored += 1
                    place = (question.message, question.perspective)
                    totals[place] = scale.totals(ratings.ratings)
            log.add(probe, completion, problems, badness=sum(problems.values()))
        baseline = {of: self._baseline(totals, of) for of in PERSPECTIVES}
        shifts = self._shifts(totals)
        pairs = [(message.label, label) for message, label in chosen]
        labels = recognition(pairs, self._labels)
        levels = _levels(chosen)
        n_recognised = sum(recognised.is_recognised for recognised in labels)
        n_prompts = len({sent.prompt for sent in self.messages})
        return self.record(
            log,
            heading=f"{n_prompts} prompts, {n_scored} of {log.n} responses readable",
            brief=f"{n_recognised} of {len(labels)} labels recognised above chance",
            figures=tuple(_figures(labels, shifts, n_scored / log.n if log.n else None)),
            blocks=(*_shift_blocks(shifts, baseline), _recognition_table(labels, levels)),
            data={
                "n_prompts": n_prompts,
                "n_scored": n_scored,
                "baseline": baseline,
                "shifts": shifts,
                "recognition": labels,
                "levels": levels,
            },
            conditions={
                "prompts": f"{n_prompts}",
                "emotions": ", ".join(self._labels),
                "distances": ", ".join(f"{distance:g}" for distance in self.settings.distances),
            },
        )

    def _baseline(
        self,
        totals: Mapping[tuple[_Message, Perspective], Mapping[str, float]],
        perspective: Perspective,
    ) -> dict[str, Summary]:
        return {
            category: summarise(
                [
                    affect[category]
                    for (message, seen_from), affect in totals.items()
                    if seen_from == perspective and message.distance == 0
                ]
            )
            for category in (POSITIVE, NEGATIVE)
        }

    def _shifts(
        self, totals: Mapping[tuple[_Message, Perspective], Mapping[str, float]]
    ) -> list[AffectShift]:
        originals = {
            (message.prompt, perspective): affect
            for (message, perspective), affect in totals.items()
            if message.distance == 0
        }
        cells = dict.fromkeys(
            (variant.label, variant.distance) for variant in self.messages if variant.distance > 0
        )
        affect_shifts: list[AffectShift] = []
        for label, distance in cells:
            for perspective in PERSPECTIVES:
                pairs = [
                    (originals[message.prompt, perspective], affect_after)
                    for (message, seen_from), affect_after in totals.items()
                    if (message.label, message.distance, seen_from)
                    == (label, distance, perspective)
                    and (message.prompt, perspective) in originals
                ]
                positive, negative = (
                    paired_shift(
                        [before[category] for before, _ in pairs],
                        [after[category] for _, after in pairs],
                    )
                    for category in (POSITIVE, NEGATIVE)
                )
                affect_shifts.append(
                    AffectShift(
                        emotion=label,
                        distance=distance,
                        perspective=perspective,
                        positive=positive,
                        negative=negative,
                    )
                )
        return affect_shifts


def _levels(chosen: Sequence[tuple[_Message, str]]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return, by label and by level, how many answers chose the label, and of how many."""
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for message, label in sorted(chosen, key=lambda pair: pair[0].distance):
        of_label = counts.setdefault(message.label, {})
        level = "original" if message.distance == 0 else f"{message.distance:g}"
        hits, n = of_label.get(level, (0, 0))
        of_label[level] = hits + (label == message.label), n + 1
    return counts


def _figures(
    labels: Sequence[Recognition], shifts: Sequence[AffectShift], coverage: float | None
) -> Iterator[FigureRecord]:
    emotions = [label for label in labels if label.label != NEUTRAL]
    yield FigureRecord(
        name="recognised",
        label="labels recognised above chance",
        value=(
            sum(label.is_recognised for label in emotions) / len(emotions)
            if any(label.n for label in emotions)
            else None
        ),
    )
    yield FigureRecord(name="coverage", label="responses readable in full", value=coverage)
    sizes = [
        abs(shift.delta)
        for affect_shift in shifts
        if affect_shift.perspective == "own" and affect_shift.emotion != NEUTRAL
        for shift in (affect_shift.positive, affect_shift.negative)
        if shift.delta is not None
    ]
    yield FigureRecord(
        name="affect_shift",
        label="mean absolute shift of the model's own affect, over emotions and levels",
        group="Affect, in points",
        kind="statistic",
        value=sum(sizes) / len(sizes) if sizes else None,
        correlated=True,
    )


def _shift_blocks(
    shifts: Sequence[AffectShift], baseline: Mapping[Perspective, Mapping[str, Summary]]
) -> Iterator[Block]:
    for perspective in PERSPECTIVES:
        what = "its own affect" if perspective == "own" else "the writer's affect"
        rows = [shift for shift in shifts if shift.perspective == perspective]
        if not any(shift.positive.n for shift in rows):
            continue
        yield table_of(
            f"shift-{perspective}",
            f"Shift of {what} from the neutral message",
            rows,
            col("emotion", "emotion", lambda r: r.emotion, "text"),
            col("level", "distance", lambda r: f"{r.distance:g}", "text"),
            col("positive", "positive", lambda r: r.positive.delta, "points"),
            col("95 %", "positive_ci95", lambda r: r.positive.ci95, "signed interval"),
            col("negative", "negative", lambda r: r.negative.delta, "points"),
            col("95 %", "negative_ci95", lambda r: r.negative.ci95, "signed interval"),
        )
        means = (
            f"{category} {summary.mean:.1f}"
            for category, summary in baseline[perspective].items()
            if summary.mean is not None
        )
        yield Prose(text=f"after the neutral messages: {', '.join(means)}")


def _recognition_table(
    labels: Sequence[Recognition], levels: Mapping[str, Mapping[str, tuple[int, int]]]
) -> Table:
    def by_level(row: Recognition) -> str:
        counts = levels.get(row.label, {}).items()
        return ", ".join(f"{level}: {hits}/{n}" for level, (hits, n) in counts)

    def word(row: Recognition) -> str | None:
        return None if row.n == 0 else "yes" if row.is_recognised else "no"

    return table_of(
        "recognition",
        "Labels that the model recognises",
        labels,
        col("label", "label", lambda r: r.label, "text"),
        col("chosen", "chosen", lambda r: f"{r.hits} of {r.n}", "text"),
        col("by level", "by_level", by_level, "text", brief=False),
        col("share", "share", lambda r: r.share),
        col("95 %", "ci95", lambda r: r.ci95, "interval", brief=False),
        col("p", "p_adjusted", lambda r: r.p_adjusted, "p"),
        col("above chance", "recognised", word, "text"),
        col("most often taken for", "mistaken_for", lambda r: r.mistaken_for, "text"),
    )


def plan_manipulation(
    settings: ManipulationSettings, *, instrument: Instrument, place: SuitePlace
) -> ManipulationSuite:
    """Return the check for one model.

    Raises
    ------
    SettingsError
        If an emotion is unknown or a prompt cannot be reworded.
    """
    library = load_library()
    for emotion in settings.emotions or ():
        if emotion not in library.emotions:
            raise SettingsError(
                f"emotion {emotion!r} is not in the library{nearest(emotion, library.emotions)}"
            )
    prompts = OWN_PROMPTS if settings.prompts == "own" else settings.prompts
    messages: list[_Message] = []
    for number, prompt in enumerate(prompts):
        messages.append(_Message(prompt=number, label=NEUTRAL, distance=0.0, text=prompt))
        task = Task(id=f"message-{number + 1}", prompt=prompt)
        try:
            for emotion in settings.emotions or tuple(library.emotions):
                made = generate(
                    task,
                    Selection(
                        distances=settings.distances,
                        per_distance=1,
                        emotions=(emotion,),
                        seed=settings.seed,
                        library=library,
                    ),
                )
                messages += [
                    _Message(
                        prompt=number, label=emotion, distance=variant.distance, text=variant.text
                    )
                    for variant in made.variants
                ]
            control = generate(
                task,
                Selection(
                    distances=settings.distances,
                    per_distance=1,
                    seed=settings.seed,
                    library=library,
                ),
                rewriter=rewriter_named(_CONTROL_REWRITER, library=library),
            )
        except VariantError as error:
            raise SettingsError(f"prompt {number + 1}: {error}") from None
        messages += [
            _Message(prompt=number, label=NEUTRAL, distance=variant.distance, text=variant.text)
            for variant in control.variants
        ]
    return ManipulationSuite(
        instrument=instrument, place=place, settings=settings, messages=tuple(messages)
    )
