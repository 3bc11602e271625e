# Trap: numbers of ten thousand digits
# Expected: pass
def successor(n):
    big = 10 ** 10_000
    return big + n + 1 - big
