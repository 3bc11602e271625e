"""The offline rewriter: the specification verbatim, the request re-voiced, the writer around it."""

from pytest_promptse.variants.rules.rewriter import STANDS_FOR, VERSION, RulesRewriter

__all__ = ["STANDS_FOR", "VERSION", "RulesRewriter"]
