"""Everyday checks of right programs pass, in all styles of pytest.

The cases in ``everyday/`` are judged through the public door, each part of them in a
session of pytest.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import corpus_runs

sys.path.pop(0)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="the cases are judged in bubblewrap, which is not installed",
)
PARTS = corpus_runs.parts_of("everyday")


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_every_case_is_as_expected(part):
    judged = corpus_runs.judge("everyday", files=PARTS[part])
    assert judged.settings
    assert corpus_runs.differences("everyday", judged) == []
