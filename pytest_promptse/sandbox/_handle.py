"""Handles and mirrored classes: the check's view of the program's objects and classes.

Each class of the program is mirrored by a local class (`_mirror`). So ``type(a) is type(b)``,
``isinstance``, ``issubclass`` and ``except`` work as they do in one process. Instances of a
mirrored class are *handles*. Using a handle sends a request to the program, and the answer is
decoded strictly.

The rules that prevent a program from deciding its own verdict are in
``docs/reference/candidate.md`` under "What a handle may decide". In short, an operation between a
handle and a value of the check never returns plain data, and a handle never equals plain data. If
the program's class extends a plain type, comparisons use the content, which was decoded here
(`_values`).
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import tee
from types import WrapperDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from pytest_promptse.sandbox._causes import ProgramInterrupt
from pytest_promptse.sandbox._libraries import is_library
from pytest_promptse.sandbox.guest import standard
from pytest_promptse.sandbox.guest.objects import build_signature
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import MODULE_NUMBER, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from pytest_promptse.sandbox._causes import Cause


class ProgramOperations(Protocol):
    """The operations of a candidate that its handles use.

    ``requests`` is the number of requests sent so far. ``compared`` has the comparisons of which
    the program is told after the check: operator, handle, value of the check, and whether the
    program has answered. The methods are those of `_candidate.Candidate`.
    """

    requests: int
    compared: dict[Any, list[Any]]

    def ask(self, verb: str, *operands: Any, stops: bool = False) -> Any:
        """Send a request to the program and return its result.

        `verb` names the request, such as ``get``, and `operands` are its values. With `stops`, the
        end of an iterator is raised as it is.
        """

    def call(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, name: str = ""
    ) -> Any:
        """Call an object of the program, or its method `name`.

        `target` is the handle of the object.
        """

    def can_send(self, value: Any) -> bool:
        """Return whether the program can be given `value`."""

    def has_class(self) -> bool:
        """Return whether the entry point is a class."""

    def has_raised(self, error: BaseException) -> bool:
        """Return whether `error` is an exception of the program."""

    def require_no_failure(self) -> None:
        """Raise an assertion of the check that has failed and counts, if there is one."""

    def fail(self, cause: Cause, detail: str) -> NoReturn:
        """End the check with a failure of the program: its cause and one line for the report."""

    def break_check(self, text: str) -> NoReturn:
        """End the check because it does what the sandbox cannot carry out; `text` says what."""


class Link:
    """The object of a handle, and what is known of it.

    ``mixed`` says how far its value depends on values of the check. It is 0 for an object of the
    program, 1 for the result of an operator between such an object and a value of the check, and 2
    if the operator measures a difference. ``items`` of an iterator were fetched before they are
    needed; the last one comes first. ``end`` is raised after them. ``is_step`` is True for what an
    asynchronous iterator returns for its next item, whose ``await`` may raise its end.
    """

    __slots__ = (
        *("batch", "end", "fetched", "given", "is_step", "items", "mixed", "number", "run"),
    )

    def __init__(self, number: int, requests: int) -> None:
        self.number = number
        self.mixed = 0
        self.fetched = requests
        self.run: Any = None
        self.is_step = False
        self.items: list[Any] = []
        self.batch = 1
        self.given = 0
        self.end: StopIteration | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassInfo:
    """The description of a class that the program sent.

    ``number`` identifies the class. ``specials`` are its special methods, ``overrides`` those that
    replace methods of ``base``, and ``methods`` the other methods. ``base`` is the plain type that
    the class extends, or None, and ``base_names`` are the attributes that are read from the plain
    value. ``mutable`` is True if values of ``base`` can change.
    """

    number: int = -1
    specials: frozenset[str] = frozenset()
    overrides: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    base: type | None = None
    base_names: frozenset[str] = frozenset()
    mutable: bool = False


NO_INFO = ClassInfo()


def link_of(value: Any) -> Any:
    """Return the `Link` of a handle, or None if a plain operation computed the value here."""
    return object.__getattribute__(value, "promptse_link")


def is_of_program(value: Any) -> bool:
    """Return whether `value` is a handle, a mirrored class, a method or module of the program."""
    return isinstance(type(value), HandleType) or issubclass(type(value), ProgramValue)


def reference_of(value: Any) -> tuple[Any, ...] | None:
    """Return what names a value of the program in a message, or None if it has no object there."""
    if isinstance(value, HandleType):
        return (value.promptse_info.number,)
    if isinstance(value, BoundMethod):
        target = reference_of(value.promptse_target)
        return target and (*target, value.promptse_name)
    if isinstance(value, Module):
        return (MODULE_NUMBER,)
    link = link_of(value)
    return link and (link.number,)


# -- underscored names that are read from the program --------------------------------------------

READ_NAMES = frozenset(
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
CONVERSIONS = frozenset(
    ["int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "bytes", "bool"]
)
"""Special methods that convert an object to a plain value."""

_READS = frozenset({"len", "iter", "next", "getitem", "contains", "reversed"})
_PRESERVING = frozenset({"neg", "pos", "abs", "invert"})
COMPARING = words(
    "difference symmetric_difference intersection union issubset issuperset isdisjoint"
    " compare compare_signal compare_total compare_total_mag same_quantum"
)
"""Methods of plain types that compare their object with another one, as operators do."""


def is_unread(name: str) -> bool:
    """Return whether an attribute of this name is not read from the program.

    By the name of asyncio, an object would pass for a future, which asyncio calls with functions.
    """
    is_special = name.startswith("__") and name.endswith("__") and name not in READ_NAMES
    return is_special or name == "_asyncio_future_blocking"


def refuse(target: Any, what: str) -> NoReturn:
    """End the check: the program has decided something that is the check's to decide.

    `target` is the handle, and `what` says what the program has decided.
    """
    owner: ProgramOperations = target.promptse_owner
    owner.fail(
        "interface",
        f"the program cannot decide {what} between its object and a value of the check; compare "
        "attributes, str(), or two objects of the program (docs: What a handle may decide)",
    )


def level_of(value: Any) -> int:
    """Return ``mixed`` of a handle's `Link`, and 0 for other values."""
    link = link_of(value) if isinstance(type(value), HandleType) else None
    return link.mixed if link is not None else 0


def mark(target: Any, result: Any, level: int, name: str) -> None:
    """Note that `result` depends on a value of the check. End the check if it is plain data.

    `level` is 1 or 2, as ``mixed`` in `Link`. `target` is the handle, and `name` the operator. The
    items of a tuple are marked one by one.
    """
    if result is NotImplemented:
        return
    if type(result) is tuple and result:
        for item in result:
            mark(target, item, level, name)
        return
    base = result.promptse_info.base if isinstance(type(result), HandleType) else object
    if base is not None and (level > 1 or base not in (str, bytes, list, tuple)):
        refuse(target, f"the result of {name}")
    link = link_of(result)
    link.mixed = max(link.mixed, level)


def mark_step(result: Any) -> Any:
    """Return `result`, the step of an asynchronous iterator, after marking it as one."""
    if isinstance(type(result), HandleType):
        link_of(result).is_step = True
    return result


def asked(name: str) -> Callable[..., Any]:
    """Return a special method that the program performs."""

    def method(self: Any, *args: Any) -> Any:
        level = level_of(self)
        if level and (name in CONVERSIONS or (level > 1 and name in _READS)):
            refuse(self, f"{name} of a result")
        result = self.promptse_owner.ask("operate", name, self, *args)
        if level and name in _PRESERVING:
            mark(self, result, level, name)
        return result

    return method


_COMPARISONS = ("__eq__", "__ne__")


def _special(value: Any, name: str) -> Any:
    """Return a special method as its class defines it, or None."""
    # Without the methods of its metaclass.
    return next((vars(kind)[name] for kind in type(value).__mro__ if name in vars(kind)), None)


def bound_special(value: Any, name: str) -> Any:
    """Return a special method as an operation finds it: in the class of `value`, or None."""
    method = _special(value, name)
    is_descriptor = hasattr(type(method), "__get__")
    return method.__get__(value, type(value)) if is_descriptor else method


def _read_by_comparison() -> Any:
    """Return what the outermost running ``__eq__`` of the check has read, or None without one.

    It is kept with the local names of the ``__eq__``, since it ends with that. pytest shows no name
    that begins with ``@``.
    """
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - no other way
    outermost = None
    while frame is not None:
        outermost = frame if _is_comparison(frame) else outermost
        frame = frame.f_back
    return outermost and outermost.f_locals.setdefault("@promptse_read", {})


def _is_comparison(frame: FrameType) -> bool:
    """Return whether a frame runs ``__eq__`` or ``__ne__``, or a function that stands for one."""
    code = frame.f_code
    if code.co_name in _COMPARISONS:
        return True
    if not code.co_varnames:
        return False
    first = frame.f_locals.get(code.co_varnames[0])
    if not code.co_argcount and type(first) is tuple and first:
        first = first[0]
    methods = (_special(first, name) for name in _COMPARISONS)
    return any(getattr(method, "__code__", None) is code for method in methods)


def read_once(name: str) -> Callable[[Any], Any]:
    """Return ``__len__`` or ``__iter__``, whose results agree within one comparison of the check.

    A comparison such as that of `pytest.approx` before pytest 9 compares the lengths, and then the
    items up to the end of the shorter one. A program with another length than items could be equal
    to anything.
    """
    ask = asked(name)

    def method(self: Any) -> Any:
        length = _special(self, "__len__")
        is_iterator = _special(self, "__next__") is not None
        read = None if is_iterator and length is None else _read_by_comparison()
        if read is None:
            return ask(self)
        # The same object of the program has the same handle while that is kept.
        found = read.setdefault(id(self), {"handle": self})
        if length is None:  # there may be no end of the items
            found[name], items = tee(found.get(name) or (item for item in ask(self)))
            return items
        if name not in found:
            result = ask(self)
            found[name] = result if name == "len" else [*result]
        size, items = found.get("len"), found.get("iter")
        if type(length) is WrapperDescriptorType:
            size = len(self)  # of the plain content
        if None not in (size, items) and size != len(items):
            refuse(self, "the length")
        return size if name == "len" else iter(items)

    return method


READ_ONCE = (read_once("len"), read_once("iter"))


def contains(self: Any, item: Any) -> Any:
    """Return ``item in self``, by the items if `item` is an object such as `pytest.approx`.

    Such an object cannot be sent, and the program shall not be able to end the check by that.
    """
    owner: ProgramOperations = self.promptse_owner
    if is_of_program(item) or owner.can_send(item):
        return _contains(self, item)
    if _special(self, "__iter__") is None:
        owner.fail(
            "interface",
            f"the program's __contains__ cannot be given a value of type {type(item).__name__}, "
            "and its object has no items; compare the items or attributes",
        )
    return item in [*self]


_contains = asked("contains")
SIGNATURE = property(
    lambda self: build_signature(self.promptse_owner.ask("signature", self)),
    doc="""The signature of a callable of the program, whose defaults are values or handles.

    As with `inspect.signature`, an object without a signature raises ValueError or TypeError.""",
)


class ClassLike:
    """The special methods of a class of the program, which the class itself may define."""

    __slots__ = ()
    __len__, __iter__ = READ_ONCE
    __getitem__ = asked("getitem")
    __contains__ = contains

    def __bool__(self) -> bool:
        return True


class ProgramValue:
    """What is in the program: reading, setting and deleting a name is one request.

    ``promptse_owner`` performs the requests.
    """

    __slots__ = ()
    promptse_owner: ProgramOperations
    promptse_info: ClassInfo = NO_INFO
    promptse_link: Link | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("promptse_") or is_unread(name) or reference_of(self) is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if level_of(self) and name in _PLAIN_NAMES:
            refuse(self, f"a result's {name!r}")
        if name in self.promptse_info.methods:
            return BoundMethod(self, name)
        return self.promptse_owner.ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.promptse_owner.ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self.promptse_owner.ask("delete", self, name)

    def __dir__(self) -> list[str]:
        return [*self.promptse_owner.ask("names", self)]

    __signature__ = SIGNATURE


# Every handle would have them in place of the annotations of its object.
del ProgramValue.__annotations__


# -- classes, methods and modules ------------------------------------------------------------------


class HandleType(ClassLike, ProgramValue, type):
    """The metaclass of mirrored classes.

    Using such a class sends a request to the program's class.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.promptse_owner.call(cls, args, kwargs)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("promptse_", "__", "_abc_")):
            type.__setattr__(cls, name, value)
        else:
            super().__setattr__(name, value)

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if not is_of_program(instance) or cls.promptse_info is NO_INFO:
            return False
        return bool(cls.promptse_owner.ask("isinstance", instance, cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if type.__subclasscheck__(cls, subclass):
            return True
        # An abstract class asks all its subclasses, of which some are of earlier programs.
        if (
            not isinstance(subclass, HandleType)
            or NO_INFO in (cls.promptse_info, subclass.promptse_info)
            or cls.promptse_owner is not subclass.promptse_owner
        ):
            return False
        return bool(cls.promptse_owner.ask("issubclass", subclass, cls))

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **kwargs: Any) -> dict[str, object]:
        """Refuse to derive a class of the check from a class of the program.

        Python calls this before the body of the class statement.
        """
        del kwargs
        for base in bases:
            if isinstance(base, HandleType) and base.promptse_info is not NO_INFO:
                base.promptse_owner.break_check(
                    f"{name}: a class of the check cannot derive from a class of the program; "
                    "pass an object of a class of your own that has the same methods"
                )
        return {}


class BoundMethod(ProgramValue):
    # A method of an object of the program; calling it is one request.

    __slots__ = ("promptse_name", "promptse_target")

    def __init__(self, target: Any, name: str) -> None:
        object.__setattr__(self, "promptse_target", target)
        object.__setattr__(self, "promptse_name", name)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.promptse_owner.ask("get", self, "__doc__")

    @property
    def promptse_owner(self) -> ProgramOperations:  # type: ignore[override]
        owner: ProgramOperations = self.promptse_target.promptse_owner
        return owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target, name = self.promptse_target, self.promptse_name
        caller = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001 - no other way
        # Such as assertSetEqual, which a check calls in place of an operator.
        if name in COMPARING and is_library(caller) and not all(map(is_of_program, args)):
            refuse(target, f"the result of {name}")
        return self.promptse_owner.call(target, args, kwargs, name=name)

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


class Module(ProgramValue):
    """The names of the program's module."""

    __slots__ = ("promptse_owner",)

    def __init__(self, owner: ProgramOperations) -> None:
        object.__setattr__(self, "promptse_owner", owner)

    def __repr__(self) -> str:
        return "<the program's module>"


# -- handles ---------------------------------------------------------------------------------------


def read_of_program(name: str) -> property:
    """Return a property that reads the attribute `name` of the program's object."""
    return property(lambda self: self.promptse_owner.ask("get", self, name))


class Handle(ProgramValue, metaclass=HandleType):
    """An object of the program.

    Its class defines the same special methods as the program's class.
    """

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

    __copy__ = asked("copy")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.promptse_owner.ask("operate", "deepcopy", self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.promptse_owner.fail(
            "interface",
            f"an object of the program ({type(self).__name__}) cannot be pickled in the check; "
            "have the program pickle it",
        )


def _text(self: Any, name: str, *args: str) -> str:
    owner = self.promptse_owner
    try:
        text = str(owner.ask("operate", name, self, *args))
    except ProgramInterrupt as error:
        # pytest asks for the text while it explains a failed assertion, which this would replace.
        owner.fail("exception", f"the program's {name}() raised {type(error).__name__}")
    if level_of(self) > 1 and _LOOKS_PLAIN.fullmatch(text):
        refuse(self, "the text of a result")
    return text


def _equals(self: Any, other: object, name: str) -> Any:
    """Compare for equality.

    A program does not decide that its object equals a value of the check, such as an expected one.
    It may say that they differ. An object of the check with its own ``__eq__``, such as
    `pytest.approx`, decides itself.
    """
    if not is_of_program(other):
        return _equals_value(self, other, name)
    specials = self.promptse_info.specials
    theirs = getattr(type(other), "promptse_info", NO_INFO)
    if not {"__eq__", "__ne__"} & (specials | theirs.specials):
        return (self is other) is (name == "eq")
    return self.promptse_owner.ask("operate", name, self, other)


def _equals_value(self: Any, other: object, name: str) -> Any:
    """Compare a handle with a value of the check."""
    owner = self.promptse_owner
    kind = f"{type(self).__module__}.{type(self).__qualname__}"
    if kind in _NAMESPACES and type(other) is standard.loaded(kind):
        content = self.__dict__  # asked of the program, and decoded here
        return (type(content) is dict and content == vars(other)) is (name == "eq")
    decoy = decoy_of(other)
    is_plain = other is None or decoy is not other
    if not is_plain:
        return bound_special(other, f"__{name}__")(self)  # within this comparison: see `read_once`
    if not {"__eq__", "__ne__"} & self.promptse_info.specials:
        return NotImplemented
    # None has no decoy, so the program is told of it at once.
    asked_later = [name, self, other, False]
    if other is not None:
        asked_later = owner.compared.setdefault((name, id(self), id(other)), asked_later)
    if len(owner.compared) > _MOST_COMPARED:
        owner.fail("resource", f"the check compares its objects over {_MOST_COMPARED} times")
    try:
        answer = owner.ask("operate", name, self, decoy)
    except (ArithmeticError, LookupError, ValueError) as error:
        if not owner.has_raised(error):
            raise
        answer = name == "ne"  # its content may be the reason, and not its type
    asked_later[-1] = True
    if bool(answer) is (name == "eq"):
        refuse(self, "equality")
    return name == "ne"


_MOST_COMPARED = 10_000
_NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
_NUMBER = -7_463_029_508_113
_DECOYS: dict[type, Any] = {
    **{kind: kind(_NUMBER) for kind in (int, float, complex, Decimal, Fraction)},
    **{kind: kind([_NUMBER]) for kind in (list, tuple, set, frozenset, deque)},
    str: str(_NUMBER),
    bytes: b"%d" % _NUMBER,
    bytearray: bytearray(b"%d" % _NUMBER),
    dict: {_NUMBER: _NUMBER},
    timedelta: timedelta(microseconds=_NUMBER),
    **{kind: kind.max for kind in (date, datetime, time)},
}


def decoy_of(value: Any) -> Any:
    """Return what a program is told to compare its object with in place of `value`.

    A plain value of the check may be the expected one, which the program could return at its next
    call. It gets another value of the same type, and the true one when the check has ended. Other
    values are returned as they are.
    """
    return next((_DECOYS[kind] for kind in type(value).__mro__ if kind in _DECOYS), value)


# -- the entry point -------------------------------------------------------------------------------


class EntryPoint(ClassLike):
    # This class stands for the program's entry point. It has no docstring, since the documentation
    # of a candidate is that of the entry point.

    promptse_link = None

    @property
    def promptse_owner(self) -> ProgramOperations:
        """The candidate whose program has the entry point."""
        raise NotImplementedError

    __signature__ = SIGNATURE

    def _entry_object(self) -> Any:
        """Return the entry point as an object: a mirrored class, or the handle of a function."""
        return self.promptse_owner.ask("entry")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.promptse_owner.call(None, args, kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of a class if the entry point is one, as `inspect.isclass` reads it."""
        return HandleType if self._is_class() else type(self)

    def _is_class(self) -> bool:
        return self.promptse_owner.has_class()

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._entry_object())

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._entry_object())

    @property
    def __bases__(self) -> tuple[Any, ...]:
        """The class that the entry point is, which is all that `issubclass` reads."""
        entry = self._entry_object()
        return (entry,) if isinstance(entry, type) else ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, HandleType | Handle) and other is self._entry_object()

    def __hash__(self) -> int:
        return id(self)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._entry_object(),)
