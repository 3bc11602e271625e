# Trick: memory without end while loading
# Expected: fail
# Cause: resource
x = [bytearray(2**20) for _ in range(10**6)]
