# Trap: five megabytes on standard output
# Expected: pass
def successor(n):
    for _ in range(50): print('x' * 100_000)
    return n + 1
