"""Backends that return completions, and the extraction of programs from completions."""
