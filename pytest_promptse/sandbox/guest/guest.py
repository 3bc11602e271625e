"""The guest: loads the program inside the jail, serves requests and sends answers.

The program runs in the same process and can change everything here. The checker does not trust the
guest: the worst effect is that a program answers with wrong data.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_promptse.sandbox.guest import containers, objects, standard, wire
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.proxies import ProxyFactory
from pytest_promptse.sandbox.guest.surroundings import Surroundings
from pytest_promptse.sandbox.guest.twins import Twins, may_be_twin, of_program, size_of
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    atexit,
    gc,
    inspect,
    io,
    linecache,
    operator,
    os,
    threading,
    traceback,
    types,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MODULE = "program"
FILE = "program.py"
_MOST_THREADS = 1_000
_MAX_TRACEBACK = 20_000
_MAX_MESSAGE = 2_000
_PIECE = 2**16
_COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)
_THREAD_STACK = 2 * 2**20
MAX_SHARED = 50
MAX_SHARED_ITEMS = 10_000
MAX_SHARED_BYTES = 256 * 2**10
"""Largest number of containers that are shared with the check, and the size limit of each."""


class _UnbindableError(Exception):
    """Marks a `TypeError` of a call that does not fit the signature of the callable."""


# Uses bare descriptors. Creating a socket object would take each program as long as ten others.
def receive(channel: int) -> bytes:
    """Return the next message, or exit if the checker has closed the channel."""
    size = int.from_bytes(_read(channel, 4), "big")
    return _read(channel, size)


def _read(channel: int, size: int) -> bytes:
    data = os.read(channel, size)
    if len(data) == size:
        return data
    parts = bytearray(data)
    while len(parts) < size:
        data = os.read(channel, size - len(parts))
        if not data:
            raise SystemExit(0)
        parts += data
    return bytes(parts)


def send(channel: int, message: bytes) -> None:
    """Send one message.

    `channel` is a file descriptor. The message has its length before it, as four bytes in network
    order.
    """
    data = len(message).to_bytes(4, "big") + message
    sent = os.write(channel, data)
    while sent < len(data):
        sent += os.write(channel, data[sent : sent + _PIECE])


class _Turn:
    """The right to use the channel.

    A thread of the program has it from a callback to its result, so that two threads never mix
    their messages. The thread that serves requests has it, except while the program runs.
    """

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._owner = 0
        self._level = 0

    def take(self) -> bool:
        """Wait for the turn. Return False if this thread has it already."""
        if self._owner == threading.get_ident():
            return False
        with self._free:
            self._free.wait_for(lambda: not self._owner)
            self._owner = threading.get_ident()
        return True

    def give(self) -> None:
        with self._free:
            self._owner = 0
            self._free.notify(_MOST_THREADS)  # `notify_all` calls `len`, which may be the check's

    def lend(self, work: Callable[..., Any], args: list[Any]) -> Any:
        """Return the result of `work`, which may use the channel from any thread meanwhile.

        The turn comes back when no request that was made meanwhile is open.
        """
        self._level += 1
        level = self._level
        self.give()
        try:
            return work(*args)
        finally:
            with self._free:
                self._free.wait_for(lambda: not self._owner and self._level == level)
                self._owner = threading.get_ident()
                self._level -= 1


class Guest:
    """One program and the requests about it."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.module = types.ModuleType(MODULE)
        self.objects = objects.Objects(self.module)
        self.twins = Twins()
        self.proxies = ProxyFactory(self.ask_check, self.objects.proxy_numbers, self.twins)
        # Errors that an iterator raised after the items that were already sent.
        self.postponed: dict[int, BaseException] = {}
        self.tasks: Any = None
        self.turn = _Turn()
        self.surroundings = Surroundings()
        # Of the last call: the arguments that the program kept, and their numbers.
        self.kept: list[tuple[Any, int]] = []
        self.requests: dict[str, Callable[..., Any]] = {
            "load": self.load,
            "script": self.script,
            "call": self.call,
            "method": self.method,
            "next": self.next,
            "get": lambda target, name: self.share(name, getattr(target, name)),
            "find": lambda name: self.share(name, self.find(name)),
            "entry": lambda: self.objects.get(wire.ENTRY_NUMBER),
            "set": setattr,
            "delete": delattr,
            "operate": self.operate,
            "isinstance": isinstance,
            "issubclass": issubclass,
            "content": lambda value: objects.content_of(value, type(value))[1],
            "names": dir,
            "signature": lambda value: objects.parameters_of(value, keep_defaults=True),
            "start": self.start,
            "step": self.step,
            "fail": _fail,
        }

    # -- values ---------------------------------------------------------------------------------

    def build(self, operation: int, parts: list[Any]) -> Any:
        if operation == wire.REFERENCE:
            found = self.objects.get(parts[0])
            return found if len(parts) == 1 else getattr(found, parts[1])
        if operation == wire.PROXY:
            return self.proxies.build(parts)
        if operation == wire.STANDARD:
            return standard.build(parts, in_program=True)
        if operation == wire.SHARED:
            return self.twins.add(parts[0], parts[1], is_new=parts[2])
        if operation == wire.NAMED:
            return operator.attrgetter(parts[1])(__import__(parts[0], fromlist=["_"]))
        if operation == wire.ARRAY:
            return objects.build_array(parts)
        raise wire.WireError(f"operation {operation} is unknown")

    def answer(self, *parts: Any, known: Any = None, made: list[Any] | None = None) -> None:
        send(self.channel, encode(parts, self.objects.send_value, known, made))

    def ask_check(self, number: int, operation: str, args: Any, kwargs: Any) -> Any:
        """Send the checker a request to use one of its own objects.

        `number` identifies the object, and `operation` names what to do with it, such as ``get`` or
        ``call``. The result is that of the operation; its exception is raised here.
        """
        is_new = self.turn.take()
        try:
            # A stream of the check would be flushed by a callback of its own.
            self.flush(sys.__stdout__, sys.__stderr__)
            self.send_state()
            if operation == "set":  # a container of the check may be assigned to where it was
                args = (args[0], self.twins.of_check(args[1]))
            made: list[Any] = []
            self.answer("callback", number, operation, args, kwargs, made=made)
            return self.serve(made)
        finally:
            if is_new:
                self.turn.give()

    def share(self, name: str, value: Any) -> Any:
        """Return a container with its object number, so that the check can send its changes back.

        `name` is that of the attribute or global. The value is returned unchanged if it is no
        container or array, too large, or a dunder attribute, or if `MAX_SHARED` are shared already.
        """
        known = self.twins.numbers_of_program()
        number = None if name.startswith("__") else self.shared_number(value)
        if number is None:
            return value
        return wire.Built(wire.SHARED, (number, value, number not in known))

    def shared_number(self, value: Any) -> int | None:
        """Return the number by which a container is shared from now on, or None if it is not."""
        if not may_be_twin(value) or len(value) > MAX_SHARED_ITEMS:
            return None
        try:
            size = size_of(value)
        except wire.WireError:  # the answer will report the error
            return None
        if size > MAX_SHARED_BYTES or len(self.twins.numbers_of_program()) >= MAX_SHARED:
            return None
        number = self.objects.number(value)
        self.twins.add(of_program(number), value)
        return number

    def send_state(self) -> None:
        """Send the check the program's effects, and the present content of what both sides have."""
        effects = self.surroundings.effects()
        if effects:
            self.answer("effects", effects)
        for number, twin, change in self.twins.changes():
            try:
                message = encode(change, self.objects.send_value, twin.parts.numbers)
            except wire.WireError:
                if number >= 0:
                    raise
                message = bytes(MAX_SHARED_BYTES + 1)
            if number < 0 and len(message) > MAX_SHARED_BYTES:
                self.twins.drop(number)
                continue
            self.answer("update", number)
            send(self.channel, message)
            twin.note()

    # -- requests -------------------------------------------------------------------------------

    def serve(self, known: Sequence[Any] = ()) -> Any:
        """Answer requests until one ends this level, which is the return of a callback.

        `known` are the values of the callback's message, which may have changed.
        """
        self.turn.take()
        failed: wire.WireError | None = None
        while True:
            made: list[Any] = []
            verb, *args = decode(receive(self.channel), self.build, known, made)
            if verb in ("return", "raise"):
                containers.update(known, args[1])
                if failed is not None:
                    raise failed
                if verb == "raise":
                    raise args[0]
                return args[0]
            if verb == "release":
                for number in self.objects.release(args[0]):
                    self.twins.drop(of_program(number))
            elif verb == "surroundings":
                self.surroundings.adopt(args[0])
            elif verb == "update":
                failed = self.take_update(args[0]) or failed
            elif failed is not None:
                self.reply("fail", [failed], containers.Containers(made))
            else:
                self.reply(verb, args, containers.Containers(made))

    def take_update(self, number: int) -> wire.WireError | None:
        """Take a change of what both have. Return the error that the next answer shall be."""
        change = decode(receive(self.channel), self.build, self.twins.parts(number))
        try:
            self.twins.update(number, *change)
        except wire.InUseError as error:
            return error
        return None

    def reply(self, verb: str, args: list[Any], passed: containers.Containers) -> None:
        """Answer a request, whose message had the values `passed`."""
        try:
            self.kept = []
            value = self.turn.lend(self.requests[verb], args)
            self.flush()
            self.send_state()
            if self.kept:
                self.answer("kept", self.kept, known=passed.numbers)
            # A container that the check has comes back as the check's own.
            is_shared = may_be_twin(value) and self.objects.has_number(value)
            value = self.share("", value) if is_shared else value
            self.answer("result", value, passed.changes(), known=passed.numbers)
        except BaseException as error:  # noqa: BLE001 - whatever the program raises is an answer
            reported = error
            self.flush()
            try:
                self.send_state()
            except wire.WireError as unsendable:
                reported = unsendable
            self.report(reported, passed)

    def report(self, error: BaseException, passed: containers.Containers) -> None:
        kind = "raised"
        if isinstance(error, _UnbindableError):
            kind, error = "interface", error.args[0]
        elif isinstance(error, wire.WireError):
            kind = "unsendable"
        lines = traceback.format_exception(type(error), error, _own_part(error))
        text = "".join(lines)[-_MAX_TRACEBACK:]
        try:
            number = self.objects.proxy_numbers.get(id(error))
            sent = wire.Built(wire.PROXY, (number,)) if number is not None else error
            self.answer(kind, sent, text, passed.changes(), known=passed.numbers)
        except (wire.WireError, RecursionError):
            cls = type(error)
            name = standard.name_of(cls) or ("builtins", "Exception")
            parts: Any = (
                (objects.message_of(error),),
                objects.message_of(error),
                {},
                None,
                None,
                False,
            )
            sent = wire.Built(wire.EXCEPTION, (wire.Built(wire.NAMED, name), -1, *parts))
            self.answer(kind, sent, text, {})

    @staticmethod
    def flush(*streams: Any) -> None:
        for stream in streams or {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
            try:
                stream.flush()  # type: ignore[union-attr]
            except (OSError, ValueError, AttributeError):
                continue  # closed or replaced by the program

    def compile(self, source: str) -> types.CodeType | tuple[str, str, str]:
        linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
        try:
            return compile(source, FILE, "exec", dont_inherit=True)
        except _COMPILE_ERRORS as error:
            return ("syntax", f"{type(error).__name__}: {error}", traceback.format_exc(limit=0))

    def load(self, source: str, entry_point: str) -> Any:
        """Run the program as a module.

        Return None, or True if the entry point is a class, or cause, detail and traceback of its
        failure. A message says before that it compiles, while nothing of it has run yet.
        """
        self.objects.entry_point = entry_point
        code = self.compile(source)
        if isinstance(code, tuple):
            return code
        self.answer(*wire.COMPILED)
        self.module.__file__ = FILE
        sys.modules[MODULE] = self.module
        try:
            exec(code, _with_builtins(self.module))  # noqa: S102 - this is what the jail is for
        except BaseException as error:  # noqa: BLE001 - whatever the program raises is an answer
            cause = "resource" if isinstance(error, MemoryError) else "exception"
            text = "".join(traceback.format_exception(type(error), error, _own_part(error)))
            lines = traceback.format_exception_only(type(error), error)
            detail = f"while loading: {lines[-1].strip()[:_MAX_MESSAGE]}"
            return (cause, detail, text[-_MAX_TRACEBACK:])
        target = self.module.__dict__.get(entry_point)
        if target is None:
            return ("interface", f"the program defines no {entry_point!r}", "")
        if not callable(target):
            kind = type(target).__name__
            return ("interface", f"{entry_point!r} is no function or class but {kind}", "")
        return isinstance(target, type) or None

    def script(self, source: str, arguments: list[str]) -> NoReturn:
        """Run the program as ``python program.py`` would, and end with its exit status.

        `arguments` are those after the file name. The only message says whether `source` compiles.
        """
        code = self.compile(source)
        if isinstance(code, tuple):
            self.answer("result", code, None)
            os._exit(1)
        self.answer(*wire.COMPILED)
        self.module.__name__ = "__main__"
        self.module.__file__ = FILE
        sys.modules["__main__"] = self.module
        sys.argv = [FILE, *arguments]
        run_script(code, self.module)

    def call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the entry point (None) or an object.

        `args` and `kwargs` come from the check. Containers among them that the program keeps are
        shared from now on.
        """
        function = self.module.__dict__[self.objects.entry_point] if target is None else target
        given = (*args, *kwargs.values())
        counts = list(map(sys.getrefcount, given))
        try:
            result = function(*args, **kwargs)
        except TypeError as error:
            inner = error.__traceback__ and error.__traceback__.tb_next
            if inner is None and not _binds(function, args, kwargs):
                raise _UnbindableError(error) from None
            raise
        now = list(map(sys.getrefcount, given))
        for argument, before, after in zip(given, counts, now, strict=True):
            if after > before + (argument is result):
                number = self.shared_number(argument)
                self.kept += [] if number is None else [(argument, number)]
        return result

    def method(self, target: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.call(getattr(target, name), args, kwargs)

    def find(self, name: str) -> Any:
        """Return an attribute of the entry point, or else a name of the module."""
        try:
            return getattr(self.objects.get(wire.ENTRY_NUMBER), name)
        except AttributeError:
            if name.startswith("__") or name not in self.module.__dict__:
                raise
            return self.module.__dict__[name]

    def next(self, iterator: Iterator[Any], count: int) -> tuple[list[Any], bool, Any]:
        """Return up to `count` items, whether the iterator is exhausted, and what it returned.

        An exception after the first item is raised by the next call, so that no item is lost. The
        third result is None while the iterator is not exhausted.
        """
        error = self.postponed.pop(id(iterator), None)
        if error is not None:
            raise error
        items: list[Any] = []
        for _ in range(count):
            try:
                items.append(next(iterator))
            except StopIteration as end:
                return items, True, end.value
            except BaseException as failed:
                if not items:
                    raise
                self.postponed[id(iterator)] = failed
                break
        return items, False, None

    def operate(self, name: str, *operands: Any) -> Any:
        return _OPERATIONS[name](*operands)

    # -- coroutines -----------------------------------------------------------------------------

    def start(self, awaitable: Any) -> Any:
        """Start a task for a coroutine in the program's own event loop."""
        import asyncio  # noqa: PLC0415 - heavy; only for programs with coroutines

        if self.tasks is None:
            self.tasks = asyncio.new_event_loop()
            asyncio.set_event_loop(self.tasks)

        async def wait() -> Any:
            return await awaitable

        return self.tasks.create_task(wait())

    def step(self, task: Any, seconds: float) -> list[Any]:
        """Run the loop until the task is done or `seconds` are over.

        Return the result in a list.
        """
        import asyncio  # noqa: PLC0415 - loaded by `start`

        self.tasks.run_until_complete(asyncio.wait({task}, timeout=seconds))
        return [task.result()] if task.done() else []


def _same_type_call(name: str) -> Callable[..., Any]:
    return lambda value, *args: getattr(type(value), name)(value, *args)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    # Operators are called as the interpreter calls them, so that it asks both operands.
    **{name: getattr(operator, name) for name in (*objects.ORDER, "neg", "pos", "abs", "invert")},
    **{name: getattr(operator, name) for name in ("contains", "getitem", "setitem", "delitem")},
    **{
        prefix + name: getattr(operator, prefix + name, None) or getattr(operator, f"{name}_")
        for name in objects.BINARY - {"divmod", "pow"}
        for prefix in ("", "i")
    },
    **{
        name: getattr(builtins, name)
        for name in wire.words(
            "int float complex bytes len bool hash iter str repr format round reversed divmod pow"
        )
    },
    **{
        name: _same_type_call(f"__{name}__")
        for name in wire.words(
            "aiter anext aenter aexit enter exit missing fspath trunc floor ceil"
            " get set delete set_name"
        )
    },
    "index": operator.index,
    "ipow": operator.ipow,
    "copy": lambda value: _copy().copy(value),
    "deepcopy": lambda value: _copy().deepcopy(value),
}


def _fail(error: BaseException) -> NoReturn:
    raise error


def _copy() -> Any:
    import copy  # noqa: PLC0415 - loaded already, by the warm interpreter

    return copy


def _own_part(error: BaseException) -> types.TracebackType | None:
    """Return the traceback from the program's first frame on."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename != FILE:
        entry = entry.tb_next
    return entry


def _binds(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # a built-in without a signature
        return True
    return True


def _with_builtins(module: types.ModuleType) -> dict[str, Any]:
    """Return the names of a module of the program, to which `exec` would add our built-ins."""
    module.__dict__["__builtins__"] = vars(builtins)
    return module.__dict__


def run_script(code: types.CodeType, module: types.ModuleType) -> NoReturn:
    """Run `code` as the main program, including threads and exit functions, and end the process.

    `module` is ``__main__``. The exit status is that of the interpreter: 1 after an exception,
    which is printed.
    """
    status = 0
    _open_device_names()
    try:
        exec(code, _with_builtins(module))  # noqa: S102 - this is what the jail is for
    except SystemExit as end:
        if isinstance(end.code, int):
            status = end.code & 0xFF
        elif end.code is not None:
            sys.stderr.write(f"{end.code}\n")
            status = 1
    except BaseException as error:  # noqa: BLE001 - as the interpreter does
        traceback.print_exception(type(error), error, _own_part(error))
        status = 1
    # These are the steps of the interpreter itself at the end of a program.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    _finalize(module)
    Guest.flush()
    os._exit(status)


def _finalize(module: types.ModuleType) -> None:
    """Delete the names of the main module in the interpreter's order, so that ``__del__`` runs."""
    names = module.__dict__
    for private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name.startswith("_") is private):
                names[name] = None
    gc.collect()


def _open_device_names() -> None:
    """Make ``open`` accept the names of the standard streams, since the jail has no ``/proc``."""
    import io as io_of_programs  # noqa: PLC0415 - the module itself, which programs use

    plain_open = io.open
    numbers = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

    def open_(file: Any, *args: Any, **kwargs: Any) -> Any:
        number = numbers.get(os.fspath(file)) if not isinstance(file, int) else None
        return plain_open(file if number is None else os.dup(number), *args, **kwargs)

    builtins.open = io_of_programs.open = open_


def open_streams() -> None:
    """Open new standard streams for the program on the descriptors 0, 1 and 2.

    A stream remembers whether its descriptor can seek. The program's descriptors are pipes, so the
    streams are created while these are pipes.
    """
    kept = [os.dup(number) for number in range(3)]
    reading, writing = os.pipe()
    for number, end in enumerate((reading, writing, writing)):
        os.dup2(end, number)
    reader = io.BufferedReader(io.FileIO(0, "r", closefd=False))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(reader, encoding="utf-8")  # type: ignore[misc]
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, stream)
        # The interpreter has two references to each stream, so a stream that a program replaces is
        # not closed.
        setattr(sys, f"__{name}__", stream)
    for number, end in enumerate(kept):
        os.dup2(end, number)
    for end in (*kept, reading, writing):
        os.close(end)
    # Sixty-four threads must fit into the limit on address space.
    threading.stack_size(_THREAD_STACK)
