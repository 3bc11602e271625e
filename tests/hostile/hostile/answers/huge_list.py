# Trick: a list of 20 million zeros
# Expected: fail
# Limits: wall=2 cpu=2
def successor(n):
    return [0] * 20_000_000
