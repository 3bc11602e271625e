"""Time that tests wait for the model: it is not part of their time, and it can be cancelled."""

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
            await asyncio.sleep(SECONDS)
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


MARKED = f"""
import pytest

@pytest.mark.promptse("{PROMPT}", samples=1, original_samples=1, variants=VARIANTS)
def test_waits(candidate):
    assert candidate(2) == 4
"""


def test_the_wait_is_reported_apart_from_the_time_of_a_test(pytester, run):
    pytester.makeconftest(
        # The model answers half a second after the item has begun.
        SLOW.replace("await asyncio.sleep(SECONDS)", "await answers()")
        + """
import pytest

async def answers():
    while not Path("called").exists():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call():
    Path("called").touch()

def pytest_runtest_logreport(report):
    if report.when == "call":
        waited = dict(report.user_properties)["promptse_wait_seconds"]
        assert report.stop - report.start - report.duration > waited / 2 > 0
        Path("seen").touch()
"""
    )
    pytester.makepyfile(test_waits=MARKED.replace("VARIANTS", "1"))
    junit = pytester.path / "junit.xml"
    result = run(
        *("--promptse-model", "slow:m", "-k", "original", "--durations=1", f"--junitxml={junit}")
    )
    result.assert_outcomes(passed=1, deselected=7)
    assert (pytester.path / "seen").exists()
    result.stdout.fnmatch_lines(["promptse: tests waited * s for completions*"])
    assert '<property name="promptse_wait_seconds" value="' in junit.read_text()


def test_no_request_is_sent_after_an_interruption(pytester, run):
    pytester.makeconftest(
        SLOW.replace("await asyncio.sleep(SECONDS)", "await answers()")
        + """
import time
import pytest

sent = []

async def answers():
    sent.append(1)
    await asyncio.sleep(0.2)

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    before = len(sent)
    time.sleep(1.0)
    Path("counts").write_text(f"{before} {len(sent)}")
"""
    )
    pytester.makepyfile(
        test_waits=MARKED.replace("VARIANTS", "4").replace(
            "assert", "raise KeyboardInterrupt\n    assert"
        )
    )
    result = run("--promptse-model", "slow:m")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    before, after = (pytester.path / "counts").read_text().split()
    # One request may be about to be sent.
    assert int(after) <= int(before) + 1


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_waiting_does_not_count(pytester, run, method):
    pytester.makeconftest(SLOW.replace("SECONDS", "3.5"))
    pytester.makepyfile(
        test_double=f"""
import time
from pathlib import Path
import pytest

marked = pytest.mark.promptse("{PROMPT}", samples=1, original_samples=1, variants=1)

@pytest.mark.timeout(3)
@marked
def test_waits(candidate, tmp_path_factory):
    assert candidate(2) == 4
    (tmp_path_factory.getbasetemp() / "waited").touch()

@pytest.mark.timeout(3)
@marked
def test_works(candidate, tmp_path_factory):
    (tmp_path_factory.getbasetemp() / "began").touch()
    time.sleep(60)
    (tmp_path_factory.getbasetemp() / "worked").touch()
"""
    )
    result = run(
        *("-p", "pytest_timeout", "--timeout-method", method, "--promptse-model", "slow:m"),
        *("-k", "original"),
    )
    done = {path.name for path in pytester.path.rglob("*")}
    expected = {"answered", "waited", "began"}
    assert done & {*expected, "worked"} == expected
    assert "Timeout" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0
