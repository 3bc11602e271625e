"""The result record: schema, reading, writing and queries over it."""
