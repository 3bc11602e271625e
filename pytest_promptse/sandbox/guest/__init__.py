"""The files that are copied into the jail, and no others."""
