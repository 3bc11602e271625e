"""Batch files: requests to a model as JSON Lines, and the import of their responses.

The files have the format of the OpenAI Batch API, which ``vllm run-batch`` reads as well:
https://platform.openai.com/docs/guides/batch
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from pytest_promptse.errors import ModelError, SettingsError, StoreError
from pytest_promptse.models._base import Capabilities, Request, Usage, derive_seed, token_cost
from pytest_promptse.models._openai_wire import APIS, REFUSABLE, ApiName, completions_of
from pytest_promptse.sampling._job import Job
from pytest_promptse.sandbox.guest.unpatched import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.store._store import Store

FORMAT = "promptse.batch/1"
MANIFEST = "manifest.jsonl"
# Limits of one file: https://platform.openai.com/docs/guides/batch#1-prepare-your-batch-file
MAX_REQUESTS = 50_000
MAX_BYTES = 190_000_000
OK = 200
"""The status of an answered request."""
_CHUNK = 500


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the manifest.

    Attributes
    ----------
    model
        ``BACKEND:NAME``.
    identity
        The identity of the model, under which its capabilities are stored.
    api
        The API that the requests are for.
    omitted
        Decoding fields that are not sent.
    price
        Prices of a million prompt tokens and of a million completion tokens in a batch. None if the
        run has no price.
    """

    format: str
    model: str
    identity: dict[str, str]
    api: ApiName
    omitted: list[str]
    price: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The name of the model on the server."""
        return self.model.partition(":")[2]


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """The form of the requests in a batch.

    Parameters
    ----------
    api
        The API of the requests.
    omit
        Decoding fields that the model refuses: temperature, top_p, n, seed or logprobs. Without
        ``n``, each sample is a separate request.
    length_name
        Name of the token limit, or None for the preferred name of the API.
    price
        Prices of a million prompt tokens and of a million completion tokens in a batch.
    max_requests, max_bytes
        Limits of one file: number of requests, and bytes.

    Raises
    ------
    SettingsError
        If a field or the name of the token limit is unknown.
    """

    api: ApiName = "chat"
    omit: tuple[str, ...] = ()
    length_name: str | None = None
    price: tuple[float, float] | None = None
    max_requests: int = MAX_REQUESTS
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        for name in self.omit:
            if name not in REFUSABLE:
                raise SettingsError(
                    f"batch --omit {name}: not a decoding field; choose from {', '.join(REFUSABLE)}"
                )
        names = APIS[self.api].length_names
        if self.length_name is not None and self.length_name not in names:
            raise SettingsError(
                f"batch --length-name {self.length_name}: not a field of the API {self.api}; "
                f"choose from {', '.join(names)}"
            )

    @property
    def omitted(self) -> tuple[str, ...]:
        """All decoding fields that are not sent, including those that the API lacks."""
        return tuple(n for n in REFUSABLE if n in self.omit or n in APIS[self.api].lacks)

    def body(self, model: str, request: Request) -> dict[str, Any]:
        """Return the body of a request to `model`.

        Decoding fields that the server is known to refuse are left out.
        """
        api = APIS[self.api]
        body: dict[str, Any] = {"model": model}
        body[self.length_name or api.length_names[0]] = request.decoding.max_tokens
        fields = api.fields(request.prompt, request.decoding, n=request.n, seed=request.seed)
        for name, values in fields.items():
            if name not in self.omitted:
                body |= values
        return body


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The result of `export_batch`: files, requests and samples."""

    files: tuple[Path, ...]
    requests: int
    samples: int


def export_batch(
    jobs: Iterable[Job],
    store: Store,
    folder: Path,
    *,
    model: str,
    identity: Mapping[str, str],
    options: BatchOptions,
) -> Exported:
    """Write the samples of `jobs` that the store lacks as batch files.

    Parameters
    ----------
    jobs
        The plan. Jobs of other models are left out.
    store
        The store. Samples that it contains are not requested.
    folder
        The folder for ``manifest.jsonl``, ``requests-001.jsonl`` and so on. It must not contain
        batch files already.
    model, identity
        The model as ``BACKEND:NAME``, and the values that identify it in the store.
    options
        How requests are written.

    Raises
    ------
    StoreError
        If the folder contains batch files or cannot be written.
    """
    wanted = _largest(job for job in jobs if job.model == model)
    missing = _missing(store, wanted)
    header = BatchHeader(
        format=FORMAT,
        model=model,
        identity=dict(identity),
        api=options.api,
        omitted=list(options.omitted),
        price=options.price,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / MANIFEST).exists():
            raise StoreError(
                f"batch export: {folder} contains a batch already; import it, or name another "
                "folder with --into"
            )
        with _RequestWriter(folder, options) as writer:
            for key, samples in missing.items():
                for request in _requests(wanted[key], samples, one_by_one="n" in options.omitted):
                    writer.write(_custom_id(key, request), options.body(header.name, request))
        # The manifest is written last, so a folder with a manifest is complete.
        with (folder / MANIFEST).open("wb") as file:
            file.write(msgspec.json.encode(header) + b"\n")
            file.writelines(
                wanted[key].to_json() + b"\n" for key, lacking in missing.items() if lacking
            )
    except OSError as error:
        raise StoreError(f"batch export: {folder}: {error.strerror or error}") from None
    return Exported(
        files=tuple(writer.files),
        requests=writer.total,
        samples=sum(map(len, missing.values())),
    )


def _largest(jobs: Iterable[Job]) -> dict[str, Job]:
    """Return each job once, with its largest number of samples."""
    largest: dict[str, Job] = {}
    for job in jobs:
        if job.key not in largest or largest[job.key].n < job.n:
            largest[job.key] = job
    return largest


def _requests(job: Job, samples: Sequence[int], *, one_by_one: bool) -> Iterator[Request]:
    start = 0
    for place, sample in enumerate(samples):
        is_last = place + 1 == len(samples) or samples[place + 1] != sample + 1
        if one_by_one or is_last:
            first = samples[start]
            yield Request(
                prompt=job.prompt,
                decoding=job.decoding,
                n=place + 1 - start,
                first=first,
                seed=derive_seed(job.seed, first),
                task_id=job.task_id,
                variant_id=job.variant_id,
                template=job.template,
            )
            start = place + 1


def _custom_id(key: str, request: Request) -> str:
    return f"{key}-{request.first}-{request.n}"


class _RequestWriter:
    """Writes requests to numbered files within the limits of a service."""

    def __init__(self, folder: Path, options: BatchOptions) -> None:
        self._folder = folder
        self._options = options
        self._url = f"/v1{APIS[options.api].path}"
        self._file: IO[bytes] | None = None
        self._count = self._bytes = 0
        self.files: list[Path] = []
        self.total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, custom_id: str, body: Mapping[str, Any]) -> None:
        request = {"custom_id": custom_id, "method": "POST", "url": self._url, "body": body}
        line = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        is_full = (
            self._count >= self._options.max_requests
            or self._bytes + len(line) > self._options.max_bytes
        )
        if self._file is None or is_full:
            self._close()
            path = self._folder / f"requests-{len(self.files) + 1:03}.jsonl"
            self._file = path.open("wb")
            self.files.append(path)
            self._count = self._bytes = 0
        self._file.write(line)
        self._count += 1
        self._bytes += len(line)
        self.total += 1

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _Response(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"")


class ResultLine(msgspec.Struct):
    """A line of a file of results, as services write it."""

    custom_id: str
    response: _Response | None = None
    error: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def answer(self) -> bytes | None:
        """The body of the answer, or None if the request failed."""
        response = self.response
        return bytes(response.body) if response and response.status_code == OK else None


class _BodyModel(msgspec.Struct):
    model: str = ""


@dataclass(kw_only=True)
class ImportReport:
    """The result of `import_batch`.

    Attributes
    ----------
    completions
        Completions that were added to the store.
    problems
        Number of unusable lines by reason. The reason names the first such line.
    missing
        Samples of the batch that the store still lacks.
    usage
        Requests and tokens of the usable responses.
    cost
        Cost of these at the batch price, or None without a price.
    """

    completions: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None


class _Importer:
    """Checks result lines against the manifest and stores their completions."""

    def __init__(self, header: BatchHeader, jobs: Mapping[str, Job], store: Store) -> None:
        self._header = header
        self._jobs = jobs
        self._store = store
        self._seen: set[str] = set()
        self._examples: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._without_logprobs = False
        self.report = ImportReport()

    def add(self, line: bytes, place: str) -> None:
        """Store the completions of one result line, or count the reason why it is unusable.

        `line` is JSON. `place` is the file and line, for the report of problems.
        """
        try:
            result = msgspec.json.decode(line, type=ResultLine)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._problem("not a result line, or cut off", place)
            return
        key, _, numbers = result.custom_id.partition("-")
        first, _, n = numbers.partition("-")
        job = self._jobs.get(key)
        if job is None or not (first.isdecimal() and n.isdecimal()):
            self._problem("unknown custom_id", place)
        elif result.custom_id in self._seen:
            self._problem("duplicate custom_id", place)
        elif (body := result.answer) is None:
            self._problem(f"request failed: {_reason(result)}", place)
        else:
            self._seen.add(result.custom_id)
            self._store_response(job, int(first), int(n), body, place)

    def _store_response(self, job: Job, first: int, n: int, body: bytes, place: str) -> None:
        model = msgspec.json.decode(body, type=_BodyModel).model if body else ""
        # Services answer with a dated name, such as gpt-4.1-mini-2025-04-14 for gpt-4.1-mini.
        if not model.startswith(self._header.name):
            self._problem(f"answered by model {model!r} instead of {self._header.name!r}", place)
            return
        try:
            reply = APIS[self._header.api].read(body)
        except ModelError as error:
            self._problem(str(error), place)
            return
        completions = completions_of(reply, first=first, n=n)
        self._without_logprobs |= any(completion.logprob is None for completion in completions)
        stored = set(range(job.n)) - set(_missing(self._store, {job.key: job})[job.key])
        usage, price = reply.usage, self._header.price
        self.report.usage += usage
        if stored.issuperset(completion.index for completion in completions):
            # The response was imported before, with its usage.
            return
        self._store.add_completions(
            job.key,
            completions,
            usage=usage,
            batch_cost=price and token_cost(price, usage.prompt_tokens, usage.completion_tokens),
            model=job.model,
            prompt=job.prompt,
            decoding=job.decoding,
            task_id=job.task_id,
            variant_id=job.variant_id,
            seed=job.seed,
            form=APIS[self._header.api].form,
            template=job.template,
            since=job.since,
        )
        self.report.completions += sum(completion.index not in stored for completion in completions)

    def finish(self) -> ImportReport:
        report = self.report
        report.problems = Counter(
            {
                f"{reason} (first in {self._examples[reason]})": n
                for reason, n in self._counts.items()
            }
        )
        missing = _missing(self._store, self._jobs)
        report.missing = sum(map(len, missing.values()))
        header = self._header
        if header.price is not None:
            tokens = report.usage.prompt_tokens, report.usage.completion_tokens
            report.cost = token_cost(header.price, *tokens)
        if self._seen and self._store.capabilities(header.identity) is None:
            capabilities = Capabilities(
                form=APIS[header.api].form,
                logprobs=None if self._without_logprobs else "unknown",
                seeded="seed" not in header.omitted,
                refused=tuple(header.omitted),
                details={"api": header.api, "batch": "true"},
            )
            self._store.set_capabilities(header.identity, capabilities)
        return report

    def _problem(self, reason: str, place: str) -> None:
        self._counts[reason] += 1
        self._examples.setdefault(reason, place)


def read_manifest(folder: Path) -> tuple[BatchHeader, dict[str, Job]]:
    """Return the header and the jobs of the batch in `folder`.

    Raises
    ------
    StoreError
        If the manifest is missing, damaged or of another version.
    """
    path = folder / MANIFEST
    try:
        first, *lines = path.read_bytes().splitlines()
        header = msgspec.json.decode(first, type=BatchHeader)
        jobs = [Job.from_json(line) for line in lines]
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror or error}; name the folder of promptse batch export"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: damaged ({error}); export the batch again") from None
    if header.format != FORMAT:
        raise StoreError(f"{path}: has format {header.format}, this version reads {FORMAT}")
    return header, {job.key: job for job in jobs}


def import_batch(folder: Path, results: Iterable[Path], store: Store) -> ImportReport:
    """Store the completions in the result files of a batch.

    Lines that cannot be used are counted and do not stop the import. Importing a file twice adds
    nothing.

    Parameters
    ----------
    folder
        The folder of the batch, with its manifest.
    results
        Result files of the service.
    store
        The store of the run.

    Raises
    ------
    StoreError
        If the manifest or a file cannot be read.
    """
    header, jobs = read_manifest(folder)
    importer = _Importer(header, jobs, store)
    for path in results:
        try:
            with path.open("rb") as file:
                _import_lines(importer, file, path.name, store)
        except OSError as error:
            raise StoreError(f"batch import: {path}: {error.strerror or error}") from None
    return importer.finish()


def _import_lines(importer: _Importer, file: IO[bytes], name: str, store: Store) -> None:
    lines = enumerate(file, start=1)
    while chunk := list(islice(lines, _CHUNK)):
        with store.transaction():
            for number, line in chunk:
                if line.strip():
                    importer.add(line, f"{name}, line {number}")


def _reason(result: ResultLine) -> str:
    """Return the service's reason for a failed request, in one line."""
    raw = bytes(result.error)
    if raw == b"null" and result.response is not None:
        raw = bytes(result.response.body)
    try:
        failure = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        failure = None
    if isinstance(failure, dict) and isinstance(failure.get("error"), dict):
        failure = failure["error"]
    message = (
        failure.get("message") or failure.get("code") if isinstance(failure, dict) else failure
    )
    status = result.response.status_code if result.response else 0
    return " ".join(str(message or f"HTTP {status}").split())[:200]


def _missing(store: Store, jobs: Mapping[str, Job]) -> dict[str, list[int]]:
    """Return the samples of each of `jobs` that the store lacks.

    `jobs` are by key, and the samples are given by their numbers.
    """
    return store.missing(
        {key: job.n for key, job in jobs.items()},
        since={key: job.since for key, job in jobs.items()},
    )
