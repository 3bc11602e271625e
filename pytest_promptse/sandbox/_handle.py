"""Handles and mirrored classes: the check's view of the program's objects and classes.

Each class of the program is mirrored by a local class. So ``type(a) is type(b)``, ``isinstance``,
``issubclass`` and ``except`` work as they do in one process. Instances of a mirrored class are
*handles*. Using a handle sends a request to the program, and the answer is decoded strictly.

The rules that prevent a program from deciding its own verdict are in
``docs/reference/candidate.md`` under "What a handle may decide". In short, an operation between a
handle and a value of the check never returns plain data, and a handle never equals plain data. If
the program's class extends a plain type, comparisons use the content, which was decoded here.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABCMeta
from collections import deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import PosixPath, PurePath
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from pytest_promptse.sandbox import _blocks
from pytest_promptse.sandbox._causes import ProgramError, ProgramInterrupt
from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.objects import (
    BINARY,
    CONTENT,
    ORDER,
    SPECIALS,
    UNARY,
    build_signature,
    dataclass_fields,
)
from pytest_promptse.sandbox.guest.wire import WireError, words

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterator

    from pytest_promptse.sandbox._causes import Cause

MAX_ITEMS = 1_000_000
_MAX_BATCH = 4096
_SINGLE_ITEMS = 16
_LINK = "promptse_link"
_SLICE = 0.02


class ProgramOperations(Protocol):
    """The operations of a candidate that its handles use.

    ``requests`` is the number of requests sent so far. The methods are those of
    `_candidate.Candidate`.
    """

    requests: int

    def ask(self, verb: str, *operands: Any) -> Any:
        """Send a request to the program and return its result.

        `verb` names the request, such as ``get``, and `operands` are its values.
        """

    def call_object(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object of the program.

        `target` is the handle of the object.
        """

    def call_method(
        self, target: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a method of an object of the program.

        `target` is the handle of the object, and `name` that of the method.
        """

    def has_raised(self, error: BaseException) -> bool:
        """Return whether `error` is an exception of the program."""

    def can_send(self, value: Any) -> bool:
        """Return whether `value` of the check can be sent to the program."""

    def fail(self, cause: Cause, detail: str) -> NoReturn:
        """End the check with a failure of the program: its cause and one line for the report."""

    def break_check(self, text: str) -> NoReturn:
        """End the check because it does what the sandbox cannot carry out; `text` says what."""


class Link:
    """The object of a handle, and how far its value depends on values of the check.

    ``mixed`` is 0 for an object of the program. It is 1 for the result of an operator between such
    an object and a value of the check, or 2 if the operator measures a difference.
    """

    __slots__ = ("entry", "fetched", "mixed", "number", "owner", "run")

    def __init__(self, owner: ProgramOperations, number: int) -> None:
        self.owner = owner
        self.number = number
        self.mixed = 0
        self.fetched = owner.requests
        self.entry: _blocks.BlockEntry | None = None
        self.run: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassInfo:
    """The description of a class that the program sent.

    ``number`` identifies the class. ``specials`` are its special methods, ``overrides`` those that
    replace methods of ``base``, and ``methods`` the other methods. ``base`` is the plain type that
    the class extends, or None, and ``base_names`` are the attributes that are read from the plain
    value. ``mutable`` is True if values of ``base`` can change.
    """

    number: int
    specials: frozenset[str]
    overrides: frozenset[str]
    methods: frozenset[str]
    base: type | None
    base_names: frozenset[str]
    mutable: bool


_NO_INFO = ClassInfo(
    number=-1,
    specials=frozenset(),
    overrides=frozenset(),
    methods=frozenset(),
    base=None,
    base_names=frozenset(),
    mutable=False,
)


def link_of(value: Any) -> Link:
    """Return the link of a handle."""
    found: Link = object.__getattribute__(value, _LINK)
    return found


def is_of_program(value: Any) -> bool:
    """Return whether `value` is a handle, a mirrored class or a bound method of the program."""
    return isinstance(type(value), HandleType) or isinstance(value, HandleType | BoundMethod)


# -- underscored names that are read from the program --------------------------------------------

_READ_NAMES = frozenset(
    f"__{name}__"
    for name in words(
        "name qualname dict annotations defaults kwdefaults wrapped self func members"
        " match_args slots all version author closure type_params cause context traceback notes"
    )
)
# Attributes of results of plain arithmetic. A check that expects plain data may read these.
_PLAIN_NAMES = frozenset(
    name
    for kind in (int, float, complex, Decimal, Fraction, timedelta, datetime, set)
    for name in dir(kind)
    if not name.startswith("_")
) | words(
    "T all any argmax argmin astype dot dtype flat flatten item max mean min ndim prod ravel"
    " reshape round shape size squeeze std sum tobytes tolist trace transpose var"
)
_LOOKS_PLAIN = re.compile(
    r"[\s\d.,:+\-()\[\]{}eEjJ'\"]*|(set|frozenset|Counter|Decimal|Fraction|datetime|array|deque"
    r"|inf|nan|None|True|False|-?\d+ days?)\b.*",
    re.DOTALL,
)
_MEASURING = frozenset({"sub", "truediv", "floordiv", "mod", "divmod", "xor"})
_PREDICATES = words(
    "count index find rfind rindex startswith endswith issubset issuperset isdisjoint"
)
_CONVERSIONS = frozenset(
    ["int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "bytes", "bool", "hash"]
)
_READS = frozenset({"len", "iter", "next", "getitem", "contains", "reversed"})
_PRESERVING = frozenset({"neg", "pos", "abs", "invert"})


def _refuse(owner: ProgramOperations, what: str) -> NoReturn:
    """End the check: the program has decided something that is the check's to decide."""
    owner.fail(
        "interface",
        f"the program cannot decide {what} between its object and a value of the check; compare "
        "attributes, str(), or two objects of the program (docs: What a handle may decide)",
    )


# -- the metaclass ---------------------------------------------------------------------------------


class HandleType(type):
    """The metaclass of mirrored classes.

    Using such a class sends a request to the program's class.
    """

    promptse_owner: ProgramOperations
    promptse_info: ClassInfo = _NO_INFO

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.promptse_owner.call_object(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("promptse_") or _is_unread(name):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        if name in cls.promptse_info.methods:
            return BoundMethod(cls, name)
        return cls.promptse_owner.ask("get", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("promptse_", "__", "_abc_")):
            type.__setattr__(cls, name, value)
        else:
            cls.promptse_owner.ask("set", cls, name, value)

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if not is_of_program(instance) or cls.promptse_info is _NO_INFO:
            return False
        return bool(cls.promptse_owner.ask("isinstance", instance, cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if type.__subclasscheck__(cls, subclass):
            return True
        if not isinstance(subclass, HandleType) or cls.promptse_info is _NO_INFO:
            return False
        if subclass.promptse_info is _NO_INFO:
            return False
        return bool(cls.promptse_owner.ask("issubclass", subclass, cls))

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.promptse_owner.ask("operate", "iter", cls))

    def __len__(cls) -> int:
        return int(cls.promptse_owner.ask("operate", "len", cls))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls.promptse_owner.ask("operate", "getitem", cls, key)

    def __contains__(cls, item: object) -> bool:
        return bool(cls.promptse_owner.ask("operate", "contains", cls, item))

    def __dir__(cls) -> list[str]:
        return [*cls.promptse_owner.ask("names", cls)]

    @property
    def __signature__(cls) -> inspect.Signature:
        return signature(cls.promptse_owner, cls)

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **kwargs: Any) -> dict[str, object]:
        """Refuse to derive a class of the check from a class of the program.

        Python calls this before the body of the class statement.
        """
        del kwargs
        for base in bases:
            if isinstance(base, HandleType) and base.promptse_info is not _NO_INFO:
                base.promptse_owner.break_check(
                    f"{name}: a class of the check cannot derive from a class of the program; "
                    "pass an object of a class of your own that has the same methods"
                )
        return {}


class _AbstractHandleType(HandleType, ABCMeta):
    """The metaclass of mirrored classes that extend a plain type with the metaclass `ABCMeta`."""


def _is_unread(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _READ_NAMES


def signature(owner: ProgramOperations, target: Any) -> inspect.Signature:
    """Return the signature of a callable of the program.

    `owner` has the program, and `target` is the handle of the callable. Defaults are values or
    handles. As with `inspect.signature`, an object without a signature raises ValueError or
    TypeError.
    """
    return build_signature(owner.ask("signature", target))


class BoundMethod:
    # A method of an object of the program; calling it is one request.

    __slots__ = ("promptse_name", "promptse_target")

    def __init__(self, target: Any, name: str) -> None:
        object.__setattr__(self, "promptse_target", target)
        object.__setattr__(self, "promptse_name", name)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self._owner.ask("get", self, "__doc__")

    @property
    def _owner(self) -> ProgramOperations:
        target = self.promptse_target
        if isinstance(target, HandleType):
            return target.promptse_owner
        return link_of(target).owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._owner.call_method(self.promptse_target, self.promptse_name, args, kwargs)
        _refresh_after(self.promptse_target)
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("promptse_") or _is_unread(name):
            raise AttributeError(name)
        return self._owner.ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._owner.ask("set", self, name, value)

    @property
    def __signature__(self) -> inspect.Signature:
        return signature(self._owner, self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundMethod)
            and self.promptse_target is other.promptse_target
            and self.promptse_name == other.promptse_name
        )

    def __hash__(self) -> int:
        return hash((id(self.promptse_target), self.promptse_name))

    def __repr__(self) -> str:
        return f"<method {self.promptse_name} of an object of the program>"


# -- handles ---------------------------------------------------------------------------------------


def _read_dict(self: Any) -> Any:
    return link_of(self).owner.ask("get", self, "__dict__")


def _read_doc(self: Any) -> Any:
    """Return the documentation of a function, which its class does not have."""
    return link_of(self).owner.ask("get", self, "__doc__")


class Handle(metaclass=HandleType):
    """An object of the program.

    Its class defines the same special methods as the program's class.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("promptse_") or _is_unread(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        link = link_of(self)
        if link.mixed and name in _PLAIN_NAMES:
            _refuse(link.owner, f"a result's {name!r}")
        if name in type(self).promptse_info.methods:
            return BoundMethod(self, name)
        return link.owner.ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        link_of(self).owner.ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        link_of(self).owner.ask("delete", self, name)

    def __dir__(self) -> list[str]:
        return [*link_of(self).owner.ask("names", self)]

    def __str__(self) -> str:
        return _text(self, "str")

    def __repr__(self) -> str:
        return _text(self, "repr")

    def __format__(self, spec: str) -> str:
        return _text(self, "format", spec)

    def __eq__(self, other: object) -> Any:
        return _equals(self, other, "eq")

    def __ne__(self, other: object) -> Any:
        return _equals(self, other, "ne")

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __copy__(self) -> Any:
        return link_of(self).owner.ask("operate", "copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return link_of(self).owner.ask("operate", "deepcopy", self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        link_of(self).owner.fail(
            "interface",
            f"an object of the program ({type(self).__name__}) cannot be pickled in the check; "
            "have the program pickle it",
        )

    @property
    def __signature__(self) -> inspect.Signature:
        return signature(link_of(self).owner, self)


def _text(self: Any, name: str, *args: str) -> str:
    link = link_of(self)
    try:
        text = str(link.owner.ask("operate", name, self, *args))
    except ProgramInterrupt as error:
        # pytest asks for the text while it explains a failed assertion, which this would replace.
        link.owner.fail("exception", f"the program's {name}() raised {type(error).__name__}")
    if link.mixed > 1 and _LOOKS_PLAIN.fullmatch(text):
        _refuse(link.owner, "the text of a result")
    return text


def _equals(self: Any, other: object, name: str) -> Any:
    """Compare for equality.

    A program does not decide that its object equals a value of the check, such as an expected one.
    It may say that they differ. An object of the check with its own ``__eq__``, such as
    `pytest.approx`, decides itself.
    """
    info = type(self).promptse_info
    owner = link_of(self).owner
    if not is_of_program(other):
        is_plain = other is None or isinstance(other, (bool, *CONTENT))
        if not is_plain or not {"__eq__", "__ne__"} & info.specials or not owner.can_send(other):
            return NotImplemented
        if bool(owner.ask("operate", name, self, other)) is (name == "eq"):
            _refuse(owner, "equality")
        return name == "ne"
    theirs = getattr(type(other), "promptse_info", _NO_INFO)
    if not {"__eq__", "__ne__"} & (info.specials | theirs.specials):
        return (self is other) is (name == "eq")
    return owner.ask("operate", name, self, other)


def _unary(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        link = link_of(self)
        if link.mixed and (name in _CONVERSIONS or (link.mixed > 1 and name in _READS)):
            _refuse(link.owner, f"{name} of a result")
        result = link.owner.ask("operate", name, self, *args)
        if link.mixed and name in _PRESERVING:
            _mark(link.owner, result, link.mixed, name)
        return result

    return method


def _mark(owner: ProgramOperations, result: Any, level: int, name: str) -> None:
    """Note that `result` depends on a value of the check. End the check if it is plain data.

    `level` is 1 or 2, as ``mixed`` in `Link`. `name` is the operator, for the message. The items of
    a tuple are marked one by one.
    """
    if result is NotImplemented:
        return
    if type(result) is tuple and result:
        for item in result:
            _mark(owner, item, level, name)
        return
    if not isinstance(type(result), HandleType):
        _refuse(owner, f"the result of {name}")
    base = type(result).promptse_info.base
    if base is not None and (level > 1 or base not in (str, bytes, list, tuple)):
        _refuse(owner, f"the result of {name}")
    link = link_of(result)
    link.mixed = max(link.mixed, level)


def _operand_level(value: Any) -> int:
    return link_of(value).mixed if isinstance(type(value), HandleType) else 0


def _binary(name: str, prefix: str) -> Callable[..., Any]:
    level = 2 if name in _MEASURING else 1

    def method(self: Any, other: Any, *modulo: Any) -> Any:
        link = link_of(self)
        operands = (other, self) if prefix == "r" else (self, other)
        operation = f"i{name}" if prefix == "i" else name
        result = link.owner.ask("operate", operation, *operands, *modulo)
        if is_of_program(other):
            mixed = max(link.mixed, _operand_level(other))
        elif name == "add" and type(other) is int and other == 0:
            mixed = link.mixed  # the start of sum()
        else:
            mixed = max(link.mixed, level)
        if mixed:
            _mark(link.owner, result, mixed, name)
        return result

    return method


def _order(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        owner = link_of(self).owner
        result = owner.ask("operate", name, self, other)
        if not is_of_program(other):
            # An exception of the program, such as TypeError, is what the check may expect.
            _refuse(owner, "an order")
        return result

    return method


def _hash(self: Any) -> int:
    return int(link_of(self).owner.ask("operate", "hash", self))


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return link_of(self).owner.call_object(self, args, kwargs)


def _contains(self: Any, item: object) -> bool:
    return bool(_unary("contains")(self, item))


def _bool(self: Any) -> bool:
    return bool(_unary("bool")(self))


def _enter(self: Any) -> Any:
    link = link_of(self)
    link.entry = _blocks.caller()
    return link.owner.ask("operate", "enter", self)


def _powers(self: Any, error: BaseException | None) -> tuple[bool, bool]:
    """Return whether the program may suppress the exception of a block, and replace it.

    An exception of the check stays what it is, whatever the program answers or raises, since it may
    be a failed assertion. The program may suppress an exception only where that skips nothing (see
    `_blocks`), and replace its own ones.
    """
    if error is None:
        return False, True
    link = link_of(self)
    is_of_program = link.owner.has_raised(error)
    may_suppress = _blocks.may_suppress(error, link.entry, is_of_program=is_of_program)
    return may_suppress, may_suppress or is_of_program


def _leave(self: Any, name: str, error: BaseException | None) -> Any:
    kind = None if error is None else type(error)
    return link_of(self).owner.call_method(self, name, (kind, error, None), {})


def _exit(self: Any, _kind: Any, error: Any, _trace: Any) -> bool:
    """Tell the program's context manager how the block ended.

    Return whether the exception is suppressed.
    """
    may_suppress, may_replace = _powers(self, error)
    try:
        wish = _leave(self, "__exit__", error)
    except (Exception, ProgramInterrupt):
        if may_replace:
            raise
        return False
    return may_suppress and bool(wish)


def _aenter(self: Any) -> Any:
    link = link_of(self)
    link.entry = _blocks.caller()
    return _awaited(link.owner, self, "aenter")


async def _awaited(owner: ProgramOperations, self: Any, name: str) -> Any:
    return await owner.ask("operate", name, self)


async def _aexit(self: Any, _kind: Any, error: Any, _trace: Any) -> bool:
    """Do for ``__aexit__`` what `_exit` does."""
    may_suppress, may_replace = _powers(self, error)
    try:
        wish = await _leave(self, "__aexit__", error)
    except (Exception, ProgramInterrupt):
        if may_replace:
            raise
        return False
    return may_suppress and bool(wish)


def _await(self: Any) -> Any:
    """Run the program's awaitable in the program's event loop, and let other tasks here run."""
    owner = link_of(self).owner
    task = owner.ask("start", self)
    seconds = 0.0
    while True:
        done = owner.ask("step", task, seconds)
        if done:
            return done[0]
        seconds = _SLICE
        yield


def _running(self: Any) -> Any:
    """Return the run of an awaitable that an event loop treats as a coroutine."""
    link = link_of(self)
    if link.run is None:
        link.run = _await(self)
    return link.run


def _async_ends(name: str) -> Callable[..., Any]:
    def method(self: Any, *error: Any) -> Any:
        link_of(self).run = None
        return link_of(self).owner.call_method(self, name, error, {})

    return method


async def _anext(self: Any) -> Any:
    return await link_of(self).owner.ask("operate", "anext", self)


def _next(self: Any) -> Any:
    """Return the next item. Further items are fetched in growing batches before they are needed.

    There are at most `MAX_ITEMS` items, so that ``list()`` of an endless generator ends.
    """
    state = object.__getattribute__(self, "promptse_state")
    if not state.items:
        if state.error is not None:
            raise state.error
        items, done, value = link_of(self).owner.ask("next", self, state.batch)
        if type(items) is not list or type(done) is not bool:
            link_of(self).owner.fail("exception", "the program broke the protocol")
        state.items = items[::-1]
        if done:
            state.error = StopIteration(value) if value is not None else StopIteration()
        if state.given >= _SINGLE_ITEMS:
            state.batch = min(2 * state.batch, _MAX_BATCH)
        if not state.items:
            if state.error is None:
                link_of(self).owner.fail("exception", "the program broke the protocol")
            raise state.error
    if state.given >= MAX_ITEMS:
        link_of(self).owner.fail(
            "resource", f"the program's iterator gives more than {MAX_ITEMS} items"
        )
    state.given += 1
    return state.items.pop()


class IteratorState:
    """Items of a program's iterator that were fetched before they are needed."""

    __slots__ = ("batch", "error", "given", "items")

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.batch = 1
        self.given = 0
        self.error: StopIteration | None = None


def _of_generator(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        state = object.__getattribute__(self, "promptse_state")
        if state.items and name != "close":
            link_of(self).owner.fail(
                "interface",
                f"{name}() after {state.given} items: the program's generator has been read ahead "
                f"by {len(state.items)}; use send() and throw() within the first {_SINGLE_ITEMS}",
            )
        state.items = []
        if name == "close":
            state.error = StopIteration()
        return link_of(self).owner.call_method(self, name, args, {})

    return method


_HANDLE_METHODS: dict[str, Any] = {
    **{f"__{name}__": _unary(name) for name in UNARY},
    **{
        f"__{prefix}{name}__": _binary(name, prefix) for name in BINARY for prefix in ("", "r", "i")
    },
    **{f"__{name}__": _order(name) for name in ORDER if name not in ("eq", "ne")},
    "__hash__": _hash,
    "__call__": _call,
    "__contains__": _contains,
    "__bool__": _bool,
    "__enter__": _enter,
    "__exit__": _exit,
    "__aenter__": _aenter,
    "__aexit__": _aexit,
    "__await__": _await,
    "__anext__": _anext,
    "__next__": _next,
}
for _name in ("__str__", "__repr__", "__format__", "__eq__", "__ne__"):
    _HANDLE_METHODS.pop(_name, None)
_AWAITABLE: dict[str, Any] = {
    "send": lambda self, value: _running(self).send(value),
    "throw": _async_ends("throw"),
    "close": _async_ends("close"),
}
_GENERATOR: dict[str, Any] = {name: _of_generator(name) for name in ("send", "throw", "close")}


# -- values of classes that extend a plain type ----------------------------------------------------

_MUTABLE = (list, dict, set, bytearray, deque)
_BY_ARGUMENTS = (Fraction, date, time, datetime, timedelta)
_PICKLE = 4
_PATH_TEXT = words(
    "name stem suffix suffixes parts anchor root drive as_posix as_uri is_absolute match"
    " is_relative_to"
)


def _content_owner(value: Any) -> Link | None:
    """Return the link of a value, or None if a plain operation computed the value here."""
    try:
        return link_of(value)
    except AttributeError:
        return None


def _refresh(value: Any) -> None:
    """Fetch the content again if the program has run since the last fetch."""
    info = type(value).promptse_info
    link = _content_owner(value)
    if info.mutable and link is not None and link.fetched != link.owner.requests:
        content = link.owner.ask("content", value)
        fill(info.base, value, content)
        link.fetched = link.owner.requests


def _refresh_after(target: Any) -> None:
    if not isinstance(target, HandleType) and type(target).promptse_info.mutable:
        _refresh(target)


def fill(base: Any, value: Any, content: Any) -> None:
    """Replace the content of a mutable value by `content`, using the plain type's own methods.

    `base` is the plain type of `value`: a dict, set, deque, list or bytearray. The methods of the
    value's own class are not called.
    """
    if issubclass(base, dict):
        base.clear(value)
        for key, item in dict(content).items():
            base.__setitem__(value, key, item)
    elif base is set:
        set.clear(value)
        set.update(value, content)
    elif base is deque:
        deque.clear(value)
        deque.extend(value, content)
    else:
        base.__setitem__(value, slice(None), content)


def make_value(cls: Any, base: Any, content: Any) -> Any:
    """Return an instance of a mirrored class that extends the plain type `base`.

    `cls` is the class of the check that stands for one of the program. `content` is a plain value
    equal to the result.
    """
    if issubclass(base, PurePath):
        return type.__call__(cls, str(content))
    if issubclass(base, _MUTABLE):
        value = base.__new__(cls)
        if base is deque:
            deque.__init__(value, (), content.maxlen)
        fill(base, value, content)
        return value
    # The arguments with which pickle would make a date, a time or a fraction.
    arguments = content.__reduce_ex__(_PICKLE)[1] if base in _BY_ARGUMENTS else (content,)
    return base.__new__(cls, *arguments)


def _value_setattr(self: Any, name: str, value: Any) -> None:
    link = _content_owner(self)
    if link is None or name in type(self).promptse_info.base_names or name.startswith("promptse_"):
        object.__setattr__(self, name, value)
    else:
        link.owner.ask("set", self, name, value)


def _value_getattribute(self: Any, name: str) -> Any:  # noqa: PLR0911 - one for each origin
    if name.startswith("promptse_"):
        return object.__getattribute__(self, name)
    info = type(self).promptse_info
    link = _content_owner(self)
    if link is None or (name.startswith("__") and name not in _READ_NAMES):
        return object.__getattribute__(self, name)
    if name in info.base_names:
        if name in _PREDICATES:
            _refresh(self)
            return object.__getattribute__(self, name)
        if not info.mutable and name not in info.overrides:
            return object.__getattribute__(self, name)
        if callable(getattr(info.base, name)):
            return BoundMethod(self, name)
    elif name in info.methods:
        return BoundMethod(self, name)
    return link.owner.ask("get", self, name)


@cache
def _compare(name: str, base: Any) -> Callable[[Any, Any], Any]:
    plain = getattr(base, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        link = _content_owner(self)
        if link is not None and is_of_program(other):
            if f"__{name}__" in type(self).promptse_info.overrides:
                return link.owner.ask("operate", name, self, other)
            if type(other).promptse_info.base is not None:
                _refresh(other)
        _refresh(self)
        return plain(self, other)

    return method


@cache
def _value_binary(name: str, prefix: str, base: Any) -> Callable[..., Any]:
    special = f"__{prefix}{name}__"
    plain = getattr(base, special, None)
    ask = _binary(name, prefix)
    is_loose = name not in _MEASURING and base in (str, bytes, list, tuple)

    def method(self: Any, other: Any, *modulo: Any) -> Any:
        link = link_of(self)
        if issubclass(base, PurePath) and type(other) is str:
            operands = (other, self) if prefix == "r" else (self, other)
            return link.owner.ask("operate", name, *operands)
        info = type(self).promptse_info
        if is_of_program(other):
            return ask(self, other, *modulo)
        if special not in info.overrides and plain is not None:
            if prefix == "i" and info.mutable:
                result = link.owner.ask("operate", f"i{name}", self, other)
                _refresh(self)
                return result
            _refresh(self)
            return plain(self, other, *modulo)
        if is_loose:
            return ask(self, other, *modulo)
        _refuse(link.owner, f"the result of {name}")

    return method


@cache
def _value_contains(base: Any) -> Callable[[Any, Any], bool]:
    def method(self: Any, item: Any) -> bool:
        says = True
        if "__contains__" in type(self).promptse_info.overrides:
            says = bool(link_of(self).owner.ask("operate", "contains", self, item))
        _refresh(self)
        has: bool = base.__contains__(self, item)
        if says and not has and "__contains__" in type(self).promptse_info.overrides:
            _refuse(link_of(self).owner, "membership")
        return says and has

    return method


def _value_namespace(info: ClassInfo) -> dict[str, Any]:  # noqa: C901 - kinds of methods in turn
    base: Any = info.base
    names: dict[str, Any] = {
        "__getattribute__": _value_getattribute,
        "__setattr__": _value_setattr,
        "__delattr__": Handle.__delattr__,
        "__dict__": property(_read_dict),
        "__copy__": Handle.__copy__,
        "__deepcopy__": Handle.__deepcopy__,
        "__reduce_ex__": Handle.__reduce_ex__,
        "__hash__": base.__hash__,
    }
    for name in ORDER:
        if hasattr(base, f"__{name}__"):
            names[f"__{name}__"] = _compare(name, base)
    special_names = {
        special
        for special in SPECIALS - {"__hash__", *(f"__{name}__" for name in ORDER)}
        if special in info.overrides
        or (special in info.specials and not hasattr(base, special))
        or (info.mutable and hasattr(base, special))
        or (issubclass(base, PurePath) and special in ("__truediv__", "__rtruediv__"))
    }
    for name in BINARY:
        for prefix in ("", "r", "i"):
            special = f"__{prefix}{name}__"
            if special in special_names:
                names[special] = _value_binary(name, prefix, base)
    for special in special_names - names.keys():
        if special in _HANDLE_METHODS:
            names[special] = _HANDLE_METHODS[special]
    if info.mutable or "__contains__" in info.overrides:
        names["__contains__"] = _value_contains(base)
    for special in ("__str__", "__repr__", "__format__"):
        if info.mutable or special in info.overrides:
            names[special] = Handle.__dict__[special]
    return names


# -- mirrored classes ------------------------------------------------------------------------------

_TEXT = (str, str, str, (str, type(None)), str, str, str, (str, type(None)))


def make_class(owner: ProgramOperations, number: int, parts: list[Any]) -> HandleType:
    """Return the local class for a class of the program, given its description.

    `number` identifies the class at `owner`. `parts` are its names, its documentation, the names of
    its methods and fields, and its bases.

    Raises
    ------
    WireError
        If the description is malformed.
    """
    *texts, bases = parts
    name, qualname, module, doc, specials, overrides, methods, fields = take(texts, *_TEXT)
    if type(bases) is not tuple or not all(isinstance(base, type) for base in bases):
        raise WireError("the bases of a class are malformed")
    if module.startswith("pathlib") and name == "PosixPath":
        bases = (PosixPath,)
    order = [kind for base in bases for kind in base.__mro__]
    is_error = any(issubclass(kind, BaseException) for kind in order)
    plain = next((kind for kind in order if kind in CONTENT or kind is PosixPath), None)
    base = None if is_error else plain
    info = ClassInfo(
        number=number,
        specials=frozenset(specials.split()),
        overrides=frozenset(overrides.split()),
        methods=frozenset(methods.split()),
        base=base,
        base_names=_base_names(base),
        mutable=base is not None and issubclass(base, _MUTABLE),
    )
    names: dict[str, Any] = {
        "__module__": module,
        "__qualname__": qualname,
        "__doc__": property(_read_doc) if module == "builtins" else doc,
        "promptse_owner": owner,
        "promptse_info": info,
    }
    if fields is not None:
        names["__dataclass_fields__"] = dataclass_fields(fields)
    if is_error:
        bases = _error_bases(bases)
        names["__str__"] = _error_text
        names["__getattr__"] = _error_getattr
    elif base is not None:
        names |= _value_namespace(info)
    else:
        names |= _handle_namespace(info)
        bases = tuple(kind for kind in bases if issubclass(kind, Handle)) or (Handle,)
    for attempt in (bases, (Exception,) if is_error else (base or Handle,)):
        try:
            is_abstract = any(isinstance(kind, ABCMeta) for kind in attempt)
            kind = _AbstractHandleType if is_abstract else HandleType
            return type.__new__(kind, name, attempt, names)
        except TypeError:  # bases that Python cannot combine here
            continue
    raise WireError("the bases of a class do not go together")


def _base_names(base: type | None) -> frozenset[str]:
    """Return the names that are read from the plain value, without a path's disk access."""
    names = [] if base is None else [name for name in dir(base) if not name.startswith("__")]
    if base is PosixPath:
        names = [*_PATH_TEXT, *(name for name in names if name.startswith("_"))]
    return frozenset(names)


def _handle_namespace(info: ClassInfo) -> dict[str, Any]:
    names: dict[str, Any] = {
        special: _HANDLE_METHODS[special] for special in info.specials if special in _HANDLE_METHODS
    }
    names["__dict__"] = property(_read_dict)
    if "!hash" in info.specials:
        names["__hash__"] = None
    elif "__hash__" not in info.specials:
        names["__hash__"] = Handle.__hash__
    if "__iter__" not in info.specials and "__getitem__" in info.specials:
        # Iteration by index, as the interpreter does it. The guest implements it.
        names["__iter__"] = _HANDLE_METHODS["__iter__"]
    if "__await__" in info.specials and "send" in info.methods:
        names |= _AWAITABLE
    elif "__next__" in info.specials:
        names |= {name: _GENERATOR[name] for name in _GENERATOR.keys() & info.methods}
    return names


def _error_bases(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    kinds = tuple(kind for kind in bases if issubclass(kind, BaseException))
    mixin = ProgramError if all(issubclass(k, Exception) for k in kinds) else ProgramInterrupt
    return kinds if any(issubclass(kind, mixin) for kind in kinds) else (mixin, *kinds)


def _error_text(self: Any) -> str:
    return str(self.__dict__.get("promptse_message", ""))


def _error_getattr(self: Any, name: str) -> Any:
    link = _content_owner(self)
    if link is None or name.startswith("promptse_") or _is_unread(name):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    if name in type(self).promptse_info.methods:
        return BoundMethod(self, name)
    return link.owner.ask("get", self, name)


def _content_type(base: type) -> type:
    return dict if issubclass(base, dict) else base


def make_handle(owner: ProgramOperations, number: int, cls: HandleType, content: Any) -> Any:
    """Return the handle of an object.

    `content` is a list with the plain value if the class extends a plain type, else empty.

    Raises
    ------
    WireError
        If the content does not fit the class.
    """
    info = cls.promptse_info
    if info.base is None:
        value: Any = object.__new__(cls)  # type: ignore[arg-type]
    else:
        if len(content) != 1 or not isinstance(content[0], _content_type(info.base)):
            raise WireError("the content of a value does not fit its class")
        value = make_value(cls, info.base, content[0])
    object.__setattr__(value, _LINK, Link(owner, number))
    if "__next__" in info.specials:
        object.__setattr__(value, "promptse_state", IteratorState())
    return value
