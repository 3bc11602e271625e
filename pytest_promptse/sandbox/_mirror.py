"""Make the local classes and handles for classes and objects that the program describes."""

from __future__ import annotations

import collections.abc
from abc import ABCMeta
from pathlib import PosixPath
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._causes import ProgramError, ProgramInterrupt
from pytest_promptse.sandbox._handle import (
    ClassInfo,
    Handle,
    HandleType,
    Link,
    ProgramValue,
    read_of_program,
)
from pytest_promptse.sandbox._methods import COROUTINE, GENERATOR, METHODS
from pytest_promptse.sandbox._raised import is_silent, real_class
from pytest_promptse.sandbox._values import MUTABLE, fill, make_value, value_namespace
from pytest_promptse.sandbox.guest.decode import take
from pytest_promptse.sandbox.guest.objects import CONTENT, dataclass_fields
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import WireError, words

if TYPE_CHECKING:
    from pytest_promptse.sandbox._handle import ProgramOperations

_PATH_TEXT = words(
    "name stem suffix suffixes parts anchor root drive as_posix as_uri is_absolute match"
    " is_relative_to"
)
# The content of these comes as another type. That of a path does, since only the check has paths
# of its own file system.
_SENT_AS: dict[type, type] = {dict: dict, PosixPath: str}
# Without those of sets: by its items, which a program states one by one, a set would equal another.
_REGISTERED: dict[str, Any] = {
    name: kind
    for name, kind in vars(collections.abc).items()
    if isinstance(kind, ABCMeta) and collections.abc.Set not in kind.__mro__
}
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
    # `raise` of a class that is silent would end a part of the check, whatever calling it returns.
    bases = tuple(RuntimeError if is_silent(kind) else kind for kind in map(real_class, bases))
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
        mutable=base is not None and issubclass(base, MUTABLE),
    )
    names: dict[str, Any] = {
        "__module__": module,
        "__qualname__": qualname,
        "__doc__": read_of_program("__doc__") if module == "builtins" else doc,
        "promptse_owner": None,
        "promptse_info": info,
        "promptse_link": None,
    }
    if fields is not None:
        names["__dataclass_fields__"] = dataclass_fields(fields)
    if is_error:
        bases = _error_bases(bases)
        names["__str__"] = _error_text
        names["__getattr__"] = ProgramValue.__getattr__
    elif base is not None:
        names |= value_namespace(info)
    else:
        names |= _handle_namespace(info)
        bases = tuple(kind for kind in bases if issubclass(kind, Handle)) or (Handle,)
    for attempt in (bases, (Exception,) if is_error else (base or Handle,)):
        try:
            is_abstract = any(isinstance(kind, ABCMeta) for kind in attempt)
            kind = _AbstractHandleType if is_abstract else HandleType
            made = type.__new__(kind, name, attempt, names)
        except TypeError:  # bases that Python cannot combine here
            continue
        if module == "collections.abc" and name in _REGISTERED:
            _REGISTERED[name].register(made)
        made.promptse_owner = owner  # not before, or `register` would ask the program
        return made
    raise WireError("the bases of a class do not go together")


def _base_names(base: type | None) -> frozenset[str]:
    """Return the names that are read from the plain value, without a path's disk access."""
    names = [] if base is None else [name for name in dir(base) if not name.startswith("__")]
    if base is PosixPath:
        names = [*_PATH_TEXT, *(name for name in names if name.startswith("_"))]
    return frozenset(names)


def _handle_namespace(info: ClassInfo) -> dict[str, Any]:
    names: dict[str, Any] = {name: METHODS[name] for name in METHODS.keys() & info.specials}
    names["__dict__"] = read_of_program("__dict__")
    if "__hash__" not in info.specials:
        names["__hash__"] = None if "!hash" in info.specials else Handle.__hash__
    if "__iter__" not in info.specials and "__getitem__" in info.specials:
        # Iteration by index, as the interpreter does it. The guest implements it.
        names["__iter__"] = METHODS["__iter__"]
    if "__await__" in info.specials and "send" in info.methods:
        names |= COROUTINE
    elif "__next__" in info.specials:
        names |= {name: GENERATOR[name] for name in GENERATOR.keys() & info.methods}
    return names


def _error_bases(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    kinds = tuple(kind for kind in bases if issubclass(kind, BaseException))
    mixin = ProgramError if all(issubclass(k, Exception) for k in kinds) else ProgramInterrupt
    return kinds if any(issubclass(kind, mixin) for kind in kinds) else (mixin, *kinds)


def _error_text(self: Any) -> str:
    return str(self.__dict__.get("promptse_message", ""))


class _AbstractHandleType(HandleType, ABCMeta):
    """The metaclass of mirrored classes that extend a plain type with the metaclass `ABCMeta`."""


def make_handle(owner: ProgramOperations, number: int, cls: HandleType, content: list[Any]) -> Any:
    """Return the handle of an object.

    `content` is a list with the plain value if the class extends a plain type, else empty.

    Raises
    ------
    WireError
        If the content does not fit the class.
    """
    if cls.promptse_info.base is None:
        value: Any = object.__new__(cls)  # type: ignore[arg-type]
    else:
        value = make_value(cls, _content(cls, content))
    object.__setattr__(value, "promptse_link", Link(number, owner.requests))
    return value


def update_handle(handle: Any, content: list[Any]) -> None:
    """Give a handle the present content of its object, as `make_handle` describes it."""
    if handle.promptse_info.mutable:
        fill(handle, _content(type(handle), content))


def _content(cls: Any, content: list[Any]) -> Any:
    base: Any = cls.promptse_info.base
    kind = next((plain for special, plain in _SENT_AS.items() if issubclass(base, special)), base)
    if len(content) != 1 or not isinstance(content[0], kind):
        raise WireError("the content of a value does not fit its class")
    return content[0]
