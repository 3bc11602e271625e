# Trick: an endless generator, for a check that makes a list of it
# Expected: fail
# Check: as_list
def successor(n):
    while True: yield 0
