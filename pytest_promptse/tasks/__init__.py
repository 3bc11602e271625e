"""Tasks, suite files, HumanEval and prompt templates."""
