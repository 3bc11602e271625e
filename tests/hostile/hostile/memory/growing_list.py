# Trick: a list that grows without end
# Expected: fail
# Cause: resource
def successor(n):
    items = []
    while True: items.append(bytearray(2**20))
