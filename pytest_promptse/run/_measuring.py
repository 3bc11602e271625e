"""Measure variants and decide gates: wait for completions, judge them, and log the outcome."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_promptse.errors import NotScoredError
from pytest_promptse.run._rounds import Rounds
from pytest_promptse.run._variant_rows import variant_row
from pytest_promptse.scoring._sequential import may_stop
from pytest_promptse.store._run_log import GateRow, LookRow, OutcomeRow, SuiteKey, VariantRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pytest_promptse.run._gates import Scores
    from pytest_promptse.run._judge import Check, CompletionJudge
    from pytest_promptse.run._plan import PlannedComparison, PlannedVariant, Suite
    from pytest_promptse.run._texts import TextRequests
    from pytest_promptse.sampling._sampler import Sampler
    from pytest_promptse.scoring._scores import Gate
    from pytest_promptse.store._run_log import PlannedGate, Progress, RunLog
    from pytest_promptse.store._store import Store

ShowProgress: TypeAlias = (
    "Callable[[Callable[[], Progress]], AbstractContextManager[Callable[[], object]]]"
)
NodeOf: TypeAlias = "Callable[[PlannedVariant], str | None]"


class PassCount(NamedTuple):
    """Number of the ``n`` samples of a variant that pass."""

    passes: int
    n: int


class Measuring:
    """Measure the variants of a started run and decide its gates.

    Parameters
    ----------
    store, run_log, sampler, judge, texts
        The parts of the run.
    scores
        Returns the scores of what was measured so far.
    suites_with_gates
        The suites of which a gate is selected.
    shard_tasks
        The ids of the tasks of this shard by suite; empty in a run without shards.
    show_progress
        Called while the run waits for completions. Receives a progress getter and returns a
        context manager whose value is a callback to run on every poll.
    """

    def __init__(
        self,
        *,
        store: Store,
        run_log: RunLog,
        sampler: Sampler,
        judge: CompletionJudge,
        texts: TextRequests,
        scores: Callable[[], Scores],
        suites_with_gates: Collection[SuiteKey],
        shard_tasks: Mapping[str, Collection[str]],
        show_progress: ShowProgress,
    ) -> None:
        self._store = store
        self._run_log = run_log
        self._sampler = sampler
        self._judge = judge
        self._texts = texts
        self._scores = scores
        self._suites_with_gates = suites_with_gates
        self._shard_tasks = shard_tasks
        self._show_progress = show_progress
        self._rounds = Rounds(
            run_log, request=texts.request_round, count_stored=sampler.count_stored
        )
        # Variants that this process measured. The run log has those of all processes.
        self._measured: dict[SuiteKey, dict[tuple[str, str], PassCount]] = defaultdict(dict)

    def measure(
        self, suite: Suite, planned: PlannedVariant, check: Check, *, node_of: NodeOf
    ) -> PassCount:
        """Sample and judge a variant, unless this process has done so.

        Parameters
        ----------
        suite, planned
            The variant and its suite.
        check
            The check of the suite.
        node_of
            Returns the node id of the item that measures a variant, for reports.

        Raises
        ------
        NotScoredError
            If a completion is missing or the sandbox fails.
        """
        measured = self._measured[suite.key]
        if planned.key not in measured:
            with self._show_progress(self._sampler.progress) as show:

                def tick() -> None:
                    show()
                    self._texts.process_arrived()

                planned = self._texts.written(planned, tick)
                self._sampler.wait(planned.job, tick=tick)
            job = planned.job
            completions = self._store.completions(job.key, job.n, since=job.since)
            judged = self._judge.judge(
                planned, completions, self._sampler.capabilities(suite.model), check
            )
            row = variant_row(
                suite,
                planned,
                judged,
                tokens=self._tokens(planned),
                node=node_of(planned),
            )
            self._run_log.add(row)
            measured[planned.key] = PassCount(row.variant.passes, row.variant.n)
        return measured[planned.key]

    def _tokens(self, planned: PlannedVariant) -> tuple[float, float] | None:
        """Return the prompt and completion tokens of one attempt, with those of a first request."""
        tokens = self._store.tokens(planned.job.key, programs=planned.programs)
        if planned.first_key is None or tokens is None:
            return tokens
        first = self._store.tokens(planned.first_key) or (0.0, 0.0)
        return tokens[0] + first[0], tokens[1] + first[1]

    def measured_prompt(self, suite: Suite, planned: PlannedVariant) -> VariantRow:
        """Return a variant that was measured, with the texts that its samples refer to.

        Raises
        ------
        NotScoredError
            If the run log does not contain it.
        """
        row = self._run_log.variant(suite.key, *planned.key, VariantRow)
        if row is None:
            raise NotScoredError(f"{'-'.join(planned.key)} was not measured in this run")
        return row

    def end_before(
        self, suite: Suite, planned: PlannedVariant, check: Check, *, node_of: NodeOf
    ) -> LookRow | None:
        """Return the look that ended the suite before this variant was sampled, or None.

        Measures what the earlier looks need. The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        if not self._stops_early(suite):
            return None
        decided = partial(self._all_decided, suite, check, node_of)
        return self._rounds.end_before(suite, suite.round_of(planned), decided=decided)

    def decide(self, suite: Suite, gate: PlannedGate, check: Check, *, node_of: NodeOf) -> Gate:
        """Measure the variants of a gate that no process has measured, and decide the gate.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`, and if the gate has a threshold but no original is solved.
        """
        self._measure_missing(suite, self._needed(suite, gate, check, node_of), check, node_of)
        decided = self._scores().decide_measured(suite.row, gate)
        self._run_log.add(
            GateRow(
                place=gate.place,
                suite=suite.id,
                model=suite.model,
                template=suite.key.template,
                gate=decided,
            )
        )
        return decided

    def measure_for(
        self, suite: Suite, comparison: PlannedComparison, check: Check, *, node_of: NodeOf
    ) -> None:
        """Measure the variants of a comparison that no process has measured.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        needed = self._needed(suite, comparison, check, node_of)
        self._measure_missing(suite, needed, check, node_of)

    def why_nothing_is_solved(self, suite: Suite) -> str | None:
        """Return why no sample of an original of a measured suite passes, or None if one does.

        Raises
        ------
        NotScoredError
            If no original was measured.
        """
        gate = next(gate for gate in suite.gates if gate.task is None)
        return self._scores().why_nothing_is_solved(suite.row, gate)

    def measure_share(
        self, suite: Suite, gate: PlannedGate, check: Check, *, node_of: NodeOf
    ) -> None:
        """Measure the variants of a gate in the tasks of this shard. The gate stays open.

        The parameters are those of `measure`.

        Raises
        ------
        NotScoredError
            As `measure`.
        """
        tasks = self._shard_tasks[suite.id]
        needed = [planned for planned in suite.needed_by(gate) if planned.task.id in tasks]
        self._measure_missing(suite, needed, check, node_of)

    def _needed(
        self,
        suite: Suite,
        subject: PlannedGate | PlannedComparison,
        check: Check,
        node_of: NodeOf,
    ) -> Sequence[PlannedVariant]:
        if not self._stops_early(suite):
            return suite.needed_by(subject)
        decided = partial(self._all_decided, suite, check, node_of)
        return suite.sampled_by(self._rounds.end(suite, decided=decided).look)

    def _stops_early(self, suite: Suite) -> bool:
        """Return whether the suite stops once its gates are decided.

        A suite without a gate is sampled completely.
        """
        return suite.in_rounds and suite.key in self._suites_with_gates

    def _all_decided(
        self, suite: Suite, check: Check, node_of: NodeOf, needed: Sequence[PlannedVariant]
    ) -> bool:
        """Measure `needed` and return whether every gate with a threshold is decided by it.

        `check` runs the user's check, and `node_of` returns the node id of a variant. The result is
        also True if no prompt is ever solved, as more variants then decide nothing.
        """
        self._measure_missing(suite, needed, check, node_of)
        score = self._scores().of(suite.row)
        if score is None:
            return False
        with_threshold = [gate for gate in suite.gates if gate.threshold is not None]
        if self._scores().why_nothing_is_solved(suite.row, with_threshold[-1]) is not None:
            # More variants of prompts that are never solved decide nothing.
            return True
        # The suite's own gates are last in the list. They share one score, so they are tried first.
        gates = (self._scores().decide(suite.row, gate) for gate in reversed(with_threshold))
        return may_stop(gates, mode=score.mode)

    def _measure_missing(
        self, suite: Suite, needed: Sequence[PlannedVariant], check: Check, node_of: NodeOf
    ) -> None:
        """Measure the variants that no process of the run has measured.

        `check` runs the user's check, and `node_of` returns the node id of a variant. Variants that
        another process measured are read from the run log.
        """
        measured = self._measured[suite.key]
        missing = []
        for planned in needed:
            if planned.key in measured:
                continue
            row = self._run_log.variant(suite.key, *planned.key, OutcomeRow)
            if row is None:
                missing.append(planned)
            else:
                measured[planned.key] = PassCount(row.variant.passes, row.variant.n)
        self._texts.request(suite, missing)
        for planned in missing:
            self.measure(suite, planned, check, node_of=node_of)
