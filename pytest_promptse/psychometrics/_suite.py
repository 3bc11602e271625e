"""The common parts of all psychometric suites: prompts, gates and records of responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from pytest_promptse.models._base import Decoding, Prompt, completion_key, derive_seed
from pytest_promptse.record._psychometrics import AnswerRecord, BoundsRecord
from pytest_promptse.sampling._job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.models._base import Completion
    from pytest_promptse.record._psychometrics import (
        CsiRecord,
        EmotionBenchRecord,
        ManipulationRecord,
    )
    from pytest_promptse.scoring._scores import Gate

__all__ = [
    "WORST_SHOWN",
    "AnswerLog",
    "Count",
    "IntervalGateSettings",
    "Measurement",
    "Probe",
    "PsychometricGate",
    "Share",
    "SuiteSettings",
    "make_job",
]

WORST_SHOWN = 5
"""Largest number of unreadable responses in a record."""

# A response in a record is cut at this length, so that an endless answer does not fill a report.
_LONGEST_RESPONSE = 4000

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class SuiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that every kind of suite has.

    Parameters
    ----------
    persona
        A system prompt.
    temperature, max_tokens, seed
        Decoding parameters, and the seed for everything that is shuffled or drawn.
    min_coverage
        The minimum share of requested answers that must be readable, in [0, 1].
    """

    persona: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    max_tokens: Count = 512
    seed: int = 0
    min_coverage: Share | None = None


class IntervalGateSettings(SuiteSettings, frozen=True, kw_only=True):
    """The settings of suites whose gates can take intervals into account.

    Parameters
    ----------
    gate, inconclusive
        How gates treat uncertainty, as in the options of the same names.
    """

    gate: Literal["point", "confident"] = "point"
    inconclusive: Literal["pass", "fail", "skip"] = "pass"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One prompt of a suite.

    Parameters
    ----------
    group, id
        Parts of the item's name, ``group[id]``.
    job
        The single sample to draw.
    """

    group: str
    id: str
    job: Job


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricGate:
    """A gate of a suite. ``scope`` is an emotion or a factor, or None for the whole suite.

    ``name`` is the name of the figure that the gate limits.
    """

    name: str
    scope: str | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement(ABC):
    """A psychometric suite for one model.

    Parameters
    ----------
    id
        The node id of its file.
    model
        ``BACKEND:NAME``.
    line
        The line of the file at which its settings begin.
    settings
        The settings in the suite's file.
    identity
        The values that identify the model in the store.
    """

    id: str
    model: str
    line: int
    settings: SuiteSettings
    identity: Mapping[str, str]

    @property
    @abstractmethod
    def kind(self) -> Literal["csi", "emotionbench", "manipulation"]:
        """The kind of suite, which is also the suffix of its files."""

    @property
    @abstractmethod
    def probes(self) -> Sequence[Probe]:
        """The prompts that are known before any response, in the order of the items."""

    @property
    def decisive(self) -> Sequence[Probe]:
        """The probes that the gates are computed from. The default is all probes."""
        return self.probes

    @property
    @abstractmethod
    def gates(self) -> Sequence[PsychometricGate]:
        """The gates for which the settings have a bound."""

    @property
    def stages(self) -> Sequence[str]:
        """Names of items whose prompts depend on the responses to the probes."""
        return ()

    @property
    def models(self) -> Sequence[str]:
        """All models that the suite sends prompts to."""
        return (self.model,)

    @property
    def inconclusive(self) -> Literal["pass", "fail", "skip"]:
        """The outcome of an inconclusive gate: ``pass``, ``fail`` or ``skip``."""
        settings = self.settings
        return settings.inconclusive if isinstance(settings, IntervalGateSettings) else "pass"

    def next_jobs(self, answers: Mapping[str, Completion]) -> Sequence[Job]:
        """Return the jobs of the next stage given the answers so far, or none after the last stage.

        Raises
        ------
        SettingsError
            If the stage is impossible with these answers.
        """
        del answers
        return ()

    def stage_word(self, answers: Mapping[str, Completion]) -> str:
        """Return a short result of a finished stage, for verbose output."""
        del answers
        return "done"

    @abstractmethod
    def read(self, probe: Probe, completion: Completion) -> str:
        """Return a short result of one response, such as ``29/30 labelled``.

        `completion` is the response to `probe`.
        """

    @abstractmethod
    def result(
        self, answers: Mapping[str, Completion]
    ) -> CsiRecord | EmotionBenchRecord | ManipulationRecord:
        """Return the result of the answers, without gates."""

    @abstractmethod
    def decide(
        self, gate: PsychometricGate, result: Any
    ) -> tuple[Gate, tuple[float | None, float | None]]:
        """Return the decision of a gate on a result, and the gate's lower and upper bound.

        `result` is what `result` returns. A bound is None if it is not set.
        """

    def _job(self, name: str, text: str, *, max_tokens: int | None = None) -> Job:
        """Return the job that sends `text` to the model, decoded as the settings define.

        `name` identifies the prompt within the suite. `max_tokens` replaces the limit of the
        settings.
        """
        settings = self.settings
        return make_job(
            suite=self.id,
            model=self.model,
            identity=self.identity,
            prompt=Prompt(user=text, system=settings.persona),
            decoding=Decoding(
                temperature=settings.temperature,
                top_p=1.0,
                max_tokens=max_tokens or settings.max_tokens,
            ),
            seed=settings.seed,
            probe=name,
        )

    def _probe(self, group: str, name: str, text: str, *, max_tokens: int | None = None) -> Probe:
        job = self._job(f"{group}-{name}", text, max_tokens=max_tokens)
        return Probe(group=group, id=name, job=job)


class AnswerLog:
    """The problems of a suite's responses, for its record.

    Attributes
    ----------
    problems
        Number of occurrences of each kind of problem.
    answers
        Every response with its own problems.
    """

    def __init__(self) -> None:
        self.problems: Counter[str] = Counter()
        self.answers: list[AnswerRecord] = []

    def add(self, probe: Probe, completion: Completion, problems: Mapping[str, int]) -> None:
        """Add a response.

        `problems` counts the faults of the response by kind. The text is shortened.
        """
        self.problems.update(problems)
        self.answers.append(
            AnswerRecord(
                id=f"{probe.group}[{probe.id}]",
                problems=dict(problems),
                response=_shortened(completion.text),
            )
        )

    def worst(self, badness: Callable[[Mapping[str, int]], float]) -> list[AnswerRecord]:
        """Return the answers whose problems have a `badness` above 0, the worst first."""
        bad = [answer for answer in self.answers if badness(answer.problems) > 0]
        ranked = sorted(bad, key=lambda answer: badness(answer.problems), reverse=True)
        return ranked[:WORST_SHOWN]


def make_job(
    *,
    suite: str,
    model: str,
    identity: Mapping[str, str],
    prompt: Prompt,
    decoding: Decoding,
    seed: int,
    probe: str,
) -> Job:
    """Return the job of one sample of `prompt`.

    Its seed is a hash of `seed` and the probe's name, so it is the same for every model.

    Parameters
    ----------
    suite
        The node id of the suite's file.
    model
        The model as ``BACKEND:NAME``.
    identity
        The values that identify the model in the store.
    prompt
        The messages to send.
    decoding
        The decoding parameters.
    seed
        The seed of the suite.
    probe
        The name of the probe, ``group[id]``.
    """
    own_seed = derive_seed("psychometrics", seed, probe)
    return Job(
        key=completion_key(identity, prompt, decoding, own_seed),
        model=model,
        prompt=prompt,
        decoding=decoding,
        n=1,
        seed=own_seed,
        task_id=suite,
        variant_id=probe,
    )


def _shortened(response: str) -> str:
    if len(response) <= _LONGEST_RESPONSE:
        return response
    return response[:_LONGEST_RESPONSE] + f" … ({len(response)} characters)"


def bounds_record(
    planned: PsychometricGate, gate: Gate, bounds: tuple[float | None, float | None]
) -> BoundsRecord:
    """Return the record of a decided gate.

    `bounds` are the lower and upper bound, None if not set.
    """
    return BoundsRecord(
        name=planned.name,
        scope=planned.scope,
        low=bounds[0],
        high=bounds[1],
        value=gate.value,
        verdict=gate.verdict,
        message=gate.message,
    )
