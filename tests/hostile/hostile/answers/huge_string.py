# Trick: a string of 200 MB
# Expected: fail
def successor(n):
    return 'x' * 200_000_000
