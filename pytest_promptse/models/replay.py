"""Completions made elsewhere, read from a file of JSON lines."""

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
from pytest_promptse.models.base import Capabilities, Completion, FinishReason, Response, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader
    from pathlib import Path

    from pytest_promptse.models.base import Request


class ReplayLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a replay file: one completion of one wording.

    Our own lines give ``text``; lines in the format of HumanEval's samples give ``completion``
    instead, which is text that goes on where the prompt stopped. ``index`` is the sample's
    number within its wording, by default its place in the file; ``template`` names the prompt
    template it was asked through. ``prompt_sha256`` is that of
    the user's part of the prompt; where given, the line answers this wording and no other.
    Further keys are ignored.
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
        """How the answer must be read."""
        return self.form or ("chat" if self.completion is None else "completion")


@dataclass(frozen=True)
class _Samples:
    """Where the samples of one wording lie: numbers and offsets side by side."""

    numbers: array[int] = field(default_factory=lambda: array("l"))
    offsets: array[int] = field(default_factory=lambda: array("q"))


class ReplayBackend:
    """Answers from a file, without asking anybody.

    Only the place of each line is held in memory, so the file may be of any size. A wording for
    which the file has too few completions is an error, never a zero.

    Parameters
    ----------
    spec
        What the user wrote: ``replay:FILE.jsonl``.
    path
        The file; ``.gz`` is unpacked into a temporary file.
    """

    concurrency = 8

    def __init__(self, spec: str, path: Path) -> None:
        self._spec = spec
        self._path = path
        self._file: IO[bytes] | None = None
        self._wordings: dict[tuple[str, str, str | None], _Samples] = {}
        self._decoder = msgspec.json.Decoder(ReplayLine)

    @property
    def spec(self) -> str:
        """What the user wrote."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """The digest of the file; where it lies does not matter."""
        return {"backend": "replay", "file": self._digest}

    @cached_property
    def _digest(self) -> str:
        with self._open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    async def start(self) -> Capabilities:
        """Read the file once and note where each completion lies.

        Raises
        ------
        ModelError
            If the file is missing, not in the format, mixes chat and completion answers or
            holds a sample twice.
        """
        return await asyncio.to_thread(self._index)

    async def complete(self, request: Request) -> Response:
        """Return the completions numbered ``request.first`` and on of the asked wording."""
        samples = self._wordings.get(_wording(request), _Samples())
        places = dict(zip(samples.numbers, samples.offsets, strict=True))
        wanted = range(request.first, request.first + request.n)
        missing = sum(number not in places for number in wanted)
        if missing:
            raise ModelError(
                f"{self._spec} lacks {missing} of the samples {wanted.start}…{wanted.stop - 1} of "
                f"{_named(*_wording(request))}; add them to the file or ask for fewer samples"
            )
        return Response(
            completions=tuple(self._read(places[number], number, request) for number in wanted),
            usage=Usage(requests=0),
        )

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        self._wordings = {}

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
                found = self._decode(line, number)
                forms.setdefault(found.answer_form, number)
                has_logprobs = has_logprobs and found.logprob is not None
                samples = self._wordings.setdefault(_wording(found), _Samples())
                samples.numbers.append(len(samples.numbers) if found.index is None else found.index)
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
            found = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelError(
                f"{self._path}, line {number}: {error}; expected an object with 'task_id' and "
                "'completion' or 'text'"
            ) from error
        if (found.text is None) == (found.completion is None):
            raise ModelError(f"{self._path}, line {number}: give either 'completion' or 'text'")
        return found

    def _refuse_doubles(self) -> None:
        for wording, samples in self._wordings.items():
            if len(set(samples.numbers)) < len(samples.numbers):
                raise ModelError(
                    f"{self._path}: a sample of {_named(*wording)} comes twice under one index; "
                    "leave out 'index' or number the samples"
                )

    def _read(self, offset: int, number: int, request: Request) -> Completion:
        assert self._file is not None, "start() comes first"
        self._file.seek(offset)
        line = self._decoder.decode(self._file.readline())
        sent = hashlib.sha256(request.prompt.user.encode()).hexdigest()
        if line.prompt_sha256 not in (None, sent):
            raise ModelError(
                f"{self._spec}: the completions of {_named(*_wording(request))} answer another "
                "prompt than this run sends; sample them again or use their own prompts"
            )
        text = line.text if line.completion is None else line.completion
        assert text is not None
        return Completion(
            index=number,
            text=text,
            finish_reason=line.finish_reason,
            n_tokens=line.n_tokens,
            logprob=line.logprob,
        )


def _wording(of: Request | ReplayLine) -> tuple[str, str, str | None]:
    return of.task_id, of.variant_id, of.template


def _named(task_id: str, variant_id: str, template: str | None) -> str:
    return f"{task_id}[{variant_id}]" + (f" in template {template}" if template else "")
