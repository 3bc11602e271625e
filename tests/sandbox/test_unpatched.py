"""The plugin's own work beside a check does not change when the check patches the library."""

import importlib
import types
from pathlib import Path

import pytest

from pytest_promptse import sandbox
from pytest_promptse.sandbox.guest import unpatched

# These run without the package.
SCRIPTS = {"_bridge", "_launch"}
FOLDER = Path(sandbox.__file__).parent
NAMES = [
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in FOLDER.rglob("*.py")
    if path.stem not in {"__init__", *SCRIPTS}
]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_functions_of_a_module_have_builtins_that_no_check_patches(name):
    module = importlib.import_module(f"pytest_promptse.sandbox.{name}")
    functions = [
        value
        for value in vars(module).values()
        if isinstance(value, types.FunctionType) and value.__globals__ is vars(module)
    ]
    for function in functions:
        assert function.__builtins__ is unpatched.__builtins__ or module is unpatched


def test_an_unpatched_module_keeps_its_functions(monkeypatch):
    plain = unpatched.time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: 5)
    assert unpatched.time.monotonic is plain
    assert unpatched.time.monotonic() != 5
