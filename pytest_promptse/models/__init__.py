"""Who answers: the backends behind ``BACKEND:NAME``."""
