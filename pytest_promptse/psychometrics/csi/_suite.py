"""The Core Sentiment Inventory as a suite: its settings, prompts, result and gates."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from pytest_promptse.errors import SettingsError
from pytest_promptse.instruments._measurement import (
    AnswerLog,
    Count,
    IntervalGateSettings,
    Measurement,
    Probe,
    Share,
)
from pytest_promptse.instruments._scales import item_order, read_ratings, scale_prompt
from pytest_promptse.models._base import derive_seed
from pytest_promptse.psychometrics.csi._comparator import big_five, reliability
from pytest_promptse.psychometrics.csi._labels import read_labels
from pytest_promptse.psychometrics.csi._prompts import (
    Anchors,
    WordBatch,
    anchors_for,
    batch_prompt,
    make_batches,
)
from pytest_promptse.psychometrics.csi._scoring import FIGURES, MISSING, encode, score, top_words
from pytest_promptse.psychometrics.csi._stories import (
    SEEDS_PER_STORY,
    RatedStory,
    StorySeeds,
    choose_seeds,
    rater_prompt,
    read_rating,
    story_prompt,
    validity,
)
from pytest_promptse.psychometrics.csi._words import Language, WordList, load_words
from pytest_promptse.record._instruments import FigureRecord, figure_table
from pytest_promptse.record._sections import Bars, Listing, Prose
from pytest_promptse.reports._formatting import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_promptse.instruments import Instrument, InstrumentRecord, Ratings, Scale, SuitePlace
    from pytest_promptse.models._base import Completion
    from pytest_promptse.psychometrics.csi._comparator import Reliability
    from pytest_promptse.psychometrics.csi._labels import BatchLabels
    from pytest_promptse.psychometrics.csi._scoring import CsiScores
    from pytest_promptse.psychometrics.csi._stories import Validity
    from pytest_promptse.record._sections import Block
    from pytest_promptse.sampling._job import Job

__all__ = ["CsiSettings", "CsiSuite", "plan_csi"]

_STAGE = "stories"
_TOP_WORDS = 20
_STORY_TOKENS = 1024
_RATING_TOKENS = 64
_COMPARATOR_RUNS = 2


class CsiSettings(IntervalGateSettings, frozen=True, kw_only=True):
    """The settings of a ``*.csi.yaml`` file.

    Parameters
    ----------
    language
        Language of the words, and of prompt and anchors unless they have their own.
    word_list
        ``en``, ``zh``, ``developer`` or a file. The default is that of ``language``.
    words
        Number of words to draw from the list, or ``all``.
    runs, words_per_prompt
        Number of runs over all words, and number of words in a prompt.
    anchors
        ``comedy/tragedy``, ``good/bad``, ``enjoyable/unpleasant`` or two words of your own.
    prompt_language, anchor_language
        Languages of prompt and anchors for cross-lingual runs. The default is ``language``.
    comparator
        True to give a Big Five questionnaire for comparison, in the language of the prompt.
    stories
        Number of stories for each share of negative seed words; 0 leaves the validity check out.
    rater
        The model that rates the stories. The default is the tested model.
    min_consistency, max_reluctancy
        Bounds of the gates. ``min_coverage`` is the third gate: given labels as a share of the
        requested ones.
    """

    language: Language = "en"
    word_list: str | None = None
    words: Count | Literal["all"] = 600
    runs: Annotated[int, msgspec.Meta(ge=1, le=100)] = 2
    words_per_prompt: Count = 30
    anchors: str = "comedy/tragedy"
    prompt_language: Language | None = None
    anchor_language: Language | None = None
    max_tokens: Count = 1024
    comparator: bool = True
    stories: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    rater: str | None = None
    min_consistency: Share | None = None
    max_reluctancy: Share | None = None


@dataclass(frozen=True, kw_only=True)
class CsiSuite(Measurement):
    """The inventory for one model.

    Parameters
    ----------
    words
        The words of the prompts, in list order.
    word_list
        The list from which they are drawn.
    """

    settings: CsiSettings
    words: tuple[str, ...]
    word_list: WordList

    @property
    def stages(self) -> Sequence[str]:
        """The stories, if the settings request any."""
        return (_STAGE,) if self.settings.stories else ()

    @property
    def rater(self) -> str:
        """The model that rates stories."""
        return self.settings.rater or self.place.model

    @property
    def models(self) -> Sequence[str]:
        """The model, and the rater if stories are rated."""
        return (self.place.model, self.rater) if self.settings.stories else (self.place.model,)

    @property
    def anchors(self) -> Anchors:
        """The two anchor words."""
        settings = self.settings
        return anchors_for(settings.anchors, settings.anchor_language or settings.language)

    @property
    def prompt_language(self) -> Language:
        """The language of the instructions."""
        return self.settings.prompt_language or self.settings.language

    @cached_property
    def _batches(self) -> tuple[WordBatch, ...]:
        return make_batches(
            len(self.words),
            runs=self.settings.runs,
            words_per_prompt=self.settings.words_per_prompt,
            seed=self.settings.seed,
        )

    @cached_property
    def _by_key(self) -> Mapping[str, WordBatch]:
        return {
            probe.job.key: batch
            for probe, batch in zip(self._batch_probes, self._batches, strict=True)
        }

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """One prompt for each batch, and the runs of the comparator."""
        return (*self._batch_probes, *self._comparator_probes)

    @property
    def decisive(self) -> Sequence[Probe]:
        """The batches, without the comparator."""
        return self._batch_probes

    @cached_property
    def _batch_probes(self) -> tuple[Probe, ...]:
        return tuple(
            self.probe(
                "batch",
                f"run{batch.run + 1}-{batch.number + 1:02}",
                batch_prompt(
                    self._listed(batch), language=self.prompt_language, anchors=self.anchors
                ),
            )
            for batch in self._batches
        )

    @cached_property
    def _comparator_probes(self) -> tuple[Probe, ...]:
        if not self.settings.comparator:
            return ()
        return tuple(
            self.probe(
                "big-five",
                f"run{run + 1}",
                scale_prompt(self._big_five, self._comparator_order(run)),
            )
            for run in range(_COMPARATOR_RUNS)
        )

    @property
    def _big_five(self) -> Scale:
        return big_five(self.prompt_language)

    def _comparator_order(self, run: int) -> tuple[int, ...]:
        seed = derive_seed("big-five", self.settings.seed, run)
        return item_order(len(self._big_five.items), shuffle=True, seed=seed)

    def _listed(self, batch: WordBatch) -> list[str]:
        return [self.words[position] for position in batch.positions]

    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the number of words or items that a response labels."""
        if probe.group == "big-five":
            run = self._comparator_probes.index(probe)
            ratings = self._ratings(run, completion)
            return f"{len(ratings.ratings)}/{len(self._big_five.items)} rated"
        labels = self._labels(self._by_key[probe.job.key], completion)
        labelled = sum(label is not None for label in labels.labels)
        return f"{labelled}/{len(labels.labels)} labelled"

    def _labels(self, batch: WordBatch, completion: Completion) -> BatchLabels:
        return read_labels(
            completion.text,
            self._listed(batch),
            positive=self.anchors.positive,
            negative=self.anchors.negative,
            truncated=completion.finish_reason == "length",
        )

    def _codes(
        self, answers: Mapping[str, Completion]
    ) -> tuple[NDArray[np.int8], NDArray[np.int64], AnswerLog]:
        shape = (self.settings.runs, len(self.words))
        codes = np.full(shape, MISSING, dtype=np.int8)
        batches = np.zeros(shape, dtype=np.int64)
        log = AnswerLog()
        for probe, batch in zip(self._batch_probes, self._batches, strict=True):
            places = list(batch.positions)
            batches[batch.run, places] = batch.number
            completion = answers.get(probe.job.key)
            if completion is None:
                continue
            labels = self._labels(batch, completion)
            codes[batch.run, places] = encode(labels.labels)
            log.add(probe, completion, labels.problems, badness=labels.problems.get("missing", 0))
        return codes, batches, log

    def result(self, answers: Mapping[str, Completion]) -> InstrumentRecord:
        """Return the scores of the labels that the answers give."""
        codes, batches, log = self._codes(answers)
        scores, top = score(codes, batches), top_words(codes, self.words, _TOP_WORDS)
        comparator, stories = self._comparator(answers), self._stories(answers)
        figures = tuple(_figures(scores, comparator, stories))
        settings, anchors = self.settings, f"{self.anchors.positive}/{self.anchors.negative}"
        sha256 = hashlib.sha256("\n".join(self.word_list.words).encode()).hexdigest()
        shares = ", ".join(f"{figure.name} {short(figure.value)}" for figure in figures[:3])
        return self.record(
            log,
            heading=f"{settings.language}, {anchors}: {len(self.words)} words x {settings.runs} "
            "runs",
            brief=f"{settings.language}: {shares}",
            figures=figures,
            blocks=tuple(self._blocks(scores, figures, stories, top)),
            data={
                "prompt_language": self.prompt_language,
                "anchors": (self.anchors.positive, self.anchors.negative),
                "word_list": self.word_list.name,
                "word_list_sha256": sha256,
                "scores": scores,
                "words": top,
                "comparator": comparator,
                "stories": stories,
            },
            conditions={
                "language": settings.language,
                "anchors": anchors,
                "words": f"{self.word_list.name}, {len(self.words)}, {sha256[:12]}",
            },
        )

    def _blocks(
        self,
        scores: CsiScores,
        figures: Sequence[FigureRecord],
        stories: Validity | None,
        top: Mapping[str, tuple[str, ...]],
    ) -> Iterator[Block]:
        yield figure_table("scores", "Scores", figures)
        shares = [scores.optimism.value, scores.neutrality.value, scores.pessimism.value]
        measured = tuple(share for share in shares if share is not None)
        if len(measured) == len(shares):
            yield Bars(
                title="Shares of words by label",
                parts=("optimism", "neutrality", "pessimism"),
                rows=((f"{self.place.model}, {self.settings.language}", measured),),
            )
        if stories is not None:
            yield Prose(
                text=f"stories, rated by {self.rater}: r = {short(stories.per_story)} per story, "
                f"{short(stories.per_group)} per group, over {stories.n_stories}; "
                f"{stories.n_unrated} have no rating"
            )
        lines = (f"{name}: {', '.join(words) or '·'}" for name, words in top.items())
        yield Listing(title="First words of each class", text="\n".join(lines), brief=False)

    # -- the comparator -------------------------------------------------------------------------

    def _ratings(self, run: int, completion: Completion) -> Ratings:
        return read_ratings(
            completion.text,
            self._big_five,
            self._comparator_order(run),
            truncated=completion.finish_reason == "length",
        )

    def _comparator(self, answers: Mapping[str, Completion]) -> Reliability | None:
        runs = [
            self._ratings(run, completion)
            for run, probe in enumerate(self._comparator_probes)
            if (completion := answers.get(probe.job.key)) is not None
        ]
        return reliability(self._big_five, runs) if runs else None

    # -- the stories ----------------------------------------------------------------------------

    def _seeds(self, answers: Mapping[str, Completion]) -> tuple[StorySeeds, ...]:
        codes, _, _ = self._codes(answers)
        top = top_words(codes, self.words, len(self.words))
        return choose_seeds(
            top["positive"],
            top["negative"],
            per_group=self.settings.stories,
            seed=self.settings.seed,
        )

    def _story_job(self, place: int, seeds: StorySeeds) -> Job:
        text = story_prompt(seeds, self.settings.language)
        return self.job(f"story-{place}", text, max_tokens=_STORY_TOKENS)

    def _rating_job(self, place: int, story: str) -> Job:
        text = rater_prompt(story, self.settings.language)
        return self.job(f"rating-{place}", text, model=self.rater, max_tokens=_RATING_TOKENS)

    def next_jobs(self, answers: Mapping[str, Completion]) -> Sequence[Job]:
        """Return the stories once all batches are answered, then the ratings of the stories."""
        if not self.settings.stories or any(
            probe.job.key not in answers for probe in self._batch_probes
        ):
            return ()
        jobs: list[Job] = []
        for place, seeds in enumerate(self._seeds(answers)):
            story = self._story_job(place, seeds)
            if story.key not in answers:
                jobs.append(story)
                continue
            rating = self._rating_job(place, answers[story.key].text)
            if rating.key not in answers:
                jobs.append(rating)
        return jobs

    def stage_word(self, answers: Mapping[str, Completion]) -> str:
        """Return the correlation of the stories' ratings with their seeds."""
        stories = self._stories(answers)
        if stories is None or stories.per_story is None:
            return "no correlation"
        return f"r = {stories.per_story:.2f} over {stories.n_stories} stories"

    def _stories(self, answers: Mapping[str, Completion]) -> Validity | None:
        if not self.settings.stories:
            return None
        try:
            seeds_of_all = self._seeds(answers)
        except SettingsError:
            # Too few words were labelled. The item of the stories reports this.
            return None
        rated, unrated = [], 0
        for place, seeds in enumerate(seeds_of_all):
            story = answers.get(self._story_job(place, seeds).key)
            if story is None:
                continue
            response = answers.get(self._rating_job(place, story.text).key)
            rating = None if response is None else read_rating(response.text)
            if rating is None:
                unrated += 1
                continue
            share = seeds.n_negative / SEEDS_PER_STORY
            rated.append(RatedStory(negative_share=share, tragedy=rating))
        if not rated and not unrated:
            return None
        return validity(rated, n_unrated=unrated)


def _figures(
    scores: CsiScores, comparator: Reliability | None, stories: Validity | None
) -> Iterator[FigureRecord]:
    for name in FIGURES:
        estimate = getattr(scores, name)
        yield FigureRecord(name=name, label=name, value=estimate.value, ci95=estimate.ci95)
    if comparator is not None:
        for name in ("consistency", "reluctancy", "coverage"):
            yield FigureRecord(
                name=f"comparator_{name}",
                label=f"{comparator.scale}, for comparison: {name}",
                value=getattr(comparator, name),
            )
    if stories is not None:
        yield FigureRecord(
            name="stories_r",
            label="stories: correlation with their seed words",
            value=stories.per_story,
            ci95=stories.per_story_ci95,
        )


def plan_csi(settings: CsiSettings, *, instrument: Instrument, place: SuitePlace) -> CsiSuite:
    """Return the inventory for one model.

    Raises
    ------
    SettingsError
        If the word list cannot be read or has too few words, or the anchors are not two words.
    """
    anchors_for(settings.anchors, settings.anchor_language or settings.language)
    word_list = load_words(settings.word_list or settings.language, folder=place.path.parent)
    return CsiSuite(
        instrument=instrument,
        place=place,
        settings=settings,
        words=_drawn(word_list, settings),
        word_list=word_list,
    )


def _drawn(word_list: WordList, settings: CsiSettings) -> tuple[str, ...]:
    """Return a seeded sample of the list in its order, from which the whole list is estimated.

    SettingsError is raised if the settings request more words than the list has.
    """
    n = len(word_list.words)
    if isinstance(settings.words, str):
        return word_list.words
    if settings.words > n:
        raise SettingsError(
            f"words: the list {word_list.name!r} has {n} words, not {settings.words}; "
            "give fewer or 'all'"
        )
    draw = random.Random(derive_seed("csi-words", settings.seed))  # noqa: S311 - reproducible
    return tuple(word_list.words[i] for i in sorted(draw.sample(range(n), settings.words)))
