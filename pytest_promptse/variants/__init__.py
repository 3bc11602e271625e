"""How a task is reworded, and the proof that it is still the same task."""
