"""The writer thread of the sampler, which groups changes into transactions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_promptse.sandbox.guest.unpatched import asyncio

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.store._store import Store

_T = TypeVar("_T")


class Writer:
    """A thread that applies changes to the store in order, several per transaction.

    A change is committed at once, without a timer. Changes that arrive while a transaction
    commits are written in the next one.

    Parameters
    ----------
    store
        The store to write to.
    written
        Called in the event loop after each commit.
    failed
        Called in the event loop with the error if a commit fails. Its changes are lost.
    """

    def __init__(
        self,
        store: Store,
        *,
        written: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._written = written
        self._failed = failed
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="promptse-writer")
        self._queue: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._draining: asyncio.Task[None] | None = None

    def post(self, change: Callable[[], _T]) -> asyncio.Future[_T]:
        """Run `change` in the writer thread. The returned future is done after the commit."""
        done: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._queue.append((change, done))
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        return done

    async def close(self) -> None:
        """Commit the remaining changes and end the thread."""
        if self._draining is not None:
            await self._draining
        self._thread.shutdown()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            batch, self._queue = self._queue, []
            outcome = loop.run_in_executor(
                self._thread, self._commit, [write for write, _ in batch]
            )
            try:
                results = await outcome
            except Exception as error:  # noqa: BLE001 - passed to `failed`
                for _, done in batch:
                    done.cancel()
                self._failed(error)
                continue
            for (_, done), result in zip(batch, results, strict=True):
                if not done.cancelled():
                    done.set_result(result)
            self._written()

    def _commit(self, changes: list[Callable[[], Any]]) -> list[Any]:
        with self._store.transaction():
            return [change() for change in changes]
