"""Types of the standard library that are sent by value, and objects that are sent by name.

To send a value, its type's module is looked up among the loaded modules. If the module is not
loaded, no value of the type can exist. The module is only imported to build a received value.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.wire import WireError, words

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ADDRESSES = 2**20

# -- by value ---------------------------------------------------------------------------------


def _address(value: Any) -> tuple[Any, ...] | None:
    return None if getattr(value, "num_addresses", 1) > _MAX_ADDRESSES else (str(value),)


def _memory(value: Any) -> tuple[Any, ...] | None:
    return (value.tobytes(), value.format) if value.ndim == 1 else None


_PARTS: dict[str, Callable[[Any], tuple[Any, ...] | None]] = {
    "collections.Counter": lambda value: (dict(value),),
    "collections.OrderedDict": lambda value: (dict(type(value).items(value)),),
    "collections.defaultdict": lambda value: (value.default_factory, dict(value)),
    "uuid.UUID": lambda value: (value.int,),
    "pathlib.PurePosixPath": lambda value: (str(value),),
    "pathlib.PureWindowsPath": lambda value: (str(value),),
    "ipaddress.IPv4Address": _address,
    "ipaddress.IPv6Address": _address,
    "ipaddress.IPv4Network": _address,
    "ipaddress.IPv6Network": _address,
    "ipaddress.IPv4Interface": lambda value: (str(value),),
    "ipaddress.IPv6Interface": lambda value: (str(value),),
    "array.array": lambda value: (value.typecode, value.tobytes()),
    "builtins.memoryview": _memory,
    "builtins.slice": lambda value: (value.start, value.stop, value.step),
    "builtins.dict_keys": lambda value: (list(value),),
    "builtins.dict_values": lambda value: (list(value),),
    "builtins.dict_items": lambda value: ([part for pair in value for part in pair],),
    "builtins.mappingproxy": lambda value: (dict(value),),
    "datetime.timezone": lambda value: (value.utcoffset(None),),
}
"""The parts of a value in a message, or None if it is too large to be sent by value."""


def _counted(parts: list[Any], kind: type) -> Any:
    return kind(take(parts, dict)[0])


def _defaultdict(parts: list[Any]) -> Any:
    factory, given = parts
    if type(given) is not dict or not (factory is None or callable(factory)):
        raise WireError("a defaultdict is malformed")
    return find("collections", "defaultdict")(factory, given)


def _array(parts: list[Any]) -> Any:
    typecode, data = take(parts, str, bytes)
    if typecode == "u":
        raise WireError("an array of this type cannot be sent")
    return find("array", "array")(typecode, data)


def _view(parts: list[Any]) -> memoryview:
    data, code = take(parts, bytes, str)
    return memoryview(data) if code == "B" else memoryview(data).cast(code)


def _text(name: str) -> Callable[[list[Any]], Any]:
    return lambda parts: find(*name.rsplit(".", 1))(take(parts, str)[0])


def _address_from(name: str) -> Callable[[list[Any]], Any]:
    def build(parts: list[Any]) -> Any:
        value = find(*name.rsplit(".", 1))(take(parts, str)[0])
        if getattr(value, "num_addresses", 1) > _MAX_ADDRESSES:
            raise WireError("a network has too many addresses")
        return value

    return build


def _items(parts: list[Any]) -> Any:
    (flat,) = take(parts, list)
    return dict(zip(flat[::2], flat[1::2], strict=True)).items()


_BUILD: dict[str, Callable[[list[Any]], Any]] = {
    "collections.Counter": lambda parts: _counted(parts, find("collections", "Counter")),
    "collections.OrderedDict": lambda parts: _counted(parts, find("collections", "OrderedDict")),
    "collections.defaultdict": _defaultdict,
    "uuid.UUID": lambda parts: find("uuid", "UUID")(int=take(parts, int)[0]),
    **{
        name: _text(name)
        for name in ("pathlib.PurePosixPath", "pathlib.PureWindowsPath", "pathlib.PosixPath")
    },
    **{
        name: _address_from(name)
        for name in (
            "ipaddress.IPv4Address",
            "ipaddress.IPv6Address",
            "ipaddress.IPv4Network",
            "ipaddress.IPv6Network",
            "ipaddress.IPv4Interface",
            "ipaddress.IPv6Interface",
        )
    },
    "array.array": _array,
    "builtins.memoryview": _view,
    "builtins.slice": lambda parts: slice(*parts),
    "builtins.dict_keys": lambda parts: dict.fromkeys(take(parts, list)[0]).keys(),
    "builtins.dict_values": lambda parts: dict(enumerate(take(parts, list)[0])).values(),
    "builtins.dict_items": _items,
    "builtins.mappingproxy": lambda parts: type(type.__dict__)(take(parts, dict)[0]),
    "datetime.timezone": lambda parts: find("datetime", "timezone")(parts[0]),
}

# Sent only from the check to the program. A pattern decides how long their methods run, or they
# contain functions.
_TO_PROGRAM_PARTS: dict[str, Callable[[Any], tuple[Any, ...] | None]] = {
    "pathlib.PosixPath": lambda value: (str(value),),
    "re.Pattern": lambda value: (value.pattern, value.flags),
    "io.StringIO": lambda value: (value.getvalue(), value.tell()),
    "io.BytesIO": lambda value: (value.getvalue(), value.tell()),
    "functools.partial": lambda value: (value.func, value.args, value.keywords),
    "operator.itemgetter": lambda value: value.__reduce__()[1],
    "operator.attrgetter": lambda value: value.__reduce__()[1],
    "types.SimpleNamespace": lambda value: (vars(value),),
    "zoneinfo.ZoneInfo": lambda value: (value.key,),
}


def _stream(name: str) -> Callable[[list[Any]], Any]:
    def build(parts: list[Any]) -> Any:
        stream = find("io", name)(parts[0])
        stream.seek(parts[1])
        return stream

    return build


_TO_PROGRAM_BUILD: dict[str, Callable[[list[Any]], Any]] = {
    "re.Pattern": lambda parts: find("re", "compile")(*parts),
    "io.StringIO": _stream("StringIO"),
    "io.BytesIO": _stream("BytesIO"),
    "functools.partial": lambda parts: find("functools", "partial")(
        parts[0], *parts[1], **parts[2]
    ),
    "operator.itemgetter": lambda parts: find("operator", "itemgetter")(*parts),
    "operator.attrgetter": lambda parts: find("operator", "attrgetter")(*parts),
    "types.SimpleNamespace": lambda parts: find("types", "SimpleNamespace")(**parts[0]),
    "zoneinfo.ZoneInfo": lambda parts: find("zoneinfo", "ZoneInfo")(parts[0]),
}
_ALIASES = {"_io.StringIO": "io.StringIO", "_io.BytesIO": "io.BytesIO"}


def standard_parts(value: Any, *, to_program: bool = False) -> tuple[Any, ...] | None:
    """Return the type name and parts of `value`, or None if it is not sent by value.

    Objects of a few further types are sent by value only `to_program`.
    """
    cls = type(value)
    name = f"{cls.__module__}.{cls.__qualname__}"
    name = _ALIASES.get(name, name)
    if name.startswith("pathlib._local."):  # Python 3.13
        name = f"pathlib.{cls.__name__}"
    take_apart = _PARTS.get(name) or (_TO_PROGRAM_PARTS.get(name) if to_program else None)
    if take_apart is None or (not name.startswith("builtins.") and loaded(name) is not cls):
        return None
    parts = take_apart(value)
    return None if parts is None else (name, *parts)


def build_standard(
    parts: list[Any], *, in_program: bool = False, from_program: bool = False
) -> Any:
    """Return the value with this type name and parts.

    Streams also come from the program, as arguments that it has changed.

    `parts` are the type name and what the type is built from. With `in_program` or `from_program`
    some further types are allowed, which are sent in one direction only.

    Raises
    ------
    WireError
        If there is no such type.
    """
    name = parts[0]
    build = _BUILD.get(name) if type(name) is str else None
    if build is None and (in_program or (from_program and name in _ALIASES.values())):
        build = _TO_PROGRAM_BUILD.get(name)
    if build is None:
        raise WireError("a value of an unknown type")
    return build(parts[1:])


# -- by name ----------------------------------------------------------------------------------

_TYPES = words(
    "int float complex str bytes bytearray bool list tuple dict set frozenset range slice object"
    " type memoryview"
)
_CLASSES = frozenset(
    {
        *(name for name in _BUILD if not name.startswith("builtins.")),
        "collections.deque",
        "datetime.date",
        "datetime.time",
        "datetime.datetime",
        "datetime.timedelta",
        "decimal.Decimal",
        "fractions.Fraction",
        "pathlib.PurePath",
        "pathlib.Path",
    }
)
_SINGLETONS = {"builtins.Ellipsis": Ellipsis, "builtins.NotImplemented": NotImplemented}
_NONE_TYPE = "builtins.NoneType"
# Modules that define exceptions and have no effect when they are imported.
_EXCEPTION_MODULES = words(
    "asyncio.exceptions asyncio.queues binascii concurrent.futures._base configparser copy csv _csv"
    " dataclasses decimal email.errors enum fractions graphlib gzip io ipaddress json.decoder lzma"
    " pickle _pickle queue _queue re re._constants shutil signal socket sqlite3 statistics struct"
    " subprocess tarfile tempfile threading tomllib urllib.error uuid xml.etree.ElementTree"
    " xml.parsers.expat zipfile zlib zoneinfo zoneinfo._common"
)


def name_of(value: Any) -> tuple[str, str] | None:
    """Return module and name of an object that both processes know, or None."""
    if value is Ellipsis or value is NotImplemented:
        return "builtins", "Ellipsis" if value is Ellipsis else "NotImplemented"
    if not isinstance(value, type):
        return None
    if value is type(None):
        return "builtins", "NoneType"
    module, name = type.__getattribute__(value, "__module__"), value.__qualname__
    if type(module) is not str or type(name) is not str:
        return None
    if module.startswith("pathlib"):
        module = "pathlib"
    known = (
        name in _TYPES or _is_exception(value)
        if module == "builtins"
        else f"{module}.{name}" in _CLASSES
        or (module in _EXCEPTION_MODULES and _is_exception(value))
    )
    return (module, name) if known and loaded(f"{module}.{name}") is value else None


def named(parts: list[Any]) -> Any:
    """Return the type or singleton with this module and name, if it may be sent by name.

    Raises
    ------
    WireError
        If it may not be sent by name.
    """
    module, name = take(parts, str, str)
    full = f"{module}.{name}"
    if full in _SINGLETONS:
        return _SINGLETONS[full]
    if full == _NONE_TYPE:
        return type(None)
    if module == "builtins":
        found = getattr(builtins, name, None)
        if name in _TYPES or _is_exception(found):
            return found
    elif full in _CLASSES:
        return find(module, name)
    elif module in _EXCEPTION_MODULES:
        found = find(module, name)
        if _is_exception(found):
            return found
    raise WireError("a name that may not be sent")


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def loaded(full_name: str) -> Any:
    """Return the object with this full name if its module is loaded, else None."""
    module, _, name = full_name.rpartition(".")
    return getattr(sys.modules.get(module), name, None)


def find(module: str, name: str) -> Any:
    """Return an object of a module, which is imported if necessary, or None if there is none.

    `module` and `name` are those of a type that messages may contain. ImportError is raised if
    there is no such module.
    """
    return getattr(importlib.import_module(module), name, None)
