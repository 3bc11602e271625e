"""Decides whether a variant asks for the same thing as its original."""

from pytest_promptse.variants.invariance.finding import Finding
from pytest_promptse.variants.invariance.judge import Judge, normalised

__all__ = ["Finding", "Judge", "normalised"]
