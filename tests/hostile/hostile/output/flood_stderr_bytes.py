# Trick: raw bytes on standard error without end
# Expected: fail
# Limits: wall=0.5 cpu=0.5
# Cause: timeout
import os
def successor(n):
    while True: os.write(2, b'\xff' * 65536)
