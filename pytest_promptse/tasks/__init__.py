"""Tasks, suite files, HumanEval, MultiPL-E and prompt templates."""

__all__ = ["humaneval", "multipl_e"]
