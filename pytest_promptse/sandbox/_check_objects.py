"""Objects that the check passes to the program.

The table of what may cross is `guest.standard`. Plain data and the types of its `KINDS` are sent by
value. Functions, classes and objects that the test code defines stay in this process, and so do the
objects in its `LENT`. The program receives a proxy of them, and each use of the proxy is a request
to this process. A program can use only public attributes. Other objects of the standard library and
of packages are refused, since their methods read and write files, run code or wait.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._handle import bound_special
from pytest_promptse.sandbox._lending import (
    CHANGEABLE,
    FIXTURES,
    CannotCrossError,
    Shape,
    accepted,
    is_function,
    is_mock,
    is_of_test,
    is_plain,
    is_python_class,
    lent_names,
    library_name,
    may_set,
    may_use,
    parameters_of,
    refuse_crossing,
    require_own_code,
)
from pytest_promptse.sandbox._libraries import is_library
from pytest_promptse.sandbox.guest import objects, standard, wire
from pytest_promptse.sandbox.guest.proxies import SPECIALS
from pytest_promptse.sandbox.guest.twins import CONTAINERS, Twins
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    copy,
    dataclasses,
    enum,
    functools,
    inspect,
)
from pytest_promptse.sandbox.guest.wire import Built, WireError

if TYPE_CHECKING:
    from pytest_promptse.sandbox._lent_tasks import LentTasks

_OWN = "pytest_promptse.sandbox"


class CheckObjects:
    """The objects that the check has passed to one program, by number."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._tasks: LentTasks | None = None
        self.twins = Twins()

    def describe(self, value: Any) -> Built:
        """Return the message for a value that is not plain data.

        Raises
        ------
        CannotCrossError
            If it cannot be sent.
        """
        number = self._numbers.get(id(value))
        if number is not None:
            return Built(wire.PROXY, (number,))
        if is_mock(type(value)):  # may pretend to be of another class
            return self._lent(value)
        name = standard.name_of(value) or library_name(value)
        if name is not None:
            return Built(wire.NAMED, name)
        # The arguments of a partial may be expected values.
        is_opaque = type(value) is functools.partial and is_of_test(value.func)
        parts = None if is_opaque else standard.parts_of(value, to_program=True)
        if parts is not None:
            return self._by_value(value, parts)
        if type(value).__module__ == "numpy":
            array = objects.numpy_parts(value)
            if array is not None:
                return Built(wire.ARRAY, array)
        return self._object(value)

    def _object(self, value: Any) -> Built:
        if isinstance(value, type):
            if is_library(value.__module__) and not issubclass(value, BaseException):
                refuse_crossing(value, f"the class {value.__qualname__}")
            return self._new(value, *self._class(value))
        if is_function(value):
            name, doc = getattr(value, "__name__", "function"), getattr(value, "__doc__", None)
            is_async = inspect.iscoroutinefunction(value)
            return self._new(value, "function", name, doc, parameters_of(value), is_async)
        if isinstance(value, BaseException):
            return self._error(value)
        return self._instance(value)

    def _by_value(self, value: Any, parts: tuple[Any, ...]) -> Built:
        kind = standard.KINDS[parts[0]]
        if kind.update is None:
            return Built(wire.STANDARD, parts)
        if parts[0] == "sqlite3.Connection" and parts[1] is not None:
            what = standard.unsendable_of(value)
            if what:
                refuse_crossing(value, what)
        described = self._new(value, "moved_value", *parts)
        self.twins.add(described.parts[0], value)
        return described

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
            plain = next((kind for kind in cls.__mro__ if kind in objects.CONTENT), None)
            # The members of an enumeration with a constructor may be made of other values.
            fits = plain and all(type(value) is plain for value in members.values())
            return "enum", name, base, members, plain if fits and base == "Enum" else None
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            defaults = [*getattr(cls, "_field_defaults", {}).values()]
            return "namedtuple", name, list(cls._fields), defaults if is_plain(defaults) else []
        plain = next((kind for kind in cls.__mro__ if kind in objects.CONTENT), None)
        if plain is not None:
            return "subclass", name, plain
        values = {name: value for kind in cls.__mro__[-2::-1] for name, value in vars(kind).items()}
        specials = {name for name in SPECIALS & values.keys() if values[name] is not None}
        # As ``__hash__`` of a dataclass: the operation is impossible.
        shown: dict[str, Any] = {"without": " ".join(sorted(SPECIALS & values.keys() - specials))}
        if not is_library(cls.__module__):
            shown |= {"doc": cls.__doc__, "parameters": parameters_of(cls)}
        if dataclasses.is_dataclass(cls):
            shown["fields"] = " ".join(field.name for field in dataclasses.fields(cls))
        bases = tuple(
            base
            for base in cls.__bases__
            if issubclass(base, BaseException)
            or (base is not object and standard.name_of(base) is None and is_python_class(base))
        )
        return "class", name, " ".join(sorted(specials)), bases, shown

    def _error(self, error: BaseException) -> Built:
        cls = next(kind for kind in type(error).__mro__ if not kind.__module__.startswith(_OWN))
        # The text of an assertion would show the program the expected values.
        args: tuple[Any, ...] = () if isinstance(error, AssertionError) else error.args
        if isinstance(error, BaseExceptionGroup):
            args = (error.message, list(error.exceptions))
        elif not all(type(part) in wire.ATOM_TYPES for part in args):
            args = (objects.message_of(error),)
        names = {
            name: value
            for name, value in error.__dict__.items()
            if not name.startswith("_") and type(value) in (int, float, str, bool, type(None))
        }
        return self._new(error, "exception", cls, tuple(args), names)

    def _instance(self, value: Any) -> Built:
        cls = type(value)
        if isinstance(value, enum.Enum):
            return self._new(value, "member", cls, objects.member_key(value))
        base, content = objects.content_of(value, cls)
        if base in objects.CONTENT:
            if base in CHANGEABLE:
                return Built(wire.PROXY, (-1, "value", cls, content))
            # If the program sends its copy back, the check receives the original.
            return self._new(value, "value", cls, content)
        if not is_library(cls.__module__) and is_python_class(cls):
            return self._new(value, "object", cls)
        # A bare object is a mark, such as that of a mapping pattern, and has no names to use.
        if cls is not object and lent_names(value) is None:
            refuse_crossing(value, f"a value of type {FIXTURES.get(cls.__name__, cls.__name__)}")
        return self._lent(value)

    def _lent(self, value: Any) -> Built:
        described = self._class(type(value))
        posed = value.__class__ if is_mock(type(value)) else None
        # A mock with a specification passes for an object of that class.
        if isinstance(posed, type) and not is_library(posed.__module__):
            described[-1]["posed"] = posed
        shape = self._new(Shape(), *described)
        return self._new(value, "object", shape)

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
        passed = self.get(parts[0])
        if len(parts) == 1:
            return passed
        kind, content = parts[1:]
        if not isinstance(passed, type):
            raise WireError("a value of a class that is none")
        if kind == "member" and issubclass(passed, enum.Enum) and type(content) is str:
            return passed[content]
        if kind == "member" and issubclass(passed, enum.Flag) and type(content) is int:
            return passed(content)
        if kind != "value":
            raise WireError("an object of the check is malformed")
        if issubclass(passed, tuple) and hasattr(passed, "_make"):
            return passed._make(content)
        base: Any = next((base for base in passed.__mro__ if base in objects.CONTENT), None)
        if base is None or type(content) is not base:
            raise WireError("the content of a value does not fit its class")
        # A constructor of the class may take other arguments.
        made = base.__new__(passed, content)
        if base in CHANGEABLE:
            base.__init__(made, content)
        return made

    def use(  # noqa: PLR0911 - one return for each kind
        self, number: Any, operation: Any, args: Any, kwargs: Any
    ) -> Any:
        """Perform a request of the program on an object of the check.

        `number` is that of the object. `operation` is ``call``, ``get``, ``set``, ``delete``,
        ``copy``, ``deepcopy``, ``dir``, ``vars``, ``__next__``, ``__await__`` or a special method;
        `args` and `kwargs` are its arguments. None of them is trusted. Exceptions of the object are
        raised as they are.

        Raises
        ------
        WireError
            If the request is malformed or names something that a program may not use.
        """
        value = self.get(number)
        if type(args) is not tuple or type(kwargs) is not dict or type(operation) is not str:
            raise WireError("a request of the program is malformed")
        require_own_code(value, operation)
        # A logger would write lines of the check, to a stream that the program may have too.
        kwargs.pop("stack_info", None)
        if operation == "call" and (isinstance(value, type) or is_function(value)):
            return value(*args, **kwargs)
        if operation in ("get", "set", "delete"):
            return self._attribute(value, operation, args)
        if operation == "of_copy":
            return self._of_copy(value, *args)
        if operation in ("copy", "deepcopy", "dir", "vars"):
            return self._whole(value, operation)
        if operation == "__next__":
            try:
                return [next(value)]
            except StopIteration:
                return []
        if operation in ("__await__", "cancel") and isinstance(value, Awaitable):
            return self._step(value, cancel=operation == "cancel")
        # The class of its class may have one that it does not have.
        method = bound_special(value, operation) if operation in SPECIALS else None
        if method is None or not may_use(value, operation):
            raise WireError("a request of the program is malformed")
        return method(*args, **kwargs)

    def _step(self, value: Awaitable[Any], *, cancel: bool) -> list[Any]:
        if self._tasks is None:
            from pytest_promptse.sandbox._lent_tasks import LentTasks  # noqa: PLC0415 - asyncio is heavy

            self._tasks = LentTasks()
        return self._tasks.step(value, cancel=cancel)

    def update(self, number: int, change: Any) -> None:
        """Take the change of a twin that the program has sent."""
        content, changes = change
        if content is not None and 0 <= number < len(self._objects):
            content = accepted(self._objects[number], content)
        self.twins.update(number, content, changes)

    def close(self) -> None:
        """Cancel the coroutines that the program still awaits."""
        if self._tasks is not None:
            self._tasks.close()

    def _attribute(self, value: Any, operation: str, args: tuple[Any, ...]) -> Any:
        name = args[0]
        if type(name) is not str or name.startswith("_") or not may_use(value, name):
            raise AttributeError(f"the check keeps {name!r} to itself")
        if operation == "get":
            result = getattr(value, name)
            return self._twin(result) if type(result) in CONTAINERS else result
        new = args[1] if operation == "set" else None
        if not may_set(value, name, new):
            raise AttributeError(f"the check keeps {name!r} as it is")
        if operation == "set":
            setattr(value, name, new)
        else:
            delattr(value, name)
        return None

    def _of_copy(self, cls: Any, copied: Any, name: Any) -> Any:
        """Return what the check's class `cls` defines of a value, of which the program has a copy.

        Raises
        ------
        CannotCrossError
            If the attribute is a method that could change the value, which is a copy of the copy.
        """
        if type(copied) is not cls or type(name) is not str:
            raise WireError("a value of a class that is none")
        kind = next((kind for kind in cls.__mro__ if name in vars(kind)), None)
        if kind is None and name in getattr(copied, "__dict__", ()):
            kind = cls
        if kind is None or is_library(kind.__module__):
            # Such as str.format, which would read private names for the program.
            raise AttributeError(f"the check keeps {name!r} to itself")
        value = self._attribute(copied, "get", (name,))
        if callable(value) and issubclass(cls, CHANGEABLE):
            raise CannotCrossError(
                f"the program uses {cls.__name__}.{name}, a method of a value that is copied; pass "
                "an object of a class without a base"
            )
        return value

    def _whole(self, value: Any, operation: str) -> Any:
        if operation in ("copy", "deepcopy"):
            # Of a mock or of the library, it would be an object that nobody has lent.
            if is_mock(type(value)) or is_library(type(value).__module__):
                raise TypeError(f"cannot copy a {type(value).__name__} of the check")
            return getattr(copy, operation)(value)
        names = dir(value) if operation == "dir" else value.__dict__
        names = [name for name in names if name[:1] != "_" and may_use(value, name)]
        if operation == "dir":
            return names
        return {name: self._attribute(value, "get", (name,)) for name in names}

    def _twin(self, container: Any) -> Built:
        """Return the message for a container that the program may change."""
        number = self._numbers.get(id(container))
        if number is None:
            number = self._new(container).parts[0]
        return Built(wire.SHARED, (number, self.twins.add(number, container), False))
