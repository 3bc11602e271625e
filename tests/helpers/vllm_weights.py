"""The tiny model's weights and the arguments with which tests start vLLM on them."""

from __future__ import annotations

from pytest_promptse.config._data_files import tiny_dir

WEIGHTS = str(tiny_dir() / "hf")
ENGINE = {"dtype": "float32", "max-model-len": "1024", "enforce-eager": ""}
