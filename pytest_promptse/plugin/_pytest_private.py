"""The uses of pytest's private names by items, each with the reason why no public name is enough.

Tests run them with the oldest and the newest supported pytest.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any
from unittest import TestCase, mock

import pytest
from _pytest import monkeypatch
from _pytest.assertion import rewrite
from _pytest.logging import caplog_handler_key

from pytest_promptse.sandbox import _failing
from pytest_promptse.sandbox.guest.unpatched import __builtins__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# The first name is that of pytest 8.
_NOT_SET: Any = getattr(monkeypatch, "notset", None) or monkeypatch.NOTSET  # type: ignore[attr-defined]


def fixture_definitions(item: pytest.Function) -> Mapping[str, Sequence[Any]]:
    """Return the definitions of all fixtures that an item uses; the one in effect is last.

    The public ``item.fixturenames`` has their names, but not where they are defined.
    """
    return dict(item._fixtureinfo.name2fixturedefs)  # noqa: SLF001


def collected_fixture_definitions(metafunc: pytest.Metafunc, name: str) -> Sequence[Any]:
    """Return the definitions of a fixture while tests are generated; the one in effect is last.

    At that time there is no item, so neither `fixture_definitions` nor a fixture request can be
    used.
    """
    return tuple(metafunc._arg2fixturedefs.get(name, ()))  # noqa: SLF001


def argument_names(item: pytest.Function) -> Sequence[str]:
    """Return the names of the fixtures that the test function takes as arguments.

    ``item.fixturenames`` lists autouse fixtures and fixtures of fixtures as well.
    """
    return tuple(item._fixtureinfo.argnames)  # noqa: SLF001


def renew_instance(item: pytest.Function) -> None:
    """Give a test method a new instance of its class, as pytest does for every test.

    pytest creates the instance once per item and has no public way to renew it. Both deleted
    attributes are created again on use.
    """
    if isinstance(item.parent, pytest.Class):
        vars(item).pop("_instance", None)
        vars(item).pop("_obj", None)


def set_up_again(item: pytest.Function) -> None:
    """Tear down and set up the item's function-scoped fixtures.

    pytest-rerunfailures does the same, since pytest has no public way:
    https://github.com/pytest-dev/pytest/issues/12596

    At teardown, some fixtures delete entries that a hook has put into the item's stash only once.
    An example is tmp_path with the outcomes of the phases. These entries are put back.

    The records of caplog belong to the phase of an item, not to the fixture, and are removed.
    """
    state = item.session._setupstate  # noqa: SLF001
    before = dict(item.stash._storage)  # noqa: SLF001
    state.teardown_exact(item.parent)  # type: ignore[arg-type]
    for key, value in before.items():
        item.stash.setdefault(key, value)
    if caplog_handler_key in item.stash:
        item.stash[caplog_handler_key].clear()
    item._initrequest()  # noqa: SLF001
    state.setup(item)


@contextlib.contextmanager
def torn_down_after(session: pytest.Session) -> Iterator[None]:
    """Tear down after the block the fixtures that were set up within it.

    The process of a check ends after the block, and pytest does not know of these fixtures.
    """
    stack = session._setupstate.stack  # noqa: SLF001
    before = {node: len(finalizers) for node, (finalizers, _) in stack.items()}
    try:
        yield
    finally:
        for node, (finalizers, _) in reversed(stack.items()):
            while len(finalizers) > before[node]:
                finalizers.pop()()


def temporary_folder(item: pytest.Item | pytest.FixtureRequest) -> str | None:
    """Return the folder of the session's temporary folders, or None if there is none yet.

    ``getbasetemp`` would create it, which the process of a check may not do.
    """
    factory = getattr(item.config, "_tmp_path_factory", None)
    folder = getattr(factory, "_basetemp", None)
    return None if folder is None else str(folder)


def temporary_roots(config: pytest.Config) -> tuple[str, ...]:
    """Return the folders in which `temporary_folder` will be, as far as options name them."""
    found = (config.getoption("basetemp", None), os.environ.get("PYTEST_DEBUG_TEMPROOT"))
    return tuple(str(path) for path in found if path)


@contextlib.contextmanager
def failures_noted(note: Callable[[BaseException], None]) -> Iterator[None]:
    """Call `note` in the block with each assertion that fails, before anything can handle it.

    Those are the assertions that pytest has rewritten, those of suite files, ``pytest.fail`` and
    what uses it, and the methods of `unittest.TestCase` and of mocks. No public hook is called for
    them.
    """
    explain: Any = rewrite._format_explanation  # type: ignore[attr-defined] # noqa: SLF001
    failure = pytest.fail.Exception
    names = {"__init__": _noting(AssertionError, note), "__module__": "builtins"}
    noted = type("AssertionError", (AssertionError,), names)

    def fail(explanation: str) -> str:
        __tracebackhide__ = True
        text: str = explain(explanation)
        if rewrite._check_if_assertion_pass_impl():  # noqa: SLF001 - one that holds may be explained
            return text
        raise noted(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "_format_explanation", fail)
        patch.setattr(_failing, "note", note)
        patch.setattr(failure, "__init__", _noting(failure, note))
        patch.setattr(TestCase, "failureException", noted)
        patch.setattr(mock, "AssertionError", noted, raising=False)  # which it raises by this name
        yield


def note_patches(note: Callable[..., None]) -> None:
    """Call `note` for each patch by ``monkeypatch`` or `unittest.mock`, from now on.

    Its arguments are what has the patched name, the name, and what is there, if there is anything.
    Neither of the two has a public hook.
    """
    patcher: Any = mock._patch  # noqa: SLF001
    if hasattr(patcher.get_original, "__wrapped__"):
        return
    get_original = patcher.get_original

    @functools.wraps(get_original)
    def of_mock(self: Any) -> Any:
        present = {key: value for key, value in vars(self.target).items() if key == self.attribute}
        note(self.target, self.attribute, *present.values())
        return get_original(self)

    patcher.get_original = of_mock
    for method in (pytest.MonkeyPatch.setattr, pytest.MonkeyPatch.delattr):
        setattr(pytest.MonkeyPatch, method.__name__, _noting_patch(method, note))


def _noting_patch(patch: Callable[..., None], note: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(patch)
    def noting(self: Any, *args: Any, **options: Any) -> None:
        made = len(self._setattr)
        patch(self, *args, **options)
        for owner, name, before in self._setattr[made:]:
            note(owner, name, *(() if before is _NOT_SET else (before,)))

    return noting


def _noting(kind: type[BaseException], note: Callable[[BaseException], None]) -> Any:
    construct: Any = kind.__init__

    def __init__(self: BaseException, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - of a class
        construct(self, *args, **kwargs)
        note(self)

    return __init__
