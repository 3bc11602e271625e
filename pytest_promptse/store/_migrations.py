"""The tables of the store, and the migration of older files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

# Step i migrates a file from schema i to i + 1. A released step is never edited; a change is a
# new step.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE wording (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            model TEXT NOT NULL,
            task_id TEXT NOT NULL,
            variant_id TEXT NOT NULL,
            system TEXT,
            user TEXT NOT NULL,
            temperature REAL NOT NULL,
            top_p REAL NOT NULL,
            max_tokens INTEGER NOT NULL,
            seed INTEGER NOT NULL,
            form TEXT NOT NULL,
            created REAL NOT NULL,
            requests INTEGER NOT NULL DEFAULT 0,
            prompt_tokens INTEGER NOT NULL DEFAULT 0,
            completion_tokens INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE completion (
            wording INTEGER NOT NULL REFERENCES wording (id) ON DELETE CASCADE,
            sample INTEGER NOT NULL,
            text TEXT NOT NULL,
            finish_reason TEXT NOT NULL,
            n_tokens INTEGER,
            logprob REAL,
            PRIMARY KEY (wording, sample)
        )
        """,
        """
        CREATE TABLE verdict (
            check_id TEXT NOT NULL,
            program TEXT NOT NULL,
            cause TEXT NOT NULL,
            detail TEXT NOT NULL,
            seconds REAL NOT NULL,
            assertion TEXT NOT NULL,
            created REAL NOT NULL,
            PRIMARY KEY (check_id, program)
        )
        """,
        "CREATE TABLE capabilities (identity TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """
        CREATE TABLE run (
            id TEXT PRIMARY KEY,
            touched REAL NOT NULL,
            requests INTEGER NOT NULL DEFAULT 0,
            prompt_tokens INTEGER NOT NULL DEFAULT 0,
            completion_tokens INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE note (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            value BLOB NOT NULL,
            UNIQUE (run, kind, name)
        )
        """,
        """
        CREATE TABLE claim (
            key TEXT PRIMARY KEY,
            run TEXT NOT NULL,
            expires REAL NOT NULL
        )
        """,
        "CREATE INDEX claim_run ON claim (run)",
    ),
    ("ALTER TABLE wording ADD COLUMN template TEXT",),
    ("ALTER TABLE verdict DROP COLUMN assertion",),
    (
        """
        CREATE TABLE made_variants (
            key TEXT PRIMARY KEY,
            variants BLOB NOT NULL,
            created REAL NOT NULL
        )
        """,
    ),
    (
        "ALTER TABLE wording RENAME TO variant",
        "ALTER TABLE completion RENAME COLUMN wording TO variant",
        "ALTER TABLE claim RENAME TO lease",
        "DROP INDEX claim_run",
        "CREATE INDEX lease_run ON lease (run)",
    ),
    (
        "ALTER TABLE completion ADD COLUMN created REAL NOT NULL DEFAULT 0",
        """
        UPDATE completion
        SET created = (SELECT created FROM variant WHERE variant.id = completion.variant)
        """,
    ),
    ("ALTER TABLE variant ADD COLUMN batch_cost REAL",),
)
SCHEMA_VERSION = len(STEPS)


def upgrade(connection: sqlite3.Connection, *, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Apply the `steps` that the file behind `connection` lacks, inside the caller's transaction.

    The schema number is SQLite's ``user_version``, the number of steps that were applied.
    """
    (done,) = connection.execute("PRAGMA user_version").fetchone()
    for step in steps[done:]:
        for statement in step:
            connection.execute(statement)
    if done < len(steps):
        connection.execute(f"PRAGMA user_version = {len(steps)}")
