"""The timer of pytest-timeout stands still while a test waits for the model."""

from __future__ import annotations

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
SLOW = """
import asyncio
from pytest_promptse.models import Capabilities, Completion, Response, Usage

class Slow:
    spec = "slow:m"
    identity = {"backend": "slow"}
    concurrency = 1

    async def start(self):
        return Capabilities(form="chat")

    async def complete(self, request):
        await asyncio.sleep(1.5)
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
@pytest.mark.parametrize(("body", "passed"), [("pass", True), ("time.sleep(5)", False)])
def test_waiting_does_not_count(pytester, run, method, body, passed):
    pytester.makeconftest(SLOW)
    pytester.makepyfile(
        test_double=f"""
import time
import pytest

@pytest.mark.timeout(1)
@pytest.mark.promptse("{PROMPT}", samples=1, original_samples=1, variants=1)
def test_double(candidate):
    {body}
    assert candidate(2) == 4
"""
    )
    result = run(
        *("-p", "pytest_timeout", "--timeout-method", method, "--promptse-model", "slow:m"),
        *("-k", "original"),
    )
    assert (result.ret == 0) is passed
    assert ("Timeout" in result.stdout.str() + result.stderr.str()) is not passed
