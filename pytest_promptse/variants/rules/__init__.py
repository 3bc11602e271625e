"""The offline rewriter: it rephrases the request, adds sentences and keeps the specification."""
