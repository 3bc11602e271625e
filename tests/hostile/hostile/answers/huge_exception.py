# Trick: an exception with a message of 20 MB
# Expected: fail
def successor(n):
    raise ValueError('x' * 20_000_000)
