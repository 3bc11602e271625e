"""Tasks, suite files, HumanEval and prompt templates."""

__all__ = ["humaneval"]
