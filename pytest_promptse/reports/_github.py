"""The ``github`` report: the step summary of a GitHub Actions job, and annotations.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import RecordError
from pytest_promptse.record._outcomes import (
    figure_outcome,
    gate_outcome,
    inconclusive_of,
    uncompared,
)
from pytest_promptse.record._queries import series_of, unscored
from pytest_promptse.reports import _markdown
from pytest_promptse.reports._escaping import escaped
from pytest_promptse.reports._instruments import gate_line
from pytest_promptse.reports._writers import GITHUB_SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.record._outcomes import Missing, Outcome
    from pytest_promptse.record._schema import ComparisonRecord, Record, SuiteRecord

# GitHub does not show a step summary that is larger.
_LARGEST_BYTES = 1024 * 1024


def write(record: Record, path: Path) -> None:  # noqa: ARG001 - GitHub says where
    """Append a record to the step summary, and print annotations for the runner.

    Raises
    ------
    RecordError
        If the summary is too large or cannot be written.
    """
    summary = os.environ[GITHUB_SUMMARY]
    text = _markdown.render(record).encode()
    if len(text) > _LARGEST_BYTES:
        raise RecordError(
            f"report github: the summary has {len(text)} bytes, and GitHub shows at "
            f"most {_LARGEST_BYTES}; give md:PATH or html:PATH"
        )
    try:
        with Path(summary).open("ab") as file:
            file.write(text)
    except OSError as error:
        raise RecordError(f"report github: {summary}: {error.strerror or error}") from None
    # A command must begin a line, and pytest may not have ended its current line.
    sys.stdout.write("".join(f"\n{line}" for line in commands(record)) + "\n")
    sys.stdout.flush()


def commands(record: Record) -> Iterator[str]:
    """Yield a workflow command for each gate that did not pass and for each error.

    What ``--promptse-replay-only`` skipped is a notice, since the job stays green.
    """
    record = escaped(record)
    folder = (record.git or {}).get("folder", "")
    series = series_of(record)
    several = {
        "model": len({entry.model for entry in series}) > 1,
        "template": len({entry.template for entry in series}) > 1,
    }
    missing: Missing = record.settings.get("compare_missing") or "warn"
    comparisons: dict[tuple[str, str | None, str | None], list[ComparisonRecord]] = defaultdict(
        list
    )
    for comparison in record.comparisons:
        comparisons[comparison.suite, comparison.model, comparison.template].append(comparison)
    for suite in record.suites:
        for gate in suite.gates:
            level = _level(gate_outcome(gate, inconclusive_of(suite)))
            if level is not None:
                about = [gate.task] if gate.task else []
                about += [
                    getattr(suite, name) or "no template" for name in several if several[name]
                ]
                message = ": ".join([", ".join(about), gate.message] if about else [gate.message])
                yield _command(level, message, **_place(suite, folder))
        for comparison in comparisons[suite.id, suite.model, suite.template]:
            for figure in comparison.figures:
                level = _level(figure_outcome(record, suite, comparison, figure, missing=missing))
                if level is not None:
                    yield _command(level, figure.message, **_place(suite, folder))
    yield from _instrument_commands(record, folder)
    # GitHub shows at most ten annotations of a kind, so equal errors share one.
    for reason, suites in uncompared(record).items():
        more = f" and {len(suites) - 1} more" if len(suites) > 1 else ""
        yield _command("error", f"{suites[0].id}{more}: {reason}", **_place(suites[0], folder))
    for message, errors in unscored(record).items():
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        where, skipped = errors[0].where, errors[0].skipped
        yield _command(
            "notice" if skipped else "error",
            f"{where}{more}: {message}",
            file=folder + where.partition("::")[0],
            title="skipped" if skipped else "not scored",
        )


def _instrument_commands(record: Record, folder: str) -> Iterator[str]:
    for suite in record.instruments:
        for gate in suite.gates:
            level = _level(gate_outcome(gate, suite.settings.get("inconclusive", "pass")))
            if level is not None:
                place = {"file": folder + suite.id, "title": f"promptse: {suite.model}"}
                if suite.line is not None:
                    place["line"] = str(suite.line)
                yield _command(level, gate_line(gate), **place)


def _level(outcome: Outcome) -> str | None:
    """Return the kind of annotation of an outcome, or None if there is nothing to say."""
    if outcome.kind == "failed":
        return "error"
    return "warning" if outcome.is_open else None


def _place(suite: SuiteRecord, folder: str) -> dict[str, str]:
    file, _, function = suite.id.partition("::")
    place = {"file": folder + file}
    if suite.line is not None:
        place["line"] = str(suite.line)
    return {**place, "title": f"promptse: {function or file}"}


def _command(level: str, message: str, **properties: str) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    """Escape a message for the runner, so that it cannot begin another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
