from __future__ import annotations

import pytest

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError


@pytest.mark.parametrize(
    "given",
    [
        "dtype=float32 enforce-eager",
        "--dtype=float32 --enforce-eager",
        "dtype=float32\nenforce-eager\n",
    ],
)
def test_engine_arguments_are_read_as_on_a_command_line(given):
    assert OPTIONS["vllm_args"].read(given, "ini") == {"dtype": "float32", "enforce-eager": ""}


def test_an_engine_argument_may_be_json_in_quotes():
    given = """compilation-config='{"mode": 0, "a": 1}'"""
    assert OPTIONS["vllm_args"].read(given, "ini") == {"compilation-config": '{"mode": 0, "a": 1}'}


@pytest.mark.parametrize("given", ["", "=x", "'unclosed"])
def test_engine_arguments_that_cannot_be_read_are_refused_by_their_place(given):
    with pytest.raises(SettingsError, match=r"^ini: "):
        OPTIONS["vllm_args"].read(given, "ini")
