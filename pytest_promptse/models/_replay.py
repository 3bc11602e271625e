"""The ``replay`` backend: completions from a JSON Lines file."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import shutil
import tempfile
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, Literal

import msgspec

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Capabilities, Completion, FinishReason, Response, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader
    from pathlib import Path

    from pytest_promptse.models._base import Request


class ReplayLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a replay file: one completion of one variant. Further keys are ignored.

    Attributes
    ----------
    text, completion
        The completion; exactly one of the two is given. Files of this package have ``text``.
        HumanEval's samples have ``completion``, a text that continues the prompt.
    index
        Number of the sample within its variant; by default its position in the file.
    template
        Name of the prompt template.
    prompt_sha256
        SHA-256 of the user message. If given, the line is used for this prompt only.
    """

    task_id: str
    variant_id: str = "original"
    template: str | None = None
    index: int | None = None
    text: str | None = None
    completion: str | None = None
    finish_reason: FinishReason = "stop"
    n_tokens: int | None = None
    logprob: float | None = None
    form: Literal["chat", "completion"] | None = None
    prompt_sha256: str | None = None

    @property
    def answer_form(self) -> Literal["chat", "completion"]:
        """How to read the completion."""
        return self.form or ("chat" if self.completion is None else "completion")


@dataclass(frozen=True)
class _Samples:
    """Numbers and file offsets of the samples of one variant.

    Both arrays have the same length and order. Offsets are in bytes.
    """

    numbers: array[int] = field(default_factory=lambda: array("l"))
    offsets: array[int] = field(default_factory=lambda: array("q"))


class ReplayBackend:
    """Return the completions that a file contains.

    Only the offset of each line is kept in memory, so the file may have any size. A variant with
    too few completions in the file is an error.

    Parameters
    ----------
    spec
        The specification as the user wrote it: ``replay:FILE.jsonl``.
    path
        The file. A ``.gz`` file is decompressed into a temporary file.
    """

    concurrency = 8

    def __init__(self, spec: str, path: Path) -> None:
        self._spec = spec
        self._path = path
        self._file: IO[bytes] | None = None
        self._variants: dict[tuple[str, str, str | None], _Samples] = {}
        self._decoder = msgspec.json.Decoder(ReplayLine)

    @property
    def spec(self) -> str:
        """The specification that the user gave."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """The digest of the file. Its path is not part of it."""
        return {"backend": "replay", "file": self._digest}

    @cached_property
    def _digest(self) -> str:
        with self._open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    async def start(self) -> Capabilities:
        """Read the file once and index its completions.

        Raises
        ------
        ModelError
            If the file is missing or invalid, mixes both forms, or contains a sample twice.
        """
        return await asyncio.to_thread(self._index)

    async def complete(self, request: Request) -> Response:
        """Return the requested samples. Raise ModelError if the file lacks any of them."""
        samples = self._variants.get(_variant(request), _Samples())
        places = dict(zip(samples.numbers, samples.offsets, strict=True))
        wanted = range(request.first, request.first + request.n)
        missing = sum(number not in places for number in wanted)
        if missing:
            raise ModelError(
                f"{self._spec} lacks {missing} of the samples {wanted.start}…{wanted.stop - 1} of "
                f"{_named(*_variant(request))}; add them to the file or ask for fewer samples"
            )
        return Response(
            completions=tuple(self._read(places[number], number, request) for number in wanted),
            usage=Usage(requests=0),
        )

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._variants = {}

    def _open(self) -> BufferedReader:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise ModelError(
                f"{self._spec}: cannot read {self._path} ({error.strerror}); "
                "give the path of a file of JSON lines"
            ) from error

    def _index(self) -> Capabilities:
        file: IO[bytes] = self._open()
        if self._path.suffix == ".gz":
            file = self._unpacked(file)
        self._file = file
        forms: dict[Literal["chat", "completion"], int] = {}
        has_logprobs = True
        offset = 0
        for number, line in enumerate(file, start=1):
            if line.strip():
                entry = self._decode(line, number)
                forms.setdefault(entry.answer_form, number)
                has_logprobs = has_logprobs and entry.logprob is not None
                samples = self._variants.setdefault(_variant(entry), _Samples())
                samples.numbers.append(len(samples.numbers) if entry.index is None else entry.index)
                samples.offsets.append(offset)
            offset += len(line)
        self._refuse_doubles()
        if len(forms) != 1:
            places = " and ".join(f"{form} in line {line}" for form, line in forms.items())
            raise ModelError(
                f"{self._path}: "
                + (f"both forms, {places}; use one file for each" if forms else "no completions")
            )
        return Capabilities(
            form=next(iter(forms)), logprobs="unknown" if has_logprobs else None, seeded=False
        )

    def _unpacked(self, packed: IO[bytes]) -> IO[bytes]:
        plain = tempfile.TemporaryFile(prefix="promptse-")  # noqa: SIM115 - kept until close()
        try:
            with packed, gzip.open(packed) as content:
                shutil.copyfileobj(content, plain)
        except (OSError, EOFError) as error:
            plain.close()
            raise ModelError(
                f"{self._path}: not a whole gzip file ({error}); pack it again"
            ) from error
        plain.seek(0)
        return plain

    def _decode(self, line: bytes, number: int) -> ReplayLine:
        try:
            entry = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ModelError(
                f"{self._path}, line {number}: {error}; expected an object with 'task_id' and "
                "'completion' or 'text'"
            ) from error
        if (entry.text is None) == (entry.completion is None):
            raise ModelError(f"{self._path}, line {number}: give either 'completion' or 'text'")
        return entry

    def _refuse_doubles(self) -> None:
        for variant, samples in self._variants.items():
            if len(set(samples.numbers)) < len(samples.numbers):
                raise ModelError(
                    f"{self._path}: a sample of {_named(*variant)} comes twice under one index; "
                    "leave out 'index' or number the samples"
                )

    def _read(self, offset: int, number: int, request: Request) -> Completion:
        if self._file is None:
            raise ModelError(f"{self._spec}: the file is not indexed; call start() first")
        self._file.seek(offset)
        line = self._decoder.decode(self._file.readline())
        sent = hashlib.sha256(request.prompt.user.encode()).hexdigest()
        if line.prompt_sha256 not in (None, sent):
            raise ModelError(
                f"{self._spec}: the completions of {_named(*_variant(request))} answer a "
                "different prompt from the one that this run sends; sample them again or use "
                "their own prompts"
            )
        text = line.text if line.completion is None else line.completion
        if text is None:
            raise ModelError(
                f"{self._path}: a line lost its completion since the run started; "
                "leave the file unchanged during a run"
            )
        return Completion(
            index=number,
            text=text,
            finish_reason=line.finish_reason,
            n_tokens=line.n_tokens,
            logprob=line.logprob,
        )


def _variant(of: Request | ReplayLine) -> tuple[str, str, str | None]:
    return of.task_id, of.variant_id, of.template


def _named(task_id: str, variant_id: str, template: str | None) -> str:
    return f"{task_id}[{variant_id}]" + (f" in template {template}" if template else "")
