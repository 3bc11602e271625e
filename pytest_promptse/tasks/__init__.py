"""What is asked: tasks and where they come from."""
