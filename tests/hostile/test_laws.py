"""Programs that attack the laws of the sandbox fail, harm nothing and leave nothing behind.

The cases in ``laws/`` are judged through the public door, all of them in one session of pytest.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import corpus_runs

sys.path.pop(0)

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("bwrap") is None,
        reason="the cases are judged in bubblewrap, which is not installed",
    ),
    pytest.mark.xdist_group("laws"),
]


@pytest.fixture(scope="module")
def judged():
    return corpus_runs.judge("laws")


def test_every_case_is_as_expected(judged):
    assert corpus_runs.differences("laws", judged) == []


def test_there_are_as_many_as_promised(judged):
    assert len(judged.settings) >= 95
