"""Decides whether a variant asks for the same thing as its original."""

from pytest_promptse.variants.invariance._finding import Finding
from pytest_promptse.variants.invariance._judge import Judge, normalised

__all__ = ["Finding", "Judge", "normalised"]
