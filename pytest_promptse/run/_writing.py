"""Let a model write variants outside of a run."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from pytest_promptse.errors import ModelError
from pytest_promptse.run._model_variants import ModelVariants, Rewrite, no_room
from pytest_promptse.sampling._job import Job
from pytest_promptse.sampling._sampler import Sampler
from pytest_promptse.store._run_log import RewriteRow
from pytest_promptse.store._store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_promptse.models._base import Backend, Usage
    from pytest_promptse.variants._variant import Variant


@dataclass(frozen=True)
class Written:
    """Variants that models wrote outside of a run.

    Attributes
    ----------
    variants
        The variants with their texts.
    rejected
        Number of texts that each rule rejected, by rule.
    n_texts
        Number of texts, including rejected ones.
    usage
        Requests and tokens used.
    """

    variants: dict[Rewrite, Variant]
    rejected: dict[Rewrite, dict[str, int]]
    n_texts: int
    usage: Usage


def write_all(
    wanted: Sequence[Rewrite], create_backend: Callable[[], Backend], *, folder: Path
) -> Written:
    """Let a model write texts, with the queue and the retries of a run.

    Parameters
    ----------
    wanted
        The texts to write, all by one model.
    create_backend
        Returns the backend of the model.
    folder
        The folder of the store. Texts that it contains are not requested again.

    Raises
    ------
    NotScoredError
        If the model does not answer, or every text for a variant was rejected.
    SettingsError
        If the settings of the model prevent every request.
    """
    run = f"variants-{uuid4().hex}"
    with closing(Store(folder)) as store:
        texts = ModelVariants(lambda: store)
        sampler = Sampler(
            store, [], {rewrite.model.spec: create_backend for rewrite in wanted}, run=run
        )
        with closing(sampler):
            steps = {rewrite: texts.next_step(rewrite) for rewrite in wanted}
            sampler.request([step for step in steps.values() if isinstance(step, Job)])
            for rewrite in wanted:
                while isinstance(step := texts.next_step(rewrite), Job):
                    try:
                        sampler.wait(step)
                    except ModelError as error:
                        if message := no_room(error):
                            raise ModelError(message) from error
                        raise
                steps[rewrite] = step
        rows = {
            rewrite: row
            for rewrite in wanted
            for row in texts.rows(rewrite)
            if isinstance(row, RewriteRow)
        }
        usage = store.usage(run)
        store.finish_run(run)
    return Written(
        variants={rewrite: step for rewrite, step in steps.items() if not isinstance(step, Job)},
        rejected={rewrite: row.rules for rewrite, row in rows.items()},
        n_texts=sum(row.texts for row in rows.values()),
        usage=usage,
    )
