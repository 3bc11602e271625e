"""Statistics: pure functions over numpy arrays."""
