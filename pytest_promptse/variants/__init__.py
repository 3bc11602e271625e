"""Variants of a prompt: library, rewriters and the check that a variant asks for the same."""
