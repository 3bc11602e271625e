# Trick: grow, catch MemoryError, go on
# Expected: fail
# Limits: wall=1 cpu=1 memory=134217728
def successor(n):
    items = []
    while True:
        try: items.append(bytearray(2**20))
        except MemoryError: pass
