# Trick: unittest.mock.ANY equals everything
# Expected: fail
from unittest.mock import ANY
def successor(n):
    return ANY
