"""Every pair of a program and a check is judged as it would be in one process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import pairs

sys.path.pop(0)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="the pairs are judged in bubblewrap, which is not installed",
)
PAIRS = pairs.read_pairs("*.txt")


@pytest.fixture(scope="module")
def sandbox():
    from pytest_promptse.sandbox._isolation import open_sandbox

    with open_sandbox("bwrap", workers=1) as opened:
        yield opened


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.name for pair in PAIRS])
def test_the_verdict_is_that_of_one_process(sandbox, pair):
    verdict, why = pairs.judge(sandbox, pair)
    assert verdict == pair.expect, why


def test_every_honest_pair_passes_in_one_process():
    """In a process of their own, since programs change streams, modules and signals."""
    done = subprocess.run(
        [sys.executable, pairs.__file__, "--here"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_there_are_as_many_as_promised():
    honest = [pair for pair in PAIRS if pair.expect == "pass"]
    assert len(honest) >= 270
    assert len(PAIRS) - len(honest) >= 130
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
