"""Languages of programs: how code is found in an answer, prepared and run."""
