"""What all psychometric suites have in common: the prompts they send and the gates they decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_promptse.models.base import completion_key, derive_seed
from pytest_promptse.record.psychometrics import BoundsRecord
from pytest_promptse.sampling.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.models.base import Completion, Decoding, Prompt
    from pytest_promptse.record.psychometrics import (
        AnswerRecord,
        CsiRecord,
        EmotionBenchRecord,
        ManipulationRecord,
    )
    from pytest_promptse.scoring.gate import Gate

__all__ = ["WORST_SHOWN", "Measurement", "Probe", "PsychometricGate", "make_job"]

WORST_SHOWN = 5
"""How many of the responses that could not be read in full a record keeps."""

# A response in a record is cut here, so that one endless answer does not fill a report.
_LONGEST_RESPONSE = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One prompt of a suite.

    Parameters
    ----------
    group, id
        They name the item: ``group[id]``.
    job
        The one sample to take.
    """

    group: str
    id: str
    job: Job


@dataclass(frozen=True, kw_only=True, slots=True)
class PsychometricGate:
    """A gate of a suite; ``scope`` is an emotion or a factor, None for the whole suite."""

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
    """

    id: str
    model: str
    line: int

    @property
    @abstractmethod
    def kind(self) -> Literal["csi", "emotionbench", "manipulation"]:
        """The kind of suite, which is also the suffix of its files."""

    @property
    @abstractmethod
    def probes(self) -> Sequence[Probe]:
        """The prompts that are known before anything is answered, in the order of the items."""

    @property
    @abstractmethod
    def gates(self) -> Sequence[PsychometricGate]:
        """The gates that the settings ask for."""

    @property
    def stages(self) -> Sequence[str]:
        """Names of items whose prompts depend on answers to the probes."""
        return ()

    @property
    def models(self) -> Sequence[str]:
        """All models that the suite sends prompts to."""
        return (self.model,)

    @property
    @abstractmethod
    def inconclusive(self) -> str:
        """What becomes of an inconclusive gate: ``pass``, ``fail`` or ``skip``."""

    def next_jobs(self, answers: Mapping[str, Completion]) -> Sequence[Job]:
        """Return the jobs of the next stage, given the answers so far; none if all are known.

        Raises
        ------
        SettingsError
            If the answers do not allow the stage.
        """
        del answers
        return ()

    def stage_word(self, answers: Mapping[str, Completion]) -> str:
        """Return a word about a finished stage."""
        del answers
        return "done"

    @abstractmethod
    def read(self, probe: Probe, completion: Completion) -> str:
        """Return a word about one response, such as ``29/30 labelled``."""

    @abstractmethod
    def result(
        self, answers: Mapping[str, Completion]
    ) -> CsiRecord | EmotionBenchRecord | ManipulationRecord:
        """Return what the answers come to, without gates."""

    @abstractmethod
    def decide(
        self, gate: PsychometricGate, result: Any
    ) -> tuple[Gate, tuple[float | None, float | None]]:
        """Return the decision of a gate on a result, and its lower and upper bound."""


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

    Its seed is hashed from `seed` and the probe's name, so that it is the same for every model.
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


def shortened(response: str) -> str:
    """Return a response as a record keeps it."""
    if len(response) <= _LONGEST_RESPONSE:
        return response
    return response[:_LONGEST_RESPONSE] + f" … ({len(response)} characters)"


def worst_answers(
    answers: Sequence[AnswerRecord], badness: Callable[[AnswerRecord], float]
) -> list[AnswerRecord]:
    """Return the answers with the largest `badness` above 0, the worst first."""
    bad = [answer for answer in answers if badness(answer) > 0]
    return sorted(bad, key=badness, reverse=True)[:WORST_SHOWN]


def bounds_record(
    planned: PsychometricGate, gate: Gate, bounds: tuple[float | None, float | None]
) -> BoundsRecord:
    """Return a decided gate as the record keeps it."""
    return BoundsRecord(
        name=planned.name,
        scope=planned.scope,
        low=bounds[0],
        high=bounds[1],
        value=gate.value,
        verdict=gate.verdict,
        message=gate.message,
    )
