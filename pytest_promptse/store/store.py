"""The store: what models answered and what programs were worth, and where a run's workers meet."""

from __future__ import annotations

import hashlib
import json
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.models.base import Capabilities, Completion, Usage
from pytest_promptse.store.database import Database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.models.base import Decoding, Prompt

_T = TypeVar("_T")
_STALE_SECONDS = 7 * 24 * 3600.0
_BATCH = 2000
# What begins with a prefix is found as a range, which an index serves.
_LAST_CHARACTER = "\U0010ffff"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class StoredVerdict:
    """What one check found of one program.

    ``cause`` is empty where the program passed, else why it failed (``wrong_answer``,
    ``timeout``, …); ``detail`` says more in one line; ``seconds`` is what judging took.
    """

    cause: str
    detail: str
    seconds: float


class Store:
    """Completions, verdicts and one run's notes, kept in ``promptse.db`` under one folder.

    Safe to use from several threads and processes at once.

    Parameters
    ----------
    folder
        Made if it is not there, with a ``.gitignore`` that leaves ``baselines/`` to be committed.

    Raises
    ------
    StoreError
        If the folder cannot be written, or the file was made by a newer version. Every method
        raises it where the file cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder, tidy=_forget_the_dead)

    @property
    def folder(self) -> Path:
        """Where the store lies."""
        return self.database.folder

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the opening, such as a damaged file set aside."""
        return self.database.warnings

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that this thread writes inside one transaction, kept whole or not at all."""
        with self.database.write():
            yield

    def close(self) -> None:
        """Close the file; nothing needs saving."""
        self.database.close()

    # -- completions ---------------------------------------------------------------------------

    def add_completions(
        self,
        key: str,
        completions: Sequence[Completion],
        *,
        usage: Usage,
        model: str,
        prompt: Prompt,
        decoding: Decoding,
        task_id: str,
        variant_id: str,
        seed: int,
        form: str,
        template: str | None = None,
    ) -> None:
        """Keep the answer to one request; of a sample that is there already the first stays.

        Half of a surrogate pair, as an answer cut inside an emoji ends in, is kept as U+FFFD:
        it has no UTF-8.
        """
        with self.database.write() as connection:
            connection.execute(
                """
                INSERT INTO wording (key, model, task_id, variant_id, system, user, temperature,
                    top_p, max_tokens, seed, form, created, template)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
                """,
                (
                    *(key, model, task_id, variant_id, prompt.system, prompt.user),
                    *(decoding.temperature, decoding.top_p, decoding.max_tokens),
                    *(seed, form, time.time(), template),
                ),
            )
            (wording,) = connection.execute(
                "SELECT id FROM wording WHERE key = ?", (key,)
            ).fetchone()
            connection.execute(
                """
                UPDATE wording SET requests = requests + ?, prompt_tokens = prompt_tokens + ?,
                    completion_tokens = completion_tokens + ? WHERE id = ?
                """,
                (usage.requests, usage.prompt_tokens, usage.completion_tokens, wording),
            )
            connection.executemany(
                "INSERT INTO completion VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    (
                        *(wording, each.index, _SURROGATE.sub("\ufffd", each.text)),
                        *(each.finish_reason, each.n_tokens, each.logprob),
                    )
                    for each in completions
                ),
            )

    def completions(self, key: str, n: int) -> tuple[Completion, ...]:
        """Return those of the samples 0 … n - 1 of a wording that are there, in order."""
        with self.database.read() as connection:
            rows = connection.execute(
                """
                SELECT sample, text, finish_reason, n_tokens, logprob FROM completion
                WHERE wording = (SELECT id FROM wording WHERE key = ?) AND sample < ?
                ORDER BY sample
                """,
                (key, n),
            ).fetchall()
        return tuple(
            Completion(
                index=sample, text=text, finish_reason=reason, n_tokens=n_tokens, logprob=logprob
            )
            for sample, text, reason, n_tokens, logprob in rows
        )

    def tokens(self, key: str) -> tuple[float, float] | None:
        """Return the tokens of one attempt at a wording: into a request, and out of a sample.

        Means over what was paid for it in any run, None where the model counted none.
        """
        with self.database.read() as connection:
            requests, into, out, samples = connection.execute(
                """
                SELECT sum(requests), sum(prompt_tokens), sum(completion_tokens),
                    (SELECT count(*) FROM completion WHERE wording = wording.id)
                FROM wording WHERE key = ?
                """,
                (key,),
            ).fetchone()
        return (into / requests, out / samples) if requests and samples and into else None

    def missing(self, keys: Mapping[str, int]) -> dict[str, list[int]]:
        """Return for every key which of its samples 0 … n - 1 are not there.

        Parameters
        ----------
        keys
            The number of samples n that each key should have.

        Returns
        -------
        dict
            All of `keys`; an empty list where nothing is missing.
        """
        found: dict[str, list[int]] = {}
        with self.database.read() as connection:
            for batch in _batches(keys.items(), _BATCH):
                rows = connection.execute(
                    """
                    SELECT wanted.key, wording.id, count(completion.sample)
                    FROM json_each(?) AS wanted
                    JOIN wording ON wording.key = json_extract(wanted.value, '$[0]')
                    JOIN completion ON completion.wording = wording.id
                        AND completion.sample < json_extract(wanted.value, '$[1]')
                    GROUP BY wanted.key
                    """,
                    (json.dumps(batch),),
                ).fetchall()
                there = {place: (wording, count) for place, wording, count in rows}
                for place, (key, n) in enumerate(batch):
                    wording, count = there.get(place, (None, 0))
                    samples = set()
                    if 0 < count < n:
                        samples = {
                            sample
                            for (sample,) in connection.execute(
                                "SELECT sample FROM completion WHERE wording = ?", (wording,)
                            )
                        }
                    found[key] = [] if count == n else [i for i in range(n) if i not in samples]
        return found

    # -- what a model turned out to honour -----------------------------------------------------

    def capabilities(self, identity: Mapping[str, str]) -> Capabilities | None:
        """Return what the model of this identity honoured when last started, None if never."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT value FROM capabilities WHERE identity = ?", (_digest(identity),)
            ).fetchone()
        return None if row is None else capabilities_from_json(row[0])

    def set_capabilities(self, identity: Mapping[str, str], capabilities: Capabilities) -> None:
        """Keep what a started model honours: with nothing to ask it need not be started again."""
        with self.database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO capabilities VALUES (?, ?)",
                (_digest(identity), capabilities_to_json(capabilities)),
            )

    # -- verdicts ------------------------------------------------------------------------------

    def verdicts(self, check: str, programs: Sequence[str]) -> dict[str, StoredVerdict]:
        """Return what `check` found of those `programs` (their SHA-256) that it has judged."""
        found: dict[str, StoredVerdict] = {}
        with self.database.read() as connection:
            for batch in _batches(programs, _BATCH):
                rows = connection.execute(
                    """
                    SELECT program, cause, detail, seconds FROM verdict
                    WHERE check_id = ? AND program IN (SELECT value FROM json_each(?))
                    """,
                    (check, json.dumps(batch)),
                )
                for program, cause, detail, seconds in rows:
                    found[program] = StoredVerdict(cause=cause, detail=detail, seconds=seconds)
        return found

    def add_verdict(self, check: str, program: str, verdict: StoredVerdict) -> None:
        """Keep one verdict; the first of a check and a program stays."""
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    *(check, program, verdict.cause, _SURROGATE.sub("\ufffd", verdict.detail)),
                    *(verdict.seconds, time.time()),
                ),
            )

    # -- one run's meeting point ---------------------------------------------------------------

    def put(self, run: str, kind: str, name: str, value: bytes) -> None:
        """Leave a value for the other processes of a run; a later one of that name replaces it."""
        with self.database.write() as connection:
            _touch(connection, run)
            connection.execute(
                """
                INSERT INTO note (run, kind, name, value) VALUES (?, ?, ?, ?)
                ON CONFLICT (run, kind, name) DO UPDATE SET value = excluded.value
                """,
                (run, kind, name, value),
            )

    def settle(self, run: str, kind: str, name: str, value: bytes) -> bytes:
        """Leave a value unless another process of the run was first; return the one that holds."""
        with self.database.write() as connection:
            _touch(connection, run)
            connection.execute(
                "INSERT INTO note (run, kind, name, value) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (run, kind, name) DO NOTHING",
                (run, kind, name, value),
            )
            (settled,) = connection.execute(
                "SELECT value FROM note WHERE run = ? AND kind = ? AND name = ?", (run, kind, name)
            ).fetchone()
        return bytes(settled)

    def get(self, run: str, kind: str, name: str) -> bytes | None:
        """Return a value left under a name, None where there is none."""
        with self.database.read() as connection:
            row: tuple[bytes] | None = connection.execute(
                "SELECT value FROM note WHERE run = ? AND kind = ? AND name = ?", (run, kind, name)
            ).fetchone()
        return None if row is None else row[0]

    def scan(self, run: str, kind: str, *, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield the name and value of all notes of a kind, in the order they were first put.

        With a `prefix` only those whose names begin with it.
        """
        with self.database.read() as connection:
            yield from connection.execute(
                "SELECT name, value FROM note "
                "WHERE run = ? AND kind = ? AND name >= ? AND name < ? ORDER BY id",
                (run, kind, prefix, prefix + _LAST_CHARACTER),
            )

    def count(self, run: str, kind: str, *, prefix: str = "") -> int:
        """Return how many notes `scan` would yield."""
        with self.database.read() as connection:
            (n,) = connection.execute(
                "SELECT COUNT(*) FROM note WHERE run = ? AND kind = ? AND name >= ? AND name < ?",
                (run, kind, prefix, prefix + _LAST_CHARACTER),
            ).fetchone()
        return int(n)

    def add_usage(self, run: str, usage: Usage) -> None:
        """Add to what a run has paid."""
        with self.database.write() as connection:
            _touch(connection, run)
            connection.execute(
                """
                UPDATE run SET requests = requests + ?, prompt_tokens = prompt_tokens + ?,
                    completion_tokens = completion_tokens + ? WHERE id = ?
                """,
                (usage.requests, usage.prompt_tokens, usage.completion_tokens, run),
            )

    def usage(self, run: str) -> Usage:
        """Return what a run has really paid so far, failed requests included."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT requests, prompt_tokens, completion_tokens FROM run WHERE id = ?", (run,)
            ).fetchone()
        requests, prompt_tokens, completion_tokens = row or (0, 0, 0)
        return Usage(
            requests=requests, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )

    def finish_run(self, run: str) -> None:
        """Drop a run's notes, usage and claims; those of a killed run are dropped after a week."""
        with self.database.write() as connection:
            connection.execute("DELETE FROM claim WHERE run = ?", (run,))
            connection.execute("DELETE FROM run WHERE id = ?", (run,))


def capabilities_to_json(capabilities: Capabilities) -> str:
    """Return capabilities as JSON text."""
    return json.dumps(vars(capabilities) | {"details": dict(capabilities.details)})


def capabilities_from_json(text: str | bytes) -> Capabilities:
    """Return the capabilities that `capabilities_to_json` wrote."""
    fields = json.loads(text)
    return Capabilities(**fields | {"refused": tuple(fields["refused"])})


def _forget_the_dead(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM claim")
    connection.execute("DELETE FROM run WHERE touched < ?", (time.time() - _STALE_SECONDS,))


def _touch(connection: sqlite3.Connection, run: str) -> None:
    connection.execute(
        """
        INSERT INTO run (id, touched) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET touched = excluded.touched
        """,
        (run, time.time()),
    )


def _digest(identity: Mapping[str, str]) -> str:
    canonical = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
