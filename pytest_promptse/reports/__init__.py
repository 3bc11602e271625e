"""What people look at, all of it made from the result record."""
