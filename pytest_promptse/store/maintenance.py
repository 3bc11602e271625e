"""What a store holds, taken out of it or thrown away: the work behind ``promptse store``."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.store.store import Store

_DAY_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Holding:
    """What the store holds of one model.

    ``requests`` and the token counts are what its completions cost; ``newest`` says when the
    last wording was first answered, in seconds since 1970.
    """

    model: str
    wordings: int
    completions: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    newest: float


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """What was thrown away, or would be."""

    wordings: int
    completions: int
    verdicts: int


def holdings(store: Store) -> list[Holding]:
    """Return what the store holds of each model, by name."""
    with store.database.read() as connection:
        rows = connection.execute(
            """
            SELECT model, count(*),
                sum((SELECT count(*) FROM completion WHERE completion.wording = wording.id)),
                sum(requests), sum(prompt_tokens), sum(completion_tokens),
                max(created)
            FROM wording GROUP BY model ORDER BY model
            """
        ).fetchall()
    return [Holding(*row) for row in rows]


def count_verdicts(store: Store) -> int:
    """Return how many programs have been judged."""
    with store.database.read() as connection:
        count: int = connection.execute("SELECT count(*) FROM verdict").fetchone()[0]
    return count


def forget_verdicts(store: Store, *, dry_run: bool = False) -> int:
    """Remove every verdict, so that the next run judges anew, and return how many there were."""
    count = count_verdicts(store)
    if not dry_run:
        with store.database.write() as connection:
            connection.execute("DELETE FROM verdict")
    return count


def prune(
    store: Store,
    *,
    model: str | None = None,
    older_than: float | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Throw away completions, and verdicts where no model is named, and shrink the file.

    Parameters
    ----------
    store
        Must not be in use by a run.
    model
        Only what this ``BACKEND:NAME`` answered; verdicts, which no model owns, stay.
    older_than
        Only what is older than so many days.
    dry_run
        Count only.

    Raises
    ------
    StoreError
        If a run has the store open.
    """
    made_before = time.time() - (older_than or 0.0) * _DAY_SECONDS
    chosen = "created <= ? AND (? IS NULL OR model = ?)"
    values = (made_before, model, model)
    with store.database.alone() as alone:
        if not alone:
            raise StoreError(
                f"store {str(store.folder)!r} is in use by a run; prune it when that has ended"
            )
        with store.database.write() as connection:
            wordings, completions = connection.execute(
                f"SELECT count(*), coalesce(sum((SELECT count(*) FROM completion"  # noqa: S608 - constant
                f" WHERE completion.wording = wording.id)), 0) FROM wording WHERE {chosen}",
                values,
            ).fetchone()
            (verdicts,) = connection.execute(
                "SELECT count(*) FROM verdict WHERE created <= ? AND ? IS NULL", values[:2]
            ).fetchone()
            if not dry_run:
                connection.execute(f"DELETE FROM wording WHERE {chosen}", values)  # noqa: S608 - constant
                connection.execute(
                    "DELETE FROM verdict WHERE created <= ? AND ? IS NULL", values[:2]
                )
        if not dry_run:
            with store.database.read() as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Pruned(wordings=wordings, completions=completions, verdicts=verdicts)


def exported(store: Store, *, model: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield every completion as a line of a replay file, with where it came from.

    What ``replay:FILE.jsonl`` reads is there under the names that it reads; ``model``,
    ``prompt``, ``system``, ``seed`` and the decoding fields are told besides.
    """
    with store.database.read() as connection:
        rows = connection.execute(
            """
            SELECT task_id, variant_id, template, sample, text, finish_reason, n_tokens, logprob,
                form, model, user, system, seed, temperature, top_p, max_tokens
            FROM completion JOIN wording ON wording.id = completion.wording
            WHERE ? IS NULL OR model = ?
            ORDER BY wording.id, sample
            """,
            (model, model),
        )
        names = ("task_id", "variant_id", "template", "index", "text", "finish_reason")
        told = ("model", "prompt", "system", "seed", "temperature", "top_p", "max_tokens")
        for row in rows:
            line = dict(zip((*names, "n_tokens", "logprob", "form", *told), row, strict=True))
            line["prompt_sha256"] = hashlib.sha256(line["prompt"].encode()).hexdigest()
            yield line


def ambiguous(store: Store, *, model: str | None = None) -> int:
    """Return how many wordings of a task in a template are there more than once.

    They were asked of several models, or under other decoding, seeds or prompts; a replay file
    that holds them all cannot say which is meant.
    """
    with store.database.read() as connection:
        count: int = connection.execute(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM wording WHERE ? IS NULL OR model = ?
                GROUP BY task_id, variant_id, template HAVING count(*) > 1
            )
            """,
            (model, model),
        ).fetchone()[0]
    return count
