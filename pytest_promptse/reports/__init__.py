"""Reports, which are made from the record alone."""
