"""How an item ends, and what its report and the summary show."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from pytest_promptse.errors import NotScoredError, StoreError, TaskError
from pytest_promptse.plugin._results import (
    DETAILS,
    NOT_SCORED,
    NOTES,
    RESULT_WORD,
    annotate,
    notes_in,
    report_gate,
    seconds_waited,
    why_unmeasured,
)
from pytest_promptse.plugin._targets import TARGET
from pytest_promptse.run._judge import CheckError
from pytest_promptse.scoring._scores import Gate

GATE = Gate(
    name="auc-e",
    threshold=0.9,
    value=0.8,
    ci95=(0.7, 0.85),
    verdict="pass",
    message="AUC-E 0.80",
    warnings=["few"],
)


def item(*, target=True, **stash):
    """Return what the functions use of a pytest item."""
    made = SimpleNamespace(
        stash=pytest.Stash(),
        user_properties=[],
        config=SimpleNamespace(option=SimpleNamespace(fulltrace=False)),
    )
    if target:
        made.stash[TARGET] = None
    return made


def ended(gate, inconclusive="skip"):
    """Return the item of a gate, and how it ended: None if it passed."""
    made = item()
    try:
        report_gate(made, gate, inconclusive)
    except (pytest.fail.Exception, pytest.skip.Exception) as end:
        return made, end
    return made, None


def test_a_gate_that_passes_shows_its_figure_and_its_interval():
    made, end = ended(GATE)
    assert end is None
    assert made.stash[RESULT_WORD] == "PASSED (AUC-E 0.80)"
    assert made.stash[NOTES] == ["few"]
    assert made.user_properties == [
        ("promptse_auc-e", 0.8),
        ("promptse_ci95_low", 0.7),
        ("promptse_ci95_high", 0.85),
    ]
    measured, _ = ended(replace(GATE, threshold=None, verdict=None, ci95=None, excess=0.25))
    assert measured.stash[RESULT_WORD] == "MEASURED (AUC-E 0.80)"
    assert measured.user_properties == [("promptse_auc-e", 0.8), ("promptse_excess", 0.25)]


def test_a_gate_that_fails_fails_the_item_in_one_line():
    made, end = ended(replace(GATE, verdict="fail"))
    assert isinstance(end, pytest.fail.Exception)
    assert (end.msg, end.pytrace) == ("AUC-E 0.80", False)
    assert made.stash[NOTES] == ["few"]


@pytest.mark.parametrize(
    ("setting", "kind", "notes"),
    [
        ("pass", type(None), ["few", "inconclusive: AUC-E 0.80"]),
        ("skip", pytest.skip.Exception, ["few", "inconclusive: AUC-E 0.80"]),
        ("fail", pytest.fail.Exception, ["few"]),
    ],
)
def test_an_open_gate_ends_as_set_and_has_a_note_unless_it_fails(setting, kind, notes):
    made, end = ended(replace(GATE, verdict="inconclusive"), setting)
    assert type(end) is kind
    assert end is None or end.msg == "inconclusive: AUC-E 0.80"
    assert made.stash[RESULT_WORD] == "INCONCLUSIVE (AUC-E 0.80)"
    assert made.stash[NOTES] == notes


def call_of(error=None, when="call"):
    def run():
        if error is not None:
            raise error

    return pytest.CallInfo.from_call(run, when)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad\nmore"), "the check is broken: ValueError: bad"),
        (TaskError("no task"), "the check is broken: no task"),
        (CheckError("AssertionError: 1", "long"), "the check is broken: AssertionError: 1"),
        (ValueError("x" * 400), "the check is broken: ValueError: " + "x" * 288),
        (NotScoredError("known"), None),
        (StoreError("full"), None),
        (pytest.skip.Exception("later"), None),
        (None, None),
    ],
)
def test_an_error_of_a_check_is_the_reason_why_nothing_was_measured(error, message):
    found = why_unmeasured(item(), call_of(error))
    assert (None if found is None else str(found)) == message
    assert why_unmeasured(item(target=False), call_of(error)) is None
    assert why_unmeasured(item(), call_of(error, when="teardown")) is None
    for key in (RESULT_WORD, NOT_SCORED):
        made = item()
        made.stash[key] = "known"
        assert why_unmeasured(made, call_of(error)) is None


def annotated(made, call, *, failed=False, when="call"):
    report = SimpleNamespace(when=when, failed=failed, sections=[], longrepr=None)
    if call.excinfo is not None:
        report.longrepr = SimpleNamespace(reprcrash=SimpleNamespace(message="long"))
    annotate(made, call, report)
    return report


def test_a_report_has_the_word_the_notes_and_for_a_failure_the_details():
    made = item()
    made.stash[RESULT_WORD], made.stash[NOTES], made.stash[DETAILS] = "PASSED", ["few"], "table"
    report = annotated(made, call_of())
    assert (report.promptse, report.promptse_notes, report.sections) == ("PASSED", ["few"], [])
    failed = annotated(made, call_of(AssertionError()), failed=True)
    assert failed.sections == [("promptse", "table")]
    assert failed.longrepr.reprcrash.message == "long"
    setup = annotated(made, call_of(when="setup"), failed=True, when="setup")
    assert (setup.sections, hasattr(setup, "promptse_notes")) == ([], False)
    assert not hasattr(annotated(item(target=False), call_of()), "promptse")
    bare = annotated(item(), call_of())
    assert (bare.promptse, bare.promptse_notes) == ("", [])


@pytest.mark.parametrize(
    ("error", "when", "text"),
    [
        (NotScoredError("no answer"), "setup", "no answer"),
        (TaskError("no task"), "call", "no task"),
        (StoreError("full"), "call", "full"),
        (CheckError("AssertionError: 1", "long"), "call", "AssertionError: 1"),
    ],
)
def test_an_error_of_this_plugin_is_its_message(error, when, text):
    report = annotated(item(), call_of(error), failed=True)
    assert (report.when, report.longrepr.reprcrash.message) == (when, text)
    made = item()
    made.config.option.fulltrace = True
    full = annotated(made, call_of(error), failed=True)
    is_check = isinstance(error, CheckError)
    assert full.longrepr.reprcrash.message == (text if is_check else "long")


def test_an_item_that_could_not_be_scored_is_an_error_with_its_reason():
    made = item()
    made.stash[NOT_SCORED] = "the check is broken: ValueError"
    report = annotated(made, call_of(ValueError()), failed=True)
    assert (report.when, report.promptse_not_scored) == ("setup", made.stash[NOT_SCORED])
    assert report.longrepr.reprcrash.message == made.stash[NOT_SCORED]
    assert not hasattr(annotated(item(), call_of(ValueError())), "promptse_not_scored")


def test_notes_and_seconds_are_those_of_all_reports():
    one = SimpleNamespace(nodeid="a", promptse_notes=["x", "y"], promptse_waited=1.5)
    two = SimpleNamespace(nodeid="b", promptse_waited=2.0)
    stats = {"passed": [one], "failed": [two, SimpleNamespace(nodeid="c")]}
    assert notes_in(stats) == ["a: x", "a: y"]
    assert seconds_waited(stats) == 3.5
