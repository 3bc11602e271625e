"""Reports made from the record alone."""
