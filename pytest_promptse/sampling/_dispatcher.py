"""Dispatch the requests to one model: take leases, limit concurrency, retry, store completions."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from traceback import format_exception
from typing import TYPE_CHECKING

from pytest_promptse._redaction import redact
from pytest_promptse.errors import BudgetError, ModelError, PromptseError
from pytest_promptse.models._base import (
    FatalError,
    OneByOneError,
    Remote,
    TransientError,
)
from pytest_promptse.sampling._budget import upper_bound
from pytest_promptse.sampling._concurrency import AdaptiveLimit, RequestLimiter
from pytest_promptse.sampling._request_queue import ActiveJob, BatchQueue, RequestQueue
from pytest_promptse.sampling._retry import attempts
from pytest_promptse.sandbox.guest.unpatched import asyncio
from pytest_promptse.store._store import capabilities_to_json

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Coroutine,
        Iterable,
        Mapping,
        Sequence,
    )

    from pytest_promptse.models._base import (
        Backend,
        Capabilities,
        Completion,
        Request,
        RequestUsage,
        Response,
    )
    from pytest_promptse.sampling._budget import Account
    from pytest_promptse.sampling._failures import FailureLog
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.sampling._request_queue import Batch
    from pytest_promptse.sampling._retry import RetryPolicy
    from pytest_promptse.store._leases import Leases
    from pytest_promptse.store._store import Store
    from pytest_promptse.store._writer import Writer

STARTED = "started"
"""Kind of the notes that contain the capabilities of models that this run started."""

# After this many failed variants in a row, each tried as often as allowed, the server is down.
_MAX_FAILURES_IN_A_ROW = 3


@dataclass(frozen=True, kw_only=True)
class DispatcherContext:
    """Objects that the dispatchers of one run share.

    Attributes
    ----------
    starting
        Held while a local model is loaded, so that only one is loaded at a time.
    stored
        Called with a key and the number of its samples that were added to the store.
    stop
        Called when the budget is used up.
    crash
        Called with an error that ends all sampling.
    """

    store: Store
    run: str
    writer: Writer
    account: Account
    leases: Leases
    failures: FailureLog
    retry_policy: RetryPolicy
    starting: asyncio.Lock
    stored: Callable[[str, int], None]
    stop: Callable[[BudgetError], None]
    crash: Callable[[BaseException], None]


class Dispatcher:
    """Sends the requests to one model, in the order of its queue.

    Parameters
    ----------
    backend
        The model. It is started with the first job. Local models are loaded one after the other,
        since loading may need most of the machine. Remote models are started without waiting.
    context
        The objects that the dispatchers of the run share.
    concurrency
        The largest number of concurrent requests, or None for the backend's own limit.
    """

    def __init__(
        self, backend: Backend, *, context: DispatcherContext, concurrency: int | None
    ) -> None:
        self._backend = backend
        self._identity = dict(backend.identity)
        self._context = context
        self._maximum = max(1, backend.concurrency if concurrency is None else concurrency)
        self._queue = RequestQueue(
            leases=context.leases, writer=context.writer, stored=context.stored
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = 0
        self._batches = BatchQueue()
        self._choosing = asyncio.Lock()
        self._capabilities: Capabilities | None = None
        self._limiter: RequestLimiter | None = None
        self._starting = False
        self._closing = False
        self._failure: ModelError | None = None
        self._failed: dict[str, ModelError] = {}
        self._failures_in_a_row = 0

    @property
    def holds_leases(self) -> bool:
        """True if any job of this model is leased and not finished."""
        return self._queue.holds_leases

    def add(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Queue jobs at the end or, with `first`, at the front.

        Jobs that this run has marked as failed are ignored. So are all jobs after a failure of the
        model.
        """
        if self._failure is not None or self._closing:
            return
        # The caller may not know yet that this run has marked a variant as failed.
        possible = [job for job in jobs if job.key not in self._failed]
        if possible:
            self._queue.add(possible, first=first)
            self.start()

    def start(self) -> None:
        """Start the model unless it was started already."""
        if not self._starting:
            self._starting = True
            self._spawn(self._start())
        elif self._limiter is not None:
            self._send()

    def retry_leased(self) -> None:
        """Try again to lease the jobs that another run has leased."""
        if not self._closing:
            self._queue.retry_leased()
            self._send()

    def drop(self) -> None:
        """Discard everything that has not been sent."""
        self._queue.drop()
        self._drop_batches(lambda _active: True)

    async def close(self, *, grace: float) -> None:
        """Send nothing more, wait `grace` seconds for open requests, and close the model."""
        self._closing = True
        await self._queue.close()
        if self._tasks and grace > 0:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._starting:
            await self._backend.close()

    # -- starting ------------------------------------------------------------------------------

    async def _start(self) -> None:
        context = self._context
        try:
            capabilities = await self._start_backend()
        except BudgetError as error:
            context.stop(error)
            return
        except ModelError as error:
            self._fail(error)
            return
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends may come from other packages
            self._fail(self._defect(error))
            return

        def save() -> None:
            context.store.set_capabilities(self._identity, capabilities)
            note = capabilities_to_json(capabilities).encode()
            context.store.put(context.run, STARTED, self._backend.spec, note)

        await context.writer.post(save)
        self._capabilities = capabilities
        self._batches.one_by_one = "n" in capabilities.refused
        self._limiter = RequestLimiter(AdaptiveLimit(self._maximum))
        self._send()

    async def _start_backend(self) -> Capabilities:
        retry_policy = self._context.retry_policy
        if isinstance(self._backend, Remote):
            async for attempt in attempts(retry_policy=retry_policy, failed=self._note_attempt):
                with attempt:
                    capabilities = await self._backend.reach(self._guard_probe)
            return capabilities
        async with self._context.starting:
            async for attempt in attempts(retry_policy=retry_policy, failed=self._note_attempt):
                with attempt:
                    capabilities = await self._backend.start()
            return capabilities

    def _note_attempt(self, error: TransientError) -> None:
        """Keep the error for the progress line."""
        self._context.writer.post(partial(self._context.failures.add_attempt, error))

    @asynccontextmanager
    async def _guard_probe(self, request: Request) -> AsyncIterator[RequestUsage]:
        """Check the budget before a request of the model's start, and account for its usage."""
        context = self._context
        async with context.account.request(upper_bound(request)) as usage:
            try:
                yield usage
            finally:
                context.writer.post(partial(context.store.add_usage, context.run, usage.paid))

    def _send(self) -> None:
        """Keep one worker for each waiting batch, up to the largest number of requests."""
        if self._limiter is None:
            return
        waiting = len(self._queue) + len(self._batches)
        wanted = min(self._maximum, self._workers + waiting)
        while self._workers < wanted:
            self._workers += 1
            self._spawn(self._work(self._limiter))

    # -- sending -------------------------------------------------------------------------------

    async def _work(self, limiter: RequestLimiter) -> None:
        try:
            while True:
                # A worker waits for the limiter before it takes a job, and occupies its place until
                # the response is stored. A killed run therefore loses at most as many paid
                # responses as it may send concurrently.
                async with limiter:
                    batch = await self._next(ahead=limiter.limit.value // 2 + 1)
                    if batch is None:
                        return
                    await self._serve(batch, limiter)
        finally:
            self._workers -= 1

    async def _next(self, *, ahead: int) -> Batch | None:
        # A job is taken only when no batch of the jobs before it is left.
        async with self._choosing:
            if self._closing:
                return None
            while not self._batches:
                taken = await self._queue.take(ahead=ahead)
                if taken is None:
                    return None
                job, missing = taken
                self._batches.add(ActiveJob(job, missing), missing)
            batch = self._batches.next()
        self._send()
        return batch

    async def _serve(self, batch: Batch, limiter: RequestLimiter) -> None:
        """Request a batch and store the response. Missing samples are requested one by one.

        `limiter` limits the number of concurrent requests.
        """
        context, job = self._context, batch.active.job
        settled = batch.n
        try:
            async for attempt in attempts(
                retry_policy=context.retry_policy, rest=limiter.rest, failed=self._note_attempt
            ):
                with attempt:
                    response = await self._request(batch, limiter)
            usable = {c.index: c for c in response.completions if c.index in batch.samples}
            n_stored = await context.writer.post(partial(self._store, job, usable, response))
            context.stored(job.key, n_stored)
            _require_some(batch, usable)
            settled -= self._request_one_by_one(
                batch, [index for index in batch.samples if index not in usable]
            )
        except OneByOneError:
            settled -= self._request_one_by_one(batch, batch.samples)
        except BudgetError as error:
            context.stop(error)
        except FatalError as error:
            self._fail(error)
        except ModelError as error:
            self._fail_job(job, error)
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends may come from other packages
            self._fail(self._defect(error))
        self._settle(batch.active, settled)

    def _request_one_by_one(self, batch: Batch, samples: Sequence[int]) -> int:
        """Queue samples that a response lacked at the front. Return their number.

        `samples` are numbers of samples of the job. Later batches also have one sample each.
        """
        if samples:
            self._batches.one_by_one = True
            self._batches.add(batch.active, samples, first=True)
        return len(samples)

    def _settle(self, active: ActiveJob, samples: int) -> None:
        """Count samples that are stored or failed, and finish the job after the last one.

        `samples` is the number of these samples.
        """
        active.left -= samples
        if not active.left:
            self._context.writer.post(partial(self._context.leases.release, [active.job.key]))
            self._queue.finish(active.job)

    async def _request(self, batch: Batch, limiter: RequestLimiter) -> Response:
        if self._failure is not None:
            raise self._failure
        key = batch.active.job.key
        if key in self._failed:
            raise ModelError(str(self._failed[key]))
        context, request = self._context, batch.request
        async with context.account.request(upper_bound(request)) as usage:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                response = await self._backend.complete(request)
            except BaseException as error:
                context.writer.post(partial(context.store.add_usage, context.run, usage.paid))
                if isinstance(error, TransientError) and error.overloaded:
                    usage.refuse()
                    limiter.limit.overloaded(began=began, now=loop.time())
                    if not context.retry_policy.exceeded(error.retry_after):
                        limiter.pause(error.retry_after or 0.0)
                raise
            usage.paid = response.usage
        limiter.answered(began=began, now=loop.time())
        self._failures_in_a_row = 0
        return response

    def _store(self, job: Job, samples: Mapping[int, Completion], response: Response) -> int:
        if self._capabilities is None:
            raise ModelError(f"{self._backend.spec}: a response came before the model was started")
        self._context.store.add_completions(
            job.key,
            list(samples.values()),
            usage=response.usage,
            model=job.model,
            prompt=job.prompt,
            decoding=job.decoding,
            task_id=job.task_id,
            variant_id=job.variant_id,
            seed=job.seed,
            form=self._capabilities.form,
            template=job.template,
            since=job.since,
        )
        self._context.store.add_usage(self._context.run, response.usage)
        return len(samples)

    # -- failing -------------------------------------------------------------------------------

    def _fail_job(self, job: Job, error: ModelError) -> None:
        if job.key in self._failed:
            return
        self._failed[job.key] = error
        self._drop_batches(lambda active: active.job.key == job.key)
        self._context.writer.post(partial(self._context.failures.add, error, key=job.key))
        if not isinstance(error, TransientError):
            return
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= _MAX_FAILURES_IN_A_ROW:
            self._fail(
                ModelError(
                    f"{self._backend.spec}: {_MAX_FAILURES_IN_A_ROW} variants in a row failed, the "
                    f"last with: {error}; no more requests are sent, the next run requests the "
                    "missing completions"
                )
            )

    def _drop_batches(self, unwanted: Callable[[ActiveJob], bool]) -> None:
        for batch in self._batches.drop(unwanted):
            self._settle(batch.active, batch.n)

    def _fail(self, error: ModelError) -> None:
        if self._failure is not None:
            return
        self._failure = error
        self.drop()
        context = self._context
        context.writer.post(partial(context.failures.add, error, model=self._backend.spec))

    def _defect(self, error: Exception) -> ModelError:
        defect = FatalError(f"{self._backend.spec}: unexpected error in the backend: {error!r}")
        # Another process may raise the error. With --full-trace pytest shows the notes of an
        # exception.
        defect.add_note(redact("".join(format_exception(error))))
        return defect

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._context.crash(error)


def _require_some(batch: Batch, usable: Mapping[int, Completion]) -> None:
    if not usable:
        job = batch.active.job
        raise ModelError(
            f"{job.model}: the response has none of the {batch.n} requested samples of "
            f"{job.task_id}[{job.variant_id}]; the next run requests them again"
        )
