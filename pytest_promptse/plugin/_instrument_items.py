"""The items of instruments' suites, and the part of the record about these suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError, SettingsError
from pytest_promptse.instruments._files import load_settings
from pytest_promptse.instruments._measurement import (
    FigureGate,
    Measurement,
    Probe,
    SuitePlace,
    bounds_record,
)
from pytest_promptse.plugin._invocation import instrument_of
from pytest_promptse.plugin._results import RESULT_WORD, report_gate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.instruments._measurement import Instrument
    from pytest_promptse.models._base import Completion
    from pytest_promptse.record._instruments import InstrumentRecord
    from pytest_promptse.run._run import PromptseRun
    from pytest_promptse.sampling._job import Job

_LOG_KIND = "InstrumentSuite"
_RESULTS: pytest.StashKey[dict[tuple[str, str], InstrumentRecord]] = pytest.StashKey()


class InstrumentItem(pytest.Item):
    """One prompt, one stage or one gate of an instrument's suite.

    Parameters
    ----------
    suite
        The suite, or None for an item that is skipped.
    subject
        A prompt, a gate, or the name of a stage.
    run
        The run of the session.
    """

    def __init__(
        self,
        *,
        suite: Measurement | None,
        subject: Probe | FigureGate | str,
        run: PromptseRun,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.suite = suite
        self.subject = subject
        self._run = run
        if suite is not None:
            self.stash[RESULT_WORD] = ""

    @property
    def jobs(self) -> list[Job]:
        """The prompts of the item that are known at the start."""
        if self.suite is None:
            return []
        if isinstance(self.subject, Probe):
            return [self.subject.job]
        return [probe.job for probe in self.suite.decisive]

    @property
    def models(self) -> Sequence[str]:
        """The models that the item's suite sends prompts to."""
        return () if self.suite is None else self.suite.models

    def runtest(self) -> None:
        if self.suite is None:
            return
        try:
            self._measure(self.suite)
        except NotStoredError as error:
            self._run.log_error(self.nodeid, error)
            pytest.skip(str(error))
        except NotScoredError as error:
            self._run.log_error(self.nodeid, error)
            raise

    def _measure(self, suite: Measurement) -> None:
        answers = self._run.wait(self.jobs)
        if isinstance(self.subject, Probe):
            word = suite.read(self.subject, answers[self.subject.job.key])
            self.stash[RESULT_WORD] = f"MEASURED ({word})"
        elif isinstance(self.subject, FigureGate):
            gate = suite.decide(self.subject, self._result(suite, answers))
            report_gate(self, gate, suite.inconclusive)
        else:
            problem = ""
            try:
                while jobs := suite.next_jobs(answers):
                    answers |= self._run.wait(jobs)
            except SettingsError as error:
                problem = str(error)
            if problem:
                # Outside of the handler, so that pytest does not show the message twice.
                pytest.fail(problem, pytrace=False)
            self.stash[RESULT_WORD] = f"MEASURED ({suite.stage_word(answers)})"

    def _result(self, suite: Measurement, answers: Mapping[str, Completion]) -> InstrumentRecord:
        """Return the result of all probes, computed once for all gates of a suite.

        `answers` has the response to each probe by job key. The result is stored for the other
        items of the same suite and model.
        """
        results = self.session.stash.setdefault(_RESULTS, {})
        key = suite.place.id, suite.place.model
        if key not in results:
            results[key] = suite.result(answers)
        return results[key]

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, 0 if self.suite is None else self.suite.place.line - 1, self.name


def log_suites(run: PromptseRun, items: Sequence[InstrumentItem]) -> None:
    """Log the suites of the selected `items`, and which of their gates are selected.

    Every process of the run logs the same entries, and the reporting process reads them.
    """
    gates: dict[tuple[str, str, Path], list[str]] = {}
    for item in items:
        if item.suite is None:
            continue
        place = item.suite.place
        names = gates.setdefault((place.id, place.model, place.path), [])
        if isinstance(item.subject, FigureGate):
            names.append(_gate_name(item.subject))
    for (suite, model, path), names in gates.items():
        row = {"path": str(path), "suite": suite, "model": model, "gates": names}
        name = f"{suite}\x1f{model}"
        run.store.put(run.id, _LOG_KIND, name, json.dumps(row).encode())


def _gate_name(gate: FigureGate) -> str:
    return f"{gate.scope or ''}\x1f{gate.name}"


def instrument_records(run: PromptseRun, config: pytest.Config) -> list[InstrumentRecord]:
    """Return the results of the run's suites of instruments."""
    return [
        _result(run, config, json.loads(value)) for _, value in run.store.scan(run.id, _LOG_KIND)
    ]


def planned(
    instrument: Instrument, path: Path, run: PromptseRun, suite_id: str
) -> list[Measurement]:
    """Return the suite of the file at `path` for each model of the run.

    Raises
    ------
    TaskError, SettingsError
        If the file, or one that it names, cannot be used.
    """
    settings, line = load_settings(path, instrument.settings)

    def identity_of(model: str) -> Mapping[str, str]:
        return run.backend(model).identity

    suites = [
        instrument.plan(
            settings,
            SuitePlace(id=suite_id, model=model, path=path, line=line, identity_of=identity_of),
        )
        for model in run.settings.model
    ]
    if suites and not any(suite.probes for suite in suites):
        raise SettingsError(f"{suite_id}: the settings select no prompt; let them select more")
    return suites


def _result(run: PromptseRun, config: pytest.Config, row: dict[str, Any]) -> InstrumentRecord:
    path = Path(row["path"])
    instrument = instrument_of(config, path)
    if instrument is None:
        raise SettingsError(f"{path}: its instrument is not registered with pytest any more")
    suite = next(
        candidate
        for candidate in planned(instrument, path, run, row["suite"])
        if candidate.place.model == row["model"]
    )
    answers = dict(_stored(run, [probe.job for probe in suite.probes]))
    is_complete = all(probe.job.key in answers for probe in suite.decisive)
    try:
        while new := dict(_stored(run, suite.next_jobs(answers))):
            answers |= new
    except SettingsError:
        # The stage cannot be measured. Its item has failed with this message.
        pass
    result = suite.result(answers)
    decided = [
        bounds_record(gate, suite.decide(gate, result))
        for gate in suite.gates
        if is_complete and _gate_name(gate) in row["gates"]
    ]
    return msgspec.structs.replace(result, gates=decided)


def _stored(run: PromptseRun, jobs: Sequence[Job]) -> Iterator[tuple[str, Completion]]:
    for job in jobs:
        completion = run.stored(job)
        if completion is not None:
            yield job.key, completion
