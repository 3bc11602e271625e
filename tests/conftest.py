from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# tests/plugin/test_fixture_renewal.py runs the plugin beside these. In all other runs of pytest
# that tests start, they would change output, order and counts.
_OTHERS = ("asyncio", "django", "pytest_cov", "randomly", "rerunfailures", "timeout")
_WITHOUT_OTHERS = " ".join(f"-p no:{name}" for name in _OTHERS)
os.environ["PYTEST_ADDOPTS"] = _WITHOUT_OTHERS


@pytest.fixture(autouse=True)
def without_other_plugins(request: pytest.FixtureRequest) -> None:
    if "pytester" in request.fixturenames:
        # It removes the variable.
        request.getfixturevalue("pytester")
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setenv("PYTEST_ADDOPTS", _WITHOUT_OTHERS)


# Collected only when named: what drives a browser leaves its event loop running in the thread, so
# it needs a process of its own; the docs' commands and the hostile programs take their time.
APART = ("browser", "docs", "hostile")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = collection_path.name
    if collection_path.parent != Path(__file__).parent or name not in APART:
        return None
    return None if any(name in argument for argument in config.args) else True
