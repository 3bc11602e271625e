# Trick: shared anonymous memory
# Expected: fail
# Limits: wall=2 cpu=2
import mmap
def successor(n):
    maps = []
    while True:
        m = mmap.mmap(-1, 64 * 2**20)
        m.write(b'x' * len(m))
        maps.append(m)
