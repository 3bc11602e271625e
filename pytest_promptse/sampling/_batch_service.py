"""Batches on a service with the OpenAI Batch API: submit, follow, fetch and cancel.

The state of a batch is in ``state.json`` in its folder, so that every step can be repeated after
the process was killed: https://platform.openai.com/docs/api-reference/batch
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, cast

import msgspec
import openai

from pytest_promptse.errors import StoreError
from pytest_promptse.models._base import FatalError, TransientError
from pytest_promptse.models._openai_errors import classify
from pytest_promptse.models._openai_wire import APIS
from pytest_promptse.sampling._batch_files import read_manifest
from pytest_promptse.sandbox.guest.unpatched import hashlib, os

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openai.types import Batch


_STATE = "state.json"
_TIMEOUT = 600.0
_Endpoint = Literal["/v1/responses", "/v1/chat/completions", "/v1/completions"]
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
# A batch in one of these states answers no more requests, so its file is submitted again.
_LOST = frozenset({"failed", "expired", "cancelling", "cancelled"})


class FileState(msgspec.Struct, kw_only=True):
    """The state of one request file.

    Attributes
    ----------
    input_file, batch
        Identifiers of the uploaded file and of the batch on the service.
    status
        The status that the service reported last; ``new`` before the batch exists.
    completed, failed, total
        Numbers of requests.
    problem
        The reason why the service refused the file, or empty.
    results
        Downloaded result files.
    """

    input_file: str | None = None
    batch: str | None = None
    status: str = "new"
    completed: int = 0
    failed: int = 0
    total: int = 0
    problem: str = ""
    results: list[str] = []

    @property
    def has_ended(self) -> bool:
        """True if the service does no more work on the file."""
        return self.status in _ENDED


class BatchService:
    """The batches of one folder on a service.

    Parameters
    ----------
    folder
        The folder of ``promptse batch export``.
    base_url
        Address of the service. The default is OPENAI_BASE_URL, or else OpenAI.

    Raises
    ------
    StoreError
        If the folder contains no batch.
    """

    def __init__(self, folder: Path, *, base_url: str | None = None) -> None:
        self._folder = folder
        self._header, _ = read_manifest(folder)
        self._where = f"batch service for {self._header.model}"
        self._client = openai.OpenAI(
            api_key=os.environ.get("OPENAI_API_KEY") or "none",
            base_url=base_url or os.environ.get("OPENAI_BASE_URL") or None,
            timeout=_TIMEOUT,
        )
        self.files = self._read_state()

    def submit(self) -> list[str]:
        """Upload the request files that have no batch yet, and start a batch for each.

        A batch that an earlier, killed call already created on the service is used.

        Returns
        -------
        list of str
            The names of the submitted files.

        Raises
        ------
        ModelError
            If the service refuses the request or cannot be reached.
        """
        with self._errors():
            submitted = []
            batches: dict[str, Batch] | None = None
            for name, state in self.files.items():
                if state.batch is not None:
                    continue
                if batches is None:
                    batches = self._batches_by_digest()
                digest = self._digest(name)
                running = batches.get(digest)
                batch = running if running is not None else self._start(name, state, digest)
                self._note(state, batch)
                self._save()
                submitted.append(name)
            return submitted

    def refresh(self) -> None:
        """Read the status of every batch that has not ended.

        Raises
        ------
        ModelError
            If the service cannot be reached.
        """
        self._update_open(self._client.batches.retrieve)

    def cancel(self) -> None:
        """Cancel every batch that has not ended. Finished requests can still be fetched.

        Raises
        ------
        ModelError
            If the service cannot be reached.
        """
        self._update_open(self._client.batches.cancel)

    def fetch(self) -> list[Path]:
        """Download the results of the batches that have ended.

        Batches that expired or were cancelled have results for the requests that were finished.

        Returns
        -------
        list of Path
            All downloaded files, including those of earlier calls.

        Raises
        ------
        ModelError
            If the service cannot be reached.
        """
        self.refresh()
        with self._errors():
            for name, state in self.files.items():
                if state.batch is not None and state.has_ended and not state.results:
                    state.results = self._download_all(name, state.batch)
                    self._save()
        return [self._folder / name for state in self.files.values() for name in state.results]

    def _update_open(self, request: Callable[[str], Batch]) -> None:
        """Send `request` for every batch that has not ended, and note its new status."""
        with self._errors():
            for state in self.files.values():
                if state.batch is not None and not state.has_ended:
                    self._note(state, request(state.batch))
                    self._save()

    def _start(self, name: str, state: FileState, digest: str) -> Batch:
        if state.input_file is None:
            path = self._folder / name
            upload = self._client.files.create(file=path, purpose="batch")
            state.input_file = upload.id
            self._save()
        endpoint = cast("_Endpoint", f"/v1{APIS[self._header.api].path}")
        return self._client.batches.create(
            input_file_id=state.input_file,
            endpoint=endpoint,
            completion_window="24h",
            metadata={"promptse": digest},
        )

    def _batches_by_digest(self) -> dict[str, Batch]:
        """Return the usable batches on the service that this package started."""
        return {
            batch.metadata["promptse"]: batch
            for batch in self._client.batches.list(limit=100)
            if batch.metadata and "promptse" in batch.metadata and batch.status not in _LOST
        }

    def _download_all(self, name: str, batch_id: str) -> list[str]:
        batch = self._client.batches.retrieve(batch_id)
        files = (("results", batch.output_file_id), ("errors", batch.error_file_id))
        return [
            self._download(file_id, name.replace("requests", kind))
            for kind, file_id in files
            if file_id is not None
        ]

    def _download(self, file_id: str, name: str) -> str:
        content = self._client.files.content(file_id).content
        part = self._folder / f".{name}.part"
        part.write_bytes(content)
        part.replace(self._folder / name)
        return name

    @staticmethod
    def _note(state: FileState, batch: Batch) -> None:
        state.batch = batch.id
        state.status = batch.status
        state.input_file = batch.input_file_id
        if batch.request_counts is not None:
            state.completed = batch.request_counts.completed
            state.failed = batch.request_counts.failed
            state.total = batch.request_counts.total
        if batch.errors is not None and batch.errors.data:
            state.problem = " ".join((batch.errors.data[0].message or "").split())

    def _digest(self, name: str) -> str:
        with (self._folder / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of the client as errors of this package."""
        try:
            yield
        except openai.APIError as error:
            classified = classify(error, where=self._where, timeout=_TIMEOUT)
            kind = TransientError if isinstance(classified, TransientError) else FatalError
            raise kind(f"{classified}; run the command again to continue") from None

    def _read_state(self) -> dict[str, FileState]:
        names = sorted(path.name for path in self._folder.glob("requests-*.jsonl"))
        path = self._folder / _STATE
        saved: dict[str, FileState] = {}
        if path.exists():
            try:
                saved = msgspec.json.decode(path.read_bytes(), type=dict[str, FileState])
            except (OSError, msgspec.DecodeError) as error:
                raise StoreError(f"{path}: {error}; delete it to read the state again") from None
        return {name: saved.get(name, FileState()) for name in names}

    def _save(self) -> None:
        path = self._folder / _STATE
        part = path.with_suffix(".part")
        part.write_bytes(msgspec.json.format(msgspec.json.encode(self.files), indent=1))
        part.replace(path)
