"""One model's requests: claimed, sent as many at once as it bears, tried again, kept."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, ModelError, PromptseError
from pytest_promptse.models.base import (
    FatalError,
    OneByOneError,
    Remote,
    TransientError,
)
from pytest_promptse.sampling.budget import most
from pytest_promptse.sampling.concurrency import Level, Slots
from pytest_promptse.sampling.request_queue import Order, Portions, RequestQueue
from pytest_promptse.sampling.retry import with_retries
from pytest_promptse.store.store import capabilities_to_json

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Coroutine,
        Iterable,
        Mapping,
        Sequence,
    )

    from pytest_promptse.models.base import (
        Backend,
        Capabilities,
        Completion,
        Request,
        RequestUsage,
        Response,
    )
    from pytest_promptse.sampling.budget import Account
    from pytest_promptse.sampling.failures import FailureLog
    from pytest_promptse.sampling.job import Job
    from pytest_promptse.sampling.request_queue import Portion
    from pytest_promptse.sampling.retry import RetryPolicy
    from pytest_promptse.store.leases import Leases
    from pytest_promptse.store.store import Store
    from pytest_promptse.store.writer import Writer

STARTED = "started"
"""Kind of the note that holds what a model honoured when this run started it."""

# Wordings in a row whose requests used up all their attempts: by then the server is gone.
_CIRCUIT = 3


@dataclass(frozen=True, kw_only=True)
class DispatcherContext:
    """What the lanes of one run share.

    ``kept`` is told which wording has how many more of its samples in the store, ``stop`` that
    the budget is used up, ``crash`` of an error that ends all sampling.
    """

    store: Store
    run: str
    writer: Writer
    account: Account
    leases: Leases
    failures: FailureLog
    retry_policy: RetryPolicy
    starting: asyncio.Lock
    kept: Callable[[str, int], None]
    stop: Callable[[BudgetError], None]
    crash: Callable[[BaseException], None]


class Dispatcher:
    """The requests to one model, in the order in which they are asked for.

    Parameters
    ----------
    backend
        Started when the first job comes. Models are loaded one after the other, since that may
        take most of the machine; one that is reached by requests waits for no other.
    context
        What the lanes share.
    concurrency
        The most requests under way at once; None leaves it to the backend.
    """

    def __init__(
        self, backend: Backend, *, context: DispatcherContext, concurrency: int | None
    ) -> None:
        self._backend = backend
        self._identity = dict(backend.identity)
        self._context = context
        self._maximum = max(1, backend.concurrency if concurrency is None else concurrency)
        self._queue = RequestQueue(leases=context.leases, writer=context.writer, kept=context.kept)
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = 0
        self._portions = Portions()
        self._choosing = asyncio.Lock()
        self._capabilities: Capabilities | None = None
        self._slots: Slots | None = None
        self._starting = False
        self._closing = False
        self._failure: ModelError | None = None
        self._given_up: dict[str, ModelError] = {}
        self._in_a_row = 0

    @property
    def busy(self) -> bool:
        """Whether this lane holds leases."""
        return self._queue.taken

    def ask(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Put jobs at the end of what is asked for, or at its front."""
        if self._failure is not None or self._closing:
            return
        # Whoever asks may not have seen yet that this run has given a wording up.
        hopeful = [job for job in jobs if job.key not in self._given_up]
        if hopeful:
            self._queue.add(hopeful, first=first)
            self.start()

    def start(self) -> None:
        """Start the model, if that has not been done."""
        if not self._starting:
            self._starting = True
            self._spawn(self._start())
        elif self._slots is not None:
            self._send()

    def revive(self) -> None:
        """Look again at what another run had under way."""
        if not self._closing:
            self._queue.revive()
            self._send()

    def drop(self) -> None:
        """Forget what has not been sent."""
        self._queue.drop()
        self._drop_portions(lambda _order: True)

    async def close(self, *, grace: float) -> None:
        """Send nothing more, give what is under way `grace` seconds, end it, close the model."""
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
            capabilities = await self._started()
        except BudgetError as error:
            context.stop(error)
            return
        except ModelError as error:
            self._fail(error)
            return
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends come from anywhere
            self._fail(self._defect(error))
            return

        def remember() -> None:
            context.store.set_capabilities(self._identity, capabilities)
            note = capabilities_to_json(capabilities).encode()
            context.store.put(context.run, STARTED, self._backend.spec, note)

        await context.writer.post(remember)
        self._capabilities = capabilities
        self._portions.one_by_one = "n" in capabilities.refused
        self._slots = Slots(Level(self._maximum))
        self._send()

    async def _started(self) -> Capabilities:
        retry_policy = self._context.retry_policy
        if isinstance(self._backend, Remote):
            return await with_retries(
                partial(self._backend.reach, self._probe), retry_policy=retry_policy
            )
        async with self._context.starting:
            return await with_retries(self._backend.start, retry_policy=retry_policy)

    @asynccontextmanager
    async def _probe(self, request: Request) -> AsyncIterator[RequestUsage]:
        """Book a request that starting takes."""
        context = self._context
        async with context.account.request(most(request)) as usage:
            try:
                yield usage
            finally:
                context.writer.post(partial(context.store.add_usage, context.run, usage.paid))

    def _send(self) -> None:
        """Have a worker for what waits, up to one for each request that may be under way."""
        if self._slots is None:
            return
        waiting = len(self._queue) + len(self._portions)
        wanted = min(self._maximum, self._workers + waiting)
        while self._workers < wanted:
            self._workers += 1
            self._spawn(self._work(self._slots))

    # -- sending -------------------------------------------------------------------------------

    async def _work(self, slots: Slots) -> None:
        try:
            while True:
                # The slot comes first: only what can be sent now is taken off the plan. It is held
                # until the answer is written: what a killed run has paid for in vain is never
                # more than what may be sent at once.
                async with slots:
                    portion = await self._next(ahead=slots.level.value // 2 + 1)
                    if portion is None:
                        return
                    await self._serve(portion, slots)
        finally:
            self._workers -= 1

    async def _next(self, *, ahead: int) -> Portion | None:
        # One at a time: a wording is taken only when nothing is left of those before it.
        async with self._choosing:
            if self._closing:
                return None
            while not self._portions:
                taken = await self._queue.take(ahead=ahead)
                if taken is None:
                    return None
                job, missing = taken
                self._portions.add(Order(job, missing), missing)
            portion = self._portions.next()
        self._send()
        return portion

    async def _serve(self, portion: Portion, slots: Slots) -> None:
        """Ask for a portion and keep what comes; what does not come is asked for one by one."""
        context, job = self._context, portion.order.job
        settled = portion.n
        try:
            response = await with_retries(
                partial(self._request, portion, slots),
                retry_policy=context.retry_policy,
                rest=slots.rest,
            )
            usable = {c.index: c for c in response.completions if c.index in portion.samples}
            context.kept(
                job.key, await context.writer.post(partial(self._keep, job, usable, response))
            )
            _require_some(portion, usable)
            settled -= self._ask_one_by_one(
                portion, [index for index in portion.samples if index not in usable]
            )
        except OneByOneError:
            settled -= self._ask_one_by_one(portion, portion.samples)
        except BudgetError as error:
            context.stop(error)
        except FatalError as error:
            self._fail(error)
        except ModelError as error:
            self._give_up(job, error)
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends come from anywhere
            self._fail(self._defect(error))
        self._settle(portion.order, settled)

    def _ask_one_by_one(self, portion: Portion, samples: Sequence[int]) -> int:
        """Ask next for samples that a portion did not bring; return how many they are."""
        if samples:
            self._portions.one_by_one = True
            self._portions.add(portion.order, samples, first=True)
        return len(samples)

    def _settle(self, order: Order, samples: int) -> None:
        """Take note that samples of a wording are kept or will not come."""
        order.left -= samples
        if not order.left:
            self._context.writer.post(partial(self._context.leases.release, [order.job.key]))
            self._queue.done(order.job)

    async def _request(self, portion: Portion, slots: Slots) -> Response:
        if self._failure is not None:
            raise self._failure
        key = portion.order.job.key
        if key in self._given_up:
            raise ModelError(str(self._given_up[key]))
        context, request = self._context, portion.request
        async with context.account.request(most(request)) as usage:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                response = await self._backend.complete(request)
            except BaseException as error:
                context.writer.post(partial(context.store.add_usage, context.run, usage.paid))
                if isinstance(error, TransientError) and error.overloaded:
                    usage.refuse()
                    slots.level.overloaded(began=began, now=loop.time())
                    if not context.retry_policy.exceeded(error.retry_after):
                        slots.pause(error.retry_after or 0.0)
                raise
            usage.paid = response.usage
        slots.answered(began=began, now=loop.time())
        self._in_a_row = 0
        return response

    def _keep(self, job: Job, samples: Mapping[int, Completion], response: Response) -> int:
        assert self._capabilities is not None
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
        )
        self._context.store.add_usage(self._context.run, response.usage)
        return len(samples)

    # -- failing -------------------------------------------------------------------------------

    def _give_up(self, job: Job, error: ModelError) -> None:
        if job.key in self._given_up:
            return
        self._given_up[job.key] = error
        self._drop_portions(lambda order: order.job.key == job.key)
        self._context.writer.post(partial(self._context.failures.add, error, key=job.key))
        if not isinstance(error, TransientError):
            return
        self._in_a_row += 1
        if self._in_a_row >= _CIRCUIT:
            self._fail(
                ModelError(
                    f"{self._backend.spec}: {_CIRCUIT} wordings in a row failed, the last with: "
                    f"{error}; nothing more is sent, what is missing is asked for on the next run"
                )
            )

    def _drop_portions(self, unwanted: Callable[[Order], bool]) -> None:
        for portion in self._portions.drop(unwanted):
            self._settle(portion.order, portion.n)

    def _fail(self, error: ModelError) -> None:
        if self._failure is not None:
            return
        self._failure = error
        self.drop()
        self._context.writer.post(
            partial(self._context.failures.add, error, model=self._backend.spec)
        )

    def _defect(self, error: Exception) -> ModelError:
        return FatalError(f"{self._backend.spec}: the backend itself failed: {error!r}")

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._context.crash(error)


def _require_some(portion: Portion, usable: Mapping[int, Completion]) -> None:
    if not usable:
        job = portion.order.job
        raise ModelError(
            f"{job.model}: asked for {portion.n} samples of {job.task_id}[{job.variant_id}], got "
            "none of them; they are asked for again on the next run"
        )
