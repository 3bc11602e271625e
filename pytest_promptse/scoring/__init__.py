"""What the answers are worth: pure functions over numpy arrays."""
