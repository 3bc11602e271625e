"""The special methods of handles: each sends a request, within the rules of `_handle`."""

from __future__ import annotations

import sys
from types import MethodType
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._blocks import may_suppress
from pytest_promptse.sandbox._handle import (
    READ_ONCE,
    Handle,
    asked,
    contains,
    decoy_of,
    is_of_program,
    level_of,
    link_of,
    mark,
    mark_step,
    refuse,
)
from pytest_promptse.sandbox.guest.objects import BINARY, ORDER, UNARY
from pytest_promptse.sandbox.guest.unpatched import __builtins__
from pytest_promptse.sandbox.guest.wire import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.sandbox._handle import Link, ProgramOperations

MAX_ITEMS = 1_000_000
_MAX_BATCH = 4096
_SINGLE_ITEMS = 16
_SLICE = 0.02
MEASURING = frozenset({"sub", "truediv", "floordiv", "mod", "divmod", "xor", "and", "or"})
"""Operators that compare their operands, since their result is nothing, or an operand, if the two
are equal.
"""


def binary(name: str, prefix: str) -> Callable[..., Any]:
    """Return the method of an operator. `prefix` is ``r``, ``i`` or empty."""
    level = 2 if name in MEASURING else 1

    def method(self: Any, other: Any, *modulo: Any) -> Any:
        operands = (other, self) if prefix == "r" else (self, other)
        operation = f"i{name}" if prefix == "i" else name
        result = self.promptse_owner.ask("operate", operation, *operands, *modulo)
        mixed = max(level_of(self), level_of(other))
        # The start of sum() is 0.
        if not is_of_program(other) and (name, type(other), other) != ("add", int, 0):
            mixed = max(mixed, level)
        if mixed:
            mark(self, result, mixed, name)
        return result

    return method


def _order(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        result = self.promptse_owner.ask("operate", name, self, decoy_of(other))
        if not is_of_program(other):
            # An exception of the program, such as TypeError, is what the check may expect.
            refuse(self, "an order")
        return result

    return method


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.promptse_owner.call(self, args, kwargs)


def _get(self: Any, instance: Any, owner: Any = None) -> Any:
    """Return the attribute of a class of the check that is a descriptor of the program.

    The fixture ``candidate`` as such an attribute calls this too. A function becomes a method here,
    so that its first argument is lent when it is called.
    """
    if (type(self).__module__, type(self).__name__) == ("builtins", "function"):
        return self if instance is None else MethodType(self, instance)
    return self.promptse_owner.ask("operate", "get", self, instance, owner)


# -- blocks ----------------------------------------------------------------------------------------


def _leave(self: Any, name: str, error: BaseException | None) -> tuple[Any, bool]:
    """Tell the program that a block ends, and return its answer and whether that may be heeded."""
    kind = None if error is None else type(error)
    is_own = error is not None and self.promptse_owner.has_raised(error)
    may = (
        error is not None
        and error.__traceback__ is not None
        # Not `contextlib.ExitStack`, whose block is another.
        and error.__traceback__.tb_frame is sys._getframe(2)  # noqa: SLF001 - no other way
        and may_suppress(error, is_of_program=is_own)
    )
    return self.promptse_owner.call(self, (kind, error, None), {}, name=name), may


def _exit(self: Any, _kind: Any, error: Any, _trace: Any) -> bool:
    answer, may = _leave(self, "__exit__", error)
    return bool(answer) and may


async def _aexit(self: Any, _kind: Any, error: Any, _trace: Any) -> bool:
    answer, may = _leave(self, "__aexit__", error)
    return bool(await answer) and may


# -- coroutines and iterators ----------------------------------------------------------------------


def _await(self: Any) -> Any:
    """Run the program's awaitable in the program's event loop, and let other tasks here run."""
    task = self.promptse_owner.ask("start", self)
    seconds = 0.0
    while True:
        done = self.promptse_owner.ask("step", task, seconds, stops=link_of(self).is_step)
        if done:
            return done[0]
        seconds = _SLICE
        yield


def _anext(self: Any) -> Any:
    return mark_step(self.promptse_owner.ask("operate", "anext", self))


def _send(self: Any, value: Any) -> Any:
    """Go on with an awaitable that an event loop treats as a coroutine."""
    link = link_of(self)
    link.run = link.run or _await(self)
    return link.run.send(value)


def _of_iterator(name: str) -> Callable[..., Any]:
    """Return the method ``send``, ``throw`` or ``close`` of a generator or a coroutine."""

    def method(self: Any, *args: Any) -> Any:
        link = link_of(self)
        if link.items and name != "close":
            self.promptse_owner.fail(
                "interface",
                f"{name}() after {link.given} items: the program's generator has been read ahead "
                f"by {len(link.items)}; use send() and throw() within the first {_SINGLE_ITEMS}",
            )
        link.items, link.run = [], None
        if name == "close":
            link.end = StopIteration()
        return self.promptse_owner.call(self, args, {}, name=name)

    return method


def _next(self: Any) -> Any:
    """Return the next item. Further items are fetched in growing batches before they are needed.

    There are at most `MAX_ITEMS` items, so that ``list()`` of an endless generator ends.
    """
    link: Link = object.__getattribute__(self, "promptse_link")  # called for each of many items
    if not link.items:
        owner: ProgramOperations = self.promptse_owner
        if link.end is not None:
            owner.require_no_failure()  # which the end would replace, as an exception does
            raise link.end
        items, done, value = owner.ask("next", self, link.batch, stops=True)
        if type(items) is not list or type(done) is not bool or not (items or done):
            owner.fail("exception", "the program broke the protocol")
        link.items = items[::-1]
        if done:
            link.end = StopIteration(value) if value is not None else StopIteration()
        if link.given >= _SINGLE_ITEMS:
            link.batch = min(2 * link.batch, _MAX_BATCH)
        if link.end is not None and not items:
            raise link.end
    if link.given >= MAX_ITEMS:
        self.promptse_owner.fail(
            "resource", f"the program's iterator gives more than {MAX_ITEMS} items"
        )
    link.given += 1
    return link.items.pop()


METHODS: dict[str, Any] = {
    **{f"__{name}__": asked(name) for name in (*UNARY, "hash")},
    **{f"__{prefix}{name}__": binary(name, prefix) for name in BINARY for prefix in ("", "r", "i")},
    **{f"__{name}__": _order(name) for name in ORDER},
    **dict(zip(("__len__", "__iter__"), READ_ONCE, strict=True)),
    "__contains__": contains,
    "__call__": _call,
    "__get__": _get,
    "__exit__": _exit,
    "__aexit__": _aexit,
    "__await__": _await,
    "__anext__": _anext,
    "__next__": _next,
    **{name: Handle.__dict__[name] for name in words("__str__ __repr__ __format__ __eq__ __ne__")},
}
"""The special methods of handles, by name."""

GENERATOR: dict[str, Any] = {name: _of_iterator(name) for name in ("send", "throw", "close")}
COROUTINE: dict[str, Any] = {**GENERATOR, "send": _send}
"""The methods of generators and coroutines, by name."""
