"""Decide whether a variant makes the same request as its original."""
