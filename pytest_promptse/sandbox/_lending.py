"""What may be lent to a program: which objects of the check cross, and what it may do with them.

The library's own objects are described in `guest.standard`. Of what the test code defines, a
program may use the public names. Assignment reaches data, and never what a check verifies with.
"""

from __future__ import annotations

import io
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any, NoReturn

from pytest_promptse.sandbox._handle import is_of_program
from pytest_promptse.sandbox._libraries import is_library
from pytest_promptse.sandbox.guest import objects, standard
from pytest_promptse.sandbox.guest.encode import encode
from pytest_promptse.sandbox.guest.proxies import SPECIALS
from pytest_promptse.sandbox.guest.twins import CONTAINERS
from pytest_promptse.sandbox.guest.unpatched import (
    __builtins__,
    functools,
    inspect,
    operator,
    random,
    types,
)
from pytest_promptse.sandbox.guest.wire import WireError, words

_HEAP_TYPE = 1 << 9
_BLOCK = 624
_MOST_BLOCKS = 1_000
"""Numbers in the state of a generator, and how often a program may draw as many."""
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
FIXTURES = {
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
CHANGEABLE: tuple[Any, ...] = (*CONTAINERS, OrderedDict)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class CannotCrossError(WireError):
    """An object of the check cannot be sent to the program."""


class Shape:
    """Stands for the class of a lent object of the library, which the program cannot use."""


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
    if cls is Shape or isinstance(value, _FUNCTIONS):
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


def accepted(value: Any, content: Any) -> Any:
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
            if not is_of_program(own) and (callable(own) or (is_replaced and not is_plain(own))):
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


def require_own_code(value: Any, operation: str) -> None:
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
        # `unittest.mock` also has classes whose objects lack these attributes, such as `ANY`.
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
        return effect.__module__ == "unittest.mock" or is_function(effect)
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
        return is_plain(new)
    if is_library(type(value).__module__):
        return False
    current = inspect.getattr_static(value, name, None)
    if isinstance(current, types.MemberDescriptorType):
        current = getattr(value, name, None)
    if callable(current):
        return False
    # An object of the check, which may verify, is not replaced by one of the program.
    return isinstance(current, property) or is_plain(current) or not is_of_program(new)


def _mock_names(cls: type) -> frozenset[str]:
    """Return the names by which a check configures a mock of this class and asks for its calls."""
    mock_names = vars(sys.modules["unittest.mock"])
    # Each mock has a class of its own, to which a check adds properties.
    kinds = (kind for kind in cls.__mro__ if mock_names.get(kind.__name__) is kind)
    return frozenset({"method_calls"}.union(*map(vars, kinds)))


def is_plain(value: Any) -> bool:
    try:
        encode(value)
    except WireError:
        return False
    return True


def is_function(value: Any) -> bool:
    """Return whether `value` is a function or method that the test code defines or may lend.

    Raises
    ------
    CannotCrossError
        If it is a function or method of the standard library or of a package.
    """
    if type(value) is functools.partial:
        return is_function(value.func)
    # A value of the test may compute its attributes.
    wrapped = inspect.getattr_static(value, "__wrapped__", None)
    if isinstance(wrapped, _FUNCTIONS) and callable(value) and is_library(_module_of(value)):
        return is_function(wrapped)  # decorated, such as by functools.lru_cache
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
        refuse_crossing(value, f"the function {value.__name__}")
    return True


def is_of_test(function: Any) -> bool:
    """Return whether a function, method or class is one of the test, and runs in the check."""
    if isinstance(function, type):
        return not is_library(function.__module__)
    try:
        return library_name(function) is None and is_function(function)
    except CannotCrossError:
        return False


def _module_of(function: Any) -> str:
    """Return the module whose code runs in a call. ``functools.wraps`` copies ``__module__``."""
    names = getattr(function, "__globals__", {})
    named = function if isinstance(function, _FUNCTIONS) else type(function)
    module = names.get("__name__") or getattr(named, "__module__", "")
    return module if isinstance(module, str) else ""


def refuse_crossing(value: Any, what: str) -> NoReturn:
    kind = FIXTURES.get(type(value).__name__, type(value).__name__)
    advice = _INSTEAD.get(
        kind, "pass plain data, or a function or an object of a class of the test"
    )
    raise CannotCrossError(f"{what} cannot be sent to the program; {advice}")


def parameters_of(function: Any) -> list[list[Any]] | None:
    """Return the parameters of a function, or None if it has no signature.

    Defaults are left out, since they may be expected values.
    """
    try:
        return objects.parameters_of(function, keep_defaults=False)
    except (TypeError, ValueError):
        return None


def is_python_class(cls: type) -> bool:
    return bool(cls.__flags__ & _HEAP_TYPE)


def library_name(value: Any) -> tuple[str, str] | None:
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
