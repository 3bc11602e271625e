# Trap: 100 MB of memory, given back
# Expected: pass
def successor(n):
    block = bytearray(100 * 2**20)
    return len(block) - 100 * 2**20 + n + 1
