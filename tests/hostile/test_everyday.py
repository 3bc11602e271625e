"""Everyday checks of right programs pass, in all styles of pytest.

The cases in ``everyday/`` are judged through the public door, all of them in one session of pytest.
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
    pytest.mark.xdist_group("everyday"),
]


@pytest.fixture(scope="module")
def judged():
    return corpus_runs.judge("everyday")


def test_every_case_is_as_expected(judged):
    assert corpus_runs.differences("everyday", judged) == []


def test_there_are_as_many_as_promised(judged):
    assert len(judged.settings) >= 160
