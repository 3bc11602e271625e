"""Run batch files on a Ray cluster, through vLLM replicas or an OpenAI-compatible server.

The requests are a Ray Data set. Its tasks send each result to a `ResultFile`. A task that Ray
repeats asks the file first if it sends to a server. With vLLM replicas it repeats all its requests;
second results are left out.

Documentation of Ray: https://docs.ray.io/en/latest/data/working-with-llms.html
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pytest_promptse.errors import ModelError, SettingsError, StoreError
from pytest_promptse.models._base import FatalError
from pytest_promptse.models._openai_wire import APIS
from pytest_promptse.sampling._batch_files import read_manifest
from pytest_promptse.sampling._ray_results import (
    RESULTS,
    ResultFile,
    failure_line,
    result_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.sampling._batch_files import BatchHeader

# Number of requests of one task. If a vLLM replica is lost, the requests of its tasks are repeated.
_PART = 64
# Number of requests that one task sends to a server at the same time.
_PER_TASK = 32
_TIMEOUT = 600.0
_RETRIES = 6
# Fraction of a CPU for a task that mostly waits.
_LIGHT = 0.25


@dataclass(frozen=True, kw_only=True)
class ServerStage:
    """Send the requests to an OpenAI-compatible server.

    Parameters
    ----------
    base_url
        Address of the server, with ``/v1``.
    api_key
        Key for the server.
    concurrency
        Number of concurrent requests over the whole cluster.
    """

    base_url: str
    api_key: str
    concurrency: int = 64

    def __post_init__(self) -> None:
        _require_positive("--concurrency", self.concurrency)


@dataclass(frozen=True, kw_only=True)
class VllmStage:
    """Answer the requests with vLLM replicas, which ``ray.data.llm`` starts.

    Parameters
    ----------
    weights
        Name of the model on the Hugging Face hub, or a folder that every node has. None means the
        name in the batch.
    gpus
        Number of GPUs of all replicas together; 0 runs one replica on CPUs.
    tensor_parallel
        Number of GPUs of one replica.
    concurrency
        Number of requests that one replica processes at the same time.
    engine_args
        Options of ``vllm serve`` without the dashes; an empty value stands for a flag.
    """

    weights: str | None = None
    gpus: int = 1
    tensor_parallel: int = 1
    concurrency: int = 256
    engine_args: Mapping[str, str]

    def __post_init__(self) -> None:
        _require_positive("--concurrency", self.concurrency)
        _require_positive("--tensor-parallel", self.tensor_parallel)
        if self.gpus < 0 or self.gpus % self.tensor_parallel:
            raise SettingsError(
                f"batch run --gpus {self.gpus}: not a multiple of --tensor-parallel "
                f"{self.tensor_parallel}; every replica needs that many GPUs"
            )

    @property
    def replicas(self) -> int:
        """The number of engines."""
        return max(1, self.gpus // self.tensor_parallel)


def _require_positive(option: str, value: int) -> None:
    if value < 1:
        raise SettingsError(f"batch run {option} {value}: must be at least 1")


@dataclass(frozen=True, kw_only=True)
class RayReport:
    """The result of `run_batch`.

    Attributes
    ----------
    results
        The file of the results.
    known
        Number of requests that had a result before this run.
    answered, failed
        Numbers of requests that were answered or refused in this run.
    """

    results: Path
    known: int
    answered: int
    failed: int


def run_batch(
    folder: Path,
    stage: ServerStage | VllmStage,
    *,
    progress: Callable[[int, int], None],
) -> RayReport:
    """Answer the requests of a batch that have no result yet, on the connected cluster.

    Parameters
    ----------
    folder
        The folder of ``promptse batch export``.
    stage
        The server or the replicas that answer the requests.
    progress
        Called with the number of finished requests and the number of all requests of this run.

    Raises
    ------
    StoreError
        If the folder contains no batch, or another run writes results to it.
    ModelError
        If every request fails for the same reason, or the cluster lost a needed part.
    """
    folder = folder.resolve()
    header, _ = read_manifest(folder)
    if isinstance(stage, VllmStage) and header.api == "responses":
        raise SettingsError(
            "batch run: vLLM replicas do not answer the API responses; export the batch with "
            "--promptse-api chat"
        )
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0, scheduling_strategy=here)(ResultFile)
    results = actor.remote(folder)
    try:
        (counts, _) = ray.get(results.state.remote())
    except ray.exceptions.ActorDiedError as error:
        raise StoreError(_last_line(error)) from None
    parts = [
        (len(part), ray.put(pa.table({"request": part})))
        for part in _pending_parts(folder, stage, results)
    ]
    total = sum(n for n, _ in parts)
    if parts:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.raise_original_map_exception = True
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        dataset = ray.data.from_arrow_refs([ref for _, ref in parts])
        dataset = _answered_by(stage, dataset, header, results)
        done = 0
        try:
            for block in dataset.iter_batches(batch_size=None, prefetch_batches=0):
                done += int(np.sum(block["requests"]))
                progress(done, total)
        except ray.exceptions.RayError as error:
            _, fatal = _state(results)
            raise FatalError(fatal or f"batch run: Ray ended it: {_last_line(error)}") from None
    counts, _ = _state(results)
    ray.get(results.close.remote())
    return RayReport(results=folder / RESULTS, **counts)


def _state(results: Any) -> tuple[dict[str, int], str]:
    try:
        state: tuple[dict[str, int], str] = ray.get(results.state.remote())
    except ray.exceptions.RayError as error:
        raise ModelError(
            f"batch run: the process that writes the results has ended ({_last_line(error)}); "
            "run the command again to continue"
        ) from None
    return state


def _last_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1].strip()


def _pending_parts(
    folder: Path, stage: ServerStage | VllmStage, results: Any
) -> Iterator[list[bytes]]:
    """Yield the requests without a result, in lists of the size of one task.

    `folder` has the files ``requests-*.jsonl``, and `results` is the handle of the `ResultFile`
    actor. A result is a list of request lines.
    """
    part: list[bytes] = []
    for path in sorted(folder.glob("requests-*.jsonl")):
        with path.open("rb") as file:
            while lines := file.readlines(1_000_000):
                requests = [request for line in lines for request in _split(stage, line)]
                ids = [custom_id for custom_id, _ in requests]
                is_missing = ray.get(results.missing.remote(ids))
                for (_, line), missing in zip(requests, is_missing, strict=True):
                    if missing:
                        part.append(line)
                    if len(part) == _PART:
                        yield part
                        part = []
    if part:
        yield part


def _split(stage: ServerStage | VllmStage, line: bytes) -> list[tuple[str, bytes]]:
    """Return the requests of one line, each with its id.

    ``ray.data.llm`` keeps one completion of a request, so a vLLM replica gets one request for each
    sample. The seeds are those that vLLM gives to the samples of one request.
    """
    request = json.loads(line)
    custom_id, body = request["custom_id"], request["body"]
    if isinstance(stage, ServerStage):
        return [(custom_id, line)]
    key, first, n = custom_id.split("-")
    split = []
    for number in range(int(n)):
        numbered = body | {"n": 1}
        if "seed" in body:
            numbered["seed"] = body["seed"] + number
        name = f"{key}-{int(first) + number}-1"
        text = json.dumps({**request, "custom_id": name, "body": numbered}, ensure_ascii=False)
        split.append((name, text.encode()))
    return split


def _answered_by(
    stage: ServerStage | VllmStage, dataset: Any, header: BatchHeader, results: Any
) -> Any:
    if isinstance(stage, ServerStage):
        tasks = -(-stage.concurrency // _PER_TASK)
        return dataset.map_batches(
            _send_part,
            batch_size=None,
            compute=ray.data.TaskPoolStrategy(size=tasks),
            num_cpus=_LIGHT,
            fn_kwargs={
                "stage": stage,
                "path": APIS[header.api].path,
                "where": f"{header.model} at {stage.base_url}",
                "at_once": -(-stage.concurrency // tasks),
                "results": results,
            },
        )
    return _vllm_processor(stage, header)(dataset).map_batches(
        _write_part,
        batch_size=None,
        batch_format="pyarrow",
        num_cpus=_LIGHT,
        fn_kwargs={"header": header, "results": results},
    )


def _send_part(
    part: dict[str, Any],
    *,
    stage: ServerStage,
    path: str,
    where: str,
    at_once: int,
    results: Any,
) -> dict[str, Any]:
    """Send the requests of a part that have no result. Write each result at once.

    Parameters
    ----------
    part
        A block of the data set, with the column ``request``.
    path, where
        The path of the API, and the address for error messages.
    at_once
        Number of concurrent requests.
    results
        The handle of the `ResultFile` actor.
    stage
        The server, with its retry policy and key.
    """
    requests = [json.loads(line) for line in part["request"]]
    is_missing = ray.get(results.missing.remote([request["custom_id"] for request in requests]))
    missing = [request for request, absent in zip(requests, is_missing, strict=True) if absent]
    try:
        asyncio.run(
            _send_all(missing, stage=stage, path=path, where=where, at_once=at_once, file=results)
        )
    except FatalError as error:
        ray.get(results.stop.remote(str(error)))
        raise
    return {"requests": np.array([len(requests)])}


async def _send_all(
    requests: Sequence[dict[str, Any]],
    *,
    stage: ServerStage,
    path: str,
    where: str,
    at_once: int,
    file: Any,
) -> None:
    import openai  # noqa: PLC0415 - only this stage needs the package

    from pytest_promptse.models._openai_errors import classify  # noqa: PLC0415

    places = asyncio.Semaphore(at_once)
    client = openai.AsyncOpenAI(
        api_key=stage.api_key, base_url=stage.base_url, timeout=_TIMEOUT, max_retries=_RETRIES
    )

    async def send(request: dict[str, Any]) -> None:
        async with places:
            try:
                body = await client.post(path, body=request["body"], cast_to=object)
                line = result_line(request["custom_id"], body)
            except openai.APIError as error:
                classified = classify(error, where=where, timeout=_TIMEOUT)
                if isinstance(classified, FatalError):
                    raise classified from None
                line = failure_line(request["custom_id"], str(classified))
            await file.add.remote([line])

    async with client:
        tasks = [asyncio.create_task(send(request)) for request in requests]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


def _vllm_processor(stage: VllmStage, header: BatchHeader) -> Any:
    """Return the processor of ``ray.data.llm``. It gets token ids, as `VllmBackend` sends them.

    `header` is that of the batch. The weights are those of `stage`, or else the model of the batch.
    """
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig  # noqa: PLC0415

    weights = stage.weights or header.name
    arguments = {name.replace("-", "_"): _typed(text) for name, text in stage.engine_args.items()}
    bundle = {"CPU": 1, "GPU": 1} if stage.gpus else {"CPU": 1}
    config = vLLMEngineProcessorConfig(
        model_source=weights,
        engine_kwargs={
            "enable_prefix_caching": True,
            "tensor_parallel_size": stage.tensor_parallel,
            **arguments,
        },
        placement_group_config={"bundle_per_worker": bundle},
        concurrency=stage.replicas,
        batch_size=min(_PART, stage.concurrency),
        max_concurrent_batches=max(1, stage.concurrency // _PART),
        should_continue_on_error=True,
        log_engine_metrics=False,
        chat_template_stage=False,
        tokenize_stage=False,
        detokenize_stage=False,
    )
    return build_processor(
        config,
        preprocess=_Encoder(weights=weights, seeded=stage.gpus > 0).encode,
        preprocess_map_kwargs={"num_cpus": _LIGHT},
        postprocess_map_kwargs={"num_cpus": _LIGHT},
    )


def _typed(text: str) -> Any:
    """Return the value of an engine argument; a flag has no text."""
    if not text:
        return True
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, kw_only=True)
class _Encoder:
    """Convert request lines into token ids and sampling parameters.

    ``weights`` is the name or folder of the model, whose tokenizer and chat template are used.
    """

    weights: str
    # On CPUs a seeded request can end the engine, so no seed is sent there. `VllmBackend` does the
    # same.
    seeded: bool

    def encode(self, row: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(row["request"])["body"]
        tokenizer, end_tokens = _tokenizer(self.weights)
        if "messages" in body:
            text = tokenizer.apply_chat_template(
                body["messages"], tokenize=False, add_generation_prompt=True
            )
            # The chat template contains the special tokens already.
            ids = tokenizer.encode(text, add_special_tokens=False)
        else:
            ids = tokenizer.encode(body["prompt"])
        limit = next(
            body[name] for api in APIS.values() for name in api.length_names if name in body
        )
        parameters = {"max_tokens": limit, "logprobs": 0}
        parameters |= {name: body[name] for name in ("temperature", "top_p") if name in body}
        if self.seeded and "seed" in body:
            parameters["seed"] = body["seed"]
        return {
            "tokenized_prompt": ids,
            "sampling_params": parameters,
            "limit": limit,
            "end_tokens": end_tokens,
        }


@cache
def _tokenizer(weights: str) -> tuple[Any, list[int]]:
    """Return the tokenizer of a model and the tokens that end its completions."""
    from transformers import AutoConfig, AutoTokenizer  # noqa: PLC0415 - on the workers only

    tokenizer = AutoTokenizer.from_pretrained(weights)
    configured = AutoConfig.from_pretrained(weights).eos_token_id
    end_tokens = [tokenizer.eos_token_id]
    end_tokens += configured if isinstance(configured, list) else [configured]
    return tokenizer, [token for token in dict.fromkeys(end_tokens) if token is not None]


def _write_part(part: Any, *, header: BatchHeader, results: Any) -> dict[str, Any]:
    """Write the completions of a vLLM replica as result lines.

    `part` is an Arrow table with one row per request, and `results` the handle of the `ResultFile`
    actor. The result counts the requests.
    """
    rows = part.to_pylist()
    lines = [_vllm_line(row, header) for row in rows]
    ray.get(results.add.remote(lines))
    return {"requests": np.array([len(rows)])}


def _vllm_line(row: Mapping[str, Any], header: BatchHeader) -> bytes:
    """Return a result line with the body that the server of vLLM would send.

    `row` is a result of ``ray.data.llm``. A failed request gives a line with its error.
    """
    custom_id = json.loads(row["request"])["custom_id"]
    if row["__inference_error__"]:
        return failure_line(custom_id, row["__inference_error__"])
    tokens = list(row["generated_tokens"])
    logprobs = [
        float(entry[token]["logprob"]) for token, entry in zip(tokens, row["logprobs"], strict=True)
    ]
    # ray.data.llm does not report why a completion ended.
    was_cut = len(tokens) >= row["limit"] and tokens[-1] not in row["end_tokens"]
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length" if was_cut else "stop"}
    if header.api == "chat":
        choice["message"] = {"role": "assistant", "content": row["generated_text"]}
        choice["logprobs"] = {"content": [{"logprob": logprob} for logprob in logprobs]}
    else:
        choice["text"] = row["generated_text"]
        choice["logprobs"] = {"token_logprobs": logprobs}
    usage = {"prompt_tokens": row["num_input_tokens"], "completion_tokens": len(tokens)}
    body = {"model": header.name, "choices": [choice], "usage": usage}
    return result_line(custom_id, body)
