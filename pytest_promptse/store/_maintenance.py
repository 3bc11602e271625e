"""Contents, export and pruning of a store, as used by ``promptse store``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import StoreError
from pytest_promptse.sandbox.guest.unpatched import hashlib, time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.store._store import Store

_DAY_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class ModelContents:
    """The contents of the store for one model.

    Attributes
    ----------
    requests, prompt_tokens, completion_tokens
        Usage of the requests that the completions came from.
    newest
        When the first completion of the newest variant was stored, in seconds since 1970.
    """

    model: str
    variants: int
    completions: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    newest: float


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """Numbers of deleted rows, or of rows that a dry run would delete."""

    variants: int
    completions: int
    verdicts: int


def contents(store: Store) -> list[ModelContents]:
    """Return the contents of the store for each model, sorted by name."""
    with store.database.read() as connection:
        rows = connection.execute(
            """
            SELECT model, count(*),
                sum((SELECT count(*) FROM completion WHERE completion.variant = variant.id)),
                sum(requests), sum(prompt_tokens), sum(completion_tokens),
                max(created)
            FROM variant GROUP BY model ORDER BY model
            """
        ).fetchall()
    return [ModelContents(*row) for row in rows]


def models(store: Store) -> list[str]:
    """Return the names of the models that have completions in the store, sorted."""
    with store.database.read() as connection:
        rows = connection.execute("SELECT DISTINCT model FROM variant ORDER BY model").fetchall()
    return [name for (name,) in rows]


def count_verdicts(store: Store) -> int:
    """Return the number of stored verdicts."""
    with store.database.read() as connection:
        count: int = connection.execute("SELECT count(*) FROM verdict").fetchone()[0]
    return count


def delete_verdicts(store: Store, *, dry_run: bool = False) -> int:
    """Delete every verdict and return how many there were. The next run judges again.

    Nothing is deleted in a `dry_run`.
    """
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
    """Delete completions and verdicts, and shrink the file.

    Parameters
    ----------
    store
        The store. No run may be using it.
    model
        Delete only the completions of this ``BACKEND:NAME``. Verdicts are kept, since they belong
        to no model.
    older_than
        Delete only entries that are older than this number of days.
    dry_run
        Count the rows without deleting them.

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
            variants, completions = connection.execute(
                f"SELECT count(*), coalesce(sum((SELECT count(*) FROM completion"  # noqa: S608 - constant
                f" WHERE completion.variant = variant.id)), 0) FROM variant WHERE {chosen}",
                values,
            ).fetchone()
            (verdicts,) = connection.execute(
                "SELECT count(*) FROM verdict WHERE created <= ? AND ? IS NULL", values[:2]
            ).fetchone()
            if not dry_run:
                connection.execute(f"DELETE FROM variant WHERE {chosen}", values)  # noqa: S608 - constant
                connection.execute(
                    "DELETE FROM verdict WHERE created <= ? AND ? IS NULL", values[:2]
                )
        if not dry_run:
            with store.database.read() as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Pruned(variants=variants, completions=completions, verdicts=verdicts)


def replay_lines(store: Store, *, model: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield every completion as a line of a replay file.

    Besides the fields that ``replay:FILE.jsonl`` reads, each line has ``model``, ``prompt``,
    ``system``, ``seed`` and the decoding fields.
    """
    with store.database.read() as connection:
        rows = connection.execute(
            """
            SELECT task_id, variant_id, template, sample, text, finish_reason, n_tokens, logprob,
                form, model, user, system, seed, temperature, top_p, max_tokens
            FROM completion JOIN variant ON variant.id = completion.variant
            WHERE ? IS NULL OR model = ?
            ORDER BY variant.id, sample
            """,
            (model, model),
        )
        replayed = ("task_id", "variant_id", "template", "index", "text", "finish_reason")
        extra = ("model", "prompt", "system", "seed", "temperature", "top_p", "max_tokens")
        for row in rows:
            line = dict(zip((*replayed, "n_tokens", "logprob", "form", *extra), row, strict=True))
            line["prompt_sha256"] = hashlib.sha256(line["prompt"].encode()).hexdigest()
            yield line


def count_ambiguous(store: Store, *, model: str | None = None) -> int:
    """Return the number of variants of a task and template that the store has more than once.

    Such a variant has completions from several models, or with different decoding, seeds or
    prompts. A replay file with all of them is ambiguous.
    """
    with store.database.read() as connection:
        count: int = connection.execute(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM variant WHERE ? IS NULL OR model = ?
                GROUP BY task_id, variant_id, template HAVING count(*) > 1
            )
            """,
            (model, model),
        ).fetchone()[0]
    return count
