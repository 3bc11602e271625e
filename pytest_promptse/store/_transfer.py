"""Export of completions and verdicts to a file, and import into another store.

The file is JSON Lines, compressed with gzip if its name ends with ``.gz``. The first line names the
format and its version. Each further line is a variant with its completions, a verdict, or the
capabilities of a model.
"""

from __future__ import annotations

from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import msgspec

from pytest_promptse.errors import StoreError
from pytest_promptse.models._base import valid_logprob
from pytest_promptse.sandbox.guest.unpatched import gzip, os, time

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_promptse.store._store import Store

FORMAT = "promptse.store/1"
"""Name and version of the format."""

# Lines per transaction of an import, so that other processes can write in between.
_LINES = 500
# A line has one variant with its completions. A longer one is a decompression bomb.
_LONGEST_LINE = 2**28
_VARIANT_COLUMNS = (
    *("key", "model", "task_id", "variant_id", "system", "user", "temperature", "top_p"),
    *("max_tokens", "seed", "form", "created", "template"),
)


class StoredSample(msgspec.Struct, frozen=True, array_like=True):
    """A completion in a file.

    ``sample`` is its number, ``logprob`` the sum over its tokens, and ``created`` a time in seconds
    since 1970, None for that of the variant.
    """

    sample: int
    text: str
    finish_reason: str
    n_tokens: int | None
    logprob: float | None
    created: float | None = None


class VariantLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="variant"):
    """A variant with its completions and their usage.

    ``key`` identifies the variant's completions. ``created`` is a time in seconds since 1970.
    ``batch_cost`` is the cost of the completions from batches, or None.
    """

    key: str
    model: str
    task_id: str
    variant_id: str
    system: str | None
    user: str
    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    form: Literal["chat", "completion"]
    created: float
    template: str | None
    requests: int
    prompt_tokens: int
    completion_tokens: int
    batch_cost: float | None = None
    completions: list[StoredSample]


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="verdict"):
    """A verdict of a check on a program.

    ``check`` and ``program`` are keys, ``seconds`` is the time of the program, and ``created`` a
    time in seconds since 1970. ``cause`` is empty if the program passed.
    """

    check: str
    program: str
    cause: str
    detail: str
    seconds: float
    created: float


class CapabilitiesLine(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="capabilities"
):
    """The capabilities of a model; ``value`` is JSON.

    ``identity`` is the hash that identifies the model.
    """

    identity: str
    value: str


class _HeaderLine(msgspec.Struct, frozen=True, kw_only=True):
    format: str


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a store at one time. Later additions can then be exported alone.

    Attributes
    ----------
    completions
        Number of completions by the key of the variant.
    time
        Seconds since the epoch.
    """

    completions: dict[str, int]
    time: float


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of entries that an import added to a store."""

    variants: int = 0
    completions: int = 0
    verdicts: int = 0

    def __add__(self, other: Imported) -> Imported:
        return Imported(
            variants=self.variants + other.variants,
            completions=self.completions + other.completions,
            verdicts=self.verdicts + other.verdicts,
        )


_Line = VariantLine | VerdictLine | CapabilitiesLine


def contents(store: Store) -> Contents:
    """Return the present contents of the store, for ``export_store(…, beyond=…)``."""
    now = time.time()
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT key, (SELECT count(*) FROM completion WHERE completion.variant = variant.id) "
            "FROM variant"
        )
        return Contents(completions=dict(rows.fetchall()), time=now)


def export_store(
    store: Store, path: Path, *, model: str | None = None, beyond: Contents | None = None
) -> Imported:
    """Write completions, verdicts and capabilities to `path`. Return their numbers.

    The file is complete or absent, since it is first written under another name.

    Parameters
    ----------
    store
        The store. A run may be using it.
    path
        The file to write. An existing file is replaced.
    model
        Export only the completions of this ``BACKEND:NAME``.
    beyond
        Export only variants with more completions than in these contents, and newer verdicts.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    encoder = msgspec.json.Encoder()
    count = Imported()
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened(part, "wb", compressed=path.suffix == ".gz") as file:
            file.write(encoder.encode(_HeaderLine(format=FORMAT)) + b"\n")
            for line in _lines(store, model, beyond):
                file.write(encoder.encode(line) + b"\n")
                count += _size(line)
        part.replace(path)
    except OSError as error:
        raise StoreError(f"store export: {path}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return count


def import_store(store: Store, path: Path) -> Imported:
    """Add the content of a file to a store. Return the numbers of new entries.

    Completions and verdicts in the store are kept, so importing a file twice changes nothing. Other
    processes may use the store at the same time.

    Raises
    ------
    StoreError
        If the file cannot be read, is damaged, or has another format or version. Entries before the
        damage are imported.
    """
    count = Imported()
    lines = _read(path)
    while batch := list(islice(lines, _LINES)):
        with store.database.write() as connection:
            for line in batch:
                count += _add(connection, line)
    return count


def _opened(path: Path, mode: Literal["rb", "wb"], *, compressed: bool) -> IO[bytes]:
    if compressed:
        return cast("IO[bytes]", gzip.open(path, mode, compresslevel=6))
    return path.open(mode)


def _lines(store: Store, model: str | None, beyond: Contents | None) -> Iterator[_Line]:
    with store.database.read() as connection:
        for values in connection.execute("SELECT identity, value FROM capabilities").fetchall():
            yield CapabilitiesLine(identity=values[0], value=values[1])
        names = (*_VARIANT_COLUMNS, "requests", "prompt_tokens", "completion_tokens", "batch_cost")
        rows = connection.execute(
            f"SELECT id, {', '.join(names)} FROM variant "  # noqa: S608 - constant
            "WHERE ? IS NULL OR model = ? ORDER BY id",
            (model, model),
        )
        for id_, *row in rows:
            completions = connection.execute(
                "SELECT sample, text, finish_reason, n_tokens, logprob, created FROM completion "
                "WHERE variant = ? ORDER BY sample",
                (id_,),
            ).fetchall()
            fields: dict[str, Any] = dict(zip(names, row, strict=True))
            if beyond and len(completions) == beyond.completions.get(fields["key"]):
                continue
            yield VariantLine(
                **fields, completions=[StoredSample(*completion) for completion in completions]
            )
        verdicts = connection.execute(
            "SELECT check_id, program, cause, detail, seconds, created FROM verdict "
            "WHERE created >= ?",
            (beyond.time if beyond else 0.0,),
        )
        for check, program, cause, detail, seconds, created in verdicts:
            yield VerdictLine(
                check=check,
                program=program,
                cause=cause,
                detail=detail,
                seconds=seconds,
                created=created,
            )


def _size(line: _Line) -> Imported:
    match line:
        case VariantLine():
            return Imported(variants=1, completions=len(line.completions))
        case VerdictLine():
            return Imported(verdicts=1)
        case CapabilitiesLine():
            return Imported()


def _read(path: Path) -> Iterator[_Line]:
    decoder = msgspec.json.Decoder(_Line)
    number = 0
    try:
        with _opened(path, "rb", compressed=path.suffix == ".gz") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), start=1):
                if len(line) == _LONGEST_LINE:
                    raise StoreError(
                        f"{path}, line {number}: longer than {_LONGEST_LINE >> 20} MiB, "
                        "not a store export"
                    )
                if number == 1:
                    _check_header(path, line)
                elif not line.endswith(b"\n"):
                    raise StoreError(f"{path}, line {number}: the file is cut off; export it again")
                else:
                    yield decoder.decode(line)
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StoreError(f"{path}: cannot be read ({reason}); export it again") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}, line {number}: {error}; export it again") from None
    if number == 0:
        raise StoreError(f"{path}: empty, not a store export")


def _check_header(path: Path, line: bytes) -> None:
    try:
        version = msgspec.json.decode(line, type=_HeaderLine).format
    except msgspec.DecodeError:
        raise StoreError(
            f"{path}: not a store export; make one with: promptse store export --format store"
        ) from None
    if version != FORMAT:
        raise StoreError(
            f"{path}: has format {version}, this version reads {FORMAT}; use the same version of "
            "pytest-promptse on both machines"
        )


def _add(connection: sqlite3.Connection, line: _Line) -> Imported:
    match line:
        case VariantLine():
            return _add_variant(connection, line)
        case VerdictLine():
            added = connection.execute(
                "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (line.check, line.program, line.cause, line.detail, line.seconds, line.created),
            ).rowcount
            return Imported(verdicts=added)
        case CapabilitiesLine():
            connection.execute(
                "INSERT INTO capabilities VALUES (?, ?) ON CONFLICT DO NOTHING",
                (line.identity, line.value),
            )
            return Imported()


def _add_variant(connection: sqlite3.Connection, line: VariantLine) -> Imported:
    marks = ", ".join("?" * len(_VARIANT_COLUMNS))
    is_new = connection.execute(
        f"INSERT INTO variant ({', '.join(_VARIANT_COLUMNS)}) VALUES ({marks}) "  # noqa: S608
        "ON CONFLICT (key) DO NOTHING",
        [getattr(line, name) for name in _VARIANT_COLUMNS],
    ).rowcount
    (id_,) = connection.execute("SELECT id FROM variant WHERE key = ?", (line.key,)).fetchone()
    added = _insert_samples(connection, id_, line)
    if added:
        # The usage in the file belongs to all completions of a variant. Only the share of new
        # completions is added, so that a second import adds nothing.
        share = added / len(line.completions)
        usage = (line.requests, line.prompt_tokens, line.completion_tokens)
        if line.batch_cost is not None:
            connection.execute(
                "UPDATE variant SET batch_cost = coalesce(batch_cost, 0.0) + ? WHERE id = ?",
                (share * line.batch_cost, id_),
            )
        connection.execute(
            "UPDATE variant SET requests = requests + ?, prompt_tokens = prompt_tokens + ?, "
            "completion_tokens = completion_tokens + ?, created = min(created, ?) WHERE id = ?",
            (*(round(share * value) for value in usage), line.created, id_),
        )
    return Imported(variants=is_new, completions=added)


def _insert_samples(connection: sqlite3.Connection, variant: int, line: VariantLine) -> int:
    before = connection.total_changes
    connection.executemany(
        "INSERT INTO completion VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            (
                *(variant, sample.sample, sample.text, sample.finish_reason, sample.n_tokens),
                *(
                    valid_logprob(sample.logprob),
                    line.created if sample.created is None else sample.created,
                ),
            )
            for sample in line.completions
        ),
    )
    return connection.total_changes - before
