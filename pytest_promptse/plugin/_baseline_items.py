"""Compare one suite of a run with its counterpart in a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_promptse.compare._baseline import Baselines
from pytest_promptse.errors import NoBaselineError, RecordError
from pytest_promptse.plugin._invocation import invocation
from pytest_promptse.reports.terminal._comparison import shortfalls

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_promptse.record._schema import Record
    from pytest_promptse.run._plan import Suite
    from pytest_promptse.run._run import PromptseRun


@dataclass(frozen=True, kw_only=True)
class ComparisonResult:
    """The result of a comparison.

    Attributes
    ----------
    word
        The word that the item shows beside its outcome.
    has_worsened
        True if a figure with a margin has lost more than that.
    losses
        The reasons to fail, one line each.
    undecided
        The figures that the comparison does not decide, one line each.
    """

    word: str
    losses: tuple[str, ...] = ()
    has_worsened: bool = False
    undecided: tuple[str, ...] = ()


def compare_suite(config: pytest.Config, run: PromptseRun, suite: Suite) -> ComparisonResult:
    """Compare a suite with the baseline of the run. All of its variants were measured.

    Parameters
    ----------
    config
        The configuration of the session.
    run
        The run of the session.
    suite
        The suite to compare.
    """
    from pytest_promptse.record._comparison import compare_records  # noqa: PLC0415 - scipy

    settings = run.settings
    name = str(settings.compare)
    try:
        baseline = _load(name, config.rootpath, config.invocation_params.dir)
    except NoBaselineError as error:
        if settings.compare_missing == "fail":
            return ComparisonResult(word="no baseline", losses=(str(error),))
        return ComparisonResult(word="no baseline")
    except RecordError as error:
        return ComparisonResult(word="no baseline", losses=(str(error),))
    # A model that is new in the suite is compared with the one model that the baseline has instead.
    record = run.record(invocation(config), suite_id=suite.id)
    found = [
        one
        for one in compare_records(record, baseline, name=name, margins=settings.compare_fail)
        if (one.suite, one.template, one.model) == (suite.id, suite.key.template, suite.model)
    ]
    losses = shortfalls(replace(record, comparisons=found), missing=settings.compare_missing)
    judged = [figure for one in found for figure in one.figures if figure.margin is not None]
    return ComparisonResult(
        word=f"compared with {name}",
        losses=tuple(losses),
        has_worsened=any(figure.verdict == "fail" for figure in judged),
        undecided=tuple(figure.message for figure in judged if figure.verdict == "inconclusive"),
    )


@lru_cache(maxsize=1)
def _load(name: str, root: Path, folder: Path) -> Record:
    return Baselines(root, here=folder).load(name)
