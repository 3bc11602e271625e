# Trick: a range that list() would not survive
# Expected: fail
# Check: as_list
def successor(n):
    return range(10**18)
