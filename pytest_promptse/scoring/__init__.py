"""Statistics of scoring: pure functions over numpy arrays."""
