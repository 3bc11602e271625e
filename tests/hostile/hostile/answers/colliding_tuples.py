# Trick: tuples of colliding complex numbers
# Expected: fail
# Check: as_set
def successor(n):
    return [complex(-1000003.0 * i, float(i)) for i in range(60000)]
