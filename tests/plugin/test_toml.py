"""Settings in pyproject.toml, as text and as native TOML values."""

from __future__ import annotations

import json

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
MODULE = f"""
import pytest

@pytest.mark.promptse("{PROMPT}", reference="def double(x): return 2 * x")
def test_double(candidate):
    assert candidate(2) == 4
"""
NATIVE = """
promptse_model = ["reference"]
promptse_samples = 2
promptse_variants = 1
promptse_distances = [0.1, 0.3]
promptse_temperature = 0.5
promptse_min_auc_e = 0.5
promptse_min_elasticity = {"0.1" = 0.5, "0.3" = 0.4}
promptse_price = [0.4, 1.6]
promptse_aa = true
promptse_memory = 512
"""


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(
            "tool.pytest",
            marks=pytest.mark.skipif(
                pytest.version_tuple < (9, 0), reason="native TOML since pytest 9"
            ),
        ),
        "tool.pytest.ini_options",
    ],
)
def test_native_values(pytester, run, table):
    native = NATIVE
    if table.endswith("ini_options"):
        # pytest turns tables into text there.
        native = native.replace('{"0.1" = 0.5, "0.3" = 0.4}', '"0.1=0.5,0.3=0.4"')
    pytester.makepyprojecttoml(f"[{table}]\n{native}")
    pytester.makepyfile(test_double=MODULE)
    result = run("-W", "error", "--promptse-report", "json:run.json")
    # The gates of so few samples decide nothing.
    assert result.parseoutcomes() == {"passed": 3, "skipped": 3}
    settings = json.loads((pytester.path / "run.json").read_text())["settings"]
    assert settings["model"] == ["reference"]
    assert settings["distances"] == [0.1, 0.3]
    assert settings["min_elasticity"] == {"0.1": 0.5, "0.3": 0.4}
    assert settings["price"] == [0.4, 1.6]
    assert settings["aa"] is True
    assert settings["temperature"] == 0.5


@pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="native TOML since pytest 9")
def test_a_wrong_native_value_is_a_usage_error(pytester, run):
    pytester.makepyprojecttoml("[tool.pytest]\npromptse_min_auc_e = 1.5\n")
    pytester.makepyfile("def test_it(): pass")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*promptse_min_auc_e in pyproject.toml: 1.5 is not in [[]0, 1[]]"])


def test_an_override_on_the_command_line_wins(pytester, run):
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\npromptse_min_auc_e = 0.5\n")
    pytester.makepyfile("def test_it(): pass")
    result = run("-o", "promptse_min_auc_e=2")
    result.stderr.fnmatch_lines(["*promptse_min_auc_e*'2' is not in*"])
