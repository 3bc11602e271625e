# Trick: write PASS on every descriptor
# Expected: fail
import os
def successor(n):
    for fd in range(3, 256):
        try: os.write(fd, b'passed\n1\nTrue\n')
        except OSError: pass
    return 0
