"""Proxies in the guest for objects of the check.

Functions, classes and objects that the check passes stay in the checker's process. The program
receives a proxy of the same name. Each use of the proxy sends a request to the checker. Each object
of the check has one proxy. If the program sends a proxy back, the checker receives the original
object.
"""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox.guest import objects, standard
from pytest_promptse.sandbox.guest.unpatched import __builtins__, copy
from pytest_promptse.sandbox.guest.wire import words

if TYPE_CHECKING:
    from pytest_promptse.sandbox.guest.twins import Twins

Ask = Callable[..., Any]


class _ProxyClass(type):
    """The metaclass of proxies for classes of the check.

    ``_proxy_number`` identifies the class, and ``_proxy_ask`` sends a request to the check.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> Any:
        """Refuse a class of the program, whose methods the check could not call."""
        if "_proxy_number" not in names:
            raise TypeError(f"{name}: a class of the check cannot be a base class in the jail")
        return super().__new__(mcs, name, bases, names)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._proxy_ask(cls._proxy_number, "call", args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls._proxy_ask(cls._proxy_number, "get", (name,), {})

    def __dir__(cls) -> Any:
        return cls._proxy_ask(cls._proxy_number, "dir", (), {})


class _Own:
    """The base of proxies, whose ``__dict__`` has what the program sets under private names."""


_own = vars(_Own)["__dict__"].__get__


def _send(proxy: Any, operation: str, *args: Any) -> Any:
    return proxy._proxy_ask(  # noqa: SLF001 - a function, since each name of a proxy is one to lend
        _own(proxy)["_proxy_instance"], operation, args, {}
    )


def _private(proxy: Any) -> dict[str, Any]:
    return {name: value for name, value in _own(proxy).items() if name != "_proxy_instance"}


def _with(made: Any, private: dict[str, Any]) -> Any:
    if private:
        _own(made).update(private)
    return made


class _Proxy(_Own):
    """A proxy for an object of the check."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _send(self, "get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):  # the check keeps its own
            object.__setattr__(self, name, value)
            return
        _send(self, "set", name, value)

    def __delattr__(self, name: str) -> None:
        if name.startswith("_"):
            object.__delattr__(self, name)
            return
        _send(self, "delete", name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return {**_send(self, "vars"), **_private(self)}

    def __dir__(self) -> list[str]:
        return [*_send(self, "dir"), *_private(self)]

    def __copy__(self) -> Any:
        return _with(_send(self, "copy"), _private(self))

    def __deepcopy__(self, memo: Any) -> Any:
        return _with(_send(self, "deepcopy"), copy.deepcopy(_private(self), memo))


def _special(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        number = object.__getattribute__(self, "_proxy_instance")
        if name == "__next__":
            found = self._proxy_ask(number, name, args, kwargs)
            if not found:
                raise StopIteration
            return found[0]
        if name == "__await__":
            return _awaited(self._proxy_ask, number)
        return self._proxy_ask(number, name, args, kwargs)

    method.__name__ = name
    return method


def _awaited(ask: Ask, number: int) -> Any:
    while True:
        done = ask(number, "__await__", (), {})
        if done:
            return done[0]
        try:
            yield  # lets other tasks of the program run
        except BaseException:  # cancelled, as by asyncio.wait_for
            ask(number, "cancel", (), {})
            raise


class ProxyFactory:
    """Make proxies, and keep the number of the check's object for each of them.

    Parameters
    ----------
    ask : callable
        Sends ``number, operation, arguments, keywords`` to the checker and returns the result.
    numbers : dict
        The checker's number of every proxy by the proxy's id. This class fills it.
    twins : Twins
        Receives the objects of the check that have moved here.
    """

    def __init__(self, ask: Ask, numbers: dict[int, int], twins: Twins) -> None:
        self._ask = ask
        self._twins = twins
        self._numbers = numbers
        self._known: dict[int, Any] = {}

    def build(self, parts: list[Any]) -> Any:
        """Return the proxy that a message describes, or the earlier proxy of the same number."""
        number, *description = parts
        if not description:
            return self._known[number]
        kind, *rest = description
        made = getattr(self, f"_{kind}")(number, *rest)
        if kind in ("namedtuple", "enum", "subclass"):
            made.__getattr__ = self._computed(number)
        if number >= 0:
            self._known[number] = made
            self._numbers[id(made)] = number
        return made

    def _moved_value(self, number: int, *parts: Any) -> Any:
        return self._twins.add(number, standard.build(parts, in_program=True))

    def _function(
        self, number: int, name: str, doc: str | None, parameters: Any, is_async: bool = False
    ) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            return self._ask(number, "call", args, kwargs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await self._ask(number, "call", args, kwargs)

        function = coroutine if is_async else function
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        if parameters is not None:
            made: Any = function
            made.__signature__ = objects.build_signature(parameters)
        return function

    def _class(
        self, number: int, name: str, specials: str, bases: tuple[Any, ...], shown: dict[str, Any]
    ) -> Any:
        if any(isinstance(base, type) and issubclass(base, BaseException) for base in bases):
            return type(name, bases, {"__module__": "check"})
        names: dict[str, Any] = {special: _special(special) for special in specials.split()}
        names |= dict.fromkeys(shown.get("without", "").split())
        names |= {
            "__module__": "check",
            "_proxy_number": number,
            "_proxy_ask": staticmethod(self._ask),
        }
        if "__eq__" in names and "__hash__" not in names:
            names["__hash__"] = None
        names["__doc__"] = shown.get("doc")
        if shown.get("parameters") is not None:
            names["__signature__"] = objects.build_signature(shown["parameters"])
        if "posed" in shown:
            names["__class__"] = property(lambda _self: shown["posed"])
        if "fields" in shown:
            names["__dataclass_fields__"] = objects.dataclass_fields(shown["fields"])
        own = tuple(base for base in bases if isinstance(base, _ProxyClass))
        return _ProxyClass(name, own or (_Proxy,), names)

    def _object(self, number: int, cls: Any) -> Any:
        made = object.__new__(cls)
        object.__setattr__(made, "_proxy_instance", number)
        return made

    def _exception(self, _number: int, cls: Any, args: tuple[Any, ...], names: Any) -> Any:
        try:
            error = cls(*args)
        except Exception:  # noqa: BLE001 - the constructor takes other arguments
            error = cls.__new__(cls)
            error.args = args
        error.__dict__.update(names)
        return error

    def _computed(self, number: int) -> Callable[[Any, str], Any]:
        """Return the ``__getattr__`` of copies: the check computes what its class defines."""

        def get(self_: Any, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return self._ask(number, "of_copy", (self_, name), {})

        return get

    def _namedtuple(self, _number: int, name: str, fields: list[str], defaults: list[Any]) -> Any:
        return namedtuple(name, fields, defaults=defaults)  # noqa: PYI024

    def _enum(self, _number: int, name: str, base: Any, members: dict[str, Any], plain: Any) -> Any:
        made: Any = getattr(enum, base)(name, members, module="check", type=plain)
        return made

    def _member(self, _number: int, cls: Any, key: Any) -> Any:
        return cls[key] if type(key) is str else cls(key)

    def _subclass(self, _number: int, name: str, base: Any) -> Any:
        return type(name, (base,), {"__module__": "check"})

    def _value(self, _number: int, cls: Any, content: Any) -> Any:
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return cls(*content)
        if issubclass(cls, dict):
            made = cls()
            dict.update(made, content)
            return made
        return cls(content)


SPECIALS = objects.SPECIALS - words("__get__ __set__ __delete__ __set_name__")
"""Special methods of the check's objects that a program may use."""
