"""The SQLite store: completions, verdicts, leases and the run log."""
