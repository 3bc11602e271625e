"""The offline rewriter: restyles the request, adds sentences and keeps the specification."""

from pytest_promptse.variants.rules._rewriter import STANDS_FOR, VERSION, RulesRewriter

__all__ = ["STANDS_FOR", "VERSION", "RulesRewriter"]
