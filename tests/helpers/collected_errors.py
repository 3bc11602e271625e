"""Read pytest's reports of files that it cannot collect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def errors_of_files(result: pytest.RunResult) -> dict[str, str]:
    """Return the text of the error of each file, by the file's name."""
    parts = re.split(r"^_+ ERROR collecting (\S+) _+\n", result.stdout.str(), flags=re.MULTILINE)
    texts = (text.partition("\n====")[0] for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))
