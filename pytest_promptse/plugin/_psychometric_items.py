"""The items of psychometric suites, and the part of the record about these suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_promptse.errors import NotScoredError, NotStoredError, SettingsError
from pytest_promptse.plugin._items import RESULT_WORD, report_gate
from pytest_promptse.psychometrics._suite import Measurement, Probe, PsychometricGate, bounds_record
from pytest_promptse.record._psychometrics import (
    CsiRecord,
    EmotionBenchRecord,
    ManipulationRecord,
    PsychometricsRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.models._base import Completion
    from pytest_promptse.run._run import PromptseRun
    from pytest_promptse.sampling._job import Job

_LOG_KIND = "PsychometricSuite"
_RESULTS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()


class PsychometricItem(pytest.Item):
    """One prompt, one stage or one gate of a psychometric suite.

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
        subject: Probe | PsychometricGate | str,
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
        elif isinstance(self.subject, PsychometricGate):
            gate, _ = suite.decide(self.subject, self._result(suite, answers))
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

    def _result(self, suite: Measurement, answers: Mapping[str, Completion]) -> Any:
        """Return the result of all probes, computed once for all gates of a suite.

        `answers` has the response to each probe by job key. The result is stored for the other
        items of the same suite and model.
        """
        if self.parent is None:
            return suite.result(answers)
        results = self.parent.stash.setdefault(_RESULTS, {})
        if suite.model not in results:
            results[suite.model] = suite.result(answers)
        return results[suite.model]

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, 0 if self.suite is None else self.suite.line - 1, self.name


def log_suites(run: PromptseRun, items: Sequence[PsychometricItem]) -> None:
    """Log the suites of the selected `items`, and which of their gates are selected.

    Every process of the run logs the same entries, and the reporting process reads them.
    """
    gates: dict[tuple[str, str], tuple[Path, list[str]]] = {}
    for item in items:
        if item.suite is None:
            continue
        _, names = gates.setdefault((item.suite.id, item.suite.model), (item.path, []))
        if isinstance(item.subject, PsychometricGate):
            names.append(_gate_name(item.subject))
    for (suite, model), (path, names) in gates.items():
        row = {"path": str(path), "suite": suite, "model": model, "gates": names}
        name = f"{suite}\x1f{model}"
        run.store.put(run.id, _LOG_KIND, name, json.dumps(row).encode())


def _gate_name(gate: PsychometricGate) -> str:
    return f"{gate.scope or ''}\x1f{gate.name}"


def psychometrics_record(run: PromptseRun) -> PsychometricsRecord | msgspec.UnsetType:
    """Return the results of the run's psychometric suites, or UNSET if it has none."""
    rows = [json.loads(value) for _, value in run.store.scan(run.id, _LOG_KIND)]
    if not rows:
        return msgspec.UNSET
    results = [_result(run, row) for row in rows]
    return PsychometricsRecord(
        csi=[each for each in results if isinstance(each, CsiRecord)],
        emotionbench=[each for each in results if isinstance(each, EmotionBenchRecord)],
        manipulation=[each for each in results if isinstance(each, ManipulationRecord)],
    )


def plan_file(path: Path, run: PromptseRun, suite_id: str) -> list[Measurement]:
    """Return the suite of the file at `path` for each model of the run.

    Raises
    ------
    TaskError, SettingsError
        If the file, or one that it names, cannot be used.
    """
    from pytest_promptse.psychometrics._files import load_settings, plan  # noqa: PLC0415 - scipy

    settings, line = load_settings(path)
    rater = getattr(settings, "rater", None)
    return plan(
        settings,
        suite_id=suite_id,
        models={model: run.backend(model).identity for model in run.settings.model},
        rater=None if rater is None else run.backend(rater).identity,
        folder=path.parent,
        line=line,
    )


def _result(
    run: PromptseRun, row: dict[str, Any]
) -> CsiRecord | EmotionBenchRecord | ManipulationRecord:
    suite = next(
        each
        for each in plan_file(Path(row["path"]), run, row["suite"])
        if each.model == row["model"]
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
        bounds_record(gate, *suite.decide(gate, result))
        for gate in suite.gates
        if is_complete and _gate_name(gate) in row["gates"]
    ]
    return msgspec.structs.replace(result, gates=decided)


def _stored(run: PromptseRun, jobs: Sequence[Job]) -> Iterator[tuple[str, Completion]]:
    for job in jobs:
        completion = run.stored(job)
        if completion is not None:
            yield job.key, completion
