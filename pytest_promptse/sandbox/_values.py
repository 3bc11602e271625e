"""Handles whose class extends a plain type, such as a namedtuple or a subclass of dict.

They have the content that the program sent, as values of the plain type, and are compared by it.
"""

from __future__ import annotations

from collections import deque
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._handle import (
    COMPARING,
    CONVERSIONS,
    BoundMethod,
    Handle,
    ProgramValue,
    is_of_program,
    is_unread,
    link_of,
    read_of_program,
    refuse,
)
from pytest_promptse.sandbox._methods import MEASURING, METHODS, binary
from pytest_promptse.sandbox.guest.objects import BINARY, CONTENT, ORDER, SPECIALS
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.sandbox._handle import ClassInfo

MUTABLE = (list, dict, set, bytearray, deque)
_BY_ARGUMENTS = (Fraction, date, time, datetime, timedelta)
_PICKLE = 4
_CONVERTING = frozenset(f"__{name}__" for name in CONVERSIONS)
_SIGNS = words("__neg__ __pos__ __abs__")
_OF_CONTENT = COMPARING | words("count index find rfind rindex startswith endswith")


def refresh(value: Any) -> None:
    """Fetch the content of a handle again if the program has run since the last fetch."""
    info, link = value.promptse_info, link_of(value)
    if info.mutable and link is not None and link.fetched != value.promptse_owner.requests:
        fill(value, value.promptse_owner.ask("content", value))


def fill(value: Any, content: Any) -> None:
    """Replace the content of a mutable value by `content`, using the plain type's own methods.

    The methods of the value's own class are not called.
    """
    base = value.promptse_info.base
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
    link = link_of(value)
    if link is not None:
        link.fetched = value.promptse_owner.requests


def make_value(cls: Any, content: Any) -> Any:
    """Return an instance of a mirrored class that extends a plain type.

    `content` is a plain value equal to the result.
    """
    base = cls.promptse_info.base
    if issubclass(base, PurePath):
        return type.__call__(cls, content)
    if issubclass(base, MUTABLE):
        value = base.__new__(cls)
        if base is deque:
            deque.__init__(value, (), content.maxlen)
        fill(value, content)
        return value
    # The arguments with which pickle would make a date, a time or a fraction.
    arguments = content.__reduce_ex__(_PICKLE)[1] if base in _BY_ARGUMENTS else (content,)
    return base.__new__(cls, *arguments)


def _set(self: Any, name: str, value: Any) -> None:
    if link_of(self) is None or name in self.promptse_info.base_names:
        object.__setattr__(self, name, value)
    else:
        ProgramValue.__setattr__(self, name, value)


def _read(self: Any, name: str) -> Any:
    if name.startswith("promptse_") or is_unread(name) or link_of(self) is None:
        return object.__getattribute__(self, name)
    info = self.promptse_info
    if name not in info.base_names:
        return ProgramValue.__getattr__(self, name)
    if name in _OF_CONTENT:
        refresh(self)
        return _compared(self, name)
    plain = object.__getattribute__(self, name)
    is_own = info.mutable or (name in info.overrides and not name.startswith("_"))
    return BoundMethod(self, name) if is_own and callable(plain) else plain


def _compared(self: Any, name: str) -> Any:
    """Return a method of the content, or the program's own one for objects of the program."""
    plain = object.__getattribute__(self, name)
    if name not in COMPARING & self.promptse_info.overrides:
        return plain

    def method(*args: Any) -> Any:
        return (BoundMethod(self, name) if all(map(is_of_program, args)) else plain)(*args)

    return method


@cache
def _compare(name: str, base: Any) -> Callable[[Any, Any], Any]:
    plain = getattr(base, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        if link_of(self) is not None and is_of_program(other):
            if f"__{name}__" in self.promptse_info.overrides:
                return self.promptse_owner.ask("operate", name, self, other)
            if other.promptse_info.base is not None:
                refresh(other)
        refresh(self)
        return plain(self, other)

    return method


@cache
def _binary(name: str, prefix: str, base: Any) -> Callable[..., Any]:
    special = f"__{prefix}{name}__"
    plain = getattr(base, special, None)
    ask = binary(name, prefix)
    is_loose = name not in MEASURING and base in (str, bytes, list, tuple)

    def method(self: Any, other: Any, *modulo: Any) -> Any:
        owner, info = self.promptse_owner, self.promptse_info
        if issubclass(base, PurePath) and isinstance(other, str | PurePath):
            operands = (other, self) if prefix == "r" else (self, other)
            return owner.ask("operate", name, *operands)
        if is_of_program(other):
            return ask(self, other, *modulo)
        if special not in info.overrides and plain is not None:
            if prefix == "i" and info.mutable:
                result = owner.ask("operate", f"i{name}", self, other)
                refresh(self)
                return result
            refresh(self)
            return plain(self, other, *modulo)
        if not is_loose:
            refuse(self, f"the result of {name}")
        return ask(self, other, *modulo)

    return method


@cache
def _unary(name: str, base: Any) -> Callable[[Any], Any]:
    plain = getattr(base, f"__{name}__")

    def method(self: Any) -> Any:
        expected = plain(self)
        result = self.promptse_owner.ask("operate", name, self)
        if (is_of_program(result) or type(result) is type(expected)) and result == expected:
            return result
        if expected == expected:  # noqa: PLR0124 - not a nan
            refuse(self, f"the result of {name}")
        return expected

    return method


@cache
def _contains(base: Any) -> Callable[[Any, Any], bool]:
    def method(self: Any, item: Any) -> bool:
        decides = "__contains__" in self.promptse_info.overrides and (
            is_of_program(item) or self.promptse_owner.can_send(item)
        )
        says = not decides or bool(self.promptse_owner.ask("operate", "contains", self, item))
        refresh(self)
        has: bool = base.__contains__(self, item)
        if decides and says and not has:
            refuse(self, "membership")
        return says and has

    return method


# Dict views compare themselves with a set by its length and its items.


def _len_of_set(self: Any) -> Any:
    size = METHODS["__len__"](self)
    refresh(self)
    if size != self.promptse_info.base.__len__(self):
        refuse(self, "the length")
    return size


def _iter_of_set(self: Any) -> Any:
    """Return the items of the content, in the program's order."""
    items = [*METHODS["__iter__"](self)]
    refresh(self)
    content = CONTENT[self.promptse_info.base](self)
    if len(items) != len(content) or content.union(items) != content:
        refuse(self, "the items")
    return iter(items)


_OF_SETS = {"__len__": _len_of_set, "__iter__": _iter_of_set}


def value_namespace(info: ClassInfo) -> dict[str, Any]:
    """Return the attributes of a mirrored class that extends a plain type."""
    base: Any = info.base
    names: dict[str, Any] = {
        "__getattribute__": _read,
        "__setattr__": _set,
        "__delattr__": ProgramValue.__delattr__,
        "__dict__": read_of_program("__dict__"),
        **{name: Handle.__dict__[name] for name in ("__copy__", "__deepcopy__", "__reduce_ex__")},
        "__hash__": base.__hash__,
    }
    orders = {f"__{name}__": name for name in ORDER}
    names |= {
        special: _compare(name, base) for special, name in orders.items() if hasattr(base, special)
    }
    special_names = {
        special
        for special in SPECIALS - {"__hash__", *orders}
        if special in info.overrides - _CONVERTING
        or (special in info.specials and not hasattr(base, special))
        or (info.mutable and hasattr(base, special))
        or (issubclass(base, PurePath) and special in ("__truediv__", "__rtruediv__"))
    }
    operators = {
        f"__{prefix}{name}__": (name, prefix) for name in BINARY for prefix in ("", "r", "i")
    }
    for special in special_names:
        if special in _OF_SETS and base in (set, frozenset):
            names[special] = _OF_SETS[special]
        elif special in operators:
            names[special] = _binary(*operators[special], base)
        elif special in _SIGNS and hasattr(base, special):
            names[special] = _unary(special.strip("_"), base)
        elif special in METHODS:
            names[special] = METHODS[special]
    if info.mutable or "__contains__" in info.overrides:
        names["__contains__"] = _contains(base)
    return names
