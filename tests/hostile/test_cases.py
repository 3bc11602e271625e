"""Cases that are judged through the public door, each part of a folder in a session of pytest.

``everyday/`` has checks of right programs in all styles of pytest, which pass. ``laws/`` has
programs that attack the laws of the sandbox: they fail, harm nothing and leave nothing behind.
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
PARTS = [(folder, part) for folder in ("everyday", "laws") for part in corpus_runs.parts_of(folder)]
IDS = [f"{folder}-{number % corpus_runs.PARTS}" for number, (folder, _) in enumerate(PARTS)]


@pytest.mark.parametrize(("folder", "files"), PARTS, ids=IDS)
def test_every_case_is_as_expected(folder, files):
    judged = corpus_runs.judge(folder, files=files)
    assert judged.settings
    assert corpus_runs.differences(folder, judged) == []
