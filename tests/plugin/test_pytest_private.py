"""The uses of pytest's private names that need no session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from pytest_promptse.plugin._pytest_private import (
    note_patches,
    renew_instance,
    temporary_folder,
    temporary_roots,
    torn_down_after,
)

PATCHER: Any = mock._patch
METHODS = ("setattr", "delattr")


@pytest.fixture
def _unpatched():
    """Take away what an earlier call of `note_patches` in this process has put around them."""
    before = PATCHER.get_original, *(getattr(pytest.MonkeyPatch, name) for name in METHODS)
    plain = [getattr(function, "__wrapped__", function) for function in before]
    set_functions(*plain)
    yield
    set_functions(*before)


def set_functions(get_original, *methods):
    PATCHER.get_original = get_original
    for name, method in zip(METHODS, methods, strict=True):
        setattr(pytest.MonkeyPatch, name, method)


@pytest.mark.usefixtures("_unpatched")
def test_each_patch_is_noted_once_with_what_was_there():
    notes = []
    for _ in range(2):
        note_patches(lambda *note: notes.append(note))
    owner = SimpleNamespace(a=1, b=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, "a", 3)
        patch.delattr(owner, "b")
        patch.setattr(owner, "new", 4, raising=False)
    assert notes == [(owner, "a", 1), (owner, "b", 2), (owner, "new")]
    notes.clear()
    with mock.patch.object(owner, "a", 5), mock.patch.object(owner, "c", 6, create=True):
        assert (owner.a, owner.c) == (5, 6)
    assert notes == [(owner, "a", 1), (owner, "c")]
    assert vars(owner) == {"a": 1, "b": 2}


def test_a_method_gets_a_new_instance_for_each_program():
    item = SimpleNamespace(_instance=1, _obj=2, parent=pytest.Class.__new__(pytest.Class))
    renew_instance(item)
    assert vars(item).keys() == {"parent"}
    renew_instance(item)
    function = SimpleNamespace(_obj=2, parent=None)
    renew_instance(function)
    assert function._obj == 2


def test_what_is_set_up_in_a_block_is_torn_down_after_it_in_reverse():
    done = []

    def finalizer(name):
        return lambda: done.append(name)

    stack = {"session": ([finalizer("before")], None), "item": ([], None)}
    session = SimpleNamespace(_setupstate=SimpleNamespace(stack=stack))

    def block():
        with torn_down_after(session):
            stack["session"][0].append(finalizer("wide"))
            stack["item"][0].extend([finalizer("first"), finalizer("second")])
            raise KeyError

    with pytest.raises(KeyError):
        block()
    assert done == ["second", "first", "wide"]
    assert len(stack["session"][0]) == 1


def test_a_folder_of_temporary_folders_is_not_made():
    def item(**config):
        return SimpleNamespace(config=SimpleNamespace(**config))

    assert temporary_folder(item()) is None
    assert temporary_folder(item(_tmp_path_factory=SimpleNamespace(_basetemp=None))) is None
    factory = SimpleNamespace(_basetemp="/x")
    assert temporary_folder(item(_tmp_path_factory=factory)) == "/x"


def test_the_folders_that_options_name_are_those_of_temporary_folders(pytestconfig, monkeypatch):
    monkeypatch.setattr(pytestconfig.option, "basetemp", None)
    monkeypatch.delenv("PYTEST_DEBUG_TEMPROOT", raising=False)
    assert temporary_roots(pytestconfig) == ()
    monkeypatch.setattr(pytestconfig.option, "basetemp", "/x")
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", "/y")
    assert temporary_roots(pytestconfig) == ("/x", "/y")
