"""The offline rewriter: restyles the request, adds sentences and keeps the specification."""
