"""Objects that stay in the program: handles that ask it, and iterators that fetch from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ITEMS = 100_000
_MAX_BATCH = 256


class Asks(Protocol):
    """What a handle needs of the candidate it belongs to."""

    def ask(self, verb: str, *operands: Any) -> Any:
        """Have the program do something and return what came of it."""

    def call_object(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object of the program."""


class Handle:
    """An object of the program, seen from the check.

    Attributes, calls, items, iteration, ``len``, ``in``, ``with``, ``str`` and ``repr`` ask the
    program. A handle equals plain data never, whatever the object's ``__eq__`` says, and cannot
    be ordered against it: the program has no say in comparisons with expected values. Two
    handles of one program compare as the program compares its objects.
    """

    __slots__ = ("_candidate", "_number", "_type_name")

    def __init__(self, candidate: Asks, number: int, type_name: str) -> None:
        object.__setattr__(self, "_candidate", candidate)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_type_name", type_name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            # Protocols of pytest, copy or pickle shall not run the program.
            raise AttributeError(f"a handle has no {name!r}")
        return self._candidate.ask("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._candidate.ask("set", self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._candidate.call_object(self, args, kwargs)

    def __iter__(self) -> Iterator[Any]:
        iterator = self._operate("iter")
        return iter(iterator if isinstance(iterator, ProgramIterator) else ())

    def __len__(self) -> int:
        return int(self._operate("len"))

    def __bool__(self) -> bool:
        return bool(self._operate("bool"))

    def __contains__(self, item: object) -> bool:
        return bool(self._operate("contains", item))

    def __getitem__(self, key: Any) -> Any:
        return self._operate("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._operate("setitem", key, value)

    def __delitem__(self, key: Any) -> None:
        self._operate("delitem", key)

    def __enter__(self) -> Any:
        return self._operate("enter")

    def __exit__(self, *_: object) -> None:
        self._operate("exit")

    def __str__(self) -> str:
        return str(self._operate("str"))

    def __repr__(self) -> str:
        return str(self._operate("repr"))

    def __hash__(self) -> int:
        return hash((id(self._candidate), self._number))

    def __eq__(self, other: object) -> bool:
        return self._is_peer(other) and self._operate("eq", other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> Any:
        return self._order("lt", other)

    def __le__(self, other: object) -> Any:
        return self._order("le", other)

    def __gt__(self, other: object) -> Any:
        return self._order("gt", other)

    def __ge__(self, other: object) -> Any:
        return self._order("ge", other)

    def _is_peer(self, other: object) -> bool:
        return isinstance(other, Handle) and other._candidate is self._candidate  # noqa: SLF001

    def _order(self, name: str, other: object) -> Any:
        if not self._is_peer(other):
            return NotImplemented
        return bool(self._operate(name, other))

    def _operate(self, name: str, *operands: Any) -> Any:
        return self._candidate.ask("operate", name, self, *operands)


class ProgramIterator:
    """A generator or other iterator of the program; items are fetched as they are asked for.

    At most `MAX_ITEMS` come; one more raises `OverflowError`, so that an endless generator
    under ``list()`` ends.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._items: list[Any] = []
        self._batch = 1
        self._given = 0
        self._exhausted = False

    def __iter__(self) -> ProgramIterator:
        return self

    def __next__(self) -> Any:
        if not self._items and not self._exhausted:
            items = self._handle._candidate.ask("next", self._handle, self._batch)  # noqa: SLF001
            self._items = list(reversed(items)) if isinstance(items, list) else []
            self._exhausted = len(self._items) < self._batch
            self._batch = min(2 * self._batch, _MAX_BATCH)
        if not self._items:
            raise StopIteration
        if self._given >= MAX_ITEMS:
            raise OverflowError(f"the program's iterator gives more than {MAX_ITEMS} items")
        self._given += 1
        return self._items.pop()

    def __repr__(self) -> str:
        return "<iterator of the program>"
