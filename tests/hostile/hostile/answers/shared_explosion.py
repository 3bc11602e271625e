# Trick: 2**40 elements by sharing
# Expected: fail
# Limits: wall=2 cpu=2
def successor(n):
    a = [0]
    for _ in range(40): a = [a, a]
    return a
