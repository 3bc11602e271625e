# Trick: an integer of 100 million bits
# Expected: fail
def successor(n):
    return 1 << 100_000_000
