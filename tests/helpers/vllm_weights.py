"""The tiny model's weights and the arguments with which tests start vLLM on them."""

from __future__ import annotations

from pathlib import Path

WEIGHTS = str(Path(__file__).resolve().parents[1] / "data" / "tiny")
ENGINE = {"dtype": "float32", "max-model-len": "1024", "enforce-eager": ""}
ENGINE_ARGUMENTS = tuple(f"{name}={value}" if value else name for name, value in ENGINE.items())
"""The arguments as ``--promptse-vllm-args`` takes them, and ``vllm serve`` after two hyphens."""
