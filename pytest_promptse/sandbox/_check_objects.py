"""Objects that the check passes to the program.

The table of what may cross is `guest.standard`. Plain data and the types of its `KINDS` are sent by
value. Functions, classes and objects that the test code defines stay in this process, and so do the
objects in its `LENT`. The program receives a proxy of them, and each use of the proxy is a request
to this process. A program can use only public attributes. Other objects of the standard library and
of packages are refused, since their methods read and write files, run code or wait.
"""

from __future__ import annotations

import io
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_promptse.sandbox._handle import is_of_program
from pytest_promptse.sandbox._libraries import is_library
from pytest_promptse.sandbox.guest import objects, standard, wire
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.proxies import SPECIALS
from pytest_promptse.sandbox.guest.twins import CONTAINERS, Twins
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    copy,
    dataclasses,
    enum,
    functools,
    inspect,
    operator,
    random,
    types,
)
from pytest_promptse.sandbox.guest.wire import Built, WireError, words

if TYPE_CHECKING:
    from pytest_promptse.sandbox._lent_tasks import LentTasks

_HEAP_TYPE = 1 << 9
_BLOCK = 624
_MOST_BLOCKS = 1_000
"""Numbers in the state of a generator, and how often a program may draw as many."""
_OWN = "pytest_promptse.sandbox"
_INSTEAD = {
    "capsys": "read candidate.output",
    "capfd": "read candidate.output",
    "monkeypatch": "pass what the program shall use as an argument",
    "recwarn": "read candidate.output, where the program's warnings are",
    "caplog": "read candidate.output, where the program's log is",
    "_Environ": "the program has an environment of its own; pass dict(os.environ)",
    "socket": "pass an object of a class of the test that has recv and sendall",
    "ZipFile": "pass its content as bytes",
    "TarFile": "pass its content as bytes",
    "TemporaryDirectory": "pass its name",
    "ArgumentParser": "pass the arguments as a list",
    "ConfigParser": "pass its text, or a section as a dict",
    "ChainMap": "pass dict(chain_map)",
    "Template": "pass its text",
    "Connection": "pass a database in memory without files, temporary tables, own functions, "
    "factories and detect_types",
    "Element": "pass its text, as xml.etree.ElementTree.tostring gives it",
    "ElementTree": "pass its text, as xml.etree.ElementTree.tostring gives it",
    "DataFrame": "pass plain data, such as frame.to_dict('list')",
    "Series": "pass plain data, such as series.tolist()",
}
_FIXTURES = {
    "CaptureFixture": "capsys",
    "MonkeyPatch": "monkeypatch",
    "LogCaptureFixture": "caplog",
    "WarningsRecorder": "recwarn",
}
# Library classes from which a class of the test inherits what a program may use. Their methods have
# no effect outside of the object.
_HARMLESS = words(
    "builtins abc typing collections collections.abc _collections_abc enum dataclasses contextlib"
    " numbers string.Template types json.encoder json.decoder html.parser _markupbase"
    " logging.Handler logging.Filterer logging.Filter logging.Formatter logging.LoggerAdapter"
    " _io.StringIO _io.BytesIO"
)
_ABSTRACT = {
    "io.IOBase": io.IOBase,
    "collections.abc.Iterator": Iterator,
    "collections.abc.Awaitable": Awaitable,
    "collections.abc.AsyncIterator": AsyncIterator,
}
_OF_BUILTINS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_CHANGEABLE: tuple[Any, ...] = (*CONTAINERS, OrderedDict)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class CannotCrossError(WireError):
    """An object of the check cannot be sent to the program."""


class _Shape:
    """Stands for the class of a lent object of the library, which the program cannot use."""


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
        name = standard.name_of(value) or _library_name(value)
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
                _refuse(value, f"the class {value.__qualname__}")
            return self._new(value, *self._class(value))
        if _is_function(value):
            name, doc = getattr(value, "__name__", "function"), getattr(value, "__doc__", None)
            is_async = inspect.iscoroutinefunction(value)
            return self._new(value, "function", name, doc, _parameters(value), is_async)
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
                _refuse(value, what)
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
            return "namedtuple", name, list(cls._fields), defaults if _is_plain(defaults) else []
        plain = next((kind for kind in cls.__mro__ if kind in objects.CONTENT), None)
        if plain is not None:
            return "subclass", name, plain
        specials = SPECIALS & {special for kind in cls.__mro__[:-1] for special in kind.__dict__}
        shown: dict[str, Any] = {}
        if not is_library(cls.__module__):
            shown |= {"doc": cls.__doc__, "parameters": _parameters(cls)}
        if dataclasses.is_dataclass(cls):
            shown["fields"] = " ".join(field.name for field in dataclasses.fields(cls))
        bases = tuple(
            base
            for base in cls.__bases__
            if issubclass(base, BaseException)
            or (base is not object and standard.name_of(base) is None and _is_python_class(base))
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
            if base in _CHANGEABLE:
                return Built(wire.PROXY, (-1, "value", cls, content))
            # If the program sends its copy back, the check receives the original.
            return self._new(value, "value", cls, content)
        if not is_library(cls.__module__) and _is_python_class(cls):
            return self._new(value, "object", cls)
        # A bare object is a mark, such as that of a mapping pattern, and has no names to use.
        if cls is not object and lent_names(value) is None:
            _refuse(value, f"a value of type {_FIXTURES.get(cls.__name__, cls.__name__)}")
        return self._lent(value)

    def _lent(self, value: Any) -> Built:
        described = self._class(type(value))
        posed = value.__class__ if is_mock(type(value)) else None
        # A mock with a specification passes for an object of that class.
        if isinstance(posed, type) and not is_library(posed.__module__):
            described[-1]["posed"] = posed
        shape = self._new(_Shape(), *described)
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
        found = self.get(parts[0])
        if len(parts) == 1:
            return found
        kind, content = parts[1:]
        if not isinstance(found, type):
            raise WireError("a value of a class that is none")
        if kind == "member" and issubclass(found, enum.Enum) and type(content) is str:
            return found[content]
        if kind == "member" and issubclass(found, enum.Flag) and type(content) is int:
            return found(content)
        if kind != "value":
            raise WireError("an object of the check is malformed")
        if issubclass(found, tuple) and hasattr(found, "_make"):
            return found._make(content)
        base: Any = next((base for base in found.__mro__ if base in objects.CONTENT), None)
        if base is None or type(content) is not base:
            raise WireError("the content of a value does not fit its class")
        # A constructor of the class may take other arguments.
        made = base.__new__(found, content)
        if base in _CHANGEABLE:
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
        _require_own_code(value, operation)
        # A logger would write lines of the check, to a stream that the program may have too.
        kwargs.pop("stack_info", None)
        if operation == "call" and (isinstance(value, type) or _is_function(value)):
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
        if operation in SPECIALS and may_use(value, operation):
            return _special(value, operation)(*args, **kwargs)
        raise WireError("a request of the program is malformed")

    def _step(self, value: Awaitable[Any], *, cancel: bool) -> list[Any]:
        if self._tasks is None:
            from pytest_promptse.sandbox._lent_tasks import LentTasks  # noqa: PLC0415 - asyncio is heavy

            self._tasks = LentTasks()
        return self._tasks.step(value, cancel=cancel)

    def update(self, number: int, change: Any) -> None:
        """Take the change of a twin that the program has sent."""
        content, changes = change
        if content is not None and 0 <= number < len(self._objects):
            content = _accepted(self._objects[number], content)
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
        found = self._attribute(copied, "get", (name,))
        if callable(found) and issubclass(cls, _CHANGEABLE):
            raise CannotCrossError(
                f"the program uses {cls.__name__}.{name}, a method of a value that is copied; pass "
                "an object of a class without a base"
            )
        return found

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


# -- what a program may do with an object of the check -------------------------------------------


def _special(value: Any, name: str) -> Any:
    """Return a special method of `value`, as an operation finds it: in its class, not beyond it.

    Raises
    ------
    WireError
        If the class has none of this name. Its metaclass may have one.
    """
    cls = type(value)
    kind = next((kind for kind in cls.__mro__ if name in vars(kind)), None)
    if kind is None:
        raise WireError("a special method that the object does not have")
    found = vars(kind)[name]
    return found.__get__(value, cls) if hasattr(type(found), "__get__") else found


def is_mock(cls: type) -> bool:
    """Return whether `cls` is a class of `unittest.mock`, whose calls run in the check."""
    return any(kind.__module__ == "unittest.mock" for kind in cls.__mro__)


def _mock_of(value: Any) -> Any:
    """Return the mock in the function that ``create_autospec`` has made, and others as they are."""
    return getattr(value, "mock", None) if isinstance(value, types.FunctionType) else value


def is_configured(value: Any, operation: str, result: Any) -> bool:
    """Return whether `result` is what the check has set as the return value of a mock."""
    mock = _mock_of(value)
    if is_mock(type(mock)) and operation not in ("call", "__call__"):
        mock = getattr(mock, operation, None)
    return is_mock(type(mock)) and result is mock.return_value


def lent_names(value: Any) -> frozenset[str] | None:
    """Return the names of `standard.LENT` for an object of the library, or None."""
    cls = type(value)
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in cls.__mro__}
    names |= {f"types.{cls.__name__.title()}Type"} if cls.__module__ == "builtins" else set()
    names |= {name for name, kind in _ABSTRACT.items() if isinstance(value, kind)}
    found = [standard.LENT[name] for name in names if name in standard.LENT]
    return frozenset().union(*found) if found else None


def may_use(value: Any, name: str) -> bool:
    """Return whether a program may use this public name or special method of a lent object.

    It may use what the test code defines, and of a library class what `standard.LENT` names. Of a
    mock it may use everything except what configures the mock or asserts.
    """
    cls = type(value)
    if is_mock(cls):
        return name in SPECIALS or name not in _mock_names(cls)
    if cls is _Shape or isinstance(value, _FUNCTIONS):
        return False
    lent = lent_names(value) or frozenset()
    mro = value.__mro__ if isinstance(value, type) else cls.__mro__
    kind = next((kind for kind in mro if name in vars(kind)), cls)
    return (
        not is_library(kind.__module__)
        or (_is_harmless(kind) and kind is not cls)
        or name in lent
        or (name in SPECIALS and lent_names(value) is not None)
    )


def _is_harmless(kind: type) -> bool:
    return bool({kind.__module__, f"{kind.__module__}.{kind.__qualname__}"} & _HARMLESS)


def _accepted(value: Any, content: Any) -> Any:
    """Return what a moved object takes over of the content that the program has sent.

    It keeps its functions and the objects of the check, through which a check verifies. An object
    gives way to a value that is not the program's, as in `may_set`. A generator of random numbers
    goes on to a state that drawing from it reaches, since the check may draw its inputs.
    """
    kind = standard.kind_of(value)
    if kind in ("types.SimpleNamespace", "argparse.Namespace"):
        new = {**content[0]}
        for name, own in vars(value).items():
            is_replaced = name not in new or is_of_program(new[name])
            if not is_of_program(own) and (callable(own) or (is_replaced and not _is_plain(own))):
                new[name] = own
        return (new,)
    if kind == "random.Random":
        state = tuple(content)  # read once, since it may be of a class of the program
        return state if _is_reached(value.getstate(), *state) else value.getstate()
    return content


def _is_reached(start: Any, version: Any, words: tuple[int, ...], _gauss: Any) -> bool:
    """Return whether a generator in the state `start` reaches another one by drawing numbers."""
    if version != start[0] or (words[:-1] == start[1][:-1] and words[-1] < start[1][-1]):
        return False
    made = random.Random()
    made.setstate(start)
    for _ in range(_MOST_BLOCKS):
        if made.getstate()[1][:-1] == words[:-1]:
            return True
        made.getrandbits(32 * _BLOCK)
    return False


def _require_own_code(value: Any, operation: str) -> None:
    """Refuse to use an object if that runs code of a library with arguments of the program.

    This is the constructor or ``__call__`` that a class of the test inherits, and the function that
    a mock wraps or has as its side effect.

    Raises
    ------
    CannotCrossError
        If the object does this.
    """
    if isinstance(value, type):
        for name in ("__new__", "__init__") if operation == "call" else ():
            kind = next(kind for kind in value.__mro__ if name in vars(kind))
            if is_library(kind.__module__) and not _is_harmless(kind):
                raise CannotCrossError(
                    f"the program makes an object of {value.__name__}, whose {name} is that of "
                    f"{kind.__qualname__}; pass a function of the test that makes it"
                )
        return
    if operation == "__call__" and not may_use(value, operation):
        raise CannotCrossError(
            f"the program calls a {type(value).__name__}, which runs a function of a library; pass "
            "a function of the test that calls it"
        )
    mock = _mock_of(value)
    if is_mock(type(mock)):
        # What the module makes beside mocks has none of them.
        for effect in (getattr(mock, name, None) for name in ("_mock_wraps", "side_effect")):
            if not _is_own_effect(effect):
                name = getattr(effect, "__name__", type(effect).__name__)
                raise CannotCrossError(
                    f"a mock that calls {name} cannot be passed to the program; let it call a "
                    "function of the test"
                )


def _is_own_effect(effect: Any) -> bool:
    """Return whether what a mock calls is code of the test, or a type that crosses by name."""
    if isinstance(effect, type):
        return issubclass(effect, BaseException) or standard.name_of(effect) is not None
    if isinstance(effect, _FUNCTIONS):
        return effect.__module__ == "unittest.mock" or _is_function(effect)
    return (
        isinstance(effect, None | BaseException | Iterator)
        or type(effect) in objects.CONTENT
        or type(effect).__module__ == "unittest.mock"
        or not is_library(type(effect).__module__)
    )


def may_set(value: Any, name: str, new: Any) -> bool:
    """Return whether a program may assign `new` to a name that it may use.

    Assignment reaches data of an instance: never a method, a class or a function, through which a
    check verifies, nor what a class computes, such as a `functools.cached_property`. An object of
    the check is replaced by another one of the check at most. A mock takes only plain data, since
    each of its attributes is a mock that the check can ask for its calls.
    """
    kinds = type(value).__mro__
    descriptor = next((type(vars(kind)[name]) for kind in kinds if name in vars(kind)), None)
    # A descriptor without __set__ gives way to a value of the same name in the instance.
    if isinstance(value, type) or (
        hasattr(descriptor, "__get__") and not hasattr(descriptor, "__set__")
    ):
        return False
    if is_mock(type(value)):
        return _is_plain(new)
    if is_library(type(value).__module__):
        return False
    current = inspect.getattr_static(value, name, None)
    if isinstance(current, types.MemberDescriptorType):
        current = getattr(value, name, None)
    if callable(current):
        return False
    # An object of the check, which may verify, is not replaced by one of the program.
    return isinstance(current, property) or _is_plain(current) or not is_of_program(new)


def _mock_names(cls: type) -> frozenset[str]:
    """Return the names by which a check configures a mock of this class and asks for its calls."""
    mock_names = vars(sys.modules["unittest.mock"])
    # Each mock has a class of its own, to which a check adds properties.
    kinds = (kind for kind in cls.__mro__ if mock_names.get(kind.__name__) is kind)
    return frozenset({"method_calls"}.union(*map(vars, kinds)))


def _is_plain(value: Any) -> bool:
    try:
        encode(value)
    except WireError:
        return False
    return True


def _is_function(value: Any) -> bool:
    """Return whether `value` is a function or method that the test code defines or may lend.

    Raises
    ------
    CannotCrossError
        If it is a function or method of the standard library or of a package.
    """
    if type(value) is functools.partial:
        return _is_function(value.func)
    # A value of the test may compute its attributes.
    wrapped = inspect.getattr_static(value, "__wrapped__", None)
    if isinstance(wrapped, _FUNCTIONS) and callable(value) and is_library(_module_of(value)):
        return _is_function(wrapped)  # decorated, such as by functools.lru_cache
    if not isinstance(value, _FUNCTIONS):
        return False
    owner = getattr(value, "__self__", None)
    if (
        isinstance(value, types.FunctionType)
        or owner is None
        or isinstance(owner, types.ModuleType)
    ):
        is_of_test = not is_library(_module_of(value))
    elif isinstance(owner, type):
        is_of_test = not is_library(owner.__module__)
    else:
        is_of_test = type(owner) in objects.CONTENT or may_use(owner, value.__name__)
    if not is_of_test:
        _refuse(value, f"the function {value.__name__}")
    return True


def is_of_test(function: Any) -> bool:
    """Return whether a function, method or class is one of the test, and runs in the check."""
    if isinstance(function, type):
        return not is_library(function.__module__)
    try:
        return _library_name(function) is None and _is_function(function)
    except CannotCrossError:
        return False


def _module_of(function: Any) -> str:
    """Return the module whose code runs in a call. ``functools.wraps`` copies ``__module__``."""
    names = getattr(function, "__globals__", {})
    named = function if isinstance(function, _FUNCTIONS) else type(function)
    module = names.get("__name__") or getattr(named, "__module__", "")
    return module if isinstance(module, str) else ""


def _refuse(value: Any, what: str) -> NoReturn:
    kind = _FIXTURES.get(type(value).__name__, type(value).__name__)
    advice = _INSTEAD.get(
        kind, "pass plain data, or a function or an object of a class of the test"
    )
    raise CannotCrossError(f"{what} cannot be sent to the program; {advice}")


def _parameters(function: Any) -> list[list[Any]] | None:
    """Return the parameters of a function, or None if it has no signature.

    Defaults are left out, since they may be expected values.
    """
    try:
        return objects.parameters_of(function, keep_defaults=False)
    except (TypeError, ValueError):
        return None


def _is_python_class(cls: type) -> bool:
    return bool(cls.__flags__ & _HEAP_TYPE)


def _library_name(value: Any) -> tuple[str, str] | None:
    """Return module and name of a function or class of the standard library.

    The program uses its own, which runs in the jail.
    """
    if isinstance(value, type | types.FunctionType):
        module = value.__module__
    elif isinstance(value, _OF_BUILTINS):
        owner = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
        module = owner.__module__ if isinstance(owner, type) else value.__module__
    else:
        return None
    name = value.__qualname__
    if type(module) is not str or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    try:
        known = operator.attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return (module, name) if known == value else None
