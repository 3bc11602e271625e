# Trick: an iterator that never gives its first item
# Expected: fail
# Check: as_list
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
def successor(n):
    while True: pass
    yield 1
