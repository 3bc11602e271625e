"""The ``ct2`` and ``tiny`` backends: CTranslate2 models, including the embedded one."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pytest_promptse.config._data_files import tiny_dir
from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import (
    SHORTEN,
    Capabilities,
    Completion,
    Response,
    TransientError,
    Usage,
    derive_seed,
)
from pytest_promptse.models._chat_template import ChatTemplate, read_chat_template, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokenizers import Tokenizer

    from pytest_promptse.models._base import Prompt, Request

_MODEL_FILES = (
    "model.bin",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
)
# The number of samples generated together. A larger number needs more memory for keys and values
# and is not faster.
_ROWS = 32
# CTranslate2 keeps one random generator per thread. The thread takes its seed from a setting of the
# whole process when it first draws. Only one request may run between setting the seed and that
# draw. https://opennmt.net/CTranslate2/python/ctranslate2.set_random_seed.html
_SEEDING = Lock()
# What CTranslate2, its libraries for matrices and the C++ library say.
_SHORTAGE = re.compile(r"allocat|bad_alloc|out of memory|temporarily unavailable", re.IGNORECASE)
_SHORT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    tokenizer: Tokenizer
    template: ChatTemplate | None
    end_ids: tuple[int, ...]
    compute_type: str

    def encode(self, prompt: Prompt) -> tuple[list[int], list[str]]:
        """Return the token ids and tokens of the prompt."""
        if self.template is not None:
            encoded = self.tokenizer.encode(self.template.render(prompt), add_special_tokens=False)
        else:
            parts = [part for part in (prompt.system, prompt.user) if part is not None]
            encoded = self.tokenizer.encode("\n\n".join(parts))
        return encoded.ids, encoded.tokens

    def decode(self, prompt_ids: list[int], ids: list[int]) -> str:
        """Return the text of `ids` after the prompt, with a leading space if there is one.

        `prompt_ids` and `ids` are token ids of the prompt and of the completion.
        """
        return self.tokenizer.decode([*prompt_ids, *ids])[len(self.tokenizer.decode(prompt_ids)) :]


class Ct2Backend:
    """A decoder-only model in CTranslate2's format, run in this process.

    Every request creates a new generator with new threads and a new random number stream. The
    completions therefore depend on the seed of the request alone, not on other requests. Loading
    is fast compared with generation: 2 ms for the embedded model.

    Parameters
    ----------
    spec
        ``tiny`` or ``ct2:PATH``.
    path
        Folder with ``model.bin`` and ``tokenizer.json``. With a chat template in it, the form is
        ``chat``, else ``completion``.
    device
        ``cpu``, ``cuda`` or ``auto``.
    compute_type
        Number format, as CTranslate2 names it; ``default`` is that of the converted model if the
        device supports it.
    threads
        Threads per request; 0 for the default of CTranslate2.
    repair
        What to do if files of the model are missing or damaged. The default is to convert it again.
    """

    def __init__(
        self,
        spec: str,
        path: Path,
        *,
        device: Literal["cpu", "cuda", "auto"] = "auto",
        compute_type: str = "default",
        threads: int = 0,
        repair: str | None = None,
    ) -> None:
        self._spec = spec
        self._path = path
        self._device = device
        self._compute_type = compute_type
        self._threads = threads
        self._repair = repair or (
            f"convert a model with `ct2-transformers-converter --model NAME --output_dir {path} "
            "--copy_files tokenizer.json tokenizer_config.json generation_config.json`"
        )
        self._loaded: _Loaded | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="promptse-ct2")

    @property
    def spec(self) -> str:
        """The specification that the user gave."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """Digest of the model files, and the number format. The path is not part of it."""
        return {"backend": "ct2", "files": self._digest, "compute_type": self._compute_type}

    @property
    def concurrency(self) -> int:
        """Two: the next request waits while one is answered."""
        return 2

    async def start(self) -> Capabilities:
        """Load the tokenizer and the model once. Raise ModelError if they cannot be used."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._start)

    async def complete(self, request: Request) -> Response:
        """Answer one request.

        ``logprob`` and ``n_tokens`` of a completion count every generated token, including the end
        token if the model generated one. vLLM's cumulative log-probability counts the same tokens.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._complete, request)

    async def close(self) -> None:
        """Release the model."""
        self._loaded = None
        self._worker.shutdown(wait=False)

    @cached_property
    def _digest(self) -> str:
        self._require("model.bin")
        digest = hashlib.sha256()
        for name in _MODEL_FILES:
            file = self._path / name
            if file.is_file():
                with file.open("rb") as content:
                    digest.update(name.encode() + hashlib.file_digest(content, "sha256").digest())
        return digest.hexdigest()

    def _require(self, name: str) -> Path:
        file = self._path / name
        if not file.is_file():
            raise ModelError(f"{self._spec}: {self._path} has no {name}; {self._repair}")
        return file

    def _start(self) -> Capabilities:
        try:
            import ctranslate2
            import jinja2  # noqa: F401 - chat templates are rendered later
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ModelError(
                f"{self._spec} needs {error.name}; run `pip install 'pytest-promptse[tiny]'`"
            ) from error
        self._require("model.bin")
        file = self._require("tokenizer.json")
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises no narrower class
            remedy = "copy the model's own file again"
            raise self._not_loaded(file, error, remedy) from error
        template = read_chat_template(self._path)
        end_ids = self._end_ids(tokenizer)
        # Later requests name the actual number format, because the library logs a warning for
        # "default" every time.
        tried = self._generator(self._compute_type)
        self._loaded = _Loaded(
            tokenizer=tokenizer,
            template=template,
            end_ids=end_ids,
            compute_type=tried.compute_type,
        )
        return Capabilities(
            form="completion" if template is None else "chat",
            logprobs="raw",
            details={
                "ctranslate2": ctranslate2.__version__,
                "device": tried.device,
                "compute_type": tried.compute_type,
            },
        )

    def _end_ids(self, tokenizer: Tokenizer) -> tuple[int, ...]:
        """Return the end tokens: those of the generation settings, else that of the model."""
        settings = self._path / "generation_config.json"
        ids = read_json(settings).get("eos_token_id") if settings.is_file() else None
        if ids is None:
            token = read_json(self._require("config.json")).get("eos_token")
            ids = None if token is None else tokenizer.token_to_id(token)
        if ids is None:
            raise ModelError(
                f"{self._spec}: {self._path} does not name the end token; "
                "copy the model's generation_config.json there"
            )
        return tuple(ids) if isinstance(ids, list) else (ids,)

    def _generator(self, compute_type: str) -> Any:
        import ctranslate2

        try:
            return ctranslate2.Generator(
                str(self._path),
                self._device,
                compute_type=compute_type,
                intra_threads=self._threads,
            )
        except (RuntimeError, ValueError, MemoryError) as error:
            raise self._not_loaded(self._path / "model.bin", error, self._repair) from error

    def _not_loaded(self, file: Path, error: Exception, repair: str) -> ModelError:
        """Return the error of a file that cannot be loaded.

        On a busy machine there may be too little memory, or too few threads or open files, for a
        moment. This says nothing about the file, which is then loaded again. `repair` is the remedy
        otherwise. CTranslate2 does not say why it cannot open a file, so it is opened here as well.
        """
        reason, is_short = str(error) or type(error).__name__, isinstance(error, MemoryError)
        try:
            file.open("rb").close()
        except OSError as unreadable:
            reason, is_short = str(unreadable), unreadable.errno in _SHORT_OF_FILES
        if is_short or _SHORTAGE.search(reason):
            return TransientError(
                f"{self._spec}: the machine has no memory, threads or open files left to load "
                f"{file} ({reason}); run fewer processes at the same time"
            )
        return ModelError(f"{self._spec}: cannot load {file} ({reason}); {repair}")

    def _complete(self, request: Request) -> Response:
        loaded = self._loaded
        if loaded is None:
            raise ModelError(f"{self._spec}: the model is not loaded; call start() first")
        prompt_ids, tokens = loaded.encode(request.prompt)
        drawn = self._draw(request, loaded, tokens)
        completions = tuple(
            _completion(loaded, request.first + number, prompt_ids, ids, score)
            for number, (ids, score) in enumerate(drawn)
        )
        return Response(
            completions=completions,
            usage=Usage(
                requests=1,
                prompt_tokens=len(prompt_ids),
                completion_tokens=sum(len(ids) for ids, _ in drawn),
            ),
        )

    def _draw(
        self, request: Request, loaded: _Loaded, tokens: list[str]
    ) -> list[tuple[list[int], float]]:
        """Return token ids and raw log-probability of each sample, in random order.

        CTranslate2 sorts samples by score. In that order, the first few would be a biased
        selection.
        """
        import ctranslate2

        greedy = request.decoding.temperature == 0
        rows = 1 if greedy else request.n
        options: dict[str, Any] = {
            "max_length": request.decoding.max_tokens,
            "include_prompt_in_result": False,
            "end_token": list(loaded.end_ids),
            "return_end_token": True,
            "return_scores": True,
            "length_penalty": 0,
        }
        if not greedy:
            options |= {
                "sampling_topk": 0,
                "sampling_topp": request.decoding.top_p,
                "sampling_temperature": request.decoding.temperature,
            }
        drawn: list[tuple[list[int], float]] = []
        seed = derive_seed(request.seed, request.first)
        with _SEEDING:
            ctranslate2.set_random_seed(seed)
            generator = self._generator(loaded.compute_type)
            try:
                for start in range(0, rows, _ROWS):
                    options["num_hypotheses"] = min(_ROWS, rows - start)
                    (result,) = generator.generate_batch([tokens], **options)
                    drawn += zip(result.sequences_ids, result.scores, strict=True)
            except (RuntimeError, ValueError, MemoryError) as error:
                raise ModelError(
                    f"{self._spec}: CTranslate2 could not answer "
                    f"{request.task_id}[{request.variant_id}] ({error}); {SHORTEN}"
                ) from error
        random.Random(seed).shuffle(drawn)  # noqa: S311 - samples, not secrets
        return drawn * request.n if greedy else drawn


def _completion(
    loaded: _Loaded, index: int, prompt_ids: list[int], ids: list[int], score: float
) -> Completion:
    ended = bool(ids) and ids[-1] in loaded.end_ids
    return Completion(
        index=index,
        text=loaded.decode(prompt_ids, ids[:-1] if ended else ids),
        finish_reason="stop" if ended else "length",
        n_tokens=len(ids),
        logprob=score,
    )


def tiny_backend() -> Ct2Backend:
    """Return the embedded model in float32 on one core, for equal results on all machines."""
    return Ct2Backend(
        "tiny",
        tiny_dir() / "ct2",
        device="cpu",
        compute_type="float32",
        threads=1,
        repair="run `pip install --force-reinstall pytest-promptse`",
    )
