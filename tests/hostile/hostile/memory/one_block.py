# Trick: one block of 64 GB
# Expected: fail
# Cause: resource
def successor(n):
    return len(bytearray(64 * 2**30))
