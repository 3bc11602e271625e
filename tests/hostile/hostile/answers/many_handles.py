# Trick: a million objects to keep handles of
# Expected: fail
# Limits: wall=2 cpu=2
def successor(n):
    return [object() for _ in range(1_000_000)]
