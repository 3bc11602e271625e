"""One model's requests: claimed, sent as many at once as it bears, tried again, kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, ModelError, PromptseError
from pytest_promptse.models.base import Ask, FatalError, TransientError, derive_seed
from pytest_promptse.run.backlog import Backlog
from pytest_promptse.run.budget import most
from pytest_promptse.run.concurrency import Level, Slots
from pytest_promptse.run.retry import patiently
from pytest_promptse.run.store import capabilities_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.models.base import Answer, Backend, Capabilities, Completion, Usage
    from pytest_promptse.run.budget import Account
    from pytest_promptse.run.claims import Claims
    from pytest_promptse.run.failures import Failures
    from pytest_promptse.run.job import Job
    from pytest_promptse.run.retry import Patience
    from pytest_promptse.run.store import Store
    from pytest_promptse.run.writer import Writer

STARTED = "started"
"""Kind of the note that holds what a model honoured when this run started it."""

# Requests in a row that used up all their attempts: by then the server is gone.
_CIRCUIT = 3


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the lanes of one run share.

    ``kept`` is told which wording has how many more of its samples in the store, ``stop`` that
    the budget is used up, ``crash`` of an error that ends all sampling.
    """

    store: Store
    run: str
    writer: Writer
    account: Account
    claims: Claims
    failures: Failures
    patience: Patience
    starting: asyncio.Lock
    kept: Callable[[str, int], None]
    stop: Callable[[BudgetError], None]
    crash: Callable[[BaseException], None]


class Lane:
    """The requests to one model, in the order in which they are asked for.

    Parameters
    ----------
    backend
        Started when the first job comes, one model after the other, since loading may take
        most of the machine.
    desk
        What the lanes share.
    concurrency
        The most requests under way at once; None leaves it to the backend.
    """

    def __init__(self, backend: Backend, *, desk: Desk, concurrency: int | None) -> None:
        self._backend = backend
        self._identity = dict(backend.identity)
        self._desk = desk
        self._maximum = max(1, backend.concurrency if concurrency is None else concurrency)
        self._backlog = Backlog(claims=desk.claims, writer=desk.writer, kept=desk.kept)
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = 0
        self._capabilities: Capabilities | None = None
        self._slots: Slots | None = None
        self._starting = False
        self._closing = False
        self._failure: ModelError | None = None
        self._given_up: set[str] = set()
        self._in_a_row = 0
        self._one_by_one = False

    @property
    def busy(self) -> bool:
        """Whether this lane holds claims."""
        return self._backlog.taken

    def ask(self, jobs: Iterable[Job], *, first: bool) -> None:
        """Put jobs at the end of what is asked for, or at its front."""
        if self._failure is not None or self._closing:
            return
        # Whoever asks may not have seen yet that this run has given a wording up.
        hopeful = [job for job in jobs if job.key not in self._given_up]
        if hopeful:
            self._backlog.add(hopeful, first=first)
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
            self._backlog.revive()
            self._send()

    def drop(self) -> None:
        """Forget what has not been sent."""
        self._backlog.drop()

    async def close(self, *, grace: float) -> None:
        """Send nothing more, give what is under way `grace` seconds, end it, close the model."""
        self._closing = True
        await self._backlog.close()
        if self._tasks and grace > 0:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._starting:
            await self._backend.close()

    # -- starting ------------------------------------------------------------------------------

    async def _start(self) -> None:
        desk = self._desk
        try:
            async with desk.starting:
                capabilities = await patiently(self._backend.start, patience=desk.patience)
        except ModelError as error:
            self._fail(error)
            return
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends come from anywhere
            self._fail(self._defect(error))
            return

        def remember() -> None:
            desk.store.set_capabilities(self._identity, capabilities)
            note = capabilities_to_json(capabilities).encode()
            desk.store.put(desk.run, STARTED, self._backend.spec, note)

        await desk.writer.post(remember)
        self._capabilities = capabilities
        self._one_by_one = "n" in capabilities.refused
        self._slots = Slots(Level(self._maximum))
        self._send()

    def _send(self) -> None:
        """Have a worker for each job, up to one for each request that may be under way."""
        if self._slots is None:
            return
        wanted = min(self._maximum, self._workers + len(self._backlog))
        while self._workers < wanted:
            self._workers += 1
            self._spawn(self._work(self._slots))

    # -- sending -------------------------------------------------------------------------------

    async def _work(self, slots: Slots) -> None:
        try:
            while True:
                # The slot comes first: only what can be sent now is taken off the plan.
                async with slots:
                    taken = await self._backlog.take(ahead=slots.level.value // 2 + 1)
                    if taken is None:
                        return
                    job, missing = taken
                    written = await self._serve(job, missing, slots)
                    # Under way until it is written: what a killed run has paid for in vain
                    # is never more than what may be sent at once.
                    self._desk.kept(job.key, sum(await asyncio.gather(*written)))
                self._backlog.done(job)
        finally:
            self._workers -= 1

    async def _serve(
        self, job: Job, missing: Sequence[int], slots: Slots
    ) -> list[asyncio.Future[int]]:
        """Ask for the missing samples; return how many come, each known once they are kept."""
        desk = self._desk
        written: list[asyncio.Future[int]] = []
        try:
            for first, n in _runs(missing):
                ask = Ask(
                    prompt=job.prompt,
                    decoding=job.decoding,
                    n=n,
                    first=first,
                    seed=derive_seed(job.seed, first),
                    task_id=job.task_id,
                    variant_id=job.variant_id,
                    reference=job.reference,
                )
                answer = await patiently(
                    partial(self._request, ask, slots), patience=desk.patience, rest=slots.rest
                )
                asked_for = range(first, first + n)
                usable = {c.index: c for c in answer.completions if c.index in asked_for}
                written.append(desk.writer.post(partial(self._keep, job, usable, answer.usage)))
                _require_all(ask, len(usable), model=job.model)
        except BudgetError as error:
            desk.stop(error)
        except FatalError as error:
            self._fail(error)
        except ModelError as error:
            self._give_up(job, error)
        except PromptseError:
            raise
        except Exception as error:  # noqa: BLE001 - backends come from anywhere
            self._fail(self._defect(error))
        desk.writer.post(partial(desk.claims.release, [job.key]))
        return written

    async def _request(self, ask: Ask, slots: Slots) -> Answer:
        if self._failure is not None:
            raise self._failure
        desk = self._desk
        worst = most(ask, requests=ask.n if self._one_by_one else 1)
        async with desk.account.request(worst) as slip:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                answer = await self._backend.complete(ask)
            except BaseException as error:
                desk.writer.post(partial(desk.store.add_usage, desk.run, slip.paid))
                if isinstance(error, TransientError) and error.overloaded:
                    slots.level.overloaded(began=began, now=loop.time())
                    slots.pause(error.retry_after or 0.0)
                raise
            slip.paid = answer.usage
        slots.answered(loop.time() - began)
        self._in_a_row = 0
        self._one_by_one = self._one_by_one or answer.usage.requests > 1
        return answer

    def _keep(self, job: Job, samples: Mapping[int, Completion], usage: Usage) -> int:
        assert self._capabilities is not None
        self._desk.store.add_completions(
            job.key,
            list(samples.values()),
            usage=usage,
            model=job.model,
            prompt=job.prompt,
            decoding=job.decoding,
            task_id=job.task_id,
            variant_id=job.variant_id,
            seed=job.seed,
            form=self._capabilities.form,
        )
        self._desk.store.add_usage(self._desk.run, usage)
        return len(samples)

    # -- failing -------------------------------------------------------------------------------

    def _give_up(self, job: Job, error: ModelError) -> None:
        self._given_up.add(job.key)
        self._desk.writer.post(partial(self._desk.failures.add, error, key=job.key))
        if not isinstance(error, TransientError):
            return
        self._in_a_row += 1
        if self._in_a_row >= _CIRCUIT:
            self._fail(
                ModelError(
                    f"{self._backend.spec}: {_CIRCUIT} requests in a row failed, the last with: "
                    f"{error}; nothing more is sent, what is missing is asked for on the next run"
                )
            )

    def _fail(self, error: ModelError) -> None:
        if self._failure is not None:
            return
        self._failure = error
        self.drop()
        self._desk.writer.post(partial(self._desk.failures.add, error, model=self._backend.spec))

    def _defect(self, error: Exception) -> ModelError:
        return FatalError(f"{self._backend.spec}: the backend itself failed: {error!r}")

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._desk.crash(error)


def _require_all(ask: Ask, came: int, *, model: str) -> None:
    if came < ask.n:
        raise ModelError(
            f"{model}: asked for {ask.n} samples of {ask.task_id}[{ask.variant_id}], got {came}; "
            "the rest is asked for again on the next run"
        )


def _runs(samples: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and length of each run of adjacent numbers."""
    first = 0
    for place, sample in enumerate(samples):
        if place + 1 == len(samples) or samples[place + 1] != sample + 1:
            yield samples[first], place + 1 - first
            first = place + 1
