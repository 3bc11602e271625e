"""What fails a run, what is skipped, and why: decided here, for items, merges and reports alike.

A *verdict* says what the data show: ``pass``, ``fail`` or ``inconclusive``. An *outcome* says what
follows from it. It depends on the settings ``inconclusive`` and ``compare_missing`` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from pytest_promptse.errors import NoBaselineError, RecordError
from pytest_promptse.record._files import baseline_command
from pytest_promptse.record._queries import figure_label, prompts_of
from pytest_promptse.scoring._gate import judge_pass_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import (
        ComparedRecord,
        ComparisonRecord,
        Record,
        SuiteRecord,
        TaskRecord,
    )

Inconclusive: TypeAlias = Literal["pass", "fail", "skip"]
Missing: TypeAlias = Literal["fail", "warn"]


class Decided(Protocol):
    """A gate that was decided. The attributes are those of `scoring._gate.Gate`."""

    @property
    def threshold(self) -> float | None: ...
    @property
    def value(self) -> float | None: ...
    @property
    def verdict(self) -> str | None: ...
    @property
    def message(self) -> str: ...


class Outcome(NamedTuple):
    """What a gate or comparison does to a run.

    ``reasons`` has one line each. ``is_open`` is True if the data decide nothing, so that the kind
    follows from the setting ``inconclusive`` alone.
    """

    kind: Literal["passed", "failed", "skipped"]
    reasons: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def reason(self) -> str:
        """The reasons in one line."""
        return ("inconclusive: " if self.is_open else "") + "; ".join(self.reasons)


def inconclusive_of(suite: SuiteRecord) -> Inconclusive:
    """Return the setting of a suite for what its data do not decide."""
    chosen: Inconclusive = suite.settings.get("inconclusive", "skip")
    return chosen


def gate_outcome(gate: Decided, inconclusive: Inconclusive) -> Outcome:
    """Return the outcome of a gate.

    A gate fails if its verdict is ``fail``, or if it has a threshold but its figure could not be
    computed. `inconclusive` is the setting of the gate's suite.
    """
    if gate.verdict == "fail" or (gate.value is None and gate.threshold is not None):
        return Outcome("failed", (gate.message,))
    if gate.verdict == "inconclusive":
        return _undecided((gate.message,), inconclusive)
    return Outcome("passed")


def _undecided(messages: Sequence[str], inconclusive: Inconclusive) -> Outcome:
    kinds: dict[Inconclusive, Literal["passed", "failed", "skipped"]] = {
        "pass": "passed",
        "fail": "failed",
        "skip": "skipped",
    }
    return Outcome(kinds[inconclusive], tuple(messages), is_open=True)


def no_baseline_outcome(error: RecordError, missing: Missing) -> Outcome:
    """Return the outcome of a comparison whose baseline could not be read.

    A baseline that does not exist yet fails only with ``missing="fail"``. One that cannot be read
    always fails.
    """
    tolerated = missing == "warn" and isinstance(error, NoBaselineError)
    return Outcome("passed" if tolerated else "failed", (str(error),))


def comparison_outcome(record: Record, *, missing: Missing) -> Outcome:
    """Return the outcome of the comparisons of a record with a baseline.

    With ``missing="fail"``, a suite fails if the baseline lacks it. A suite that only the baseline
    contains does not fail. See `figure_outcome` for the figures of the other suites.
    """
    suites = {(suite.id, suite.model, suite.template): suite for suite in record.suites}
    outcomes = []
    for comparison in record.comparisons:
        if comparison.model is None:
            continue
        suite = suites[comparison.suite, comparison.model, comparison.template]
        if comparison.baseline_model is not None:
            outcomes += [
                figure_outcome(record, suite, comparison, figure, missing=missing)
                for figure in comparison.figures
            ]
        elif missing == "fail":
            text = f"{suite.id} ({suite.model}) is not in {_renewed(comparison)}"
            outcomes.append(Outcome("failed", (text,)))
    for kind in ("failed", "skipped", "passed"):
        decisive = [outcome for outcome in outcomes if outcome.kind == kind]
        if decisive:
            reasons = tuple(reason for outcome in decisive for reason in outcome.reasons)
            return Outcome(kind, reasons, is_open=kind != "failed" and bool(reasons))
    return Outcome("passed")


def figure_outcome(
    record: Record,
    suite: SuiteRecord,
    comparison: ComparisonRecord,
    figure: ComparedRecord,
    *,
    missing: Missing,
) -> Outcome:
    """Return the outcome of one figure of the comparison of a suite with its baseline.

    A figure without a margin passes. With ``missing="fail"``, one that has a margin but no verdict
    fails if the suite was measured in full.
    """
    if figure.margin is None:
        return Outcome("passed")
    label = f"{figure_label(record, figure)} of {suite.id} ({suite.model})"
    if figure.verdict is None and missing == "fail" and not suite.n_missing:
        return Outcome("failed", (f"{label} has no counterpart in {_renewed(comparison)}",))
    if figure.verdict == "fail":
        text = f"{_change(label, figure)}, more than {_shown(figure.margin)} allowed"
        return Outcome("failed", (text,))
    if figure.verdict != "inconclusive":
        return Outcome("passed")
    if inconclusive_of(suite) == "fail":
        ruled_out = f"which does not rule out a loss of {_shown(figure.margin)}"
        return Outcome("failed", (f"{_change(label, figure)}, {ruled_out}",))
    return _undecided((figure.message,), inconclusive_of(suite))


def uncompared(record: Record) -> dict[str, list[SuiteRecord]]:
    """Return why suites fail without a comparison, each reason with its suites.

    Empty without ``--promptse-compare``, and with ``--promptse-compare-missing warn``.
    """
    name = record.settings.get("compare")
    if name is None or record.settings.get("compare_missing") != "fail":
        return {}
    compared = {
        (comparison.suite, comparison.model, comparison.template)
        for comparison in record.comparisons
        if comparison.baseline_model is not None
    }
    alone = [
        suite
        for suite in record.suites
        # A suite of which nothing was measured is left out of what can be compared.
        if (suite.id, suite.model, suite.template) not in compared
        and suite.n_missing < suite.n_variants
    ]
    is_first = not record.comparisons and record.settings.get("save") == name
    if not alone or is_first:
        return {}
    what = "does not have this suite" if record.comparisons else "does not exist"
    return {f"the baseline {name!r} {what}; make it with: {baseline_command(name)}": alone}


def has_worsened(comparisons: Sequence[ComparisonRecord]) -> bool:
    """Return whether a figure with a margin has lost more than that."""
    return any(
        figure.margin is not None and figure.verdict == "fail"
        for comparison in comparisons
        for figure in comparison.figures
    )


def _renewed(comparison: ComparisonRecord) -> str:
    name = comparison.baseline.name
    return (
        f"the baseline {name!r}; renew it with: {baseline_command(name)}, "
        "or give --promptse-compare-missing warn"
    )


def _change(label: str, figure: ComparedRecord) -> str:
    gap = figure.difference
    if gap is None:
        raise RecordError(
            f"{label} has the verdict {figure.verdict!r} but no difference; compare again"
        )
    size = _shown(abs(gap))
    word = "changed by" if size == "0" else "fell by" if gap < 0 else "rose by"
    text = f"{label} {word} {size}"
    if figure.ci95 is None:
        return text
    # The loss is shown as a positive number, so its limits are too.
    low, high = figure.ci95 if gap > 0 else (-figure.ci95[1], -figure.ci95[0])
    return f"{text} (95 % interval {_shown(low)} to {_shown(high)})"


def _shown(value: float) -> str:
    """Show at most three decimals, without trailing zeros."""
    return f"{round(value, 3) + 0.0:g}"


def run_failures(record: Record) -> list[str]:
    """Return why a single run with this record would fail, one line per reason.

    Reasons are what could not be measured, gates and minimum pass rates. Comparisons have
    `comparison_outcome`.
    """
    lines = [f"{error.where}: {error.message}" for error in record.errors]
    for suite in record.suites:
        inconclusive = inconclusive_of(suite)
        for gate in suite.gates:
            outcome = gate_outcome(gate, inconclusive)
            if outcome.kind == "failed":
                lines.append(f"{suite.id}[{gate.name}]: {outcome.reason}")
        key = (suite.id, suite.model, suite.template)
        tasks = [task for task in record.tasks if (task.suite, task.model, task.template) == key]
        lines += _below_floor(suite, tasks, inconclusive)
    return lines


def _below_floor(
    suite: SuiteRecord, tasks: Sequence[TaskRecord], inconclusive: Inconclusive
) -> Iterator[str]:
    """Yield the prompts of a suite whose items fail for their pass rates.

    Each prompt is given as its node id and the message of its gate. Nothing is yielded without
    ``min_pass_rate``.
    """
    floor = suite.settings["min_pass_rate"]
    if floor is None:
        return
    prompts = [(task, prompt) for task in tasks for prompt in prompts_of(task)]
    for task, prompt in prompts:
        gate = judge_pass_rate(
            prompt.passes,
            prompt.n,
            floor,
            kind=suite.settings["gate"],
            comparisons=len(prompts),
        )
        outcome = gate_outcome(gate, inconclusive)
        if outcome.kind == "failed":
            yield f"{prompt.node or f'{task.suite} {task.id} {prompt.id}'}: {outcome.reason}"


def exit_code(failures: Sequence[str]) -> int:
    """Return the exit code of a command that decides what fails, as pytest's own."""
    return 1 if failures else 0
