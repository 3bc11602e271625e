"""The host's side of the sandbox that runs generated programs."""
