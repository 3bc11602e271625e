from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]

# tests/plugin/test_fixture_renewal.py runs the plugin beside these. In all other runs of pytest
# that tests start, they would change output, order and counts.
_OTHERS = ("asyncio", "django", "pytest_cov", "randomly", "rerunfailures", "timeout")
_WITHOUT_OTHERS = " ".join(f"-p no:{name}" for name in _OTHERS)
os.environ["PYTEST_ADDOPTS"] = _WITHOUT_OTHERS

# pytest, rich and the plugin read these: they change widths, colours, what is cut short, which
# plugins are loaded and where reports go.
_OF_THE_MACHINE = (
    *("BUILD_NUMBER", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR"),
    *("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "LINES", "NO_COLOR", "OPENAI_API_KEY"),
    *("OPENAI_BASE_URL", "PYTEST_DEBUG", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"),
    *("PYTEST_THEME", "PYTEST_THEME_MODE", "PYTHONWARNINGS", "PY_COLORS", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE",),
)


@pytest.fixture(scope="session", autouse=True)
def same_environment_everywhere() -> Iterator[None]:
    """Let the outcome of a test not depend on CI variables or on the width of the terminal."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in _OF_THE_MACHINE:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(autouse=True)
def without_other_plugins(request: pytest.FixtureRequest) -> None:
    if "pytester" in request.fixturenames:
        # It removes the variable.
        request.getfixturevalue("pytester")
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setenv("PYTEST_ADDOPTS", _WITHOUT_OTHERS)


# Collected only when named: what drives a browser leaves its event loop running in the thread, so
# it needs a process of its own; the docs' commands and the hostile programs take their time; a Ray
# cluster needs all CPUs.
APART = ("browser", "docs", "hostile", "ray")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = collection_path.name
    if collection_path.parent != Path(__file__).parent or name not in APART:
        return None
    return None if any(name in argument for argument in config.args) else True
