"""The timer of pytest-timeout stands still while a test waits for the model."""

from __future__ import annotations

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
SLOW = """
import asyncio
from pathlib import Path
from pytest_promptse.models import Capabilities, Completion, Response, Usage

class Slow:
    spec = "slow:m"
    identity = {"backend": "slow"}
    concurrency = 1

    async def start(self):
        return Capabilities(form="chat")

    async def complete(self, request):
        if request.task_id.endswith("test_waits"):
            await asyncio.sleep(6.5)
            Path("answered").touch()
        text = "def double(x):\\n    return 2 * x\\n"
        return Response(
            completions=tuple(
                Completion(index=request.first + i, text=text) for i in range(request.n)
            ),
            usage=Usage(requests=1),
        )

    async def close(self):
        pass

def pytest_promptse_backend(name):
    return Slow() if name == "slow" else None
"""


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_waiting_does_not_count(pytester, run, method):
    pytester.makeconftest(SLOW)
    pytester.makepyfile(
        test_double=f"""
import time
from pathlib import Path
import pytest

marked = pytest.mark.promptse("{PROMPT}", samples=1, original_samples=1, variants=1)

@pytest.mark.timeout(6)
@marked
def test_waits(candidate):
    assert candidate(2) == 4
    Path("waited").touch()

@pytest.mark.timeout(3)
@marked
def test_works(candidate):
    Path("began").touch()
    time.sleep(60)
    Path("worked").touch()
"""
    )
    result = run(
        *("-p", "pytest_timeout", "--timeout-method", method, "--promptse-model", "slow:m"),
        *("-k", "original"),
    )
    done = {path.name for path in pytester.path.iterdir()}
    expected = {"answered", "waited", "began"}
    assert done & {*expected, "worked"} == expected
    assert "Timeout" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0
