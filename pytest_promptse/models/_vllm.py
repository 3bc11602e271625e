"""The ``vllm`` backend: models in a vLLM engine of the test session."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pytest_promptse._redaction import shown
from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import (
    SHORTEN,
    Capabilities,
    Completion,
    FatalError,
    Response,
    TransientError,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_promptse.models._base import FinishReason, Prompt, Request

_FINISH: Mapping[str | None, FinishReason] = {"stop": "stop", "length": "length"}


class VllmBackend:
    """One model in a vLLM engine.

    The engine runs in its own process, which `close` ends to release the GPU memory. All requests
    join its continuous batch. The samples of one request share the prefix cache of the prompt.

    Parameters
    ----------
    spec
        ``vllm:NAME-or-PATH``.
    model
        Name of the model on the Hugging Face hub, or its folder.
    api
        ``chat`` applies the chat template of the tokenizer and ``completions`` does not. None
        applies the template if there is one.
    engine_args
        Options of ``vllm serve`` without the dashes; an empty value stands for a flag.
    """

    concurrency = 256

    def __init__(
        self,
        spec: str,
        model: str,
        *,
        api: Literal["chat", "completions", "responses"] | None = None,
        engine_args: Mapping[str, str] | None = None,
    ) -> None:
        self._spec = spec
        self._model = model
        self._api = api
        self._engine_args = dict(engine_args or {})
        self._engine: Any = None
        self._loading: asyncio.Future[Capabilities] | None = None
        self._tokenizer: Any = None
        self._is_chat = False
        self._takes_seeds = True
        self._n_requests = 0
        self._restart = asyncio.Lock()
        self._restarted = False

    @property
    def spec(self) -> str:
        """The specification that the user gave."""
        return self._spec

    @property
    def identity(self) -> Mapping[str, str]:
        """Model, engine arguments and API.

        A folder is identified by the names, sizes and times of its files.
        """
        return {
            "backend": "vllm",
            "model": _folder_state(Path(self._model)) or self._model,
            "engine_args": json.dumps(self._engine_args, sort_keys=True),
            "api": self._api or "",
        }

    async def start(self) -> Capabilities:
        """Load the model into an engine, which takes about a minute.

        Raises
        ------
        FatalError
            If the engine arguments are wrong, the model cannot be loaded, or ``chat`` is given for
            a model without a chat template.
        """
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._load))
        # Loading cannot be cancelled. `close` waits for it and then ends the engine.
        return await asyncio.shield(self._loading)

    def _load(self) -> Capabilities:
        """Load the model. This runs in a thread, so that the event loop can serve other models."""
        # vLLM reads its environment when it is first imported.
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        import vllm
        from vllm.exceptions import VLLMError
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = self._parsed_arguments()
        try:
            self._engine = AsyncLLM.from_engine_args(arguments)
        except (ValueError, RuntimeError, OSError, VLLMError) as error:
            raise FatalError(
                f"{self._spec}: vLLM cannot load the model ({_reason(error)}); check the name "
                "or path, and memory by --promptse-vllm-args (gpu-memory-utilization, "
                "max-model-len), on a CPU by VLLM_CPU_KVCACHE_SPACE"
            ) from error
        self._tokenizer = self._engine.get_tokenizer()
        has_template = getattr(self._tokenizer, "chat_template", None) is not None
        if self._api == "chat" and not has_template:
            raise FatalError(
                f"{self._spec}: its tokenizer has no chat template; use --promptse-api completions"
            )
        self._is_chat = has_template and self._api != "completions"
        # On a CPU, a seeded request ends the engine if the token budget cuts its prefill. vLLM then
        # resets the offset of the request's generator, which torch refuses for CPU generators.
        self._takes_seeds = not current_platform.is_cpu()
        return Capabilities(
            form="chat" if self._is_chat else "completion",
            logprobs="processed" if "processed" in arguments.logprobs_mode else "raw",
            seeded=self._takes_seeds,
            details={"vllm": vllm.__version__},
        )

    async def complete(self, request: Request) -> Response:
        """Answer one request.

        ``logprob`` and ``n_tokens`` of a completion count every generated token, including the end
        token if the model generated one.
        """
        from vllm.exceptions import VLLMError
        from vllm.v1.engine.exceptions import EngineDeadError

        engine = self._engine
        death, failure = "", None
        try:
            return _answer(await self._generate(engine, request), first=request.first)
        except EngineDeadError as error:
            death = f"{self._spec}: {_reason(error)}"
        except (ValueError, VLLMError) as error:
            failure = self._meaning(error, request)
        # Raised outside of `except`, because the engine's traceback would keep the engine alive.
        raise failure or await self._start_again(engine, death)

    async def _start_again(self, dead: Any, message: str) -> ModelError:
        """Replace an engine that died, once, and return the error for its requests.

        `dead` is the engine that `message` is about. The error is transient after the first
        restart. It is fatal if the engine died a second time.
        """
        async with self._restart:
            if self._engine is dead:
                if self._restarted:
                    return FatalError(
                        f"{message}; the engine ended a second time. Run again with "
                        "VLLM_LOGGING_LEVEL=DEBUG to see why"
                    )
                self._restarted = True
                await self.close()
                await self.start()
        return TransientError(f"{message}; the engine was restarted")

    async def close(self) -> None:
        """End the process of the engine. Wait first if it is still loading."""
        if self._loading is not None:
            await asyncio.wait({self._loading})
            self._loading = None
        if self._engine is None:
            return
        engine, self._engine = self._engine, None
        engine.shutdown()
        # Cancelled tasks of the engine refer to it until they have run.
        await asyncio.sleep(0.1)
        # The engine never closes its messaging context, which issues a ResourceWarning when it is
        # deleted. All threads share the filters of warnings, and pytest sets them for each test, so
        # the context lives until here and is deleted within one step.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del engine
            gc.collect()

    async def _generate(self, engine: Any, request: Request) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        parameters = SamplingParams(
            n=request.n,
            temperature=request.decoding.temperature,
            top_p=request.decoding.top_p,
            max_tokens=request.decoding.max_tokens,
            seed=request.seed if self._takes_seeds else None,
            logprobs=0,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        self._n_requests += 1
        prompt = {"prompt_token_ids": self._encode(request.prompt)}
        results = engine.generate(prompt, parameters, f"promptse-{self._n_requests}")
        return [result async for result in results][-1]

    def _meaning(self, error: Exception, request: Request) -> ModelError:
        from vllm.exceptions import VLLMServerError

        message = f"{self._spec}: {_reason(error)}"
        if isinstance(error, VLLMServerError):
            return TransientError(message)
        return ModelError(f"{message} (for {request.task_id}[{request.variant_id}]); {SHORTEN}")

    def _parsed_arguments(self) -> Any:
        """Parse the engine arguments with the parser of vLLM."""
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        spec = self._spec

        class Parser(FlexibleArgumentParser):  # type: ignore[misc, unused-ignore]
            def error(self, message: str) -> NoReturn:
                raise FatalError(
                    f"{spec}: --promptse-vllm-args: {message}; see `vllm serve --help`"
                )

        words = ["--model", self._model, "--enable-prefix-caching", "--disable-log-stats"]
        for name, value in self._engine_args.items():
            words += [f"--{name.replace('_', '-')}", *([value] if value else [])]
        parser = AsyncEngineArgs.add_cli_args(Parser(add_json_tip=False))
        return AsyncEngineArgs.from_cli_args(parser.parse_args(words))

    def _encode(self, prompt: Prompt) -> list[int]:
        parts = [part for part in (prompt.system, prompt.user) if part is not None]
        if not self._is_chat:
            ids: list[int] = self._tokenizer.encode("\n\n".join(parts))
            return ids
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system is not None:
            messages.insert(0, {"role": "system", "content": prompt.system})
        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        # The chat template contains the special tokens already.
        encoded: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return encoded


def _answer(result: Any, *, first: int) -> Response:
    outputs = sorted(result.outputs, key=lambda output: output.index)
    return Response(
        completions=tuple(
            Completion(
                index=first + number,
                text=output.text,
                finish_reason=_FINISH.get(output.finish_reason, "unknown"),
                n_tokens=len(output.token_ids),
                logprob=output.cumulative_logprob,
            )
            for number, output in enumerate(outputs)
        ),
        usage=Usage(
            requests=1,
            prompt_tokens=len(result.prompt_token_ids),
            completion_tokens=sum(len(output.token_ids) for output in outputs),
        ),
    )


def _folder_state(folder: Path) -> str:
    """Return a digest of the names, sizes and times of the files in `folder`, or ``""``."""
    if not folder.is_dir():
        return ""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        state = file.stat()
        digest.update(f"{file.name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _reason(error: BaseException) -> str:
    """Return the cause in one line: the findings of a validation error, or else the first line."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return shown((str(error).strip() or type(error).__name__).splitlines()[0])
    # Its first line is only "1 validation error for ModelConfig".
    findings = error.errors(include_url=False, include_context=False, include_input=False)
    texts = (
        ": ".join([*map(str, finding["loc"]), finding["msg"].removeprefix("Value error, ")])
        for finding in findings
    )
    return shown("; ".join(" ".join(text.split()) for text in texts))
