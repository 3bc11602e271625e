from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["pytester"]

# Collected only when named: what drives a browser leaves its event loop running in the thread, so
# it needs a process of its own; the docs' commands and the hostile programs take their time.
APART = ("browser", "docs", "hostile")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = collection_path.name
    if collection_path.parent != Path(__file__).parent or name not in APART:
        return None
    return None if any(name in argument for argument in config.args) else True
