"""Options, their types, resolved settings and the location of data files."""
