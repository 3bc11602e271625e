# Trick: a list whose elements all collide, for a check that makes a set of it
# Expected: fail
# Check: as_set
def successor(n):
    M = 2**61 - 1
    return [i * M for i in range(60000)]
