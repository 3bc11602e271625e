"""The store: completions, verdicts, and notes between the processes of a run."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from pytest_promptse.models._base import Capabilities, Completion, Usage
from pytest_promptse.sandbox.guest.unpatched import hashlib, json, math, time
from pytest_promptse.store._database import Database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.models._base import Decoding, Prompt

_T = TypeVar("_T")
_STALE_SECONDS = 7 * 24 * 3600.0
# Variants of an older library are never read again, and making new ones takes milliseconds.
_VARIANTS_SECONDS = 60 * 24 * 3600.0
_BATCH = 2000
# Names with a common prefix are queried as a range, for which SQLite uses the index.
_LAST_CHARACTER = "\U0010ffff"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class StoredVerdict:
    """The verdict of one check on one program.

    Attributes
    ----------
    cause
        The cause of the failure (``wrong_answer``, ``timeout``, …); empty if the program passed.
    detail
        One line of explanation.
    seconds
        Duration of the check in seconds.
    """

    cause: str
    detail: str
    seconds: float


class Store:
    """Completions, verdicts and notes in ``promptse.db`` in one folder.

    Several threads and processes may use it concurrently.

    Parameters
    ----------
    folder
        The folder. It is created if it is missing, with a ``.gitignore`` that excludes all but
        ``baselines/``.

    Raises
    ------
    StoreError
        If the folder cannot be written, or a newer version created the file. Every method raises it
        if the file cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder, clean_up=_delete_leftovers)

    @property
    def folder(self) -> Path:
        """The folder of the store."""
        return self.database.folder

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages for the user about opening the store, such as a renamed damaged file."""
        return self.database.warnings

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group all writes of this thread into one atomic transaction."""
        with self.database.write():
            yield

    def close(self) -> None:
        """Close the file. All writes are committed already."""
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
        since: float = 0.0,
        batch_cost: float | None = None,
    ) -> None:
        """Store the completions of one response.

        A sample that is already stored is kept, unless it is older than `since`. A lone surrogate,
        as in a completion that ends inside an emoji, is stored as U+FFFD, since it has no UTF-8
        encoding.

        Parameters
        ----------
        key
            The key of the variant, from `pytest_promptse.models._base.completion_key`.
        completions
            The completions to store.
        usage
            Requests and tokens of the response.
        model, prompt, decoding, task_id, variant_id, seed, form, template
            Description of the variant, for listing and export.
        since
            Replace samples that were stored earlier than this, in seconds since 1970.
        batch_cost
            Cost of the response in a batch. None if it is not from a batch or has no price.
        """
        now = time.time()
        with self.database.write() as connection:
            connection.execute(
                """
                INSERT INTO variant (key, model, task_id, variant_id, system, user, temperature,
                    top_p, max_tokens, seed, form, created, template)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
                """,
                (
                    *(key, model, task_id, variant_id, prompt.system, prompt.user),
                    *(decoding.temperature, decoding.top_p, decoding.max_tokens),
                    *(seed, form, now, template),
                ),
            )
            (variant,) = connection.execute(
                "SELECT id FROM variant WHERE key = ?", (key,)
            ).fetchone()
            connection.execute(
                """
                UPDATE variant SET requests = requests + ?, prompt_tokens = prompt_tokens + ?,
                    completion_tokens = completion_tokens + ? WHERE id = ?
                """,
                (usage.requests, usage.prompt_tokens, usage.completion_tokens, variant),
            )
            connection.execute(
                "UPDATE variant SET batch_cost = coalesce(batch_cost, 0.0) + :cost "
                "WHERE id = :variant AND :cost IS NOT NULL",
                {"cost": batch_cost, "variant": variant},
            )
            connection.executemany(
                """
                INSERT INTO completion VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (variant, sample) DO UPDATE SET text = excluded.text,
                    finish_reason = excluded.finish_reason, n_tokens = excluded.n_tokens,
                    logprob = excluded.logprob, created = excluded.created
                WHERE completion.created < ?
                """,
                (
                    (
                        *(variant, sample.index, _SURROGATE.sub("\ufffd", sample.text)),
                        *(sample.finish_reason, sample.n_tokens, sample.logprob, now, since),
                    )
                    for sample in completions
                ),
            )
            if since:
                connection.execute(
                    "UPDATE variant SET created = "
                    "(SELECT min(created) FROM completion WHERE variant = ?) WHERE id = ?",
                    (variant, variant),
                )

    def completions(self, key: str, n: int, *, since: float = 0.0) -> tuple[Completion, ...]:
        """Return the samples among 0 … n - 1 of a variant that were stored at `since` or later.

        `since` is a time in seconds since 1970. The samples are in the order of their numbers; some
        may be missing.
        """
        with self.database.read() as connection:
            rows = connection.execute(
                """
                SELECT sample, text, finish_reason, n_tokens, logprob FROM completion
                WHERE variant = (SELECT id FROM variant WHERE key = ?) AND sample < ?
                    AND created >= ?
                ORDER BY sample
                """,
                (key, n, since),
            ).fetchall()
        return tuple(
            Completion(
                index=sample, text=text, finish_reason=reason, n_tokens=n_tokens, logprob=logprob
            )
            for sample, text, reason, n_tokens, logprob in rows
        )

    def tokens(self, key: str, *, programs: int = 1) -> tuple[float, float] | None:
        """Return the mean prompt tokens per request and the mean completion tokens per sample.

        The means are over all runs. The result is None if the model reported no token counts. A
        sample has `programs` completions.
        """
        with self.database.read() as connection:
            requests, into, out, samples = connection.execute(
                """
                SELECT sum(requests), sum(prompt_tokens), sum(completion_tokens),
                    (SELECT count(*) FROM completion WHERE variant = variant.id)
                FROM variant WHERE key = ?
                """,
                (key,),
            ).fetchone()
        if not (requests and samples and into):
            return None
        return into / requests, programs * out / samples

    def missing(
        self, keys: Mapping[str, int], *, since: Mapping[str, float] | None = None
    ) -> dict[str, list[int]]:
        """Return for every key which of its samples 0 … n - 1 are missing.

        Parameters
        ----------
        keys
            The number of samples n that each key should have.
        since
            The time, in seconds since 1970, before which samples of a key do not count. All
            samples of the other keys count.

        Returns
        -------
        dict
            The missing samples of each of `keys`; an empty list if none is missing.
        """
        since = since or {}
        missing: dict[str, list[int]] = {}
        with self.database.read() as connection:
            wanted = ((key, n, since.get(key, 0.0)) for key, n in keys.items())
            for batch in _batches(wanted, _BATCH):
                rows = connection.execute(
                    """
                    SELECT wanted.key, variant.id, count(completion.sample)
                    FROM json_each(?) AS wanted
                    JOIN variant ON variant.key = json_extract(wanted.value, '$[0]')
                    JOIN completion ON completion.variant = variant.id
                        AND completion.sample < json_extract(wanted.value, '$[1]')
                        AND completion.created >= json_extract(wanted.value, '$[2]')
                    GROUP BY wanted.key
                    """,
                    (json.dumps(batch),),
                ).fetchall()
                there = {place: (variant, count) for place, variant, count in rows}
                for place, (key, n, begin) in enumerate(batch):
                    variant, count = there.get(place, (None, 0))
                    samples = set()
                    if 0 < count < n:
                        samples = {
                            sample
                            for (sample,) in connection.execute(
                                "SELECT sample FROM completion WHERE variant = ? AND created >= ?",
                                (variant, begin),
                            )
                        }
                    missing[key] = [] if count == n else [i for i in range(n) if i not in samples]
        return missing

    def batch_cost(self, keys: Iterable[str]) -> float | None:
        """Return the cost of the stored samples of some variants that came from batches.

        Parameters
        ----------
        keys
            The keys of the variants.

        Returns
        -------
        float or None
            The cost in the currency of the price. None if no sample came from a batch with a price.
        """
        costs: list[float] = []
        for batch in _batches(keys, _BATCH):
            with self.database.read() as connection:
                (cost,) = connection.execute(
                    "SELECT sum(batch_cost) FROM variant "
                    "WHERE key IN (SELECT value FROM json_each(?))",
                    (json.dumps(batch),),
                ).fetchone()
            if cost is not None:
                costs.append(cost)
        return math.fsum(costs) if costs else None

    def oldest(self, keys: Iterable[str], *, since: float = 0.0) -> float | None:
        """Return when the oldest sample of `keys` was stored, in seconds since 1970.

        Parameters
        ----------
        keys
            The keys of the variants.
        since
            Leave out samples that were stored earlier than this.

        Returns
        -------
        float or None
            None if the store has no such sample.
        """
        times: list[float] = []
        for batch in _batches(keys, _BATCH):
            with self.database.read() as connection:
                (created,) = connection.execute(
                    """
                    SELECT min(completion.created) FROM variant
                    JOIN completion ON completion.variant = variant.id
                    WHERE key IN (SELECT value FROM json_each(?)) AND completion.created >= ?
                    """,
                    (json.dumps(batch), since),
                ).fetchone()
            if created is not None:
                times.append(created)
        return min(times, default=None)

    # -- capabilities of models ----------------------------------------------------------------

    def capabilities(self, identity: Mapping[str, str]) -> Capabilities | None:
        """Return a model's capabilities at its last start, or None if it was never started."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT value FROM capabilities WHERE identity = ?", (_digest(identity),)
            ).fetchone()
        return None if row is None else capabilities_from_json(row[0])

    def set_capabilities(self, identity: Mapping[str, str], capabilities: Capabilities) -> None:
        """Store the capabilities of a started model, so that later runs need not start it.

        `identity` is what identifies the model's completions.
        """
        with self.database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO capabilities VALUES (?, ?)",
                (_digest(identity), capabilities_to_json(capabilities)),
            )

    # -- verdicts ------------------------------------------------------------------------------

    def verdicts(self, check: str, programs: Sequence[str]) -> dict[str, StoredVerdict]:
        """Return the stored verdicts of `check` by program.

        Programs without a verdict are left out.

        Parameters
        ----------
        check
            Key of the check, as in `add_verdict`.
        programs
            Source texts.
        """
        by_digest = {_program_digest(program): program for program in programs}
        verdicts: dict[str, StoredVerdict] = {}
        with self.database.read() as connection:
            for batch in _batches(by_digest, _BATCH):
                rows = connection.execute(
                    """
                    SELECT program, cause, detail, seconds FROM verdict
                    WHERE check_id = ? AND program IN (SELECT value FROM json_each(?))
                    """,
                    (check, json.dumps(batch)),
                )
                for digest, cause, detail, seconds in rows:
                    verdict = StoredVerdict(cause=cause, detail=detail, seconds=seconds)
                    verdicts[by_digest[digest]] = verdict
        return verdicts

    def add_verdict(self, check: str, program: str, verdict: StoredVerdict) -> None:
        """Store a verdict. An earlier verdict of the same check and program is kept.

        `check` is the key of the check, and `program` the source.
        """
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    *(
                        check,
                        _program_digest(program),
                        verdict.cause,
                        _SURROGATE.sub("\ufffd", verdict.detail),
                    ),
                    *(verdict.seconds, time.time()),
                ),
            )

    # -- made variants -------------------------------------------------------------------------

    def made_variants(self, key: str) -> bytes | None:
        """Return the variants that are stored under `key`, or None without any."""
        with self.database.read() as connection:
            row: tuple[bytes] | None = connection.execute(
                "SELECT variants FROM made_variants WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else row[0]

    def keep_variants(self, key: str, variants: bytes) -> None:
        """Store the variants of a task, unless variants are already stored under `key`.

        `variants` are encoded by the caller.
        """
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO made_variants VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (key, variants, time.time()),
            )

    # -- notes between the processes of a run --------------------------------------------------

    def put(self, run: str, kind: str, name: str, value: bytes) -> None:
        """Write a note for the other processes of a run. It replaces a note of the same name.

        `run` is the id of the run. A note is identified by `kind` and `name`.
        """
        with self.database.write() as connection:
            _touch(connection, run)
            connection.execute(
                """
                INSERT INTO note (run, kind, name, value) VALUES (?, ?, ?, ?)
                ON CONFLICT (run, kind, name) DO UPDATE SET value = excluded.value
                """,
                (run, kind, name, value),
            )

    def put_if_absent(self, run: str, kind: str, name: str, value: bytes) -> bytes:
        """Write a note unless it exists already. Return the note that is then in the store.

        `run` is the id of the run. A note is identified by `kind` and `name`.
        """
        with self.database.write() as connection:
            _touch(connection, run)
            connection.execute(
                "INSERT INTO note (run, kind, name, value) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (run, kind, name) DO NOTHING",
                (run, kind, name, value),
            )
            (value_kept,) = connection.execute(
                "SELECT value FROM note WHERE run = ? AND kind = ? AND name = ?", (run, kind, name)
            ).fetchone()
        return bytes(value_kept)

    def get(self, run: str, kind: str, name: str) -> bytes | None:
        """Return the value of a note, or None without one.

        `run` is the id of the run. A note is identified by `kind` and `name`.
        """
        with self.database.read() as connection:
            row: tuple[bytes] | None = connection.execute(
                "SELECT value FROM note WHERE run = ? AND kind = ? AND name = ?", (run, kind, name)
            ).fetchone()
        return None if row is None else row[0]

    def scan(self, run: str, kind: str, *, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield the name and value of all notes of a kind whose names begin with `prefix`.

        The order is that in which the notes were first written.
        """
        with self.database.read() as connection:
            yield from connection.execute(
                "SELECT name, value FROM note "
                "WHERE run = ? AND kind = ? AND name >= ? AND name < ? ORDER BY id",
                (run, kind, prefix, prefix + _LAST_CHARACTER),
            )

    def count(self, run: str, kind: str, *, prefix: str = "") -> int:
        """Return the number of notes that `scan` yields.

        Only notes of `kind` whose names begin with `prefix` are counted.
        """
        with self.database.read() as connection:
            (n,) = connection.execute(
                "SELECT COUNT(*) FROM note WHERE run = ? AND kind = ? AND name >= ? AND name < ?",
                (run, kind, prefix, prefix + _LAST_CHARACTER),
            ).fetchone()
        return int(n)

    def add_usage(self, run: str, usage: Usage) -> None:
        """Add `usage` to the usage of a run.

        `run` is the id of the run.
        """
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
        """Return the usage of a run so far, including failed requests."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT requests, prompt_tokens, completion_tokens FROM run WHERE id = ?", (run,)
            ).fetchone()
        requests, prompt_tokens, completion_tokens = row or (0, 0, 0)
        return Usage(
            requests=requests, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )

    def finish_run(self, run: str) -> None:
        """Delete the notes, usage and leases of a run.

        Those of a killed run expire after a week.
        """
        with self.database.write() as connection:
            connection.execute("DELETE FROM lease WHERE run = ?", (run,))
            connection.execute("DELETE FROM run WHERE id = ?", (run,))


def capabilities_to_json(capabilities: Capabilities) -> str:
    """Return capabilities as JSON text."""
    return json.dumps(vars(capabilities) | {"details": dict(capabilities.details)})


def capabilities_from_json(text: str | bytes) -> Capabilities:
    """Return the capabilities that `capabilities_to_json` wrote."""
    fields = json.loads(text)
    return Capabilities(**fields | {"refused": tuple(fields["refused"])})


def _delete_leftovers(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM lease")
    connection.execute(
        "DELETE FROM made_variants WHERE created < ?", (time.time() - _VARIANTS_SECONDS,)
    )
    connection.execute("DELETE FROM run WHERE touched < ?", (time.time() - _STALE_SECONDS,))


def _touch(connection: sqlite3.Connection, run: str) -> None:
    connection.execute(
        """
        INSERT INTO run (id, touched) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET touched = excluded.touched
        """,
        (run, time.time()),
    )


def _program_digest(program: str) -> str:
    return hashlib.sha256(program.encode()).hexdigest()


def _digest(identity: Mapping[str, str]) -> str:
    canonical = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
