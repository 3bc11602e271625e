"""An instrument, and its suite for one model: prompts, figures, gates and record of the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from pytest_promptse.models._base import Decoding, Prompt, completion_key, derive_seed
from pytest_promptse.record._instruments import AnswerRecord, BoundsRecord, InstrumentRecord
from pytest_promptse.sampling._job import Job

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.config._metrics import Direction
    from pytest_promptse.models._base import Completion
    from pytest_promptse.record._instruments import FigureRecord
    from pytest_promptse.record._sections import Block
    from pytest_promptse.scoring._gate import GateKind
    from pytest_promptse.scoring._scores import Gate

__all__ = [
    "AnswerLog",
    "Commands",
    "Count",
    "FigureGate",
    "Instrument",
    "IntervalGateSettings",
    "Measurement",
    "Probe",
    "Share",
    "SuitePlace",
    "SuiteSettings",
]

_WORST_SHOWN = 5
# A response in a record is cut at this length, so that an endless answer does not fill a report.
_LONGEST_RESPONSE = 4000
_WORST_FIRST = {"fail": 0, "inconclusive": 1, "pass": 2}

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
# argparse has no public name for the object to which commands are added.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class SuiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that every kind of suite has. Instruments add their own settings in a subclass.

    A setting ``min_NAME`` or ``max_NAME`` is a bound of the figure ``NAME``. A bound that is not
    None creates a gate.

    Attributes
    ----------
    persona
        The system prompt of every request.
    temperature, max_tokens, seed
        Decoding parameters, and the seed for all shuffling and random draws.
    min_coverage
        The minimum share of the requested answers that must be readable, in [0, 1].
    """

    persona: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    max_tokens: Count = 512
    seed: int = 0
    min_coverage: Share | None = None


class IntervalGateSettings(SuiteSettings, frozen=True, kw_only=True):
    """The settings of suites whose gates can take intervals into account.

    Attributes
    ----------
    gate, inconclusive
        How gates treat uncertainty. These settings mean the same as the options ``gate`` and
        ``inconclusive``.
    """

    gate: Literal["point", "confident"] = "point"
    inconclusive: Literal["pass", "fail", "skip"] = "pass"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One prompt of a suite.

    Parameters
    ----------
    group
        The first part of the item's name, ``group[id]``.
    id
        The second part of the item's name.
    job
        The job that draws the single sample of this prompt.
    """

    group: str
    id: str
    job: Job


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureGate:
    """A gate of a suite: the bounds of a figure.

    ``name`` is the name of the figure that the gate limits. ``scope`` is the part of the suite to
    which the gate applies, or None for the whole suite. A missing bound (``low`` or ``high``) is
    None.
    """

    name: str
    scope: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class SuitePlace:
    """The file that defines a suite, and the model of the suite.

    Parameters
    ----------
    id
        The node id of the suite's file.
    model
        ``BACKEND:NAME``.
    path
        The path of the file.
    line
        The line of the file at which the settings begin.
    identity_of
        A function that returns the values that identify a ``BACKEND:NAME`` in the store. The
        function raises SettingsError for a model that cannot be used.
    """

    id: str
    model: str
    path: Path
    line: int
    identity_of: Callable[[str], Mapping[str, str]]


class Instrument(ABC):
    """A kind of suite, such as a questionnaire.

    Attributes
    ----------
    name
        The name of the instrument. The instrument's suites are files that end in ``.NAME.yaml``.
    title
        The title of the instrument's results.
    about
        What the instrument's figures mean, and what they do not mean.
    settings
        The type of the settings in the instrument's files. This attribute may be a property that
        imports the type when needed.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str] = ""
    settings: Any

    @abstractmethod
    def plan(self, settings: Any, place: SuitePlace) -> Measurement:
        """Return the suite of a file for one model. `settings` has the type `Instrument.settings`.

        Raises
        ------
        SettingsError
            If the settings, or a file that they name, cannot be used.
        """

    def add_commands(self, commands: Commands) -> None:  # noqa: B027 - few have commands
        """Add commands to ``promptse``.

        Each command sets ``func`` to a function that returns the exit code.
        """


@dataclass(frozen=True, kw_only=True)
class Measurement(ABC):
    """A suite of an instrument for one model."""

    instrument: Instrument
    place: SuitePlace
    settings: SuiteSettings

    @property
    @abstractmethod
    def probes(self) -> Sequence[Probe]:
        """The prompts that are known before any response, in the order of the items."""

    @property
    def decisive(self) -> Sequence[Probe]:
        """The probes from which the gates are computed. The default is all probes."""
        return self.probes

    @property
    def gates(self) -> Sequence[FigureGate]:
        """The gates for which the settings contain a bound."""
        gates: dict[str, FigureGate] = {}
        for field in msgspec.structs.fields(self.settings):
            side, _, name = field.name.partition("_")
            bound = getattr(self.settings, field.name)
            if side in ("min", "max") and field.name != "max_tokens" and bound is not None:
                gate = gates.get(name, FigureGate(name=name))
                gates[name] = (
                    replace(gate, low=bound) if side == "min" else replace(gate, high=bound)
                )
        return tuple(gates.values())

    @property
    def stages(self) -> Sequence[str]:
        """Names of items whose prompts depend on the responses to the probes."""
        return ()

    @property
    def models(self) -> Sequence[str]:
        """All models to which the suite sends prompts."""
        return (self.place.model,)

    @property
    def inconclusive(self) -> Literal["pass", "fail", "skip"]:
        """The outcome of an inconclusive gate: ``pass``, ``fail`` or ``skip``."""
        settings = self.settings
        return settings.inconclusive if isinstance(settings, IntervalGateSettings) else "pass"

    def next_jobs(self, answers: Mapping[str, Completion]) -> Sequence[Job]:
        """Return the jobs of the next stage, or an empty sequence after the last stage.

        `answers` are the responses so far.

        Raises
        ------
        SettingsError
            If the responses so far do not allow the next stage.
        """
        del answers
        return ()

    def stage_word(self, answers: Mapping[str, Completion]) -> str:
        """Return the result of a finished stage in a few words, for verbose output."""
        del answers
        return "done"

    @abstractmethod
    def read(self, probe: Probe, completion: Completion) -> str:
        """Return the result of one response in a few words, such as ``29/30 labelled``.

        `completion` is the response to `probe`.
        """

    @abstractmethod
    def result(self, answers: Mapping[str, Completion]) -> InstrumentRecord:
        """Return the suite result, without gates. `answers` maps the keys of jobs to responses."""

    def decide(self, gate: FigureGate, result: InstrumentRecord) -> Gate:
        """Return the decision of a gate about a result."""
        figure = result.figure(gate.name)
        settings = self.settings
        return judged(
            gate,
            figure.value if figure else None,
            ci95=figure.ci95 if figure else None,
            kind=settings.gate if isinstance(settings, IntervalGateSettings) else "point",
        )

    def probe(self, group: str, name: str, text: str, *, max_tokens: int | None = None) -> Probe:
        """Return the probe ``group[name]`` that sends `text`.

        The decoding parameters are those of the settings. `max_tokens` replaces the token limit of
        the settings.
        """
        job = self.job(f"{group}-{name}", text, max_tokens=max_tokens)
        return Probe(group=group, id=name, job=job)

    def job(
        self, name: str, text: str, *, model: str | None = None, max_tokens: int | None = None
    ) -> Job:
        """Return the job that draws one sample.

        The seed of the job is a hash of the suite's seed and of `name`, so it does not depend on
        the model.

        Parameters
        ----------
        name
            The name of the prompt within the suite.
        text
            The prompt.
        model
            A different model, which judges responses. This model runs without the persona and at
            temperature 0.
        max_tokens
            A token limit that replaces the limit of the settings.
        """
        settings, place = self.settings, self.place
        prompt = Prompt(user=text, system=None if model else settings.persona)
        decoding = Decoding(
            temperature=0.0 if model else settings.temperature,
            top_p=1.0,
            max_tokens=max_tokens or settings.max_tokens,
        )
        seed = derive_seed("instrument", settings.seed, name)
        identity = place.identity_of(model or place.model)
        return Job(
            key=completion_key(identity, prompt, decoding, seed),
            model=model or place.model,
            prompt=prompt,
            decoding=decoding,
            n=1,
            seed=seed,
            task_id=place.id,
            variant_id=name,
        )

    def record(
        self,
        log: AnswerLog,
        *,
        heading: str,
        brief: str,
        figures: Sequence[FigureRecord],
        blocks: Sequence[Block] = (),
        data: object = None,
        conditions: Mapping[str, str] | None = None,
        reference: str = "",
    ) -> InstrumentRecord:
        """Return the record of a result. The parameters are fields of `InstrumentRecord`.

        `log` contains the responses to the decisive probes. `data` may be any dataclass or struct.
        """
        return InstrumentRecord(
            instrument=self.instrument.name,
            title=self.instrument.title,
            about=self.instrument.about,
            id=self.place.id,
            model=self.place.model,
            heading=heading,
            brief=brief,
            n_planned=len(self.decisive),
            n_responses=log.n,
            figures=list(figures),
            blocks=list(blocks),
            problems=dict(log.problems),
            worst=log.worst(),
            conditions=dict(conditions or {}),
            reference=reference,
            data=msgspec.to_builtins(data),
            settings=msgspec.to_builtins(self.settings),
            line=self.place.line,
        )


class AnswerLog:
    """The problems in a suite's responses, for the suite's record.

    Attributes
    ----------
    n
        Number of responses.
    problems
        Number of occurrences of each kind of problem.
    """

    def __init__(self) -> None:
        self.n = 0
        self.problems: Counter[str] = Counter()
        self._bad: list[tuple[int, AnswerRecord]] = []

    def add(
        self, probe: Probe, completion: Completion, problems: Mapping[str, int], *, badness: int
    ) -> None:
        """Add a response.

        `problems` counts the faults of the response by kind. The record shows the responses with
        the largest `badness` above 0.
        """
        self.n += 1
        self.problems.update(problems)
        if badness > 0:
            answer = AnswerRecord(
                id=f"{probe.group}[{probe.id}]",
                problems=dict(problems),
                response=_shortened(completion.text),
            )
            self._bad.append((badness, answer))

    def worst(self) -> list[AnswerRecord]:
        """Return the worst responses, in order of decreasing badness."""
        ranked = sorted(self._bad, key=lambda pair: -pair[0])
        return [answer for _, answer in ranked[:_WORST_SHOWN]]


def judged(
    gate: FigureGate,
    value: float | None,
    *,
    ci95: tuple[float, float] | None = None,
    kind: GateKind = "point",
) -> Gate:
    """Compare a figure with the bounds of `gate`, and return the worse of the two decisions.

    `value` and `ci95` are in the unit of the bounds. `kind` is that of `judge_gate`.
    """
    from pytest_promptse.scoring._gate import judge_gate  # noqa: PLC0415 - scipy

    name = gate.name if gate.scope is None else f"{gate.scope} {gate.name}"
    decided = [
        judge_gate(name, value, bound, ci95=ci95, kind=kind, direction=direction)
        for bound, direction in _sides(gate)
        if bound is not None
    ]
    return worst_of(*decided)


def worst_of(*decided: Gate) -> Gate:
    """Return the worst of several decisions on one figure, and the first of equal ones."""
    return min(decided, key=lambda gate: _WORST_FIRST[gate.verdict or "pass"])


def _sides(gate: FigureGate) -> tuple[tuple[float | None, Direction], ...]:
    return (gate.low, "at least"), (gate.high, "at most")


def bounds_record(planned: FigureGate, gate: Gate) -> BoundsRecord:
    """Return the record of a decided gate."""
    return BoundsRecord(
        name=planned.name,
        scope=planned.scope,
        low=planned.low,
        high=planned.high,
        value=gate.value,
        verdict=gate.verdict,
        message=gate.message,
    )


def _shortened(response: str) -> str:
    if len(response) <= _LONGEST_RESPONSE:
        return response
    return response[:_LONGEST_RESPONSE] + f" … ({len(response)} characters)"
