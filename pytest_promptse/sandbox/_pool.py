"""The sandbox pool: workers that run programs, and processes started in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._candidate import Candidate
from pytest_promptse.sandbox._execution import Execution
from pytest_promptse.sandbox._limits import Limits
from pytest_promptse.sandbox._watch import Watchdog
from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.unpatched import __builtins__, contextlib, threading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_promptse.sandbox._worker import Worker

_DEFAULT_LIMITS = Limits()
# Opening another jail takes as long as prefork saves over this number of programs.
_WORTH_ANOTHER_JAIL = 100

# Modules that use internet sockets, and ways to get a module without its name. A program without
# any of these words cannot open such a socket, so no port tells it of an earlier program.
_NETWORK_WORDS = wire.words(
    "socket asyncio http urllib ssl xmlrpc ftplib smtplib imaplib poplib telnetlib nntplib wsgiref"
    " multiprocessing concurrent ctypes importlib __import__ runpy exec( eval( logging"
)


class SandboxPool:
    """Workers that run programs. `open_sandbox` creates the pool. Close it or use ``with``.

    Attributes
    ----------
    isolation_level : str
        ``bwrap``, ``docker``, ``podman`` or ``none``.
    description : str
        One line that tells users what this isolation level protects.

    If ``ahead`` is True, an idle worker starts a process for the next program while one runs. A
    program can have the check's temporary folders that are below one of ``writable``.
    """

    def __init__(
        self,
        *,
        isolation_level: str,
        description: str,
        make_worker: Callable[[int], Worker],
        release: Callable[[], None],
        workers: int,
        folder: str,
        ahead: bool = False,
        writable: tuple[str, ...] = ("/",),
    ) -> None:
        self.isolation_level = isolation_level
        self.description = description
        self.workers = workers
        self._make_worker = make_worker
        self._release = release
        self._folder = folder
        self._ahead = ahead
        self._writable = writable
        self._spares: dict[Worker, Execution] = {}
        self._watchdog = Watchdog()
        self._started = 0
        self._all: list[Worker] = []
        self._free: list[Worker] = []
        self._busy = 0
        self._alone = False
        self._closed = False
        self._changed = threading.Condition()
        self._on_start: Callable[[Limits], None] | None = None
        self._on_stuck: Callable[[str], object] | None = None
        self._is_fork = False
        self._dead: list[Callable[..., bool]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def load(
        self,
        program: str,
        *,
        entry_point: str,
        language: str = "python",
        limits: Limits = _DEFAULT_LIMITS,
        alone: bool = False,
        before_loan: Callable[[], None] | None = None,
    ) -> Iterator[Candidate]:
        """Load `program` and run it until the end of the ``with``.

        At most one program per worker can be loaded at the same time; further threads wait.

        Parameters
        ----------
        program : str
            Source text of a Python module, which may start a guest of another language.
        entry_point : str
            Name of the function or class that is called when the candidate is called.
        language : str
            The language of the guest, which decides what can be sent to the program.
        limits : Limits
            The limits of the program in this execution.
        alone : bool
            Wait until no other program runs, and let none start meanwhile. Used to confirm a
            time-out that occurred while other programs were running.
        before_loan : callable, optional
            Called before the program gets the first object of the check that is no plain value, and
            before an argument of the check is changed in place. It may raise to prevent that.

        Raises
        ------
        SandboxError
            If the jail fails. Failures of the program are not raised here.
        """
        with self._worker(alone=alone) as worker:

            def start(*, stdin: bytes | None = None, separate: bool = False) -> Execution:
                if self._on_start is not None:
                    self._on_start(limits)
                needs_own = stdin is not None or separate or network
                execution = self._take_spare(worker, None if needs_own else limits)
                if execution is None:
                    execution = Execution(
                        worker,
                        limits,
                        folder=self._folder,
                        stdin=stdin,
                        separate=separate,
                        network=network,
                    )
                self._started += 1
                self._prepare_next(limits)
                execution.on_stuck = self._on_stuck
                executions.append(execution)
                self._watchdog.add(execution.watch)
                return execution

            executions: list[Execution] = []
            network = any(word in program for word in _NETWORK_WORDS)
            candidate = Candidate(
                program,
                entry_point=entry_point,
                language=language,
                start=start,
                before_loan=before_loan,
                writable=self._writable,
            )
            try:
                yield candidate
                candidate.finish()
            finally:
                for execution in executions:
                    self._watchdog.remove(execution.watch)
                candidate.close()

    @contextlib.contextmanager
    def _worker(self, *, alone: bool) -> Iterator[Worker]:
        worker = self._acquire(alone=alone)
        try:
            yield worker
        finally:
            self._release_worker(worker, alone=alone)

    def _release_worker(self, worker: Worker, *, alone: bool = False) -> None:
        with self._changed:
            self._busy -= 1
            self._alone = False if alone else self._alone
            self._free.append(worker)
            self._changed.notify_all()

    def _acquire(self, *, alone: bool) -> Worker:
        with self._changed:
            if alone:
                self._changed.wait_for(lambda: not self._alone)
                self._alone = True
                self._changed.wait_for(lambda: self._busy == 0)
            else:
                self._changed.wait_for(lambda: not self._alone and self._busy < self.workers)
            if self._closed:
                raise SandboxError("the sandbox is closed")
            self._busy += 1
            if self._free:
                # The worker that was used last, since its memory is still in the processor's
                # caches.
                worker = self._with_spare() or self._free[-1]
                self._free.remove(worker)
                return worker
            worker = self._make_worker(len(self._all))
            self._all.append(worker)
            return worker

    def _with_spare(self) -> Worker | None:
        """Return an idle worker that has a spare process."""
        return next((worker for worker in self._free if worker in self._spares), None)

    def _take_spare(self, worker: Worker, limits: Limits | None) -> Execution | None:
        """Return the spare process of `worker`, and end it if it cannot take `limits`."""
        spare = self._spares.pop(worker, None)
        if spare is None or (limits is not None and spare.adopt(limits)):
            return spare
        with contextlib.suppress(SandboxError):
            spare.close()
        return None

    def _prepare_next(self, limits: Limits) -> None:
        """Start a spare process for the next program, if a worker is idle.

        It runs no program code before it gets its program. It is in another jail than the running
        program, so the two cannot see each other, and resource use is counted separately. If it
        does not start, the pool continues without it.
        """
        with self._changed:
            if not self._ahead or self._alone or self._with_spare():
                return
            if self._free:
                worker = self._free.pop()
            elif not self._is_fork and self._wants_another_jail():
                worker = self._make_worker(len(self._all))
                self._all.append(worker)
            else:
                return
            self._busy += 1
        try:
            with contextlib.suppress(SandboxError):
                self._spares[worker] = Execution(worker, limits, folder=self._folder)
        finally:
            self._release_worker(worker)

    def _drop_spares(self) -> None:
        for worker in [*self._spares]:
            self._take_spare(worker, None)

    def _wants_another_jail(self) -> bool:
        return len(self._all) < self.workers and self._started > _WORTH_ANOTHER_JAIL

    # -- use in a forked process ----------------------------------------------------------------

    def prepare_fork(self) -> list[int]:
        """Start the jails that a forked process will use, and return the descriptors to them.

        The forked process cannot start jails. While it exists, this process loads no program.

        Raises
        ------
        SandboxError
            If the pool is closed, or a jail does not start.
        """
        with self._changed:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            if self._busy:
                raise SandboxError("a program runs in this process, so no check can be forked")
            if not self._all or (self._ahead and self._wants_another_jail()):
                worker = self._make_worker(len(self._all))
                self._all.append(worker)
                self._free.append(worker)
            self._bury_dead(wait=False)
            self._drop_spares()
            for worker in self._all:
                worker.start()
            return [worker.descriptor for worker in self._all]

    def enter_fork(
        self,
        on_start: Callable[[Limits], None],
        on_stuck: Callable[[str], object],
        *,
        ahead: bool,
    ) -> None:
        """Make the pool usable in a forked process.

        Parameters
        ----------
        on_start
            Called with its limits before a program starts.
        on_stuck
            Called in another thread if the check does not return from a callback (see `Execution`).
        ahead
            Start a process for the next program while one runs.
        """
        self._on_stuck = on_stuck
        self._is_fork = True
        self._ahead = self._ahead and ahead
        self._on_start = on_start
        self._changed = threading.Condition()
        self._watchdog = Watchdog()
        # Started now, since Landlock holds only for the thread that asks for it and for those that
        # it starts. It would hide the memory of programs from the watchdog.
        self._watchdog.start()
        for worker in self._all:
            worker.forbid_start()

    def end_fork(self, bury: Callable[..., bool], *, programs: int, is_idle: bool) -> None:
        """End whatever a forked process, which was killed, has left in the jails.

        Parameters
        ----------
        bury
            Returns True if the process has ended, and waits for that if ``wait`` is True.
        programs
            Number of programs that the process has judged.
        is_idle
            True if the process was killed while it judged no program.
        """
        self._dead.append(bury)
        self._started += programs
        if programs > 1 or not is_idle:
            for worker in self._all:
                worker.reset(wait=not is_idle)

    def _bury_dead(self, *, wait: bool) -> None:
        self._dead = [bury for bury in self._dead if not bury(wait=wait)]

    def close(self) -> None:
        """End every jail. It may be called twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self._bury_dead(wait=True)
        self._watchdog.close()
        for worker in self._all:
            worker.stop()
        self._drop_spares()
        self._release()
