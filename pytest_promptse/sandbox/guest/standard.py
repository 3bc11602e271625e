"""The table of what may cross between the check and the program, apart from plain data.

`KINDS` has the types that are sent by value. Some of them are *moved*: only the check sends them,
the program gets an object of the same type, and both sides send each other its changes. `LENT` has
the objects of the standard library that stay in the check, with the names that a program may use.
Types, exceptions and functions of the standard library are sent by name. Everything else of the
standard library or of a package is refused.

To send a value, its type's module is looked up among the loaded modules. If the module is not
loaded, no value of the type can exist. The module is only imported to build a received value.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_promptse.sandbox.guest.containers import replace
from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.unpatched import __builtins__, importlib, types
from pytest_promptse.sandbox.guest.wire import InUseError, WireError, words

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_ADDRESSES = 2**20

# -- by value ---------------------------------------------------------------------------------


class Kind(NamedTuple):
    """How values of one type are sent.

    ``take`` returns the parts of a value, plain where possible, or None if this value cannot be
    sent. ``types`` are the types of the parts, where `object` means any. ``build`` makes a value of
    the parts. ``update`` gives a value the content that the parts describe; types with it are
    moved. ``to_program`` is True for types that only the check sends.
    """

    take: Callable[[Any], tuple[Any, ...] | None]
    types: tuple[Any, ...]
    build: Callable[..., Any]
    update: Callable[..., None] | None = None
    to_program: bool = False


_NONE = type(None)


def _make(name: str) -> Callable[..., Any]:
    """Return a function that calls the class with this full name, which is then imported."""

    def make(*args: Any, **names: Any) -> Any:
        return find(*name.rsplit(".", 1))(*args, **names)

    return make


def _by_text(name: str) -> Kind:
    return Kind(lambda value: (str(value),), (str,), _make(name))


def _address(name: str) -> Kind:
    def is_small(value: Any) -> bool:
        return bool(getattr(value, "num_addresses", 1) <= _MAX_ADDRESSES)

    def build(text: str) -> Any:
        value = _make(name)(text)
        if not is_small(value):
            raise WireError("a network has too many addresses")
        return value

    return Kind(lambda value: (str(value),) if is_small(value) else None, (str,), build)


def _defaultdict(factory: Any, content: dict[Any, Any]) -> Any:
    if not (factory is None or callable(factory)):
        raise WireError("a defaultdict is malformed")
    return find("collections", "defaultdict")(factory, content)


def _array(typecode: str, data: bytes) -> Any:
    if typecode == "u":
        raise WireError("an array of this type cannot be sent")
    return find("array", "array")(typecode, data)


def _view(data: bytes, code: str) -> memoryview:
    return memoryview(data) if code == "B" else memoryview(data).cast(code)  # type: ignore[call-overload]


def _items(flat: list[Any]) -> Any:
    return dict(zip(flat[::2], flat[1::2], strict=True)).items()


def _namespace(name: str) -> Kind:
    return Kind(
        lambda value: (dict(vars(value)),),
        (dict,),
        lambda content: _make(name)(**content),
        lambda value, content: replace(vars(value), content),
        to_program=True,
    )


def _take_stream(stream: Any) -> tuple[Any, int]:
    return (None, 0) if stream.closed else (stream.getvalue(), stream.tell())


def _stream(name: str, text: Any) -> Kind:
    def update(stream: Any, content: Any, place: int) -> None:
        if content is None:
            stream.close()
        elif not stream.closed:  # a closed one cannot be opened again
            stream.seek(0)
            stream.truncate()
            stream.write(content)
            stream.seek(place)

    def build(content: Any, place: int) -> Any:
        stream = find("io", name)()
        update(stream, content, place)
        return stream

    return Kind(_take_stream, ((text, _NONE), int), build, update, to_program=True)


def _queue(name: str) -> Kind:
    def update(queue: Any, size: int, items: list[Any], unfinished: int) -> None:
        with queue.mutex:
            queue.maxsize = size
            queue.queue = type(queue.queue)(items)
            queue.unfinished_tasks = unfinished

    def build(*parts: Any) -> Any:
        queue = find("queue", name)()
        update(queue, *parts)
        return queue

    return Kind(
        lambda queue: (queue.maxsize, list(queue.queue), queue.unfinished_tasks),
        (int, list, int),
        build,
        update,
        to_program=True,
    )


_SETTINGS = ("foreign_keys", "recursive_triggers", "ignore_check_constraints")
"""The settings of a connection to a database, by the names of their pragmas."""


_CLOSED = (None, False, None, ())
"""What is sent of a closed connection to a database."""


def _is_closed(connection: Any) -> bool:
    try:
        connection.cursor()
    except find("sqlite3", "ProgrammingError"):
        return True
    return False


def _take_database(connection: Any) -> tuple[Any, ...] | None:
    """Return the content of a database in memory. One with files cannot be sent."""
    if _is_closed(connection):
        return _CLOSED
    row = find("sqlite3", "Row")
    files = [row[2] for row in connection.cursor().execute("PRAGMA database_list")]
    # A file has its full path here. A database in memory has none, or "x" after deserialize().
    if any("/" in file for file in files) or connection.row_factory not in (None, row):
        return None
    # A database without any page cannot be serialized.
    (pages,) = connection.cursor().execute("PRAGMA page_count").fetchone()
    data = connection.serialize() if pages else b""
    settings = tuple(
        connection.cursor().execute(f"PRAGMA {name}").fetchone()[0] for name in _SETTINGS
    )
    return data, connection.row_factory is row, connection.isolation_level, settings


def unsendable_of(connection: Any) -> str:
    """Return what the check has set up in a database that cannot be sent, or an empty string."""
    cursor = connection.cursor()
    if cursor.execute("SELECT 1 FROM sqlite_temp_master").fetchone():
        return "a database with temporary tables"
    if connection.text_factory is not str:
        return "a database with a text_factory"
    converters = find("sqlite3", "converters")
    own, converters["TEXT"] = converters.get("TEXT"), lambda _: converters
    try:
        # The columns of this table are declared as TEXT, and no public name has the setting.
        cursor.execute('SELECT type AS "a [TEXT]" FROM sqlite_master')
        is_converted = cursor.fetchone() == (converters,) or cursor.description[0][0] == "a"
    finally:
        del converters["TEXT"]
        converters.update({} if own is None else {"TEXT": own})
    return "a database with detect_types" if is_converted else ""


def _update_database(
    connection: Any,
    data: bytes | None,
    by_name: bool,
    level: str | None,
    settings: tuple[Any, ...],
) -> None:
    if data is None or _is_closed(connection):
        connection.close()  # a closed one cannot be opened again
        return
    if connection.in_transaction:
        connection.rollback()
    if data:
        # By a copy: serialize() of a deserialized database lacks the rows of an open transaction.
        source = find("sqlite3", "connect")(":memory:")
        source.deserialize(data)
        try:
            source.backup(connection)
        except find("sqlite3", "OperationalError") as error:
            if "in use" not in str(error):
                raise
            # `deserialize` would free the memory that the cursor reads.
            raise InUseError("a cursor of the changed database is being read") from None
        finally:
            source.close()
    connection.row_factory = find("sqlite3", "Row") if by_name else None
    if connection.isolation_level != level:
        connection.isolation_level = level
    for name, value in zip(_SETTINGS, settings, strict=True):
        connection.cursor().execute(f"PRAGMA {name} = {value:d}").close()


def _database(*parts: Any) -> Any:
    connection = find("sqlite3", "connect")(":memory:")
    _update_database(connection, *parts)
    return connection


def _random(*state: Any) -> Any:
    made = find("random", "Random")()
    made.setstate(state)
    return made


def _union(kinds: tuple[Any, ...]) -> Any:
    made = kinds[0]
    for kind in kinds[1:]:
        # Another object of the program could decide the result.
        if type(kind) not in (type, types.GenericAlias):
            raise WireError("a union of what is no type")
        made = made | kind
    return made


KINDS: dict[str, Kind] = {
    "types.GenericAlias": Kind(
        lambda value: (value.__origin__, value.__args__), (type, tuple), types.GenericAlias
    ),
    "types.UnionType": Kind(lambda value: (value.__args__,), (tuple,), _union),
    "collections.Counter": Kind(
        lambda value: (dict(value),), (dict,), _make("collections.Counter")
    ),
    "collections.OrderedDict": Kind(
        lambda value: (dict(type(value).items(value)),), (dict,), _make("collections.OrderedDict")
    ),
    "collections.defaultdict": Kind(
        lambda value: (value.default_factory, dict(value)), (object, dict), _defaultdict
    ),
    "uuid.UUID": Kind(
        lambda value: (value.int,), (int,), lambda number: _make("uuid.UUID")(int=number)
    ),
    "pathlib.PurePosixPath": _by_text("pathlib.PurePosixPath"),
    "pathlib.PureWindowsPath": _by_text("pathlib.PureWindowsPath"),
    **{
        f"ipaddress.IPv{version}{kind}": _address(f"ipaddress.IPv{version}{kind}")
        for version in (4, 6)
        for kind in ("Address", "Network", "Interface")
    },
    "array.array": Kind(lambda value: (value.typecode, value.tobytes()), (str, bytes), _array),
    "builtins.memoryview": Kind(
        lambda value: (value.tobytes(), value.format) if value.ndim == 1 else None,
        (bytes, str),
        _view,
    ),
    "builtins.slice": Kind(
        lambda value: (value.start, value.stop, value.step), (object,) * 3, slice
    ),
    "builtins.dict_keys": Kind(
        lambda value: (list(value),), (list,), lambda keys: dict.fromkeys(keys).keys()
    ),
    "builtins.dict_values": Kind(
        lambda value: (list(value),), (list,), lambda items: dict(enumerate(items)).values()
    ),
    "builtins.dict_items": Kind(
        lambda value: ([part for pair in value for part in pair],), (list,), _items
    ),
    "builtins.mappingproxy": Kind(lambda value: (dict(value),), (dict,), type(type.__dict__)),
    "datetime.timezone": Kind(
        lambda value: (value.utcoffset(None),), (object,), _make("datetime.timezone")
    ),
    # The check sends these, the program does not: how long their methods run depends on their
    # content, or they contain functions.
    # Only the check, since its methods use the file system of the process that has it.
    "pathlib.PosixPath": Kind(
        lambda value: (str(value),), (str,), _make("pathlib.PosixPath"), to_program=True
    ),
    "re.Pattern": Kind(
        lambda value: (value.pattern, value.flags),
        ((str, bytes), int),
        _make("re.compile"),
    ),
    "functools.partial": Kind(
        lambda value: (value.func, value.args, dict(value.keywords)),
        (object, tuple, dict),
        lambda function, args, names: find("functools", "partial")(function, *args, **names),
        to_program=True,
    ),
    **{
        f"operator.{name}": Kind(
            lambda value: (list(value.__reduce__()[1]),),
            (list,),
            lambda parts, name=name: find("operator", name)(*parts),
            to_program=True,
        )
        for name in ("itemgetter", "attrgetter")
    },
    "zoneinfo.ZoneInfo": Kind(
        lambda value: (value.key,), (str,), _make("zoneinfo.ZoneInfo"), to_program=True
    ),
    # Moved: their changes come back.
    "io.StringIO": _stream("StringIO", str),
    "io.BytesIO": _stream("BytesIO", bytes),
    **{name: _namespace(name) for name in ("types.SimpleNamespace", "argparse.Namespace")},
    **{f"queue.{name}": _queue(name) for name in ("Queue", "LifoQueue", "PriorityQueue")},
    "random.Random": Kind(
        lambda value: value.getstate(),
        (int, tuple, (float, _NONE)),
        _random,
        lambda value, *state: value.setstate(state),
        to_program=True,
    ),
    "sqlite3.Connection": Kind(
        _take_database,
        ((bytes, _NONE), bool, (str, _NONE), tuple),
        _database,
        _update_database,
        to_program=True,
    ),
}
_ALIASES = {"_io.StringIO": "io.StringIO", "_io.BytesIO": "io.BytesIO"}


def kind_of(value: Any) -> str | None:
    """Return the name in `KINDS` of the value's type, or None."""
    cls = type(value)
    name = f"{cls.__module__}.{cls.__qualname__}"
    name = _ALIASES.get(name, name)
    if name.startswith("pathlib._local."):  # Python 3.13
        name = f"pathlib.{cls.__name__}"
    if name not in KINDS or (not name.startswith("builtins.") and loaded(name) is not cls):
        return None
    return name


def parts_of(value: Any, *, to_program: bool) -> tuple[Any, ...] | None:
    """Return the type name and parts of `value`, or None if it is not sent by value.

    With `to_program`, types are included that only the check sends.
    """
    name = kind_of(value)
    if name is None or (KINDS[name].to_program and not to_program):
        return None
    parts = KINDS[name].take(value)
    return None if parts is None else (name, *parts)


def build(parts: Any, *, in_program: bool) -> Any:
    """Return the value with this type name and parts.

    Raises
    ------
    WireError
        If there is no such type, only the check may send it, or the parts do not fit it.
    """
    name, *rest = parts
    kind = KINDS.get(name) if type(name) is str else None
    if kind is None or (kind.to_program and not in_program):
        raise WireError("a value of an unknown type")
    return _strictly(kind.build, *take(rest, *kind.types))


def update(kind: Kind, value: Any, parts: Any) -> None:
    """Give a moved value the content that its parts describe.

    Raises
    ------
    WireError
        If the parts do not fit it.
    """
    _strictly(kind.update, value, *take(list(parts), *kind.types))


def _strictly(work: Any, *parts: Any) -> Any:
    try:
        return work(*parts)
    except InUseError:
        raise
    except Exception as error:  # noqa: BLE001 - such as re.error or sqlite3.Error, which a check may expect
        raise WireError(f"a value is malformed: {str(error)[:200]}") from None


# -- lent -------------------------------------------------------------------------------------

_FILE = words(
    "read readline readlines write writelines flush close closed seek tell truncate mode name"
    " encoding newlines readable writable seekable"
)
LENT: dict[str, frozenset[str]] = {
    "io.IOBase": _FILE,
    "logging.Logger": words(
        "debug info warning error critical exception log isEnabledFor getEffectiveLevel name level"
    ),
    "queue.Queue": words("put put_nowait get get_nowait qsize empty full task_done"),
    "random.Random": words("random randint randrange uniform gauss choice choices shuffle sample"),
    "threading.Event": words("set clear is_set"),
    "contextlib._GeneratorContextManager": words(""),
    "contextlib._AsyncGeneratorContextManager": words(""),
    "types.GeneratorType": words("send throw close"),
    "types.CoroutineType": words("send throw close"),
    "collections.abc.Iterator": words(""),
    "collections.abc.Awaitable": words(""),
    "collections.abc.AsyncIterator": words(""),
}
"""Public names that a program may use of an object of the check of this type, besides iteration and
``with``. They affect that object alone, which the check has opened or configured.
"""


# -- by name ----------------------------------------------------------------------------------

_TYPES = words(
    "int float complex str bytes bytearray bool list tuple dict set frozenset range slice object"
    " type memoryview"
)
_CLASSES = frozenset(
    {
        *(
            name
            for name, kind in KINDS.items()
            if not kind.to_program and not name.startswith("builtins.")
        ),
        "collections.deque",
        "datetime.date",
        "datetime.time",
        "datetime.datetime",
        "datetime.timedelta",
        "decimal.Decimal",
        "fractions.Fraction",
        "pathlib.PurePath",
        "pathlib.Path",
        "pathlib.PosixPath",
    }
)
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
    if module == "builtins" or f"{module}.{name}" in _CLASSES or module in _EXCEPTION_MODULES:
        found = type(None) if name == "NoneType" else find(module, name)
        if name_of(found):
            return found
    raise WireError("a name that may not be sent")


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def loaded(full_name: str) -> Any:
    """Return the object with this full name if its module is loaded, else None."""
    module, _, name = full_name.rpartition(".")
    return _AT_IMPORT.get(full_name) or getattr(sys.modules.get(module), name, None)


def find(module: str, name: str) -> Any:
    """Return an object of a module, which is imported if necessary, or None if there is none.

    `module` and `name` are those of a type that messages may contain. ImportError is raised if
    there is no such module.
    """
    found = _AT_IMPORT.get(f"{module}.{name}")
    return found or getattr(importlib.import_module(module), name, None)


# A check may put a class of its own in the place of ``datetime.date``.
_AT_IMPORT: dict[str, Any] = {}
_AT_IMPORT.update({name: loaded(name) for name in (*_CLASSES, *KINDS)})
