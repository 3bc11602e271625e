"""How an item ends: its outcome, what its report shows, and the notes for the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import NotScoredError, StoreError, TaskError
from pytest_promptse.plugin._targets import TARGET
from pytest_promptse.run._judge import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_promptse.record._outcomes import Inconclusive, Outcome
    from pytest_promptse.scoring._scores import Gate

RESULT_WORD: pytest.StashKey[str] = pytest.StashKey()
"""Key of what verbose output shows in place of ``PASSED``."""
NOTES: pytest.StashKey[list[str]] = pytest.StashKey()
"""Key of an item's remarks for the summary. As warnings, "filterwarnings = error" would turn them
into failures."""
NOT_SCORED: pytest.StashKey[str] = pytest.StashKey()
"""Key of the reason why the item could not be scored."""
DETAILS: pytest.StashKey[str] = pytest.StashKey()
"""Key of a section for the report of a failed item."""
_LINE_CHARS = 300


def outcome_of(gate: Gate, inconclusive: Inconclusive) -> Outcome:
    from pytest_promptse.record._outcomes import gate_outcome  # noqa: PLC0415 - scipy takes its time

    return gate_outcome(gate, inconclusive)


def end_item(outcome: Outcome) -> None:
    """Fail or skip the item of an outcome, or let it pass."""
    if outcome.kind == "failed":
        pytest.fail(
            outcome.reason if outcome.is_open else "\n".join(outcome.reasons), pytrace=False
        )
    if outcome.kind == "skipped":
        pytest.skip(outcome.reason)


def report_gate(item: pytest.Item, gate: Gate, inconclusive: Inconclusive) -> None:
    """Show the figure of `gate`, and fail or skip `item` if the gate has that outcome.

    `inconclusive` is the setting for an inconclusive gate, which always adds a note.
    """
    outcome = outcome_of(gate, inconclusive)
    verb = "MEASURED" if gate.threshold is None else "PASSED"
    item.stash[RESULT_WORD] = f"{'INCONCLUSIVE' if outcome.is_open else verb} ({gate.message})"
    item.user_properties.extend(_properties(gate))
    item.stash[NOTES] = list(gate.warnings)
    if outcome.is_open and outcome.kind != "failed":
        item.stash[NOTES].append(outcome.reason)
    end_item(outcome)


def _properties(gate: Gate) -> Iterator[tuple[str, float]]:
    """Yield the figures of a gate that JUnit files show in addition to its verdict."""
    low, high = gate.ci95 or (None, None)
    figures = {
        gate.name: gate.value,
        "ci95_low": low,
        "ci95_high": high,
        "excess": gate.excess,
    }
    for name, value in figures.items():
        if value is not None:
            yield f"promptse_{name}", value


def why_unmeasured(item: pytest.Item, call: pytest.CallInfo[None]) -> NotScoredError | None:
    """Return why an item's fixtures or check kept it from being measured, or None.

    An error of the model or the sandbox is logged where it occurs, and None is returned for it.
    """
    if TARGET not in item.stash or call.excinfo is None or call.when == "teardown":
        return None
    if RESULT_WORD in item.stash or NOT_SCORED in item.stash:
        return None
    error = call.excinfo.value
    if isinstance(error, NotScoredError | StoreError | pytest.skip.Exception):
        return None
    if isinstance(error, CheckError):
        text = error.line
    else:
        text = str(error) if isinstance(error, TaskError) else f"{type(error).__name__}: {error}"
    return NotScoredError(f"the check is broken: {text.strip().splitlines()[0][:_LINE_CHARS]}")


def annotate(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add this plugin's data to the report of an item with a target.

    The report gets the pass rate or the gate's figure. An item that could not be scored becomes
    an error instead of a failure, with its message instead of a traceback.
    """
    if TARGET not in item.stash and RESULT_WORD not in item.stash:
        return
    report.promptse = item.stash.get(RESULT_WORD, "")  # type: ignore[attr-defined]
    if call.when == "call":
        report.promptse_notes = item.stash.get(NOTES, [])  # type: ignore[attr-defined]
    if report.when == "call" and report.failed and DETAILS in item.stash:
        report.sections.append(("promptse", item.stash[DETAILS]))
    if call.excinfo is None:
        return
    not_scored = item.stash.get(NOT_SCORED, None)
    if not_scored is not None or isinstance(call.excinfo.value, NotScoredError):
        # pytest counts a failed set-up as an error: in its counts, its exit code and JUnit.
        report.when = "setup"
    if not_scored is not None:
        report.promptse_not_scored = not_scored  # type: ignore[attr-defined]
        _set_summary_line(report.longrepr, not_scored)
    error = call.excinfo.value
    is_own = (
        isinstance(error, NotScoredError | StoreError | TaskError)
        and not item.config.option.fulltrace
    )
    if is_own or isinstance(error, CheckError):
        message = call.excinfo.getrepr(style="value")
        _set_summary_line(message, error.line if isinstance(error, CheckError) else str(error))
        report.longrepr = message


def _set_summary_line(longrepr: Any, message: str) -> None:
    """Set the line in the short summary and JUnit.

    By default it begins with the exception's class.
    """
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = message


def notes_in(stats: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the notes on all items of a session, each with the node id.

    Parameters
    ----------
    stats
        All reports by category, as pytest's terminal reporter keeps them.
    """
    return [
        f"{report.nodeid}: {note}"
        for reports in stats.values()
        for report in reports
        for note in getattr(report, "promptse_notes", ())
    ]


def seconds_waited(stats: Mapping[str, Sequence[Any]]) -> float:
    """Return how many seconds all items of a session have waited for completions.

    Parameters
    ----------
    stats
        As for `notes_in`.
    """
    return sum(
        getattr(report, "promptse_waited", 0.0) for reports in stats.values() for report in reports
    )
