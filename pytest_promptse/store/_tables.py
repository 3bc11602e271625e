"""The tables of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

SCHEMA_VERSION = 1
"""SQLite's ``user_version`` in a file with these tables. A change of a table increases it."""

_TABLES = (
    """
    CREATE TABLE variant (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        task_id TEXT NOT NULL,
        variant_id TEXT NOT NULL,
        system TEXT,
        user TEXT NOT NULL,
        template TEXT,
        temperature REAL NOT NULL,
        top_p REAL NOT NULL,
        max_tokens INTEGER NOT NULL,
        seed INTEGER NOT NULL,
        form TEXT NOT NULL,
        created REAL NOT NULL,
        requests INTEGER NOT NULL DEFAULT 0,
        prompt_tokens INTEGER NOT NULL DEFAULT 0,
        completion_tokens INTEGER NOT NULL DEFAULT 0,
        batch_cost REAL
    )
    """,
    """
    CREATE TABLE completion (
        variant INTEGER NOT NULL REFERENCES variant (id) ON DELETE CASCADE,
        sample INTEGER NOT NULL,
        text TEXT NOT NULL,
        finish_reason TEXT NOT NULL,
        n_tokens INTEGER,
        logprob REAL,
        created REAL NOT NULL,
        PRIMARY KEY (variant, sample)
    )
    """,
    """
    CREATE TABLE verdict (
        check_id TEXT NOT NULL,
        program TEXT NOT NULL,
        cause TEXT NOT NULL,
        detail TEXT NOT NULL,
        seconds REAL NOT NULL,
        created REAL NOT NULL,
        PRIMARY KEY (check_id, program)
    )
    """,
    "CREATE TABLE capabilities (identity TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """
    CREATE TABLE made_variants (
        key TEXT PRIMARY KEY,
        variants BLOB NOT NULL,
        created REAL NOT NULL
    )
    """,
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
    CREATE TABLE lease (
        key TEXT PRIMARY KEY,
        run TEXT NOT NULL,
        expires REAL NOT NULL
    )
    """,
    "CREATE INDEX lease_run ON lease (run)",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file, inside the caller's transaction."""
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
