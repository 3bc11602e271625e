import contextlib

import pytest

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits


@pytest.fixture(scope="session")
def bwrap():
    try:
        sandbox = open_sandbox("bwrap", workers=2)
    except SandboxError as error:
        pytest.skip(str(error))
    with sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def plain():
    with open_sandbox("none", workers=2) as sandbox:
        yield sandbox


@pytest.fixture(scope="session", params=["bwrap", "none"])
def sandbox(request):
    """Each of the two levels that every machine has. A candidate behaves the same in both."""
    return request.getfixturevalue("bwrap" if request.param == "bwrap" else "plain")


@pytest.fixture
def load(sandbox):
    """Load a program whose entry point is `f` for the length of the test."""
    with contextlib.ExitStack() as stack:

        def load(program, entry_point="f", **limits):
            execution = sandbox.load(program, entry_point=entry_point, limits=Limits(**limits))
            return stack.enter_context(execution)

        yield load
