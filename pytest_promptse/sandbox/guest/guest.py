"""The program's side of the talk, inside the jail: load, call, make plain, answer.

Everything here can be broken by the program, which lives in the same process. Nothing depends
on it: the worst that a program achieves is to answer with other plain data than it meant to.
"""

from __future__ import annotations

import atexit
import builtins
import inspect
import io
import linecache
import marshal
import operator
import os
import sys
import threading
import traceback
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from pytest_promptse.sandbox.guest import wire
from pytest_promptse.sandbox.guest.decode import decode
from pytest_promptse.sandbox.guest.encode import encode

MODULE = "program"
FILE = "program.py"
_MAX_TRACEBACK = 20_000
_MAX_MESSAGE = 2_000
_PIECE = 2**16
_MAX_OBJECTS = 100_000
_COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)


# The base's own methods, since a subclass may override what the constructors ask for.
_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__complex__),
    (str, str.__str__),
    (bytes, bytes.__bytes__),
    (bytearray, lambda value: bytearray(bytearray.__iter__(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (deque, lambda value: deque(deque.__iter__(value), value.maxlen)),
)


class _UnbindableError(Exception):
    """The call does not fit the signature of what the program defined."""


# Bare descriptors: making a socket object would cost every program what making ten others does.
def receive(channel: int) -> bytes:
    """Return the next message, or exit when the checker has gone."""
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
    """Send one message."""
    data = len(message).to_bytes(4, "big") + message
    sent = os.write(channel, data)
    while sent < len(data):
        sent += os.write(channel, data[sent : sent + _PIECE])


def plain(value: Any) -> Any:
    """Return plain data that says the same as `value`, or `value` itself where there is none.

    Subclasses decay to the built-in type they extend: what else they are stays in the program.
    """
    for base, convert in _BASES:
        if isinstance(value, base):
            return convert(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value


class Guest:
    """One program and the objects of it that the checker holds handles to."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.module = types.ModuleType(MODULE)
        self.objects: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.entry_point = ""
        self.changed: list[Any] | None = None
        self.requests: dict[str, Callable[..., Any]] = {
            "load": self.load,
            "script": self.script,
            "call": self.call,
            "next": self.next,
            "get": getattr,
            "set": setattr,
            "operate": self.operate,
        }

    # -- values ---------------------------------------------------------------------------------

    def send_value(self, value: Any) -> Any:
        simpler = plain(value)
        if type(simpler) is not type(value):
            return simpler
        number = self.numbers.get(id(value))
        if number is None:
            if len(self.objects) >= _MAX_OBJECTS:
                raise wire.WireError("the program hands out too many objects")
            number = len(self.objects)
            self.objects[number] = value
            self.numbers[id(value)] = number
        kind = "iterator" if isinstance(value, Iterator) else "object"
        name = getattr(type(value), "__name__", "object")
        return wire.Built(wire.REFERENCE, (number, kind, str(name)[:100]))

    def build(self, operation: int, parts: list[Any]) -> Any:
        if operation == wire.CALLBACK:
            number = parts[0]

            def callback(*args: Any, **kwargs: Any) -> Any:
                return self.call_back(number, args, kwargs)

            return callback
        return self.module if parts[0] < 0 else self.objects[parts[0]]

    def answer(self, *parts: Any) -> None:
        send(self.channel, encode(parts, self.send_value))

    def call_back(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.answer("callback", number, args, kwargs)
        return self.serve()

    # -- requests -------------------------------------------------------------------------------

    def serve(self) -> Any:
        """Answer requests until one ends this level: the return of a callback."""
        while True:
            request = decode(receive(self.channel), self.build)
            verb, *args = request
            if verb == "return":
                return args[0]
            if verb == "raise":
                raise getattr(builtins, args[0], RuntimeError)(*args[1])
            self.reply(verb, args)

    def reply(self, verb: str, args: list[Any]) -> None:
        try:
            self.changed = None
            value = self.requests[verb](*args)
            self.flush()
            self.answer("result", value, self.changed)
        except BaseException as error:  # noqa: BLE001 - whatever the program raises is an answer
            self.flush()
            self.report(error)

    def report(self, error: BaseException) -> None:
        lines = traceback.format_exception(type(error), error, _own_part(error))
        text = "".join(lines)[-_MAX_TRACEBACK:]
        kind = _KINDS.get(type(error), "raised")
        try:
            message = str(error)[:_MAX_MESSAGE]
        except Exception:  # noqa: BLE001 - the program's own __str__
            message = ""
        cls = type(error)
        bases = [base.__name__ for base in cls.__mro__ if base.__module__ == "builtins"]
        told = [cls.__name__, cls.__module__ == "builtins", bases, list(error.args), message, text]
        try:
            self.answer(kind, told, self.changed)
        except wire.WireError:
            told[3] = [message]
            self.answer(kind, told, None)

    @staticmethod
    def flush() -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue  # closed or replaced by the program

    def compile(self, source: str) -> types.CodeType | tuple[str, str, str]:
        linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
        try:
            return compile(source, FILE, "exec", dont_inherit=True)
        except _COMPILE_ERRORS as error:
            return ("syntax", f"{type(error).__name__}: {error}", traceback.format_exc(limit=0))

    def load(self, source: str, entry_point: str) -> Any:
        """Run the program as a module; None, or cause, detail and traceback of its failure."""
        self.entry_point = entry_point
        code = self.compile(source)
        if isinstance(code, tuple):
            return code
        self.module.__file__ = FILE
        sys.modules[MODULE] = self.module
        try:
            exec(code, self.module.__dict__)  # noqa: S102 - this is what the jail is for
        except BaseException as error:  # noqa: BLE001 - whatever the program raises is an answer
            cause = "resource" if isinstance(error, MemoryError) else "exception"
            text = "".join(traceback.format_exception(type(error), error, _own_part(error)))
            lines = traceback.format_exception_only(type(error), error)
            return (cause, f"while loading: {lines[-1].strip()[:_MAX_MESSAGE]}", text)
        target = self.module.__dict__.get(entry_point)
        if target is None:
            return ("interface", f"the program defines no {entry_point!r}", "")
        if not callable(target):
            kind = type(target).__name__
            return ("interface", f"{entry_point!r} is no function or class but {kind}", "")
        return None

    def script(self, source: str, arguments: list[str]) -> Any:
        """Run the program as ``python program.py`` would, and end with its exit status."""
        code = self.compile(source)
        if isinstance(code, tuple):
            return code
        self.module.__name__ = "__main__"
        self.module.__file__ = FILE
        sys.modules["__main__"] = self.module
        sys.argv = [FILE, *arguments]
        run_script(code, self.module.__dict__)
        return None

    def call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], track: bool) -> Any:
        """Call the entry point (None) or an object, and note the arguments if they change."""
        function = self.module.__dict__[self.entry_point] if target is None else target
        before = self.state(args, kwargs) if track else b""
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            inner = error.__traceback__ and error.__traceback__.tb_next
            if inner is None and not _binds(function, args, kwargs):
                raise _UnbindableError(str(error)) from None
            raise
        finally:
            if track and self.state(args, kwargs) != before:
                self.changed = [args, kwargs]

    def state(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Return bytes that are others when an argument has changed."""
        try:
            # In C. Version 2 looks at values alone, later ones at who else refers to them too.
            return marshal.dumps((args, kwargs), 2)
        except ValueError:  # a Decimal, a handle: nothing that marshal knows
            return encode([args, kwargs], self.send_value)

    def next(self, iterator: Iterator[Any], count: int) -> list[Any]:
        """Return up to `count` items; fewer say that there are no more."""
        items = []
        for _ in range(count):
            try:
                items.append(next(iterator))
            except StopIteration:
                break
        return items

    def operate(self, name: str, *operands: Any) -> Any:
        return _OPERATIONS[name](*operands)


_KINDS: dict[type[BaseException], str] = {
    _UnbindableError: "interface",
    wire.WireError: "unsayable",
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(operator, name)
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem")
    },
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "len": len,
    "iter": iter,
    "bool": bool,
    "str": str,
    "repr": repr,
    "enter": lambda manager: type(manager).__enter__(manager),
    "exit": lambda manager: type(manager).__exit__(manager, None, None, None),
}


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


def run_script(code: types.CodeType, names: dict[str, Any]) -> None:
    """Run `code` as the main program, threads and exit functions included, and end the process."""
    status = 0
    try:
        exec(code, names)  # noqa: S102 - this is what the jail is for
    except SystemExit as end:
        if isinstance(end.code, int):
            status = end.code & 0xFF
        elif end.code is not None:
            sys.stderr.write(f"{end.code}\n")
            status = 1
    except BaseException as error:  # noqa: BLE001 - as the interpreter does
        traceback.print_exception(type(error), error, _own_part(error))
        status = 1
    # What the interpreter itself does at the end of a program.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    Guest.flush()
    os._exit(status)


def open_streams() -> None:
    """Give the program fresh standard streams over the descriptors 0, 1 and 2."""
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, stream)
