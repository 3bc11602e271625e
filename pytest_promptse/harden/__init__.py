"""Find the prompt template that keeps a model stable, and confirm it on fresh variants."""
