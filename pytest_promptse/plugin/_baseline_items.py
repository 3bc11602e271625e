"""Compare one suite of a run with its counterpart in a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_promptse.compare._baseline import Baselines
from pytest_promptse.errors import RecordError
from pytest_promptse.plugin._invocation import invocation

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_promptse.record._outcomes import Outcome
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
    outcome
        What it does to the run.
    """

    word: str
    outcome: Outcome
    has_worsened: bool = False


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
    from pytest_promptse.record._outcomes import (  # noqa: PLC0415 - scipy
        comparison_outcome,
        has_worsened,
        no_baseline_outcome,
    )

    settings = run.settings
    name = str(settings.compare)
    try:
        baseline = _load(name, config.rootpath, config.invocation_params.dir)
    except RecordError as error:
        # The run makes it, as the first run of a project does.
        missing = "warn" if settings.save == name else settings.compare_missing
        outcome = no_baseline_outcome(error, missing)
        return ComparisonResult(word="no baseline", outcome=outcome)
    # A model that is new in the suite is compared with the one model that the baseline has instead.
    record = run.record(invocation(config), suite_id=suite.id)
    comparisons = [
        comparison
        for comparison in compare_records(
            record, baseline, name=name, margins=settings.compare_fail
        )
        if (comparison.suite, comparison.template, comparison.model)
        == (suite.id, suite.key.template, suite.model)
    ]
    record = replace(record, comparisons=comparisons)
    return ComparisonResult(
        word=f"compared with {name}",
        outcome=comparison_outcome(record, missing=settings.compare_missing),
        has_worsened=has_worsened(comparisons),
    )


@lru_cache(maxsize=1)
def _load(name: str, root: Path, folder: Path) -> Record:
    return Baselines(root, here=folder).load(name)
