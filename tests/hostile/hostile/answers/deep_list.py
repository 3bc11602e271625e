# Trick: a list nested 100,000 deep
# Expected: fail
def successor(n):
    a = []
    for _ in range(100000): a = [a]
    return a
