# Trick: not-a-number in every place
# Expected: fail
def successor(n):
    return [float('nan')] * 3
