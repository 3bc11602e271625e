"""A module that a check imports, and that keeps what it is given."""

KEPT = []


def keep(value):
    KEPT.append(value)
    return KEPT
