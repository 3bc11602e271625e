from __future__ import annotations

from functools import partial

import pytest
from program_runs import open_sandbox_with_toolchains, run_program


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox_with_toolchains() as pool:
        yield pool


@pytest.fixture
def run(sandbox):
    """Prepare a program and run it once."""
    return partial(run_program, sandbox)
