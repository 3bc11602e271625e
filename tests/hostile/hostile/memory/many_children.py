# Trick: a tree of processes of 100 MB each
# Expected: fail
# Cause: resource
import os, time
def successor(n):
    for _ in range(8):
        if os.fork() == 0:
            block = b'x' * (100 * 2**20)
            time.sleep(9)
    time.sleep(9)
