# Trick: a loop within one call into C
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
def successor(n):
    return sum(range(10**12))
