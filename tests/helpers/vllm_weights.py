"""The tiny model's weights and the arguments with which tests start vLLM on them."""

from __future__ import annotations

from pytest_promptse.config._data_files import tiny_dir

WEIGHTS = str(tiny_dir() / "hf")
ENGINE = {"dtype": "float32", "max-model-len": "1024", "enforce-eager": ""}
ENGINE_ARGUMENTS = tuple(f"{name}={value}" if value else name for name, value in ENGINE.items())
"""The arguments as ``--promptse-vllm-args`` takes them, and ``vllm serve`` after two hyphens."""
