"""The pytest plugin: hooks, collection, items, the session object and progress."""
