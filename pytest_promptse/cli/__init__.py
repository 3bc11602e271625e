"""The ``promptse`` command, one module for each subcommand."""
