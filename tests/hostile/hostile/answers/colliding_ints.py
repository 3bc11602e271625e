# Trick: a dict of integers with one hash
# Expected: fail
M = 2**61 - 1
def successor(n):
    return {i * M: 0 for i in range(2000)}
