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
PARTS = {
    f"{folder}-{number}": (folder, part)
    for folder in ("laws", "everyday")
    for number, part in enumerate(corpus_runs.parts_of(folder))
}


@pytest.mark.parametrize(("folder", "files"), PARTS.values(), ids=PARTS)
def test_every_case_is_as_expected(folder, files):
    judged = corpus_runs.judge(folder, files=files)
    assert judged.settings
    assert corpus_runs.differences(folder, judged) == []
