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
from pytest_promptse.models._base import Decoding, Prompt, derive_seed
from pytest_promptse.psychometrics._scales import item_order, read_ratings, scale_prompt
from pytest_promptse.psychometrics._suite import (
    AnswerLog,
    Count,
    IntervalGateSettings,
    Measurement,
    Probe,
    PsychometricGate,
    Share,
    make_job,
)
from pytest_promptse.psychometrics.csi._comparator import big_five, reliability
from pytest_promptse.psychometrics.csi._labels import read_labels
from pytest_promptse.psychometrics.csi._prompts import (
    Anchors,
    WordBatch,
    anchors_for,
    batch_prompt,
    make_batches,
)
from pytest_promptse.psychometrics.csi._scoring import MISSING, encode, score, top_words
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
from pytest_promptse.record._psychometrics import (
    CsiRecord,
    ReliabilityRecord,
    ScoreRecord,
    StoriesRecord,
)
from pytest_promptse.scoring._gate import judge_gate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pytest_promptse.config._metrics import Direction
    from pytest_promptse.models._base import Completion
    from pytest_promptse.psychometrics._scales import Ratings, Scale
    from pytest_promptse.psychometrics.csi._labels import BatchLabels
    from pytest_promptse.psychometrics.csi._scoring import CsiEstimate
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.scoring._scores import Gate

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
    rater_identity
        The values that identify the rater in the store.
    """

    settings: CsiSettings
    words: tuple[str, ...]
    word_list: WordList
    rater_identity: Mapping[str, str]

    @property
    def kind(self) -> Literal["csi"]:
        """The kind of suite."""
        return "csi"

    @property
    def stages(self) -> Sequence[str]:
        """The stories, if the settings request any."""
        return (_STAGE,) if self.settings.stories else ()

    @property
    def rater(self) -> str:
        """The model that rates stories."""
        return self.settings.rater or self.model

    @property
    def models(self) -> Sequence[str]:
        """The model, and the rater if stories are rated."""
        return (self.model, self.rater) if self.settings.stories else (self.model,)

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
            self._probe(
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
            self._probe(
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

    @cached_property
    def gates(self) -> Sequence[PsychometricGate]:
        """The gates that have a bound."""
        return tuple(PsychometricGate(name=name) for name in self._bounds)

    @cached_property
    def _bounds(self) -> Mapping[str, tuple[float, Direction]]:
        settings = self.settings
        bounds: dict[str, tuple[float | None, Direction]] = {
            "consistency": (settings.min_consistency, "at least"),
            "reluctancy": (settings.max_reluctancy, "at most"),
            "coverage": (settings.min_coverage, "at least"),
        }
        return {name: (bound, way) for name, (bound, way) in bounds.items() if bound is not None}

    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the number of words or items that a response labels."""
        if probe.group == "big-five":
            run = self._comparator_probes.index(probe)
            ratings = self._ratings(run, completion)
            return f"{len(ratings.ratings)}/{len(self._big_five.items)} rated"
        found = self._labels(self._by_key[probe.job.key], completion)
        labelled = sum(label is not None for label in found.labels)
        return f"{labelled}/{len(found.labels)} labelled"

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
            found = self._labels(batch, completion)
            codes[batch.run, places] = encode(found.labels)
            log.add(probe, completion, found.problems)
        return codes, batches, log

    def result(self, answers: Mapping[str, Completion]) -> CsiRecord:
        """Return the scores of the labels that the answers give."""
        codes, batches, log = self._codes(answers)
        scores = score(codes, batches)
        text = "\n".join(self.word_list.words)
        top = top_words(codes, self.words, _TOP_WORDS)
        return CsiRecord(
            id=self.id,
            model=self.model,
            language=self.settings.language,
            prompt_language=self.prompt_language,
            anchors=(self.anchors.positive, self.anchors.negative),
            word_list=self.word_list.name,
            word_list_sha256=hashlib.sha256(text.encode()).hexdigest(),
            n_words=len(self.words),
            n_runs=self.settings.runs,
            n_planned=len(self._batches),
            n_responses=len(log.answers),
            optimism=_estimate(scores.optimism),
            pessimism=_estimate(scores.pessimism),
            neutrality=_estimate(scores.neutrality),
            consistency=_estimate(scores.consistency),
            reluctancy=_estimate(scores.reluctancy),
            coverage=_estimate(scores.coverage),
            kappa=_estimate(scores.kappa),
            words={name: list(words) for name, words in top.items()},
            problems=dict(log.problems),
            worst=log.worst(lambda problems: problems.get("missing", 0)),
            comparator=self._comparator(answers),
            stories=self._stories(answers),
            settings=msgspec.to_builtins(self.settings),
            line=self.line,
        )

    def decide(
        self, gate: PsychometricGate, result: CsiRecord
    ) -> tuple[Gate, tuple[float | None, float | None]]:
        """Return the decision of a gate.

        The bounds are (lower, upper), None if not set.
        """
        bound, direction = self._bounds[gate.name]
        estimate: ScoreRecord = getattr(result, gate.name)
        decided = judge_gate(
            gate.name,
            estimate.value,
            bound,
            ci95=estimate.ci95,
            kind=self.settings.gate,
            direction=direction,
        )
        return decided, (bound, None) if direction == "at least" else (None, bound)

    # -- the comparator -------------------------------------------------------------------------

    def _ratings(self, run: int, completion: Completion) -> Ratings:
        return read_ratings(
            completion.text,
            self._big_five,
            self._comparator_order(run),
            truncated=completion.finish_reason == "length",
        )

    def _comparator(self, answers: Mapping[str, Completion]) -> ReliabilityRecord | None:
        runs = [
            self._ratings(run, completion)
            for run, probe in enumerate(self._comparator_probes)
            if (completion := answers.get(probe.job.key)) is not None
        ]
        if not runs:
            return None
        found = reliability(self._big_five, runs)
        return ReliabilityRecord(
            scale=self._big_five.name,
            n_items=found.n_items,
            n_runs=found.n_runs,
            consistency=found.consistency,
            reluctancy=found.reluctancy,
            coverage=found.coverage,
        )

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
        return self._job(f"story-{place}", text, max_tokens=_STORY_TOKENS)

    def _rating_job(self, place: int, story: str) -> Job:
        return make_job(
            suite=self.id,
            model=self.rater,
            identity=self.rater_identity,
            prompt=Prompt(user=rater_prompt(story, self.settings.language)),
            decoding=Decoding(temperature=0.0, top_p=1.0, max_tokens=_RATING_TOKENS),
            seed=self.settings.seed,
            probe=f"rating-{place}",
        )

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

    def _stories(self, answers: Mapping[str, Completion]) -> StoriesRecord | None:
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
        found = validity(rated, n_unrated=unrated)
        return StoriesRecord(
            rater=self.rater,
            n_stories=found.n_stories,
            n_unrated=found.n_unrated,
            per_story=found.per_story,
            per_story_ci95=found.per_story_ci95,
            per_group=found.per_group,
            group_means=list(found.group_means),
        )


def plan_csi(
    settings: CsiSettings,
    *,
    suite_id: str,
    model: str,
    identity: Mapping[str, str],
    rater_identity: Mapping[str, str] | None,
    folder: Path,
    line: int,
) -> CsiSuite:
    """Return the inventory for one model.

    `identity` and `rater_identity` identify the completions of the two models. `folder` is where
    relative paths of the settings begin, and `line` is the line of the suite in its file.

    Raises
    ------
    SettingsError
        If the word list cannot be read or has too few words, or the anchors are not two words.
    """
    anchors_for(settings.anchors, settings.anchor_language or settings.language)
    word_list = load_words(settings.word_list or settings.language, folder=folder)
    return CsiSuite(
        id=suite_id,
        model=model,
        line=line,
        settings=settings,
        words=_drawn(word_list, settings),
        word_list=word_list,
        identity=identity,
        rater_identity=identity if rater_identity is None else rater_identity,
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


def _estimate(estimate: CsiEstimate) -> ScoreRecord:
    return ScoreRecord(value=estimate.value, ci95=estimate.ci95)
