# Trick: a power that takes for ever
# Expected: fail
# Limits: wall=0.5 cpu=0.5
def successor(n):
    return 3 ** (10**9)
