"""Objects that the check passes to the program.

Plain data and standard types are sent by value. Functions, classes, iterators and objects of the
check's own classes stay in this process. The program receives a proxy, and each use of the proxy is
a request to this process. A program can use only the public attributes of these objects.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

from pytest_promptse.sandbox.guest import objects, standard, wire
from pytest_promptse.sandbox.guest.merge import merge
from pytest_promptse.sandbox.guest.proxies import SPECIALS
from pytest_promptse.sandbox.guest.wire import Built, WireError

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_REFUSED = (
    types.ModuleType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.CellType,
)
_OBJECTS = (Iterator, types.CoroutineType, io.TextIOBase, io.BufferedIOBase, io.RawIOBase)
_GENERATOR_NAMES = frozenset({"send", "throw", "close"})
_HEAP_TYPE = 1 << 9
_OWN = "pytest_promptse.sandbox"
_INSTEAD = {
    "capsys": "read candidate.output",
    "capfd": "read candidate.output",
    "monkeypatch": "pass what the program shall use as an argument",
    "recwarn": "read candidate.output, where the program's warnings are",
    "caplog": "read candidate.output, where the program's log is",
    "_Environ": "the program has an environment of its own; pass dict(os.environ)",
}


class CannotCrossError(WireError):
    """An object of the check cannot be sent to the program."""


class CheckObjects:
    """The objects that the check has passed to one program, by number."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def describe(self, value: Any) -> Built:  # noqa: PLR0911 - one return for each kind
        """Return the message for a value that is not plain data.

        Raises
        ------
        CannotCrossError
            If it cannot be sent.
        """
        number = self._numbers.get(id(value))
        if number is not None:
            return Built(wire.PROXY, (number,))
        name = standard.name_of(value) or _function_name(value)
        if name is not None:
            return Built(wire.NAMED, name)
        parts = standard.standard_parts(value, to_program=True)
        if parts is not None:
            return Built(wire.STANDARD, parts)
        if type(value).__module__ == "numpy":
            array = objects.numpy_parts(value)
            if array is not None:
                return Built(wire.ARRAY, array)
        if isinstance(value, type):
            return self._new(value, *self._class(value))
        if isinstance(value, _FUNCTIONS):
            doc = getattr(value, "__doc__", None)
            return self._new(value, "function", getattr(value, "__name__", "function"), doc)
        if isinstance(value, BaseException):
            return self._error(value)
        return self._instance(value)

    def _new(self, value: Any, *description: Any) -> Built:
        self._objects.append(value)
        self._numbers[id(value)] = len(self._objects) - 1
        return Built(wire.PROXY, (len(self._objects) - 1, *description))

    def _class(self, cls: type) -> tuple[Any, ...]:
        name = cls.__name__
        if issubclass(cls, enum.Enum):
            members = {key: member.value for key, member in cls.__members__.items()}
            kinds = (enum.IntEnum, enum.StrEnum, enum.IntFlag, enum.Flag)
            base = next((kind.__name__ for kind in kinds if issubclass(cls, kind)), "Enum")
            return "enum", name, base, members
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return "namedtuple", name, list(cls._fields)
        plain = next((kind for kind in cls.__mro__ if kind in objects.CONTENT), None)
        if plain is not None:
            return "subclass", name, plain
        specials = SPECIALS & {special for kind in cls.__mro__[:-1] for special in kind.__dict__}
        fields = None
        if dataclasses.is_dataclass(cls):
            fields = " ".join(field.name for field in dataclasses.fields(cls))
        bases = tuple(
            base
            for base in cls.__bases__
            if issubclass(base, BaseException)
            or (base is not object and standard.name_of(base) is None and _is_python_class(base))
        )
        return "class", name, " ".join(sorted(specials)), fields, bases

    def _error(self, error: BaseException) -> Built:
        cls = next(kind for kind in type(error).__mro__ if not kind.__module__.startswith(_OWN))
        # The text of an assertion would show the program the expected values.
        args = () if isinstance(error, AssertionError) else error.args
        if not all(type(part) in wire.ATOM_TYPES for part in args):
            args = (_text(error),)
        names = {
            name: value
            for name, value in error.__dict__.items()
            if not name.startswith("_") and type(value) in (int, float, str, bool, type(None))
        }
        return self._new(error, "exception", cls, tuple(args), names)

    def _instance(self, value: Any) -> Built:
        cls = type(value)
        if isinstance(value, enum.Enum):
            return self._new(value, "member", cls, value.name)
        base, content = objects.content_of(value, cls)
        if base is not None:
            return Built(wire.PROXY, (-1, "value", cls, content))
        self._refuse_unsendable(value)
        return self._new(value, "object", cls)

    @staticmethod
    def _refuse_unsendable(value: Any) -> None:
        cls = type(value)
        # The class of a fixture has a name that tells the user what to do.
        kind = {"CaptureFixture": "capsys", "MonkeyPatch": "monkeypatch"}.get(cls.__name__)
        kind = kind or {"LogCaptureFixture": "caplog", "WarningsRecorder": "recwarn"}.get(
            cls.__name__, cls.__name__
        )
        is_refused = isinstance(value, _REFUSED) or kind in _INSTEAD
        is_refused = is_refused or cls.__module__.partition(".")[0] in ("_pytest", "pytest")
        fits = _is_python_class(cls) or isinstance(value, _OBJECTS)
        if is_refused or not fits:
            advice = _INSTEAD.get(kind, "pass plain data, a function or an object of a class")
            raise CannotCrossError(
                f"a value of type {cls.__name__} cannot be sent to the program; {advice}"
            )

    # -- requests of the program ----------------------------------------------------------------

    def get(self, number: Any) -> Any:
        """Return the check's object with this number.

        Raises
        ------
        WireError
            If the check passed no object with this number.
        """
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise WireError("an object that the check never passed")
        return self._objects[number]

    def build(self, parts: list[Any]) -> Any:
        """Return a value that the program sent: the check's object, or an instance of its class."""
        found = self.get(parts[0])
        if len(parts) == 1:
            return found
        kind, content = parts[1:]
        if not isinstance(found, type):
            raise WireError("a value of a class that is none")
        if kind == "member" and issubclass(found, enum.Enum) and type(content) is str:
            return found[content]
        if kind != "value":
            raise WireError("an object of the check is malformed")
        if issubclass(found, tuple) and hasattr(found, "_make"):
            return found._make(content)
        base = next((base for base in found.__mro__ if base in objects.CONTENT), None)
        if base is None or type(content) is not base:
            raise WireError("the content of a value does not fit its class")
        return found(content)

    def use(self, number: Any, operation: Any, args: Any, kwargs: Any) -> Any:
        """Perform a request of the program on an object of the check.

        `number` is that of the object. `operation` is ``call``, ``get``, ``set``, ``merge``,
        ``__next__``, ``__await__`` or a special method; `args` and `kwargs` are its arguments. None
        of them is trusted. Exceptions of the object are raised as they are.

        Raises
        ------
        WireError
            If the request is malformed or names something that a program may not use.
        """
        value = self.get(number)
        if type(args) is not tuple or type(kwargs) is not dict or type(operation) is not str:
            raise WireError("a request of the program is malformed")
        if operation == "call" and callable(value):
            return value(*args, **kwargs)
        if operation in ("get", "set", "merge"):
            return self._attribute(value, operation, args)
        if operation == "__next__":
            try:
                return [next(value)]
            except StopIteration:
                return []
        if operation == "__await__":
            return _run(value)
        if operation in SPECIALS:
            return getattr(type(value), operation)(value, *args, **kwargs)
        raise WireError("a request of the program is malformed")

    @staticmethod
    def _attribute(value: Any, operation: str, args: tuple[Any, ...]) -> Any:
        name = args[0]
        is_hidden = type(name) is not str or name.startswith("_") or isinstance(value, _FUNCTIONS)
        if isinstance(value, types.GeneratorType | types.CoroutineType):
            is_hidden = name not in _GENERATOR_NAMES
        if is_hidden:
            raise AttributeError(f"the check keeps {name!r} to itself")
        if operation == "get":
            return getattr(value, name)
        if operation == "merge":
            merged = merge(getattr(value, name), args[1])
            if merged is getattr(value, name):
                return None
            args = (name, merged)
        setattr(value, *args)
        return None


def _run(awaitable: Any) -> Any:
    """Return the result of a coroutine of the check that the program awaits."""
    import asyncio  # noqa: PLC0415 - heavy; only for checks with coroutines

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # The check's own event loop is blocked while it waits for the program, so a loop in another
    # thread runs the coroutine.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the check's own __str__
        return ""


def _is_python_class(cls: type) -> bool:
    return bool(cls.__flags__ & _HEAP_TYPE)


def _function_name(value: Any) -> tuple[str, str] | None:
    """Return module and name of a standard-library function, which runs in the jail instead."""
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return None
    module, name = value.__module__, value.__qualname__
    if type(module) is not str or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    owner = standard.loaded(f"{module}.{name}") if "." not in name else None
    return (module, name) if owner is value else None
