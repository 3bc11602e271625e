"""Objects of the program that the check uses: their numbers, classes and exceptions.

A value that is neither plain data nor of a standard type stays in the program. The checker gets the
object's number and, once per class, a description of its class. The description has the class's
name, bases and special methods. The checker makes a local class of it, whose methods send requests
to the program.

An instance of a subclass of a plain type (a namedtuple, an ``IntEnum`` member, a subclass of dict)
is sent with its *content*. The content is the plain value that the base type's own methods read.
The checker compares by that content.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import standard, wire
from pytest_promptse.sandbox.guest.encode import STANDARD
from pytest_promptse.sandbox.guest.unpatched import __builtins__, dataclasses, enum, inspect, types
from pytest_promptse.sandbox.guest.wire import Built, WireError, words

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_OBJECTS = 100_000
_MAX_MESSAGE = 2_000
_MAX_ATTRIBUTES = 50
_MAX_CAUSES = 5
_MAX_NAMES = 300
_NAME_CHARS = 100

UNARY = words(
    "neg pos abs invert int float complex index round trunc floor ceil bytes len bool"
    " reversed iter next enter exit aiter anext aenter aexit await call str repr format fspath"
    " contains getitem setitem delitem missing get set delete set_name"
)
BINARY = words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or")
ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
SPECIALS = frozenset(
    f"__{name}__"
    for name in (
        *UNARY,
        *ORDER,
        "hash",
        "send",
        *(prefix + name for name in BINARY for prefix in ("", "r", "i")),
    )
)
"""Special methods that a local class gets if the program's class has them."""


def member_key(member: enum.Enum) -> Any:
    """Return the name of a member of an enumeration, or the bits of flags, which may have none."""
    return member.value if isinstance(member, enum.Flag) else member.name


# Methods of the plain base type are used, since a subclass may override those that constructors
# call.
CONTENT: dict[type, Callable[[Any], Any]] = {
    **{kind: take for kind, take in STANDARD.items() if kind is not range},
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    OrderedDict: lambda value: dict(OrderedDict.items(value)),
}


def content_of(value: Any, cls: type) -> tuple[type | None, Any]:
    """Return the plain type that `cls` extends and the value's content, or None twice."""
    for base in cls.__mro__:
        convert = CONTENT.get(base)
        if convert is not None:
            return base, convert(value)
        if base.__module__.startswith("pathlib") and base.__name__ == "PosixPath":
            return base, base.__str__(value)  # type: ignore[call-arg]
    return None, None


class Objects:
    """The objects of one program to which the checker has references, by number."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        self.entry_point = ""
        self._by_number: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._counts: dict[int, int] = {}
        self._described: set[int] = set()
        self._next = 0
        # Objects of the check to which the program has proxies: id of the proxy, number at the
        # checker.
        self.proxy_numbers: dict[int, int] = {}

    # -- references from the checker --------------------------------------------------------------

    def get(self, number: int) -> Any:
        """Return the object with this number."""
        if number == wire.MODULE_NUMBER:
            return self.module
        if number == wire.ENTRY_NUMBER:
            return self.module.__dict__[self.entry_point]
        return self._by_number[number]

    def release(self, released: list[list[int]]) -> list[int]:
        """Forget objects that the checker has released, unless they were sent again meanwhile.

        Returns
        -------
        list of int
            The numbers of the forgotten objects.
        """
        forgotten = []
        for number, count in released:
            left = self._counts.get(number, 0) - count
            if left > 0:
                self._counts[number] = left
            elif number in self._by_number:
                del self._numbers[id(self._by_number.pop(number))]
                del self._counts[number]
                forgotten.append(number)
        return forgotten

    # -- values for the checker -------------------------------------------------------------------

    def send_value(self, value: Any) -> Built:  # noqa: C901, PLR0911 - one return for each kind
        """Return the message parts for a value that is not plain data."""
        proxied = self.proxy_numbers.get(id(value))
        if proxied is not None:
            return Built(wire.PROXY, (proxied,))
        cls = type(value)
        if isinstance(value, type):
            name = standard.name_of(value)
            return Built(wire.NAMED, name) if name else self._class(value)
        if value is Ellipsis or value is NotImplemented:
            return Built(wire.NAMED, standard.name_of(value) or ())
        parts = standard.parts_of(value, to_program=False)
        if parts is not None:
            return Built(wire.STANDARD, parts)
        if isinstance(value, BaseException):
            return self.exception(value)
        of_check = self.proxy_numbers.get(id(cls))
        if of_check is not None:
            if isinstance(value, enum.Enum):
                return Built(wire.PROXY, (of_check, "member", member_key(value)))
            return Built(wire.PROXY, (of_check, "value", content_of(value, cls)[1]))
        if cls.__module__ == "numpy":
            array = numpy_parts(value)
            if array is not None:
                return Built(wire.ARRAY, array)
        number = self.number(value)
        base, content = content_of(value, cls)
        described = self._class(cls)
        if base is None:
            return Built(wire.REFERENCE, (number, described))
        return Built(wire.REFERENCE, (number, described, content))

    def has_number(self, value: Any) -> bool:
        """Return whether the checker has a reference to an object."""
        return id(value) in self._numbers

    def number(self, value: Any) -> int:
        """Return the number of an object that is about to be sent.

        The object is kept until released.
        """
        number = self._numbers.get(id(value))
        if number is None:
            if len(self._by_number) >= _MAX_OBJECTS:
                raise wire.TooLargeError("the program hands out too many objects")
            number = self._next
            self._next += 1
            self._by_number[number] = value
            self._numbers[id(value)] = number
        self._counts[number] = self._counts.get(number, 0) + 1
        return number

    def _class(self, cls: type) -> Built:
        number = self.number(cls)
        if number in self._described:
            return Built(wire.CLASS, (number,))
        self._described.add(number)
        self._counts[number] += (
            1  # kept for ever, since later values name the class by its number alone
        )
        bases = tuple(base for base in cls.__bases__ if base is not object)
        return Built(wire.CLASS, (number, *describe(cls), bases))

    def exception(self, error: BaseException, depth: int = 0) -> Built:
        """Return the parts of an exception: class, arguments, message, attributes, causes.

        `depth` is the number of exceptions whose cause or context `error` is; there is a limit. An
        exception of the program also gets a number.
        """
        cls = type(error)
        name = standard.name_of(cls)
        of_check = self.proxy_numbers.get(id(cls))
        if name:
            number, described = -1, Built(wire.NAMED, name)
        elif of_check is not None:
            number, described = -1, Built(wire.PROXY, (of_check,))
        else:
            number, described = self.number(error), self._class(cls)
        attributes = dict(list(_attributes(error).items())[:_MAX_ATTRIBUTES])
        causes: list[Any] = [None, None]
        if depth < _MAX_CAUSES:
            for place, cause in enumerate((error.__cause__, error.__context__)):
                if isinstance(cause, BaseException):
                    causes[place] = self.exception(cause, depth + 1)
        return Built(
            wire.EXCEPTION,
            (
                described,
                number,
                tuple(error.args),
                message_of(error),
                attributes,
                *causes,
                bool(error.__suppress_context__),
            ),
        )


def message_of(error: BaseException) -> str:
    """Return ``str(error)``, or an empty string if that raises."""
    try:
        return str.__str__(str(error))[:_MAX_MESSAGE]
    except Exception:  # noqa: BLE001 - the program's own __str__
        return ""


def _attributes(error: BaseException) -> dict[str, Any]:
    found = {
        name: value
        for name, value in getattr(error, "__dict__", {}).items()
        if type(name) is str and not name.startswith("__")
    }
    notes = getattr(error, "__notes__", None)
    if type(notes) is list:
        found["__notes__"] = [note for note in notes if type(note) is str]
    if isinstance(error, OSError):
        found |= {"filename": error.filename, "filename2": error.filename2}
    elif isinstance(error, ImportError | NameError | AttributeError):
        found["name"] = error.name
        if isinstance(error, ImportError):
            found["path"] = error.path
    return found


def describe(cls: type) -> tuple[Any, ...]:
    """Return name, module, documentation, specials, overrides, methods and fields of a class."""
    specials: set[str] = set()
    overrides: set[str] = set()
    methods: set[str] = set()
    base = next((kind for kind in cls.__mro__ if kind in CONTENT), None)
    own = True
    for kind in cls.__mro__[:-1]:
        names = kind.__dict__
        own = own and kind is not base
        specials |= SPECIALS & names.keys()
        if own:
            overrides |= names.keys()
        methods |= {
            name
            for name, value in names.items()
            if isinstance(value, _METHODS) and not name.startswith("__")
        }
    if base is not None:
        overrides &= {*dir(base)}
    else:
        overrides.clear()
    if getattr(cls, "__hash__", None) is None:
        specials.discard("__hash__")
        specials.add("!hash")
    fields = None
    if "__dataclass_fields__" in cls.__dict__:
        fields = " ".join(field.name for field in dataclasses.fields(cls))
    doc = cls.__doc__ if type(cls.__doc__) is str and cls.__module__ != "builtins" else None
    return (
        str(cls.__name__)[:_NAME_CHARS],
        str(cls.__qualname__)[:_NAME_CHARS],
        str(cls.__module__)[:_NAME_CHARS],
        doc and doc[:_MAX_MESSAGE],
        " ".join(sorted(specials)),
        " ".join(sorted(overrides)),
        " ".join(sorted(methods)[:_MAX_NAMES]),
        fields,
    )


def parameters_of(function: Any, *, keep_defaults: bool) -> list[list[Any]]:
    """Return name, kind, whether there is a default, and the default of each parameter.

    Without `keep_defaults` every default is None. ValueError or TypeError is raised if there is no
    signature.
    """
    empty = inspect.Parameter.empty
    return [
        [
            item.name,
            int(item.kind),
            item.default is not empty,
            item.default if keep_defaults and item.default is not empty else None,
        ]
        for item in inspect.signature(function).parameters.values()
    ]


def build_signature(parameters: list[list[Any]]) -> inspect.Signature:
    """Return the signature that `parameters_of` describes, without annotations."""
    empty = inspect.Parameter.empty
    kinds = list(inspect._ParameterKind)  # noqa: SLF001 - the enum has no other name
    return inspect.Signature(
        [
            inspect.Parameter(name, kinds[kind], default=default if has else empty)
            for name, kind, has, default in parameters
        ]
    )


def dataclass_fields(names: str) -> dict[str, Any]:
    """Return the ``__dataclass_fields__`` of a class with fields of these names.

    `dataclasses.make_dataclass` would take quadratic time for names that a program invents.
    """
    fields: dict[str, Any] = {}
    for name in names.split():
        made: Any = dataclasses.field()
        made.name, made.type = name, object
        made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001
        fields[name] = made
    return fields


_METHODS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    classmethod,
    staticmethod,
)


def numpy_parts(value: Any) -> tuple[Any, ...] | None:
    """Return dtype, shape (None for a scalar) and bytes of a numpy value. None for other values."""
    numpy = sys.modules["numpy"]
    is_array = type(value) is numpy.ndarray
    if not is_array and not isinstance(value, numpy.generic):
        return None
    dtype = value.dtype
    if dtype.kind not in "biufcmMSU" or dtype.fields is not None:
        return None
    shape = tuple(value.shape) if is_array else None
    return dtype.str, shape, numpy.ascontiguousarray(value).tobytes().decode("latin-1")


def build_array(parts: list[Any]) -> Any:
    """Return the numpy array or scalar that `numpy_parts` described.

    Raises
    ------
    WireError
        If the parts contradict each other, or numpy is not installed here.
    """
    try:
        import numpy as np  # noqa: PLC0415 - heavy; needed only where arrays are used
    except ImportError:
        raise WireError("numpy is not installed beside pytest") from None
    code, shape, data = parts
    if type(code) is not str or type(data) is not str or len(code) > 12:  # noqa: PLR2004
        raise WireError("an array is malformed")
    dtype = np.dtype(code)
    if dtype.kind not in "biufcmMSU" or dtype.fields is not None or dtype.subdtype is not None:
        raise WireError("an array of a type that cannot be sent")
    flat = np.frombuffer(data.encode("latin-1"), dtype=dtype).copy()
    if shape is None:
        return flat[0]
    if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
        raise WireError("an array is malformed")
    return flat.reshape(shape)
