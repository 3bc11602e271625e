"""From rows to scores: the one place where measured wordings meet the formulas."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_promptse.errors import NotScoredError
from pytest_promptse.scoring.samples import Samples, TaskSamples
from pytest_promptse.scoring.suite import score_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.run.ledger import SuiteRow, WordingRow
    from pytest_promptse.scoring.scores import SuiteScore

Mode = Literal["promptse", "light"]


def to_samples(row: WordingRow) -> Samples:
    """Turn one wording's row into the arrays that the formulas take."""
    scored = row.has_logprobs
    return Samples(
        passed=np.array([cause == "" for cause in row.causes]),
        logprob=np.array(row.logprobs, dtype=float) if scored else None,
        n_tokens=np.array(row.n_tokens, dtype=int) if scored else None,
        causes=tuple(row.causes),
    )


def mode_of(rows: Iterable[WordingRow], asked: Literal["auto", "promptse", "light"]) -> Mode:
    """Return the mode that `rows` allow: ``auto`` is promptse where nothing is missing.

    Raises
    ------
    NotScoredError
        If mode promptse was asked for and a log-probability is missing.
    """
    if asked == "light":
        return "light"
    missing = next((row for row in rows if not row.has_logprobs), None)
    if missing is None:
        return "promptse"
    if asked == "promptse":
        raise NotScoredError(
            f"mode promptse needs log-probabilities, and {missing.model} gave none for "
            f"{missing.task} {missing.variant}; give --promptse-mode light"
        )
    return "light"


def score_rows(suite: SuiteRow, rows: Sequence[WordingRow]) -> SuiteScore | None:
    """Score the measured wordings of one suite and model.

    Tasks of which the original was not measured are left out: nothing can be said of them.
    Without any such original there is no score.

    Raises
    ------
    NotScoredError
        If mode promptse was asked for and a log-probability is missing.
    """
    by_task: dict[str, list[WordingRow]] = defaultdict(list)
    for row in rows:
        by_task[row.task].append(row)
    measured = []
    for task in suite.tasks:
        originals = [row for row in by_task[task] if row.distance == 0.0]
        if not originals:
            continue
        variants: dict[float, list[Samples]] = {distance: [] for distance in suite.distances}
        for row in sorted(by_task[task], key=lambda row: (row.distance, row.index)):
            if row.distance:
                variants[row.distance].append(to_samples(row))
        measured.append(
            TaskSamples(task_id=task, original=to_samples(originals[0]), variants=variants)
        )
    if not measured:
        return None
    return score_suite(
        measured,
        distances=suite.distances,
        mode=mode_of(rows, suite.mode),
        weighting=suite.weighting,
        seed=suite.seed,
        looks=len(suite.looks),
        planned=suite.looks[-1] if len(suite.looks) > 1 else None,
    )
